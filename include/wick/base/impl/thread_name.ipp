// Implements base/detail/thread_name.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#ifdef __linux__
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <wick/base/detail/thread_name.hpp>

namespace wick::inline v0_1::detail {

int this_thread_id() noexcept {
#ifdef __linux__
  return static_cast<int>(::syscall(SYS_gettid));
#else
  return 0;
#endif
}

void lower_priority([[maybe_unused]] int steps) noexcept {
#ifdef __linux__
  if (steps <= 0) return;
  const auto self = static_cast<::id_t>(this_thread_id());  // on Linux, each thread has its own priority
  errno = 0;
  const int now = ::getpriority(PRIO_PROCESS, self);
  if (now != -1 || errno == 0)
    static_cast<void>(::setpriority(PRIO_PROCESS, self, std::min(now + steps, 19)));
#endif
}

char thread_state([[maybe_unused]] int id) noexcept {
  char state = 0;
#ifdef __linux__
  char text[192];  // "4242 (name) R …"
  std::snprintf(text, sizeof(text), "/proc/self/task/%d/stat", id);
  std::FILE* const f = std::fopen(text, "re");
  if (f == nullptr) return 0;
  text[std::fread(text, 1, sizeof(text) - 1, f)] = 0;
  std::fclose(f);
  if (const char* const end = std::strrchr(text, ')'); end != nullptr && end[1] == ' ') state = end[2];
#endif
  return state;
}

}  // namespace wick::detail

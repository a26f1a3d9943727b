// Implements io/detail/index_lock.hpp. Included in exactly one file of a program.
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <wick/async/detail/interruption.hpp>
#include <wick/io/detail/index_lock.hpp>
#include <wick/io/detail/user_cache.hpp>

namespace wick::inline v0_1::detail {

void index_lock::take(const std::string& index) {
  for (state was = untaken; !state_.compare_exchange_weak(was, being_taken); was = untaken) {
    if (was == taken) return;
    if (was == untaken) continue;
    check_interruption();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  try {
    wait_for(index);
  } catch (...) {
    state_ = untaken;
    throw;
  }
  state_ = taken;
}

void index_lock::wait_for(const std::string& index) {
  using namespace std::chrono_literals;
  std::error_code fault;
  const std::filesystem::path whole = std::filesystem::absolute(index, fault);
  // Includes the machine's name, since the cache folder may be on a server, and the index not.
  std::array<char, 256> machine{};
  static_cast<void>(::gethostname(machine.data(), machine.size() - 1));
  const std::string path =
      user_cache_path((fault ? index : whole.lexically_normal().string()) + '\n' + machine.data(), "lock");
  const auto give_up = std::chrono::steady_clock::now() + 10min;
  bool waited = false;
  while (lock_.try_take(path, 0600) == lock_file::busy && std::chrono::steady_clock::now() < give_up) {
    waited = true;
    check_interruption();
    std::this_thread::sleep_for(20ms);
  }
  if (waited) release();
}

lock_file::outcome lock_file::try_take(const std::string& path, unsigned mode) noexcept try {
  file_handle file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!file) return impossible;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK || errno == EINTR ? busy : impossible;
  // The previous holder may have removed the file between open() and flock().
  struct ::stat mine {
  }, named{};
  if (::fstat(file.get(), &mine) != 0 || ::stat(path.c_str(), &named) != 0 || mine.st_ino != named.st_ino ||
      mine.st_dev != named.st_dev)
    return busy;
  path_ = path;
  file_ = std::move(file);
  return held;
} catch (const std::bad_alloc&) {
  return impossible;
}

void lock_file::release() noexcept {
  if (!file_) return;
  ::unlink(path_.c_str());
  ::flock(file_.get(), LOCK_UN);  // a forked child may still have the file
  file_.close();
}

}  // namespace wick::detail

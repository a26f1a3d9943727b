/// \file
/// A file to which any number of processes append lines, each whole, whatever stops them.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <wick/system/detail/plain_file.hpp>

namespace wick::detail {

/// Whether `text` is one JSON object from its first to its last character, as far as braces and quotes tell.
inline bool is_whole_object(std::string_view text) noexcept {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && (depth == 0 || --depth == 0)) {
      return i + 1 == text.size();
    }
    if (depth == 0) return false;
  }
  return false;
}

/// Lines of JSON objects that begin with `head`.
///
/// A line is one write in append mode, so lines of several writers don't mix. What tears one is a full disk
/// or a kill in the middle of a write: then its beginning is taken back, at once or by whoever opens or
/// writes the file next, under a lock of the file. What is not known to be the beginning of such a line is
/// kept, and ended. The lock is not waited for longer than a few milliseconds, since who holds it may be
/// stopped; without it nothing is taken back, and the next line begins anew.
class line_file {
 public:
  /// Look at fault() and other() then.
  line_file(const char* path, std::string_view head) noexcept : head_(head) {
    do {
      file_ =
          file_handle(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
    } while (!file_ && errno == EINTR);
    struct ::stat status {};
    fault_ = file_ ? 0 : errno;
    const bool looked = (file_ ? ::fstat(file_.get(), &status) : ::stat(path, &status)) == 0;
    regular_ = looked && S_ISREG(status.st_mode);
    if (!file_ && looked) other_ = other_than_file(status.st_mode);
    if (!file_ || !regular_) return;
    plain_file again = open_plain(path);
    if (again.file && again.about.st_dev == status.st_dev && again.about.st_ino == status.st_ino) {
      look_ = std::move(again.file);
    }
    const lock held(*this);
    if (const std::string_view begin = beginning(held.held()); !begin.empty()) write(begin);
  }

  /// errno, when it can't be opened.
  int fault() const noexcept { return fault_; }
  /// What it is, when it can't be opened and is no regular file.
  const char* other() const noexcept { return other_; }

  /// Adds a line, without its end. 0, or errno when that failed; nothing of it is left then, or the next line
  /// begins anew. \throws std::bad_alloc
  int add(std::string_view line) {
    const lock held(*this);
    std::string text(beginning(held.held()));
    text.append(line).push_back('\n');
    struct ::stat before {};
    const bool known = regular_ && ::fstat(file_.get(), &before) == 0;
    std::size_t written = 0;
    const int fault = write(text, &written);
    torn_ = fault != 0 && written != 0;
    if (torn_ && known && held.held()) take_back(before.st_size, static_cast<::off_t>(written));
    return fault;
  }

 private:
  class lock {
   public:
    explicit lock(line_file& of) noexcept : of_(of) {
      if (!of.regular_) return;
      // Others hold it for the time of a write.
      for (int tries = 0; tries < (of.patient_ ? 300 : 1); ++tries) {
        if (tries > 100) {
          const ::timespec pause{0, 100'000};
          ::nanosleep(&pause, nullptr);
        } else if (tries > 0) {
          ::sched_yield();
        }
        held_ = ::flock(of.file_.get(), LOCK_EX | LOCK_NB) == 0;
        if (held_ || (errno != EWOULDBLOCK && errno != EINTR)) break;
      }
      of.patient_ = held_;
    }
    lock(const lock&) = delete;
    lock& operator=(const lock&) = delete;
    ~lock() {
      if (held_) ::flock(of_.file_.get(), LOCK_UN);
    }
    bool held() const noexcept { return held_; }

   private:
    line_file& of_;
    bool held_ = false;
  };

  /// What must come before the next line: nothing behind a whole one, and once the beginning of one was taken
  /// back.
  std::string_view beginning(bool locked) noexcept {
    if (!regular_) return torn_ ? "\n" : "";
    struct ::stat status {};
    if (::fstat(file_.get(), &status) != 0 || !look_) return torn_ ? "\n" : "";
    char tail[16384];
    if (status.st_size == 0 || !read(tail, 1, status.st_size - 1) || tail[0] == '\n') return "";
    if (!locked) return "\n";
    const auto size = static_cast<std::size_t>(std::min<::off_t>(status.st_size, sizeof(tail)));
    if (!read(tail, size, status.st_size - static_cast<::off_t>(size))) return "\n";
    const std::string_view text(tail, size);
    const std::size_t end = text.rfind('\n');
    if (end == std::string_view::npos && static_cast<::off_t>(size) != status.st_size) return "\n";
    const std::string_view line = text.substr(end == std::string_view::npos ? 0 : end + 1);
    const bool ours = line.substr(0, head_.size()) == head_.substr(0, line.size());
    if (!ours || is_whole_object(line)) return "\n";
    const bool gone = ::ftruncate(file_.get(), status.st_size - static_cast<::off_t>(line.size())) == 0;
    return gone ? "" : "\n";
  }

  /// Unless somebody without the lock has written behind it.
  void take_back(::off_t size, ::off_t written) noexcept {
    struct ::stat now {};
    if (::fstat(file_.get(), &now) != 0 || now.st_size != size + written) return;
    if (::ftruncate(file_.get(), size) == 0) torn_ = false;
  }

  bool read(char* to, std::size_t size, ::off_t offset) const noexcept {
    return ::pread(look_.get(), to, size, offset) == static_cast<::ssize_t>(size);
  }
  int write(std::string_view text, std::size_t* written = nullptr) noexcept {
    while (!text.empty()) {
      const ::ssize_t n = ::write(file_.get(), text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      if (n == 0) return ENOSPC;
      text.remove_prefix(static_cast<std::size_t>(n));
      if (written != nullptr) *written += static_cast<std::size_t>(n);
    }
    return 0;
  }

  std::string_view head_;
  file_handle file_, look_;  // to write, and to see what is there
  int fault_ = 0;
  const char* other_ = nullptr;
  bool regular_ = false;
  bool torn_ = false;  // this one's last line, for all it knows
  bool patient_ = true;
};

}  // namespace wick::detail

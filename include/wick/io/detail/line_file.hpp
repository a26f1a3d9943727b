/// \file
/// A file to which any number of processes append lines, each whole, whatever stops them.
#pragma once

#include <cstddef>
#include <sched.h>
#include <string_view>
#include <sys/file.h>
#include <time.h>

#include <wick/io/detail/plain_file.hpp>

namespace wick::inline v0_1::detail {

/// Whether `text` is one JSON object from its first to its last character, as far as braces and quotes tell.
bool is_whole_object(std::string_view text) noexcept;

/// Lines of JSON objects that begin with `head`.
///
/// A line is one write in append mode, so lines of several writers don't mix. A full disk or a kill in the
/// middle of a write leaves a torn line. The same writer, or the next to open or write the file, removes it
/// under a lock of the file. A last line that may be anything else is kept, and ended. The lock's holder may
/// be stopped, so a writer waits a few milliseconds at most; without the lock nothing is removed, and the
/// next entry starts a line of its own.
class line_file {
 public:
  /// Look at fault() and other() then.
  line_file(const char* path, std::string_view head) noexcept;

  /// errno, when it can't be opened.
  int fault() const noexcept { return fault_; }
  /// What it is, when it can't be opened and is no regular file.
  const char* other() const noexcept { return other_; }

  /// Adds a line, without its end. Returns 0, or errno when that failed: then nothing of it is left, or the
  /// next add() starts a line of its own. \throws std::bad_alloc
  int add(std::string_view line);
  /// Flushes the lines to the disk. 0, or errno.
  int sync() noexcept;

 private:
  class lock {
   public:
    explicit lock(line_file& of) noexcept;
    lock(const lock&) = delete;
    lock& operator=(const lock&) = delete;
    ~lock();
    bool held() const noexcept { return held_; }

   private:
    line_file& of_;
    bool held_ = false;
  };

  /// The text before the next line: empty after a whole line, and once a torn one is removed; else a line
  /// end.
  std::string_view beginning(bool locked) noexcept;

  /// Except when a process without the lock has written after it.
  void take_back(::off_t size, ::off_t written) noexcept;

  bool read(char* to, std::size_t size, ::off_t offset) const noexcept;
  int write(std::string_view text, std::size_t* written = nullptr) noexcept;

  std::string_view head_;
  file_handle file_, look_;  // to write, and to see what is there
  int fault_ = 0;
  const char* other_ = nullptr;
  bool regular_ = false;
  bool torn_ = false;  // this one's last line, for all it knows
  bool patient_ = true;
};

}  // namespace wick::detail

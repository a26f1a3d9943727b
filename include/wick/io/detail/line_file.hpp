// A file to which any number of processes append whole lines, even if one is killed or the disk is full.
#pragma once

#include <cstddef>
#include <sched.h>
#include <string_view>
#include <sys/file.h>
#include <time.h>

#include <wick/io/detail/plain_file.hpp>

namespace wick::inline v0_1::detail {

/// Whether `text` is one JSON object from its first to its last character, judging by braces and quotes.
bool is_whole_object(std::string_view text) noexcept;

/// Lines that are JSON objects and begin with `head`.
///
/// Each line is one write in append mode, so lines of several writers don't mix. A full disk or a kill in the
/// middle of a write leaves a torn line. The same writer, or the next one to open or write the file, removes
/// it under the file's lock. Any other unfinished last line is kept, and gets a line end. The lock's holder
/// may be stopped, so a writer waits a few milliseconds at most. Without the lock, it removes nothing, and
/// the next entry starts on a new line.
class line_file {
 public:
  /// Check fault() and other() afterwards.
  line_file(const char* path, std::string_view head) noexcept;

  /// errno if it can't be opened, else 0.
  int fault() const noexcept { return fault_; }
  /// What the path is, if it can't be opened and isn't a regular file.
  const char* other() const noexcept { return other_; }

  /// Adds a line; `line` has no line end. Returns 0, or errno if that failed: then nothing of it is left, or
  /// the next add() starts on a new line. \throws std::bad_alloc
  int add(std::string_view line);
  /// Flushes the lines to the disk. Returns 0, or errno.
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

  /// The text to write before the next line: empty after a whole line or once a torn one is removed, else a
  /// line end.
  std::string_view beginning(bool locked) noexcept;

  /// Does nothing if a process without the lock has written after it.
  void take_back(::off_t size, ::off_t written) noexcept;

  bool read(char* to, std::size_t size, ::off_t offset) const noexcept;
  int write(std::string_view text, std::size_t* written = nullptr) noexcept;

  std::string_view head_;
  file_handle file_, look_;  // one to write, one to read what is there
  int fault_ = 0;
  const char* other_ = nullptr;
  bool regular_ = false;
  bool torn_ = false;  // whether this writer's last line is torn
  bool patient_ = true;
};

}  // namespace wick::detail

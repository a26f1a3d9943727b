// Implements io/detail/line_file.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <wick/io/detail/line_file.hpp>

namespace wick::inline v0_1::detail {

bool is_whole_object(std::string_view text) noexcept {
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

line_file::line_file(const char* path, std::string_view head) noexcept : head_(head) {
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

int line_file::add(std::string_view line) {
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

int line_file::sync() noexcept {
  while (::fsync(file_.get()) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

line_file::lock::lock(line_file& of) noexcept : of_(of) {
  if (!of.regular_) return;
  // Others hold the lock only while they write.
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

line_file::lock::~lock() {
  if (held_) ::flock(of_.file_.get(), LOCK_UN);
}

std::string_view line_file::beginning(bool locked) noexcept {
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

void line_file::take_back(::off_t size, ::off_t written) noexcept {
  struct ::stat now {};
  if (::fstat(file_.get(), &now) != 0 || now.st_size != size + written) return;
  if (::ftruncate(file_.get(), size) == 0) torn_ = false;
}

bool line_file::read(char* to, std::size_t size, ::off_t offset) const noexcept {
  return ::pread(look_.get(), to, size, offset) == static_cast<::ssize_t>(size);
}

int line_file::write(std::string_view text, std::size_t* written) noexcept {
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

}  // namespace wick::detail

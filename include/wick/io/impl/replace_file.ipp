// Implements io/detail/replace_file.hpp. Included in exactly one file of a program.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <wick/io/detail/replace_file.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

void state_file_error(const char* what, const std::string& path, int fault, const char* advice,
                      const char* kind) {
  throw error(printable(path) + ": " + kind + ": " + what + ": " + std::generic_category().message(fault) +
              "; " + advice);
}

neighbor_file::neighbor_file(int folder, ::mode_t mode) noexcept : folder_(folder) {
  for (int tries = 0; tries < 100; ++tries) {
    choose_name();
    do {
      file_ =
          file_handle(::openat(folder_, name_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    } while (!file_ && errno == EINTR);
    fault_ = file_ ? 0 : errno;
    if (fault_ == EEXIST) continue;
    if (fault_ != 0) return;
    // Another process's tidy_up() may have locked it first.
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      discard();
      continue;
    }
    struct ::stat named {};
    if (::fstatat(folder_, name_, &named, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT) return;
    discard();
    fault_ = ENOENT;
  }
}

bool neighbor_file::write(std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const ::ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

bool neighbor_file::sync() noexcept {
  int done;
  do {
    done = ::fsync(file_.get());
  } while (done != 0 && errno == EINTR);
  if (done != 0) return false;
  file_handle second(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  return !second || second.close();
}

bool neighbor_file::rename_to(const char* name) noexcept {
  if (::renameat(folder_, name_, folder_, name) != 0) return false;
  file_.close();
  return true;
}

void neighbor_file::tidy_up(int folder) noexcept {
  struct ::stat status {};
  if (::fstat(folder, &status) != 0) return;
  // A very large folder is searched once.
  constexpr std::uint64_t many = 10'000;
  static constinit std::atomic<std::uint64_t> last_large{0};
  const std::uint64_t self = (std::uint64_t{status.st_dev} * 0x9E3779B97F4A7C15u) ^ status.st_ino;
  if (self == last_large.load(std::memory_order_relaxed)) return;
  struct closer {
    void operator()(::DIR* d) const noexcept { ::closedir(d); }
  };
  file_handle again(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return;
  const std::unique_ptr<::DIR, closer> listing(::fdopendir(again.get()));
  if (listing == nullptr) return;
  again.release();
  const bool local = is_local(folder);
  std::uint64_t entries = 0;
  for (const ::dirent* e = ::readdir(listing.get()); e != nullptr; e = ::readdir(listing.get()), ++entries) {
    if (is_name(e->d_name)) remove_if_left(folder, e->d_name, local);
  }
  if (entries > many) last_large.store(self, std::memory_order_relaxed);
}

bool neighbor_file::is_name(std::string_view name) noexcept {
  return name.size() == prefix.size() + digits && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string_view::npos;
}

void neighbor_file::remove_if_left(int folder, const char* name, bool local) noexcept {
  const file_handle left(::openat(folder, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct ::stat status {};
  if (!left || ::fstat(left.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const auto age = ::time(nullptr) - status.st_mtime;
  constexpr auto hour = 3600, day = 24 * hour;
  const bool free = ::flock(left.get(), LOCK_EX | LOCK_NB) == 0;
  if (!free && errno == EWOULDBLOCK) return;
  if (free ? local || age > hour : age > day) ::unlinkat(folder, name, 0);
}

void neighbor_file::choose_name() noexcept {
  // Threads, processes, and containers that share only the folder must choose different names, so neither a
  // counter nor the process id would do. Without randomness, O_EXCL finds a free name.
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof(number)) != 0) {
    static constinit std::atomic<std::uint64_t> next{0};
    number = next.fetch_add(1, std::memory_order_relaxed) + (static_cast<std::uint64_t>(::getpid()) << 32);
  }
  std::memcpy(name_, prefix.data(), prefix.size());
  for (std::size_t i = 0; i < digits; ++i, number >>= 4)
    name_[prefix.size() + i] = "0123456789abcdef"[number & 15];
}

void neighbor_file::discard() noexcept {
  if (!file_) return;
  ::unlinkat(folder_, name_, 0);
  file_.close();
}

file_replacement::file_replacement(const std::string& path, const char* kind) : path_(path), kind_(kind) {
  const std::filesystem::path given(path);
  const std::filesystem::path parent =
      given.has_parent_path() ? given.parent_path() : std::filesystem::path(".");
  name_ = given.filename().native();
  // Everything uses the open folder: it may be renamed meanwhile, and the name may be of the maximum length.
  folder_ = file_handle(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_) failed("can't be created, its folder can't be opened", errno);
  if (name_.empty() || name_ == "." || name_ == "..") {
    state_file_error("can't be created", path, EISDIR, "give the path of a file", kind);
  }
  struct ::stat old {};
  const bool is_there = ::fstatat(folder_.get(), name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  const char* other = is_there && !S_ISLNK(old.st_mode) ? other_than_file(old.st_mode) : nullptr;
  if (other != nullptr) {
    throw error(printable(path) + ": " + kind + ": is " + other +
                ", and only a regular file is replaced; give another path");
  }
  const bool keeps_mode = is_there && S_ISREG(old.st_mode);

  neighbor_file::tidy_up(folder_.get());
  next_.emplace(folder_.get(), keeps_mode ? old.st_mode & 0666 : 0666);
  if (next_->fault() != 0) failed("can't be created", next_->fault());
  // Not every file system has modes. Without them, the file keeps the mode from open(), which never grants
  // more than the old one.
  if (keeps_mode) static_cast<void>(::fchmod(next_->get(), old.st_mode & 0777) == 0);
}

void file_replacement::failed(const char* what, int fault) const {
  state_file_error(what, path_, fault,
                   "the file is as it was; is there room, and may this program write there?", kind_);
}

void file_replacement::write(std::span<const std::byte> bytes) {
  if (!next_->write(bytes)) failed("can't be written", errno);
}

void file_replacement::commit() {
  if (!next_->sync()) failed("can't be brought to the disk", errno);
  if (!next_->rename_to(name_.c_str())) failed("can't take its name", errno);
  // The name is in the folder, so it is on the disk once the folder is.
  if (::fsync(folder_.get()) != 0 && errno != EINVAL) {
    state_file_error("was written, but its folder can't be brought to the disk", path_, errno,
                     "after a power failure the old one may be back", kind_);
  }
}

void replace_file(const std::string& path, std::span<const std::byte> bytes, const char* kind) {
  file_replacement next(path, kind);
  next.write(bytes);
  next.commit();
}

}  // namespace wick::detail

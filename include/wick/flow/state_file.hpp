/// \file
/// A state in a file of its own, that is whole at any moment: the old one or the new one, whenever the
/// machine stops.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <wick/flow/error.hpp>
#include <wick/flow/state.hpp>

namespace wick {

namespace detail {

[[noreturn]] inline void state_file_error(const char* what, const std::filesystem::path& path, int fault,
                                          const char* advice, const char* kind = "state") {
  throw error(printable(path.native()) + ": " + kind + ": " + what + ": " +
              std::generic_category().message(fault) + "; " + advice);
}

/// A descriptor that is closed with its scope.
class state_file {
 public:
  explicit state_file(int file) noexcept : file_(file) {}
  state_file(const state_file&) = delete;
  state_file& operator=(const state_file&) = delete;
  ~state_file() { close(); }
  int get() const noexcept { return file_; }
  bool close() noexcept {
    const int file = file_;
    file_ = -1;
    return file < 0 || ::close(file) == 0;
  }

 private:
  int file_;
};

/// What write_state() does, for a file of another kind: that is its name in errors.
inline void replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                         const char* kind) {
  constexpr const char* advice = "the file is as it was; is there room, and may this program write there?";
  std::filesystem::path temporary = path;
  temporary += ".writing-" + std::to_string(::getpid());
  detail::state_file file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) detail::state_file_error("can't be created", temporary, errno, advice, kind);
  const auto give_up = [&](const char* what) {
    const int fault = errno;
    ::unlink(temporary.c_str());
    detail::state_file_error(what, path, fault, advice, kind);
  };
  for (std::span<const std::byte> left = bytes; !left.empty();) {
    const ::ssize_t n = ::write(file.get(), left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) give_up("can't be written");
    left = left.subspan(static_cast<std::size_t>(n));
  }
  if (::fsync(file.get()) != 0 || !file.close()) give_up("can't be brought to the disk");
  if (::rename(temporary.c_str(), path.c_str()) != 0) give_up("can't take its name");
  // The name lies in the folder: it is on the disk when the folder is.
  const std::filesystem::path folder =
      path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  detail::state_file directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || (::fsync(directory.get()) != 0 && errno != EINVAL)) {
    detail::state_file_error("was written, but its folder can't be brought to the disk", path, errno,
                             "after a power failure the old one may be back", kind);
  }
}

}  // namespace detail

/// Replaces the file at `path` by these bytes: they are written to a neighbour, brought to the disk, and take
/// the name then. Whoever reads meanwhile, or after a crash, finds the whole old or the whole new one. Two
/// that write the same path at once don't mix: the last one wins. Keeps no other bytes than those of a state:
/// give it a training's whole checkpoint if that is small enough. \throws wick::error when a step fails; the
/// old file is as it was
inline void write_state(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  detail::replace_file(path, bytes, "state");
}

/// The bytes of a file that write_state() wrote, up to a state's size; load_state() checks them.
/// \throws wick::error when the file can't be read, or is too large for a state
inline std::vector<std::byte> read_state(const std::filesystem::path& path) {
  detail::state_file file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0)
    detail::state_file_error("can't be opened", path, errno, "begin a training without it, or give its path");
  std::vector<std::byte> out(loader_state::max_bytes + 1);
  std::size_t size = 0;
  while (size < out.size()) {
    const ::ssize_t n = ::read(file.get(), out.data() + size, out.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) detail::state_file_error("can't be read", path, errno, "take an older one");
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  if (size > loader_state::max_bytes) {
    throw error(printable(path.native()) + ": state: has more than the " +
                std::to_string(loader_state::max_bytes) +
                " bytes that a state has at most; is it the right file?");
  }
  out.resize(size);
  return out;
}

}  // namespace wick

// Opening and reading files, for threads that may block.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <sys/stat.h>

#include <wick/io/detail/plain_file.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

constexpr bool is_out_of_descriptors(int code) noexcept { return code == EMFILE || code == ENFILE; }

/// The system can't open or read a file.
class read_failure : public error {
 public:
  using error::error;
};
/// A failure that may be temporary.
class passing_read_failure : public read_failure, public passing_failure {
 public:
  using read_failure::read_failure;
};
/// Whether the file may be readable later, as when a server is away or memory is short.
bool may_pass(int code) noexcept;

/// \throws read_failure
[[noreturn]] void throw_io(const char* doing, int code);

/// \throws wick::error if it couldn't be opened or isn't a regular file
file_handle checked_file(plain_file opened);
/// \throws wick::error, also if it isn't a regular file
inline file_handle open_file(const char* path) { return checked_file(open_plain(path)); }

/// \throws wick::error if it isn't a regular file
std::uint64_t regular_size(const struct stat& about);

/// \throws wick::error if it isn't a regular file
std::uint64_t size_of_file(int fd);

/// The same without opening it. Blocks.
std::uint64_t size_of_file(const char* path);

/// Returns how many of `size` bytes were read; fewer only at the end of the file.
std::size_t read_up_to(int fd, std::byte* to, std::size_t size, std::uint64_t offset);

}  // namespace wick::detail

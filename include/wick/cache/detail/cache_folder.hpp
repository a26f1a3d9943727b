// The files of a cache on disk: their names and locks, and how to read and write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

#include <wick/io/detail/plain_file.hpp>

namespace wick::inline v0_1::detail::cache_folder {

std::string in_quotes(const std::string& path);
[[noreturn]] void refuse(const std::string& path, const char* what, int fault);

/// Waits for a lock, at most this long: the process that holds it may be stopped.
bool lock(int file, int how, int milliseconds) noexcept;

bool write_all(int file, std::span<const std::byte> all, std::uint64_t offset) noexcept;
/// False if the file is shorter, or on an error, with the reason in errno.
bool read_all(int file, std::byte* to, std::size_t size, std::uint64_t offset) noexcept;
/// Reads from the page cache only; fewer bytes, or -1, if it doesn't have all of them.
::ssize_t read_cached(int file, std::byte* to, std::size_t size, std::uint64_t offset) noexcept;

bool is_set_name(std::string_view name) noexcept;
std::string set_path(const std::string& folder, std::uint64_t set);
std::string segment_path(const std::string& set, std::uint32_t number);
/// 0 if it isn't a segment's name.
std::uint32_t segment_number(const std::string& name) noexcept;

/// The total bytes of a set's files.
std::uint64_t size_of_set(const std::string& set);
/// Makes a set, and holds a shared lock that marks it as in use. \throws wick::error
file_handle use(const std::string& set);
/// Removes a set that no process uses. False: one does.
bool remove_set(const std::string& set);

}  // namespace wick::detail::cache_folder

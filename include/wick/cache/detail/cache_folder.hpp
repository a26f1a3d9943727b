/// \file
/// The files of a cache on disk: their names, their locks, reading and writing them.
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

/// Waits for a lock, this long at most: the process that has it may be stopped.
bool lock(int file, int how, int milliseconds) noexcept;

bool write_all(int file, std::span<const std::byte> all, std::uint64_t offset) noexcept;
/// False when there is less, or errno says why.
bool read_all(int file, std::byte* to, std::size_t size, std::uint64_t offset) noexcept;
/// What the page cache has of a file; fewer bytes, or -1, where that ends.
::ssize_t read_cached(int file, std::byte* to, std::size_t size, std::uint64_t offset) noexcept;

bool is_set_name(std::string_view name) noexcept;
std::string set_path(const std::string& folder, std::uint64_t set);
std::string segment_path(const std::string& set, std::uint32_t number);
/// 0 when it is no segment's.
std::uint32_t segment_number(const std::string& name) noexcept;

/// The bytes that the files of a set take.
std::uint64_t size_of_set(const std::string& set);
/// Makes a set, and a shared lock that says that it is in use. \throws wick::error
file_handle use(const std::string& set);
/// Removes a set that no process uses. False: one does.
bool remove_set(const std::string& set);

}  // namespace wick::detail::cache_folder

/// \file
/// Words for bytes that are no picture, or not a whole one: what they probably are, where they end.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace wick::detail {

bool starts_with(std::span<const std::byte> data, std::string_view start, std::size_t at = 0) noexcept;

/// "a zip", "text", …; empty when nothing is known.
std::string_view guess_format(std::span<const std::byte> data) noexcept;

/// "50 4b 03 04, a zip": the first bytes in hex and a guess.
std::string describe_start(std::span<const std::byte> data);

[[noreturn]] void throw_truncated(std::string_view format, std::size_t size, const std::string& where);

}  // namespace wick::detail

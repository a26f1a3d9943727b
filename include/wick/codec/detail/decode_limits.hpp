/// \file
/// What a header lets stb_image take for the decoding of its picture.
#pragma once

#include <cstdint>

#include <wick/codec/codec.hpp>

namespace wick::detail {

/// The most bytes that stb_image gets in one piece. Beyond that it is told that there is no memory.
struct stb_limit {
  std::uint64_t bytes = 0;
  bool exceeded = false;  ///< set when something was refused
};

/// Whole units of a JPEG, at most 32 pixels a side; 16-bit samples or coefficients of at most four channels;
/// and tables.
stb_limit limit_of(const picture_info& info) noexcept;

[[noreturn]] void throw_over_limit(const picture_info& info, const stb_limit& limit);

}  // namespace wick::detail

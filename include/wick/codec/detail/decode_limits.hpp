// The memory that stb_image may use to decode an image, computed from its header.
#pragma once

#include <cstdint>
#include <string>

#include <wick/ext/codec.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

/// The largest block that stb_image can allocate. A larger request fails.
struct stb_limit {
  std::uint64_t bytes = 0;
  bool exceeded = false;  ///< set when a request was refused
};

/// Room for whole MCUs of at most 32 pixels a side, 16-bit samples or coefficients of up to four channels,
/// and tables.
inline stb_limit limit_of(const picture_info& info) noexcept {
  const auto width = static_cast<std::uint64_t>(info.width), height = static_cast<std::uint64_t>(info.height);
  return {(width + 31) * (height + 31) * 8 + (std::uint64_t{1} << 20)};
}

[[noreturn]] inline void throw_over_limit(const picture_info& info, const stb_limit& limit) {
  throw error(std::string(info.format) + " of " + size_text(info.width, info.height) +
              " px wants more than " + std::to_string(limit.bytes) +
              " bytes of memory in one piece; the file is damaged or hostile: write it again" +
              or_leave_it_out);
}

}  // namespace wick::detail

/// \file
/// The bodies of what codec/detail/decode_limits.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstdint>
#include <string>

#include <wick/codec/codec.hpp>
#include <wick/codec/detail/decode_limits.hpp>
#include <wick/sample/error.hpp>

namespace wick::detail {

stb_limit limit_of(const picture_info& info) noexcept {
  const auto width = static_cast<std::uint64_t>(info.width), height = static_cast<std::uint64_t>(info.height);
  return {(width + 31) * (height + 31) * 8 + (std::uint64_t{1} << 20)};
}

void throw_over_limit(const picture_info& info, const stb_limit& limit) {
  throw error(std::string(info.format) + " of " + size_text(info.width, info.height) +
              " px wants more than " + std::to_string(limit.bytes) +
              " bytes of memory in one piece; the file is damaged or hostile: write it again" +
              or_leave_it_out);
}

}  // namespace wick::detail

/// \file
/// The bodies of what codec/detail/gif_frame.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <wick/codec/detail/byte_order.hpp>
#include <wick/codec/detail/gif_frame.hpp>

namespace wick::detail {

bool find_gif_frame(std::span<const std::byte> encoded, gif_frame& out) {
  const auto table = [&](std::uint32_t flags, std::size_t at) {
    const std::size_t colors = (flags & 0x80) != 0 ? std::size_t{2} << (flags & 7) : 0;
    if (colors != 0) out.palette = at, out.colors = colors;
    return 3 * colors;
  };
  std::size_t at = 13 + table(byte_at(encoded, 10), 13);
  while (at < encoded.size()) {
    if (byte_at(encoded, at) == 0x2C) {
      out.left = static_cast<int>(little16(encoded, at + 1));
      out.top = static_cast<int>(little16(encoded, at + 3));
      out.width = static_cast<int>(little16(encoded, at + 5));
      out.height = static_cast<int>(little16(encoded, at + 7));
      const std::uint32_t flags = byte_at(encoded, at + 9);
      out.interlaced = (flags & 0x40) != 0;
      out.codes = at + 10 + table(flags, at + 10);
      return out.codes < encoded.size();
    }
    if (byte_at(encoded, at) != 0x21) return false;  // check_gif_complete says so
    const bool control = byte_at(encoded, at + 1) == 0xF9 && byte_at(encoded, at + 2) >= 4;
    if (control && (byte_at(encoded, at + 3) & 1) != 0)
      out.transparent = static_cast<int>(byte_at(encoded, at + 6));
    at += 2;
    while (at < encoded.size() && byte_at(encoded, at) != 0) at += 1 + byte_at(encoded, at);
    ++at;
  }
  return false;
}

}  // namespace wick::detail

// Finds the first frame of a GIF. CompuServe, "Graphics Interchange Format", 89a.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <wick/codec/detail/byte_order.hpp>

namespace wick::inline v0_1::detail {

/// The first frame's place in the file and on the canvas.
struct gif_frame {
  int left = 0, top = 0, width = 0, height = 0;
  bool interlaced = false;
  int transparent = -1;     // the index of the transparent color; -1: none
  std::size_t palette = 0;  // its offset in the file; 0: gray levels
  std::size_t colors = 0;   // in the palette
  std::size_t codes = 0;    // the offset of the minimum code size
};

/// False when the file ends before the frame.
inline bool find_gif_frame(std::span<const std::byte> encoded, gif_frame& out) {
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
    if (byte_at(encoded, at) != 0x21) return false;  // check_gif_complete reports it
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

// Reads the header of a BMP or GIF without decoding pixels, and checks that its (first) image is complete.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <wick/codec/detail/byte_order.hpp>
#include <wick/codec/detail/gif_frame.hpp>
#include <wick/codec/detail/signature.hpp>
#include <wick/ext/codec.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

/// \throws wick::error when the file ends inside the header
inline bool probe_bmp(std::span<const std::byte> encoded, picture_info& info) {
  if (!starts_with(encoded, "BM") || encoded.size() < 18) return false;
  const std::uint32_t header = little32(encoded, 14);
  if (header != 12 && header != 40 && header != 52 && header != 56 && header != 64 && header != 108 &&
      header != 124)
    return false;
  info.format = "BMP";
  if (encoded.size() < 14 + header) throw_truncated("BMP", encoded.size(), "inside its header");
  if (header == 12) {
    info.width = little16(encoded, 18);
    info.height = little16(encoded, 20);
    info.bits = static_cast<int>(little16(encoded, 24));
  } else {
    info.width = static_cast<std::int32_t>(little32(encoded, 18));
    info.height = static_cast<std::int32_t>(little32(encoded, 22));
    if (info.height < 0) info.height = -info.height;  // top row first
    info.bits = static_cast<int>(little16(encoded, 28));
  }
  const bool alpha = info.bits == 32 && header >= 56 && little32(encoded, 66) != 0;
  info.channels = alpha ? 4 : 3;
  info.bits = 8;
  return true;
}

/// \throws wick::error when the file is too short for its rows. Leaves run-length encoded files to the
/// decoder.
inline void check_bmp_complete(std::span<const std::byte> encoded, const picture_info& info) {
  const bool old = little32(encoded, 14) == 12;
  const std::uint32_t compression = old ? 0 : little32(encoded, 30);
  if (compression != 0 && compression != 3) return;
  const std::uint64_t bits = little16(encoded, old ? 24 : 28);
  const std::uint64_t row = (static_cast<std::uint64_t>(info.width) * bits + 31) / 32 * 4;
  const std::uint64_t wanted = little32(encoded, 10) + row * static_cast<std::uint64_t>(info.height);
  // Many writers omit the padding of the last row.
  const std::uint64_t padding = row - (static_cast<std::uint64_t>(info.width) * bits + 7) / 8;
  if (encoded.size() + padding < wanted) {
    throw_truncated("BMP", encoded.size(), "of " + std::to_string(wanted));
  }
}

/// \throws wick::error when the file ends inside the header
inline bool probe_gif(std::span<const std::byte> encoded, picture_info& info) {
  if (!starts_with(encoded, "GIF87a") && !starts_with(encoded, "GIF89a")) return false;
  info.format = "GIF";
  if (encoded.size() < 13) throw_truncated("GIF", encoded.size(), "inside its header");
  info.width = little16(encoded, 6);
  info.height = little16(encoded, 8);
  info.channels = 3;
  info.palette = true;
  gif_frame first;  // as in Pillow, the canvas grows if it's too small for the frame
  if (find_gif_frame(encoded, first)) {
    info.width = std::max<std::int64_t>(info.width, first.left + first.width);
    info.height = std::max<std::int64_t>(info.height, first.top + first.height);
  }
  return true;
}

/// \throws wick::error when the file ends before the end of its first frame
inline void check_gif_complete(std::span<const std::byte> encoded) {
  const auto table = [](std::uint32_t flags) {
    return (flags & 0x80) != 0 ? std::size_t{6} << (flags & 7) : 0;
  };
  std::size_t at = 13 + table(byte_at(encoded, 10));
  bool frame = false;
  while (at < encoded.size()) {
    const std::uint32_t kind = byte_at(encoded, at);
    if (kind == 0x21) {
      at += 2;
    } else if (kind == 0x2C) {
      frame = true;
      at += 11 + table(byte_at(encoded, at + 9));
    } else {
      throw error("damaged GIF: block " + std::to_string(kind) + " at " + std::to_string(at) +
                  " where a frame should be; write the file again or remove it");
    }
    while (at < encoded.size() && byte_at(encoded, at) != 0) at += 1 + byte_at(encoded, at);
    if (at < encoded.size() && frame) return;
    ++at;
  }
  throw_truncated("GIF", encoded.size(), "inside its first frame");
}

}  // namespace wick::detail

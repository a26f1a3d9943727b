// Implements codec/detail/plain_bmp.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include <wick/codec/detail/byte_order.hpp>
#include <wick/codec/detail/plain_bmp.hpp>
#include <wick/codec/detail/signature.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// The layout that the headers describe.
struct bmp_layout {
  explicit bmp_layout(std::span<const std::byte> encoded)
      : header(little32(encoded, 14)),
        entry(header == 12 ? 3 : 4),
        bits(little16(encoded, header == 12 ? 24 : 28)),
        compression(header == 12 ? 0 : little32(encoded, 30)),
        offset(std::min<std::size_t>(little32(encoded, 10), encoded.size())) {
    // With the 40-byte header, the masks for 16 and 32 bits come after it.
    if (header == 40 && compression == 3) masks = 12;
    const std::size_t before = 14 + header + masks;
    gap = offset > before ? offset - before : 0;
    if (bits <= 8) stored = std::min(gap / entry, colors());
  }
  std::size_t colors() const noexcept { return std::size_t{1} << bits; }
  bool run_length() const noexcept { return compression == 1 || compression == 2; }
  /// Whether stb_image reads it correctly. It reads uninitialized memory for a color that the palette omits,
  /// takes the palette of OS/2's short header (three bytes a color) to be four colors shorter than it is, and
  /// rejects some gaps before the pixels.
  bool plain() const noexcept {
    if (bits <= 8) return compression == 3 || (compression == 0 && header != 12 && gap == 4 * colors());
    return gap == 0;
  }

  std::size_t header, entry, bits, compression;
  std::size_t offset;      ///< of the pixels
  std::size_t masks = 0;   ///< bytes
  std::size_t gap = 0;     ///< bytes between the headers and the pixels: the palette, and a gap
  std::size_t stored = 0;  ///< colors
};

[[noreturn]] void refuse_bmp(const bmp_layout& of) {
  const char* const what = of.header == 64 && of.compression == 3   ? "OS/2's Huffman coding"
                           : of.header == 64 && of.compression == 4 ? "OS/2's run lengths of 24 bits"
                           : of.compression == 4                    ? "a JPEG inside"
                           : of.compression == 5                    ? "a PNG inside"
                                                                    : nullptr;
  throw error("BMP with " +
              (what != nullptr ? std::string(what)
                               : "compression " + std::to_string(of.compression) + " of " +
                                     std::to_string(of.bits) + " bits") +
              ", which isn't supported; convert it to PNG" + or_leave_it_out);
}

/// Decodes RLE8 and RLE4. Pixels that the codes skip have the first color.
void expand_runs(std::span<const std::byte> codes, std::size_t bits, std::size_t width, std::size_t height,
                 std::size_t row, std::byte* to) {
  std::size_t x = 0, y = 0;
  const auto put = [&](std::uint32_t color) {
    if (x < width && y < height) to[y * row + x] = static_cast<std::byte>(color);
    ++x;
  };
  const auto half = [](std::uint32_t both, std::size_t i) { return i % 2 == 0 ? both >> 4 : both & 15; };
  for (std::size_t at = 0; at + 1 < codes.size() && y < height; at += 2) {
    const std::uint32_t count = byte_at(codes, at), value = byte_at(codes, at + 1);
    if (count != 0) {
      for (std::size_t i = 0; i < count; ++i) put(bits == 8 ? value : half(value, i));
    } else if (value == 0) {  // end of line
      x = 0;
      ++y;
    } else if (value == 1) {  // end of bitmap
      return;
    } else if (value == 2) {  // delta: moves the position
      x += byte_at(codes, at + 2);
      y += byte_at(codes, at + 3);
      at += 2;
    } else {  // absolute mode: `value` colors, padded to an even number of bytes
      const std::size_t size = (value * bits + 7) / 8;
      if (at + 2 + size > codes.size()) break;
      for (std::size_t i = 0; i < value; ++i)
        put(bits == 8 ? byte_at(codes, at + 2 + i) : half(byte_at(codes, at + 2 + i / 2), i));
      at += (size + 1) / 2 * 2;
    }
  }
  // The end-of-bitmap code may be missing after the last row.
  if (y + 1 < height || (y + 1 == height && x < width))
    throw_truncated("BMP", codes.size(), "of compressed pixels, in row " + std::to_string(y));
}

}  // namespace

bytes plain_bmp(std::span<const std::byte> encoded, const picture_info& info) {
  const bmp_layout of(encoded);
  const bool runs = of.run_length();
  if (runs ? of.bits != (of.compression == 1 ? 8 : 4) || of.header == 12
           : of.compression != 0 && !(of.compression == 3 && of.header != 64))
    refuse_bmp(of);
  if (!runs && of.plain()) return {};
  const auto width = static_cast<std::size_t>(info.width), height = static_cast<std::size_t>(info.height);
  const std::size_t bits = runs ? 8 : of.bits, colors = bits <= 8 ? std::size_t{1} << bits : 0;
  const std::size_t header = colors != 0 ? 40 : of.header;
  const std::size_t start = 14 + header + of.masks + 4 * colors, row = (width + 3) / 4 * 4;
  bytes out(start + (runs ? row * height : encoded.size() - of.offset));
  std::byte* const to = out.data();
  const auto put = [to](std::size_t at, std::size_t value, int count) {
    for (int i = 0; i < count; ++i)
      to[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(value >> (8 * i) & 255u);
  };
  if (colors == 0) {
    std::memcpy(to, encoded.data(), start);
  } else {
    const bool small = of.header == 12;
    std::memset(to, 0, runs ? out.size() : start);
    std::memcpy(to, encoded.data(), 2);
    put(14, 40, 4);
    put(18, small ? little16(encoded, 18) : little32(encoded, 18), 4);
    put(22, small ? little16(encoded, 20) : little32(encoded, 22), 4);
    put(26, 1, 2);
    put(28, bits, 2);
    for (std::size_t i = 0; i < of.stored; ++i)
      std::memcpy(to + 54 + 4 * i, encoded.data() + 14 + of.header + of.entry * i, 3);
  }
  put(10, start, 4);
  if (runs)
    expand_runs(encoded.subspan(of.offset), of.bits, width, height, row, to + start);
  else
    std::memcpy(to + start, encoded.data() + of.offset, encoded.size() - of.offset);
  return out;
}

}  // namespace wick::detail

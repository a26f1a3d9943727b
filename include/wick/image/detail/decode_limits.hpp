/// \file
/// What a header lets the decoding of its picture take. stb_image itself goes on for as long as the data
/// does: inflates gigabytes for 8 x 8 pixels, or writes a pixel of a GIF a billion times.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include <wick/flow/error.hpp>
#include <wick/image/codec.hpp>
#include <wick/image/detail/byte_order.hpp>

namespace wick::detail {

/// The most bytes that stb_image gets in one piece. Beyond that it is told that there is no memory.
struct stb_limits {
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  enum class part : std::uint8_t { none, pixels, compressed, inflated };

  std::uint64_t pixels = unlimited;      ///< and tables
  std::uint64_t compressed = unlimited;  ///< a PNG's IDAT chunks, put together
  std::uint64_t inflated = unlimited;    ///< what comes out of them
  part exceeded = part::none;            ///< set when something was refused
};

/// Bytes that a PNG's scanlines are after inflation: each begins with the number of its filter, and of an
/// interlaced picture there are seven smaller ones. ISO/IEC 15948, 7.2 and 8.2.
inline std::uint64_t png_scanline_bytes(std::span<const std::byte> encoded) noexcept {
  const std::uint64_t width = big32(encoded, 16), height = big32(encoded, 20);
  const std::uint32_t color = byte_at(encoded, 25);
  const std::uint64_t samples = color == 2 ? 3 : color == 4 ? 2 : color == 6 ? 4 : 1;
  const std::uint64_t pixel_bits = samples * byte_at(encoded, 24);
  const auto bytes = [&](std::uint64_t w, std::uint64_t h) {
    return w == 0 ? 0 : h * ((w * pixel_bits + 7) / 8 + 1);
  };
  if (byte_at(encoded, 28) == 0) return bytes(width, height);
  struct pass {
    std::uint64_t x, y, across, down;
  };
  constexpr pass adam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                            {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  std::uint64_t sum = 0;
  for (const pass& p : adam7) {
    sum += bytes((width + p.across - 1 - p.x) / p.across, (height + p.down - 1 - p.y) / p.down);
  }
  return sum;
}

/// Deflate needs fewer bytes than there are, or a few more; an encoder that flushes at each row of one pixel
/// needs five times as many. stb_image doubles what it has, up to twice what it needs.
inline stb_limits limits_of(std::span<const std::byte> encoded, const picture_info& info) noexcept {
  constexpr std::uint64_t slack = std::uint64_t{1} << 16;
  stb_limits out;
  // Whole units of a JPEG, at most 32 pixels a side; 16-bit samples or coefficients of at most four channels.
  const auto width = static_cast<std::uint64_t>(info.width), height = static_cast<std::uint64_t>(info.height);
  out.pixels = (width + 31) * (height + 31) * 8 + (slack << 4);
  if (info.format == "PNG") {
    const std::uint64_t needed = png_scanline_bytes(encoded);
    out.inflated = std::max(2 * needed, slack);
    out.compressed = 2 * (16 * needed + slack);
  }
  return out;
}

[[noreturn]] inline void throw_over_limit(std::span<const std::byte> encoded, const picture_info& info,
                                          const stb_limits& limits) {
  const std::string size = size_text(info.width, info.height) + " px";
  std::string what;
  switch (limits.exceeded) {
    case stb_limits::part::inflated:
      what = " inflates to more than twice the " + std::to_string(png_scanline_bytes(encoded)) +
             " bytes that its header can need (" + size + ")";
      break;
    case stb_limits::part::compressed:
      what = " has over " + std::to_string(limits.compressed / 2) + " compressed bytes, and its header (" +
             size + ") can need no more than " + std::to_string(png_scanline_bytes(encoded)) +
             " inflated ones";
      break;
    default:
      what = " of " + size + " wants more than " + std::to_string(limits.pixels) +
             " bytes of memory in one piece";
  }
  throw error(std::string(info.format) + what + "; the file is damaged or hostile: write it again" +
              or_leave_it_out);
}

/// How many pixels the codes of a GIF's first frame stand for. Each is written, or found to lie outside of
/// the frame, by its own walk through the table: twelve bits may be a walk of 4,000 steps. Here a code is one
/// step.
class gif_frame_codes {
 public:
  explicit gif_frame_codes(std::span<const std::byte> encoded) : data_(encoded) {
    at_ = 13 + table_bytes(byte_at(data_, 10));
    while (byte_at(data_, at_) == 0x21) {
      at_ += 2;
      while (byte_at(data_, at_) != 0) at_ += 1 + byte_at(data_, at_);
      ++at_;
    }
    if (byte_at(data_, at_) != 0x2C) return;
    width = little16(data_, at_ + 5);
    height = little16(data_, at_ + 7);
    at_ += 10 + table_bytes(byte_at(data_, at_ + 9));
    count();
  }

  std::uint64_t width = 0, height = 0;  ///< of the frame
  std::uint64_t pixels = 0;

 private:
  static constexpr unsigned most_codes = 8192;  // of stb_image's table; others end at 4096

  static std::size_t table_bytes(std::uint32_t flags) noexcept {
    return (flags & 0x80) != 0 ? std::size_t{6} << (flags & 7) : 0;
  }
  /// As stb_image reads them: what it ends at, or refuses, ends this.
  void count() {
    const unsigned first_bits = byte_at(data_, at_++);
    if (first_bits > 12) return;
    std::array<std::uint16_t, most_codes> length{};
    const unsigned clear = 1u << first_bits;
    std::fill_n(length.begin(), clear, std::uint16_t{1});
    unsigned bits = first_bits + 1, next = clear + 2, previous = most_codes;
    for (unsigned code = read(bits); code != no_code && code != clear + 1; code = read(bits)) {
      if (code == clear) {
        bits = first_bits + 1;
        next = clear + 2;
        previous = most_codes;
        continue;
      }
      if (code > next || (code == next && previous == most_codes)) return;
      if (previous != most_codes) {
        if (next == most_codes) return;
        length[next++] = static_cast<std::uint16_t>(length[previous] + 1);
      }
      pixels += length[code];
      if ((next & ((1u << bits) - 1)) == 0 && next < 4096) ++bits;
      previous = code;
    }
  }
  static constexpr unsigned no_code = most_codes * 2;
  unsigned read(unsigned bits) noexcept {
    while (have_ < bits) {
      if (block_ == 0) block_ = byte_at(data_, at_++);
      if (block_ == 0) return no_code;
      --block_;
      buffer_ |= byte_at(data_, at_++) << have_;
      have_ += 8;
    }
    const unsigned code = buffer_ & ((1u << bits) - 1);
    buffer_ >>= bits;
    have_ -= bits;
    return code;
  }

  std::span<const std::byte> data_;
  std::size_t at_ = 0;
  std::uint32_t buffer_ = 0, have_ = 0, block_ = 0;
};

/// \throws wick::error when they are more than twice as many as the frame has
inline void check_gif_codes(std::span<const std::byte> encoded) {
  const gif_frame_codes codes(encoded);
  const std::uint64_t has = codes.width * codes.height;
  if (codes.pixels <= 2 * has + (1u << 16)) return;
  throw error("GIF whose first frame is " +
              size_text(static_cast<std::int64_t>(codes.width), static_cast<std::int64_t>(codes.height)) +
              " px and has codes for " + std::to_string(codes.pixels) +
              ", more pixels than it can need; the file is damaged or hostile: write it again" +
              or_leave_it_out);
}

}  // namespace wick::detail

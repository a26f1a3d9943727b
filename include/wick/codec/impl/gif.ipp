// The first frame of a GIF. Included in exactly one file of a program, with stb_image.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <wick/codec/detail/gif_frame.hpp>
#include <wick/codec/detail/palette.hpp>
#include <wick/codec/detail/signature.hpp>
#include <wick/codec/detail/stb.hpp>
#include <wick/ext/codec.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1::detail {

[[noreturn]] inline void throw_damaged_gif(const std::string& what) {
  throw error("damaged GIF: " + what + "; write the file again" + or_leave_it_out);
}

/// Reads a frame's codes (LZW, up to 12 bits) from its sub-blocks.
class gif_codes {
 public:
  gif_codes(std::span<const std::byte> encoded, std::size_t at) noexcept : data_(encoded), at_(at) {}
  /// -1 at the end of the file.
  int next(int bits) noexcept {
    while (held_ < bits) {
      if (left_ == 0) {
        left_ = byte_at(data_, at_++);
        if (left_ == 0 || at_ > data_.size()) return -1;
      }
      buffer_ |= byte_at(data_, at_++) << held_;
      held_ += 8;
      --left_;
    }
    const int code = static_cast<int>(buffer_ & ((1u << bits) - 1));
    buffer_ >>= bits;
    held_ -= bits;
    return code;
  }

 private:
  std::span<const std::byte> data_;
  std::size_t at_;
  std::uint32_t left_ = 0, buffer_ = 0;
  int held_ = 0;
};

/// The frame's color numbers, in stored row order. \throws wick::error when some are missing, or there are
/// far too many
inline std::vector<std::uint8_t> read_gif_numbers(std::span<const std::byte> encoded,
                                                  const gif_frame& frame) {
  const auto first_bits = static_cast<int>(byte_at(encoded, frame.codes));
  if (first_bits < 1 || first_bits > 11)
    throw_damaged_gif("codes of " + std::to_string(first_bits) + " bits");
  const std::size_t pixels = static_cast<std::size_t>(frame.width) * static_cast<std::size_t>(frame.height);
  std::vector<std::uint8_t> out(pixels);
  const int clear = 1 << first_bits, end = clear + 1;
  std::array<std::uint16_t, 4096> before{}, length{};
  std::array<std::uint8_t, 4096> last{}, first{};
  for (int c = 0; c < clear; ++c) {
    length[static_cast<std::size_t>(c)] = 1;
    last[static_cast<std::size_t>(c)] = first[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(c);
  }
  gif_codes codes(encoded, frame.codes + 1);
  std::size_t got = 0;  // counts pixels past the frame's end, too
  int bits = first_bits + 1, next = end + 1, previous = -1;
  for (;;) {
    const int code = codes.next(bits);
    if (code < 0 || code == end) break;
    if (code == clear) {
      bits = first_bits + 1;
      next = end + 1;
      previous = -1;
      continue;
    }
    if (code > next || (code == next && previous < 0) || (previous < 0 && code > end))
      throw_damaged_gif("code " + std::to_string(code) + " stands for nothing yet");
    if (previous >= 0 && next < 4096) {
      const auto n = static_cast<std::size_t>(next), p = static_cast<std::size_t>(previous);
      before[n] = static_cast<std::uint16_t>(previous);
      length[n] = static_cast<std::uint16_t>(length[p] + 1);
      first[n] = first[p];
      last[n] = first[code == next ? p : static_cast<std::size_t>(code)];
      if (++next == 1 << bits && bits < 12) ++bits;
    } else if (code >= next) {
      throw_damaged_gif("code " + std::to_string(code) + " stands for nothing");
    }
    // Written from its end backward; pixels past the frame's end are dropped.
    auto c = static_cast<std::size_t>(code);
    const std::size_t run = length[c];
    if (got < pixels) {
      for (std::size_t k = run; k-- > 0; c = before[c]) {
        if (got + k < pixels) out[got + k] = last[c];
      }
    }
    got += run;
    if (got > 2 * pixels + 65536) {
      throw error("GIF whose codes stand for more pixels than its frame of " +
                  size_text(frame.width, frame.height) +
                  " px has (damaged or hostile?); write the file again" + or_leave_it_out);
    }
    previous = code;
  }
  if (got < pixels)
    throw_damaged_gif("codes for " + std::to_string(got) + " of " + std::to_string(pixels) + " pixels");
  return out;
}

/// The first frame on its background, which is the transparent color or color 0. As in Pillow, transparent
/// pixels have the color that the palette gives for their number. \throws wick::error when it's damaged
image decode_gif(std::span<const std::byte> encoded, const picture_info& info, int channels, bool indexes) {
  gif_frame frame;
  if (!find_gif_frame(encoded, frame)) throw_truncated("GIF", encoded.size(), "before its first frame");
  const auto width = static_cast<int>(info.width), height = static_cast<int>(info.height);
  if (frame.left + frame.width > width || frame.top + frame.height > height)
    throw_damaged_gif("a frame larger than the picture");
  palette_table colors;
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t at = frame.palette + 3 * i;
    const auto level = [&](std::size_t c) {
      return frame.palette == 0 ? static_cast<std::uint8_t>(i)
             : i < frame.colors ? static_cast<std::uint8_t>(byte_at(encoded, at + c))
                                : std::uint8_t{0};
    };
    colors.set(i, level(0), level(1), level(2), static_cast<int>(i) == frame.transparent ? 0 : 255);
  }
  if (frame.width == 0 || frame.height == 0) throw_damaged_gif("a frame without pixels");
  const std::vector<std::uint8_t> numbers = read_gif_numbers(encoded, frame);
  const picked_levels levels(colors, channels, indexes);
  image out(width, height, channels);
  const auto ground = static_cast<std::uint8_t>(std::max(frame.transparent, 0));
  std::vector<std::uint8_t> row(static_cast<std::size_t>(width), ground);
  const bool fills = frame.width == width && frame.height == height;
  for (int y = 0; y < height && !fills; ++y) levels.write(row.data(), row.size(), out.row(y));
  static constexpr int starts[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
  const std::uint8_t* from = numbers.data();
  for (int pass = frame.interlaced ? 0 : 3; pass < 4; ++pass) {
    for (int y = frame.interlaced ? starts[pass] : 0; y < frame.height;
         y += frame.interlaced ? steps[pass] : 1) {
      levels.write(from, static_cast<std::size_t>(frame.width),
                   out.row(frame.top + y) + frame.left * channels);
      from += frame.width;
    }
  }
  return out;
}

}  // namespace wick::detail

// Decodes PNGs of any depth, with or without a palette, to 8 or 16 bits. Included in exactly one file of a
// program, with stb_image. W3C, "Portable Network Graphics (PNG) Specification", second edition.
#pragma once

#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <wick/codec/detail/palette.hpp>
#include <wick/codec/detail/stb.hpp>
#include <wick/codec/impl/png_data.ipp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1::detail {

/// The chunks before the pixels.
struct png_head {
  enum kind : std::uint32_t { gray = 0, rgb = 2, palette = 3, gray_alpha = 4, rgba = 6 };

  /// \throws wick::error for values that the specification doesn't allow
  explicit png_head(std::span<const std::byte> encoded) {
    width = static_cast<int>(big32(encoded, 16));
    height = static_cast<int>(big32(encoded, 20));
    bits = static_cast<int>(byte_at(encoded, 24));
    color = byte_at(encoded, 25);
    interlaced = byte_at(encoded, 28) == 1;
    samples = color == rgb ? 3 : color == gray_alpha ? 2 : color == rgba ? 4 : 1;
    const bool few = bits == 1 || bits == 2 || bits == 4;
    const bool known = color == gray      ? few || bits == 8 || bits == 16
                       : color == palette ? few || bits == 8
                                          : (color == rgb || color == gray_alpha || color == rgba) &&
                                                (bits == 8 || bits == 16);
    if (!known)
      throw_damaged_png("no picture has color type " + std::to_string(color) + " with " +
                        std::to_string(bits) + " bits");
    if (byte_at(encoded, 26) != 0 || byte_at(encoded, 27) != 0 || byte_at(encoded, 28) > 1) {
      throw_damaged_png("its compression, filter or interlace method is none of the standard's");
    }
    for (std::size_t at = 33; at + 12 <= encoded.size();) {
      const std::size_t length = big32(encoded, at);
      const std::uint32_t type = big32(encoded, at + 4);
      if (type == chunk_type("IDAT") || length > encoded.size() - at - 12) {
        first_data = at;
        break;
      }
      if (type == chunk_type("PLTE")) colors = encoded.subspan(at + 8, length);
      if (type == chunk_type("tRNS")) transparent = encoded.subspan(at + 8, length);
      at += 12 + length;
    }
    if (color == palette && colors.empty())
      throw_damaged_png("it has a color's number for each pixel, and no palette");
    keyed = (color == gray && transparent.size() >= 2) || (color == rgb && transparent.size() >= 6);
    // Only the low `bits` bits of a transparent color's samples count.
    for (int c = 0; keyed && c < samples; ++c) {
      key[static_cast<std::size_t>(c)] =
          big16(transparent, 2 * static_cast<std::size_t>(c)) & ((1u << bits) - 1);
    }
  }

  int pixel_bits() const noexcept { return samples * bits; }
  /// Without the filter byte.
  std::size_t row_bytes(int pixels) const noexcept {
    return (static_cast<std::size_t>(pixels) * static_cast<std::size_t>(pixel_bits()) + 7) / 8;
  }

  int width = 0, height = 0, bits = 0, samples = 0;
  std::uint32_t color = gray;
  bool interlaced = false;
  std::size_t first_data = 0;
  std::span<const std::byte> colors, transparent;
  bool keyed = false;  // one color is transparent: `key`
  std::array<std::uint32_t, 3> key{};
};

/// The pixels of one pass: every `across`th column and `down`th row, starting at (left, top). An interlaced
/// PNG has seven passes (Adam7); any other has a single pass with all pixels.
struct png_pass {
  int left = 0, top = 0, across = 1, down = 1;
  int width(const png_head& of) const noexcept {
    return of.width > left ? (of.width - left + across - 1) / across : 0;
  }
  int height(const png_head& of) const noexcept {
    return of.height > top ? (of.height - top + down - 1) / down : 0;
  }
};

inline std::span<const png_pass> png_passes(const png_head& head) noexcept {
  static constexpr png_pass whole{};
  static constexpr png_pass adam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                       {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  return head.interlaced ? std::span<const png_pass>(adam7) : std::span<const png_pass>(&whole, 1);
}

/// Undoes the filters that use the pixel to the left, whose Step bytes stay in registers.
template <unsigned filter, std::size_t Step>
inline void unfilter_png_row(std::uint8_t* row, const std::uint8_t* above, std::size_t size) noexcept {
  std::array<int, Step> left{}, corner{};  // a row is whole pixels
  for (std::size_t i = 0; i + Step <= size; i += Step) {
    for (std::size_t k = 0; k < Step; ++k) {
      const int a = left[k], b = above[i + k], c = corner[k];
      int guess = a;
      if constexpr (filter == 3) guess = (a + b) / 2;
      if constexpr (filter == 4) {
        const int to_a = std::abs(b - c), to_b = std::abs(a - c), to_c = std::abs(a + b - 2 * c);
        guess = to_b < to_a ? b : a;
        if (to_c < std::min(to_a, to_b)) guess = c;
      }
      corner[k] = b;
      left[k] = row[i + k] = static_cast<std::uint8_t>(row[i + k] + guess);
    }
  }
}

/// Undoes a row's filter in place. A pixel takes `step` bytes (at least one); `above` is the previous row,
/// already unfiltered.
inline void unfilter_png_row(unsigned filter, std::uint8_t* row, const std::uint8_t* above, std::size_t size,
                             std::size_t step) {
  if (filter > 4) throw_damaged_png("a row has filter " + std::to_string(filter) + ", which there is not");
  if (filter == 0) return;
  if (filter == 2) {
    for (std::size_t i = 0; i < size; ++i) row[i] = static_cast<std::uint8_t>(row[i] + above[i]);
    return;
  }
  const auto undo = [&]<unsigned Filter>(std::integral_constant<unsigned, Filter>) {
    switch (step) {
      case 1:
        return unfilter_png_row<Filter, 1>(row, above, size);
      case 2:
        return unfilter_png_row<Filter, 2>(row, above, size);
      case 3:
        return unfilter_png_row<Filter, 3>(row, above, size);
      case 4:
        return unfilter_png_row<Filter, 4>(row, above, size);
      case 6:
        return unfilter_png_row<Filter, 6>(row, above, size);
      default:
        return unfilter_png_row<Filter, 8>(row, above, size);
    }
  };
  if (filter == 1) undo(std::integral_constant<unsigned, 1>());
  if (filter == 3) undo(std::integral_constant<unsigned, 3>());
  if (filter == 4) undo(std::integral_constant<unsigned, 4>());
}

/// Converts stored rows to pixels of 8 or 16 bits.
template <class Level>
class png_pixels {
 public:
  png_pixels(const png_head& head, int channels, bool indexes)
      : head_(head),
        channels_(channels),
        picked_(table(head), channels, indexes),
        numbers_(static_cast<std::size_t>(head.width)) {}

  /// Writes `count` pixels of `row` to every `step`th pixel, starting at `out`.
  void write(const std::uint8_t* row, int count, Level* out, int step) {
    const bool numbers = head_.bits < 16 && head_.samples == 1;
    if (step == 1) return numbers ? write_numbers(row, count, out) : write_samples(row, count, out);
    line_.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(channels_));
    numbers ? write_numbers(row, count, line_.data()) : write_samples(row, count, line_.data());
    for (int x = 0; x < count; ++x)
      std::copy_n(line_.data() + x * channels_, channels_, out + std::ptrdiff_t{x} * step * channels_);
  }

 private:
  static palette_table table(const png_head& head) {
    palette_table out;
    if (head.color == png_head::palette) {
      const std::size_t n = std::min<std::size_t>(head.colors.size() / 3, 256);
      for (std::size_t i = 0; i < n; ++i) {
        const auto level = [&](std::size_t c) { return static_cast<int>(byte_at(head.colors, 3 * i + c)); };
        out.set(i, level(0), level(1), level(2),
                i < head.transparent.size() ? static_cast<int>(byte_at(head.transparent, i)) : 255);
      }
    } else if (head.color == png_head::gray && head.bits <= 8) {
      const int most = (1 << head.bits) - 1;
      for (int i = 0; i <= most; ++i) {
        const int level = i * (255 / most);
        out.set(static_cast<std::size_t>(i), level, level, level,
                head.keyed && head.key[0] == static_cast<unsigned>(i) ? 0 : 255);
      }
    }
    return out;
  }

  void write_numbers(const std::uint8_t* row, int count, Level* out) {
    if constexpr (sizeof(Level) == 1) {
      const auto n = static_cast<std::size_t>(count);
      if (head_.bits == 8) return picked_.write(row, n, out);
      switch (head_.bits) {
        case 1:
          unpack<1>(row, n);
          break;
        case 2:
          unpack<2>(row, n);
          break;
        default:
          unpack<4>(row, n);
      }
      picked_.write(numbers_.data(), n, out);
    }
  }
  /// Unpacks a row of Bits-bit numbers to one byte each.
  template <unsigned Bits>
  void unpack(const std::uint8_t* row, std::size_t count) noexcept {
    constexpr std::size_t together = 8 / Bits;
    constexpr unsigned mask = (1u << Bits) - 1;
    std::uint8_t* to = numbers_.data();
    const auto one = [](unsigned byte, std::size_t i) {
      return static_cast<std::uint8_t>(byte >> (8 - Bits - Bits * i) & mask);
    };
    for (; count >= together; count -= together, to += together) {
      const unsigned byte = *row++;
      for (std::size_t i = 0; i < together; ++i) to[i] = one(byte, i);
    }
    for (std::size_t i = 0; i < count; ++i) to[i] = one(*row, i);
  }
  void write_samples(const std::uint8_t* row, int count, Level* out) const {
    if (head_.bits == 8 && sizeof(Level) == 1 && channels_ == head_.samples) {
      std::memcpy(out, row, static_cast<std::size_t>(count) * static_cast<std::size_t>(channels_));
      return;
    }
    head_.bits == 8 ? convert<1>(row, count, out) : convert<2>(row, count, out);
  }
  template <int Bytes>
  void convert(const std::uint8_t* row, int count, Level* out) const {
    constexpr bool cut = Bytes > sizeof(Level);
    constexpr auto most = static_cast<Level>(~Level{0});
    const int samples = head_.samples;
    const bool colors = samples >= 3, alpha = samples % 2 == 0;
    for (int x = 0; x < count; ++x, row += samples * Bytes, out += channels_) {
      std::uint32_t stored[4] = {};
      for (int c = 0; c < samples; ++c) {
        stored[c] = Bytes == 1 ? row[c] : static_cast<std::uint32_t>(row[2 * c]) << 8 | row[2 * c + 1];
      }
      bool seen = true;
      if (head_.keyed)
        seen =
            stored[0] != head_.key[0] || (colors && (stored[1] != head_.key[1] || stored[2] != head_.key[2]));
      std::uint32_t v[4];
      for (int c = 0; c < 4; ++c) v[c] = cut ? stored[c] >> 8 : stored[c];
      const auto a = static_cast<Level>(alpha ? v[samples - 1] : seen ? most : Level{0});
      if (channels_ >= 3) {
        for (int c = 0; c < 3; ++c) out[c] = static_cast<Level>(colors ? v[c] : v[0]);
      } else {
        out[0] = static_cast<Level>(colors ? rounded_luma(v[0], v[1], v[2]) : v[0]);
      }
      if (channels_ % 2 == 0) out[channels_ - 1] = a;
    }
  }

  const png_head& head_;
  int channels_;
  picked_levels picked_;
  std::vector<std::uint8_t> numbers_;
  std::vector<Level> line_;
};

/// The total size of the rows, including their filter bytes.
inline std::uint64_t png_size(const png_head& head) noexcept {
  std::uint64_t size = 0;
  for (const png_pass& pass : png_passes(head)) {
    const int width = pass.width(head), height = pass.height(head);
    if (width != 0) size += (head.row_bytes(width) + 1) * static_cast<std::uint64_t>(height);
  }
  return size;
}

/// Runs before any allocation. Deflate expands a byte to at most 1032 bytes, and there may be some empty
/// blocks. \throws wick::error when there are too few compressed bytes for the image
inline void check_png_size(std::span<const std::byte> encoded, const png_head& head) {
  std::uint64_t compressed = 0;
  for (std::size_t at = head.first_data;
       at + 12 <= encoded.size() && big32(encoded, at + 4) == chunk_type("IDAT");) {
    const std::size_t length = big32(encoded, at);
    compressed += length;
    if (length > encoded.size() - at - 12) break;
    at += 12 + length;
  }
  const std::uint64_t needed = png_size(head);
  if (compressed * 1032 + 1032 < needed) {
    throw_damaged_png(std::to_string(compressed) + " compressed bytes can't be " +
                      size_text(head.width, head.height) + " px");
  }
  if (compressed > 16 * needed + (std::uint64_t{1} << 19)) {
    throw error("PNG of " + std::to_string(compressed) + " compressed bytes for the " +
                std::to_string(needed) + " that its header, " + size_text(head.width, head.height) +
                " px, can need (damaged or hostile?); write the file again" + or_leave_it_out);
  }
}

/// Rows [top, bottom) as pixels of `channels` levels.
template <class Level>
inline void read_png(std::span<const std::byte> encoded, const png_head& head, int channels, bool indexes,
                     int top, int bottom, Level* out) {
  // Inflating everything at once is three times as fast, so it doesn't pay for a part in the first third.
  const bool at_once = head.interlaced || bottom >= head.height / 3;
  png_data data(encoded, head.first_data, png_size(head), at_once);
  png_pixels<Level> pixels(head, channels, indexes);
  const std::size_t most = head.row_bytes(head.width) + 1;
  const std::size_t together =
      std::max<std::size_t>(1, (std::size_t{1} << 17) / most);  // rows inflated at once
  const auto step = static_cast<std::size_t>(std::max(1, head.pixel_bits() / 8));
  std::vector<std::uint8_t> last(most);  // last row of the previous piece
  for (const png_pass& pass : png_passes(head)) {
    const int width = pass.width(head), height = pass.height(head);
    if (width == 0 || height == 0) continue;
    const std::size_t size = head.row_bytes(width) + 1;
    std::fill(last.begin(), last.end(), std::uint8_t{0});
    for (int y = 0; y < height;) {
      const auto n = std::min(together, static_cast<std::size_t>(height - y));
      const std::span<std::uint8_t> rows = data.next(n * size);
      const std::size_t got = rows.size() / size;
      const std::uint8_t* above = last.data();
      for (std::size_t i = 0; i < got; ++i, ++y) {
        std::uint8_t* const row = rows.data() + i * size + 1;
        unfilter_png_row(row[-1], row, above, size - 1, step);
        above = row;
        const int at = pass.top + y * pass.down;
        if (at < top || at >= bottom) continue;
        pixels.write(row, width, out + (std::ptrdiff_t{at - top} * head.width + pass.left) * channels,
                     pass.across);
      }
      if (got < n)
        throw_damaged_png("its pixels end in row " + std::to_string(y) + " of " + std::to_string(height) +
                          data.damage());
      if (y >= bottom && y < height && !head.interlaced) return;  // the remaining rows aren't even inflated
      std::memcpy(last.data(), above, size - 1);
    }
  }
  // Some writers add a few bytes too many, which all readers tolerate.
  std::size_t excess = 0;
  while (const std::size_t more = data.next(std::min<std::size_t>(most, 65536)).size()) {
    excess += more;
    if (excess > 65536) {
      throw error("PNG inflates to more than the " + std::to_string(png_size(head)) +
                  " bytes that its header, " + size_text(head.width, head.height) +
                  " px, can need (damaged or hostile?); write the file again" + or_leave_it_out);
    }
  }
}

image decode_png(std::span<const std::byte> encoded, const rect& part, int channels, bool indexes) {
  const png_head head(encoded);
  check_png_size(encoded, head);
  image out(head.width, part.height, channels);
  read_png(encoded, head, channels, indexes, part.y, part.y + part.height, out.data());
  return out;
}

wide_rows decode_wide_png(std::span<const std::byte> encoded, const rect& part, int channels) {
  const png_head head(encoded);
  check_png_size(encoded, head);
  wide_rows out(head.width, part.height, channels, part.y);
  read_png(encoded, head, channels, false, part.y, part.y + part.height, out.levels.data());
  return out;
}

}  // namespace wick::detail

// Implements image/detail/padding.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <wick/image/detail/padding.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

void require_edges(std::string_view stage, const edges& e) {
  if (e.left < 0 || e.top < 0 || e.right < 0 || e.bottom < 0) {
    throw error(std::string(stage) +
                ": negative padding; use center_crop or random_crop to take pixels away");
  }
  if (const int widest = std::max({e.left, e.top, e.right, e.bottom}); widest > most_pixels) {
    throw error(std::string(stage) + ": a padding of " + std::to_string(widest) +
                " px; a picture has at most " + std::to_string(most_pixels));
  }
}

std::vector<int> padded_axis(int size, int before, int after, padding_mode mode) {
  const int most = mode == padding_mode::reflect     ? size - 1
                   : mode == padding_mode::symmetric ? size
                                                     : before + after;
  if (before > most || after > most) {
    throw error("pad: a picture of " + std::to_string(size) + " px can be mirrored by at most " +
                std::to_string(most) + " px, not " + std::to_string(std::max(before, after)) +
                "; pad less, or use padding_mode::edge");
  }
  std::vector<int> from(static_cast<std::size_t>(before) + static_cast<std::size_t>(size) +
                        static_cast<std::size_t>(after));
  for (std::size_t i = 0; i < from.size(); ++i) {
    int x = static_cast<int>(i) - before;
    if (x < 0 || x >= size) {
      const bool low = x < 0;
      switch (mode) {
        case padding_mode::constant:
          x = -1;
          break;
        case padding_mode::edge:
          x = low ? 0 : size - 1;
          break;
        case padding_mode::reflect:
          x = low ? -x : 2 * (size - 1) - x;
          break;
        case padding_mode::symmetric:
          x = low ? -1 - x : 2 * size - 1 - x;
          break;
      }
    }
    from[i] = x;
  }
  return from;
}

image pad_picture(const image& picture, const edges& by, const fill_color& fill, padding_mode mode) {
  const std::vector<int> columns = padded_axis(picture.width(), by.left, by.right, mode);
  const std::vector<int> rows = padded_axis(picture.height(), by.top, by.bottom, mode);
  const auto n = static_cast<std::size_t>(picture.channels());
  image out(static_cast<int>(columns.size()), static_cast<int>(rows.size()), picture.channels());
  const auto put = [n](std::uint8_t* to, const std::uint8_t* pixel) {
    for (std::size_t c = 0; c < n; ++c) to[c] = pixel[c];
  };
  const auto inner = static_cast<std::size_t>(by.left),
             end = inner + static_cast<std::size_t>(picture.width());
  for (std::size_t y = 0; y < rows.size(); ++y) {
    std::uint8_t* const to = out.row(static_cast<int>(y));
    const std::uint8_t* const in = rows[y] < 0 ? nullptr : picture.row(rows[y]);
    for (std::size_t x = 0; x < columns.size(); ++x) {
      if (in != nullptr && x == inner && end > inner) {
        std::memcpy(to + inner * n, in, (end - inner) * n);
        x = end - 1;
        continue;
      }
      const int from = columns[x];
      put(to + x * n,
          in == nullptr || from < 0 ? fill.levels.data() : in + static_cast<std::size_t>(from) * n);
    }
  }
  return out;
}

wide_rows pad_wide(const wide_rows& numbers, const border& around) {
  const std::vector<int> columns = padded_axis(numbers.width, around.by.left, around.by.right, around.mode);
  const std::vector<int> rows = padded_axis(numbers.height, around.by.top, around.by.bottom, around.mode);
  wide_rows out(static_cast<int>(columns.size()), static_cast<int>(rows.size()), 1, 0);
  std::uint16_t* to = out.levels.data();
  for (const int y : rows) {
    for (const int x : columns)
      *to++ = x < 0 || y < 0 ? static_cast<std::uint16_t>(around.mask_fill) : numbers.row(y)[x];
  }
  return out;
}

}  // namespace wick::detail

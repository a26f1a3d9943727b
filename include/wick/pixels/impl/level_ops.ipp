// Operations that map each level to another one, by arithmetic or by a table computed from the image's
// levels. Included only by pixel_ops.ipp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <wick/pixels/detail/pixel_ops.hpp>

namespace wick::inline v0_1::detail {

/// The number of color channels.
constexpr int colors(int channels) noexcept { return channels >= 3 ? 3 : 1; }
constexpr bool has_alpha(int channels) noexcept { return channels % 2 == 0; }
inline bool is_interleaved(const picture_target& p) noexcept { return p.step == p.channels; }

/// Calls f(first, count) for contiguous runs of bytes that hold the colors of all pixels. For interleaved
/// pixels, the runs include alpha.
template <class F>
inline void for_each_run(const picture_target& p, F f) {
  const bool interleaved = is_interleaved(p);
  const std::ptrdiff_t row = interleaved ? p.step * p.width : p.width;
  const int planes = interleaved ? 1 : colors(p.channels);
  for (int c = 0; c < planes; ++c) {
    std::uint8_t* const first = p.data + (interleaved ? 0 : c * p.plane);
    if (p.row == row) {
      f(first, static_cast<std::size_t>(row) * static_cast<std::size_t>(p.height));
      continue;
    }
    for (int y = 0; y < p.height; ++y) f(first + y * p.row, static_cast<std::size_t>(row));
  }
}

/// Saves the alpha of interleaved pixels, and restores it at the end, so that code that works on runs can
/// ignore it.
class kept_alpha {
 public:
  explicit kept_alpha(const picture_target& p) : of_(p) {
    if (!is_interleaved(p) || !has_alpha(p.channels)) return;
    levels_.reserve(static_cast<std::size_t>(p.width) * static_cast<std::size_t>(p.height));
    for_each_pixel(p, [&](const std::uint8_t* v) { levels_.push_back(v[of_.channels - 1]); });
  }
  kept_alpha(const kept_alpha&) = delete;
  kept_alpha& operator=(const kept_alpha&) = delete;
  ~kept_alpha() {
    if (levels_.empty()) return;
    const std::uint8_t* next = levels_.data();
    for_each_pixel(of_, [&](std::uint8_t* v) { v[of_.channels - 1] = *next++; });
  }

 private:
  const picture_target& of_;
  std::vector<std::uint8_t> levels_;
};

/// The mapping of invert, posterize, or solarize.
inline auto changed_level(const pixel_op& op) noexcept {
  const bool keeps = op.what == pixel_op::kind::posterize;
  const auto mask = static_cast<std::uint8_t>(keeps ? 0xFF00u >> static_cast<unsigned>(op.value) : 0xFFu);
  // Torch compares in float.
  const float from = op.what == pixel_op::kind::solarize ? static_cast<float>(op.value)
                     : keeps                             ? 256.0f
                                                         : 0.0f;
  return [mask, from](std::uint8_t x) noexcept {
    return static_cast<std::uint8_t>((x & mask) ^ (x >= from ? 0xFF : 0));
  };
}

using level_counts = std::array<std::uint32_t, 256>;
using level_table = std::array<std::uint8_t, 256>;

/// Counts the levels of one channel. Uses four tables, since a counter that was just written is slow to read.
inline level_counts count_levels(const picture_target& p, int channel) {
  std::array<level_counts, 4> counts{};
  for (int y = 0; y < p.height; ++y) {
    const std::uint8_t* v = p.data + y * p.row + channel * p.plane;
    int x = 0;
    for (; x + 4 <= p.width; x += 4, v += 4 * p.step) {
      ++counts[0][v[0]];
      ++counts[1][v[p.step]];
      ++counts[2][v[2 * p.step]];
      ++counts[3][v[3 * p.step]];
    }
    for (; x < p.width; ++x, v += p.step) ++counts[0][v[0]];
  }
  for (std::size_t i = 0; i < 256; ++i) counts[0][i] += counts[1][i] + counts[2][i] + counts[3][i];
  return counts[0];
}

/// Pillow's ImageOps.equalize. False if there are too few distinct levels to spread.
inline bool equalize_table(const level_counts& counts, std::uint64_t pixels, level_table& to) noexcept {
  std::size_t highest = 255;
  while (highest > 0 && counts[highest] == 0) --highest;
  const std::uint64_t step = (pixels - counts[highest]) / 255;
  if (step == 0) return false;
  std::uint64_t below = step / 2;
  for (std::size_t i = 0; i < 256; ++i) {
    to[i] = static_cast<std::uint8_t>(std::min<std::uint64_t>(below / step, 255));
    below += counts[i];
  }
  return true;
}

/// False if there is only one level.
inline bool autocontrast_table(const level_counts& counts, level_table& to) noexcept {
  int low = 0, high = 255;
  while (low < 255 && counts[static_cast<std::size_t>(low)] == 0) ++low;
  while (high > 0 && counts[static_cast<std::size_t>(high)] == 0) --high;
  if (low >= high) return false;
  const float scale = static_cast<float>(high - low) * (1.0f / 255);
  for (int i = 0; i < 256; ++i) {
    to[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(std::clamp(static_cast<float>(i - low) / scale, 0.0f, 255.0f));
  }
  return true;
}

inline void stretch_levels(const pixel_op& op, const picture_target& p) {
  const std::uint64_t pixels = static_cast<std::uint64_t>(p.width) * static_cast<std::uint64_t>(p.height);
  std::array<level_table, 3> tables;
  bool changes = false;
  const int count = colors(p.channels);
  for (int c = 0; c < count; ++c) {
    level_table& table = tables[static_cast<std::size_t>(c)];
    const level_counts counts = count_levels(p, c);
    const bool some = op.what == pixel_op::kind::equalize ? equalize_table(counts, pixels, table)
                                                          : autocontrast_table(counts, table);
    if (!some) {
      for (std::size_t i = 0; i < 256; ++i) table[i] = static_cast<std::uint8_t>(i);
    }
    changes = changes || some;
  }
  if (!changes) return;
  if (count == 3 && is_interleaved(p)) {
    for_each_pixel(p, [&](std::uint8_t* v) {
      v[0] = tables[0][v[0]];
      v[1] = tables[1][v[1]];
      v[2] = tables[2][v[2]];
    });
    return;
  }
  for (int c = 0; c < count; ++c) {
    const level_table& table = tables[static_cast<std::size_t>(c)];
    picture_target plane = p;
    plane.data += c * p.plane;
    for_each_pixel(plane, [&](std::uint8_t* v) { v[0] = table[v[0]]; });
  }
}

inline void fill_box(const picture_target& p, const rect& box, const std::array<std::uint8_t, 4>& levels) {
  const rect inside = shared_part({0, 0, p.width, p.height}, box);
  picture_target part = p;
  part.data += inside.y * p.row + inside.x * p.step;
  part.width = inside.width;
  part.height = inside.height;
  for_each_pixel(part, [&](std::uint8_t* v) {
    for (int c = 0; c < p.channels; ++c) v[c * p.plane] = levels[static_cast<std::size_t>(c)];
  });
}

}  // namespace wick::detail

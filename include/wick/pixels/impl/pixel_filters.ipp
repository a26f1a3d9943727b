// Operations that depend on neighboring pixels: Gaussian blur and sharpness, in place and in integers.
// Included only by pixel_ops.ipp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <wick/pixels/image.hpp>
#include <wick/pixels/impl/level_ops.ipp>

namespace wick::inline v0_1::detail {

/// Pixels in rows, with adjacent channels: a whole interleaved image, or one plane of a planar one.
struct pixel_strip {
  std::uint8_t* data = nullptr;
  std::ptrdiff_t row = 0;
  int width = 0, height = 0, channels = 0;

  std::uint8_t* at(int y) const noexcept { return data + y * row; }
  std::size_t row_size() const noexcept {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  }
};

/// Calls f(strip) for each strip; `with_alpha` includes a plane of alpha.
template <class F>
inline void for_each_strip(const picture_target& p, bool with_alpha, F f) {
  if (is_interleaved(p)) return f(pixel_strip{p.data, p.row, p.width, p.height, p.channels});
  const int planes = with_alpha ? p.channels : colors(p.channels);
  for (int c = 0; c < planes; ++c) f(pixel_strip{p.data + c * p.plane, p.row, p.width, p.height, 1});
}

// ---- Gaussian blur ----

inline constexpr int blur_weight_bits = 15;

/// torchvision's _get_gaussian_kernel1d, in steps of 2^-15; the weights sum to 1.
inline std::vector<std::uint16_t> blur_weights(int size, double deviation) {
  const int reach = size / 2;
  std::vector<double> exact(static_cast<std::size_t>(size));
  double sum = 0;
  for (int i = 0; i < size; ++i) {
    const double away = i - reach;
    const double w = std::exp(-(away * away) / (2 * deviation * deviation));
    exact[static_cast<std::size_t>(i)] = w;
    sum += w;
  }
  std::vector<std::uint16_t> weights(exact.size());
  int rest = 1 << blur_weight_bits;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<std::uint16_t>(std::lround(exact[i] / sum * (1 << blur_weight_bits)));
    rest -= weights[i];
  }
  // Corrects the rounding error at the middle weight as far as possible, then outward from there.
  for (int i = 0; i < size && rest != 0; ++i) {
    const int at = reach + (i % 2 == 0 ? i / 2 : -(i + 1) / 2);
    auto& weight = weights[static_cast<std::size_t>(at)];
    const int by = std::max(rest, -static_cast<int>(weight));
    weight = static_cast<std::uint16_t>(weight + by);
    rest -= by;
  }
  return weights;
}

/// out[i] = the weighted sum of in[k][i], shifted right by `shift` bits and rounded.
template <class In, class Out>
inline void weigh(const In* const* in, const std::vector<std::uint16_t>& weights, int shift, Out* out,
                  std::size_t count) noexcept {
  constexpr std::size_t block = 64;
  const std::uint32_t half = std::uint32_t{1} << (shift - 1);
  std::size_t i = 0;
  for (; i + block <= count; i += block) {
    std::uint32_t sum[block];
    std::fill_n(sum, block, half);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const In* const from = in[k] + i;
      const std::uint16_t w = weights[k];
      for (std::size_t j = 0; j < block; ++j) sum[j] += std::uint32_t{from[j]} * w;
    }
    for (std::size_t j = 0; j < block; ++j) out[i + j] = static_cast<Out>(sum[j] >> shift);
  }
  for (; i < count; ++i) {
    std::uint32_t sum = half;
    for (std::size_t k = 0; k < weights.size(); ++k) sum += std::uint32_t{in[k][i]} * weights[k];
    out[i] = static_cast<Out>(sum >> shift);
  }
}

/// Mirrors row or column `i` about the outermost pixel, which isn't repeated.
inline int reflected(int i, int size) noexcept { return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i; }

inline void blur_strip(const pixel_strip& p, const std::vector<std::uint16_t>& across,
                       const std::vector<std::uint16_t>& down) {
  const int reach_x = static_cast<int>(across.size() / 2), reach_y = static_cast<int>(down.size() / 2);
  const std::size_t n = p.row_size(), channels = static_cast<std::size_t>(p.channels);
  const std::size_t margin = static_cast<std::size_t>(reach_x) * channels;
  // Copies of rows that are already overwritten.
  std::vector<std::uint8_t> kept(n * static_cast<std::size_t>(reach_y + 1));
  const auto kept_row = [&](int y) { return kept.data() + n * static_cast<std::size_t>(y % (reach_y + 1)); };
  std::vector<std::uint16_t> line(n + 2 * margin);
  std::vector<const std::uint8_t*> rows(down.size());
  std::vector<const std::uint16_t*> shifted(across.size());
  for (std::size_t k = 0; k < across.size(); ++k) shifted[k] = line.data() + k * channels;
  for (int y = 0; y < p.height; ++y) {
    std::memcpy(kept_row(y), p.at(y), n);
    for (int k = 0; k <= 2 * reach_y; ++k) {
      const int from = reflected(y + k - reach_y, p.height);
      rows[static_cast<std::size_t>(k)] = from <= y ? kept_row(from) : p.at(from);
    }
    std::uint16_t* const middle = line.data() + margin;
    weigh(rows.data(), down, blur_weight_bits - 8, middle, n);  // 8 fractional bits
    for (int x = 1; x <= reach_x; ++x) {
      for (std::size_t c = 0; c < channels; ++c) {
        const std::size_t away = static_cast<std::size_t>(x) * channels;
        std::uint16_t *const first = middle + c, *const last = middle + n - channels + c;
        *(first - away) = *(first + away);
        *(last + away) = *(last - away);
      }
    }
    weigh(shifted.data(), across, blur_weight_bits + 8, p.at(y), n);
  }
}

/// torchvision's gaussian_blur. The image must be larger than half of the kernel.
inline void gaussian_blur(const picture_target& p, int width, int height, double deviation) {
  const std::vector<std::uint16_t> across = blur_weights(width, deviation),
                                   down = blur_weights(height, deviation);
  for_each_strip(p, true, [&](const pixel_strip& strip) { blur_strip(strip, across, down); });
}

// ---- sharpness ----

/// Blends `x` with the mean of its 3 x 3 neighborhood, in which it counts five times: torchvision's
/// adjust_sharpness.
inline std::uint8_t sharpen_level(int x, int sum_of_nine, float share) noexcept {
  // (2 s + 13) / 26 rounds s / 13, which has no ties, and 161320 / 2^22 is close enough to 1 / 26.
  const int smooth =
      static_cast<int>((static_cast<unsigned>(2 * (sum_of_nine + 4 * x) + 13) * 161320u) >> 22);
  const int to = static_cast<int>(static_cast<float>(x) + share * static_cast<float>(smooth - x));
  return static_cast<std::uint8_t>(std::min(std::max(to, 0), 255));
}

inline void sharpen_strip(const pixel_strip& p, float share) {
  const std::size_t n = p.row_size(), step = static_cast<std::size_t>(p.channels);
  std::vector<std::uint8_t> above(p.at(0), p.at(0) + n), here(n);
  std::vector<std::uint16_t> sums(n);
  for (int y = 1; y + 1 < p.height; ++y) {
    std::uint8_t* const to = p.at(y);
    const std::uint8_t* const below = p.at(y + 1);
    std::memcpy(here.data(), to, n);
    for (std::size_t i = 0; i < n; ++i) sums[i] = static_cast<std::uint16_t>(above[i] + here[i] + below[i]);
    for (std::size_t i = step; i + step < n; ++i)
      to[i] = sharpen_level(here[i], sums[i - step] + sums[i] + sums[i + step], share);
    above.swap(here);
  }
}

/// Leaves the outermost pixels unchanged.
inline void sharpen(const picture_target& p, double factor) {
  if (p.width <= 2 || p.height <= 2) return;
  const kept_alpha alpha(p);
  const auto share = static_cast<float>(1.0 - factor);
  for_each_strip(p, false, [&](const pixel_strip& strip) { sharpen_strip(strip, share); });
}

}  // namespace wick::detail

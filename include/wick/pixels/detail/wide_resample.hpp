// Geometry for images of 16 bits a channel, with the same tables as for 8 bits, and conversion of levels to
// numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <wick/pipeline/shape.hpp>
#include <wick/pixels/detail/axis.hpp>
#include <wick/pixels/detail/pixel_ops.hpp>
#include <wick/pixels/detail/row_resampler.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/pixels/image.hpp>
#include <wick/pixels/wide_rows.hpp>

namespace wick::inline v0_1::detail {

/// Applies the axis tables in `scratch`. The sums are exact and rounded once: at most 2 levels from the
/// result with floating-point weights.
inline wide_rows resample_wide(const wide_rows& from, const resample_scratch& scratch) {
  const axis &columns = scratch.columns, &rows = scratch.rows;
  const int n = from.channels;
  wide_rows out(columns.size(), rows.size(), n, 0);
  std::uint16_t* to = out.levels.data();
  if (columns.copies() && rows.copies()) {
    for (int y = 0; y < rows.size(); ++y) {
      const std::uint16_t* const in = from.row(rows.first(y));
      for (int x = 0; x < columns.size(); ++x, to += n)
        std::copy_n(in + std::ptrdiff_t{columns.first(x)} * n, n, to);
    }
    return out;
  }
  // The level takes 16 bits, and a weight 14. Bicubic weights sum to less than 1.5, and their absolute values
  // to less than 2.
  const std::size_t begin = static_cast<std::size_t>(columns.low()) * static_cast<std::size_t>(n),
                    end = static_cast<std::size_t>(columns.high()) * static_cast<std::size_t>(n);
  std::vector<std::int32_t> line(end - begin);
  for (int y = 0; y < rows.size(); ++y) {
    std::fill(line.begin(), line.end(), 0);
    for (int k = 0; k < rows.count(y); ++k) {
      const std::uint16_t* const in = from.row(rows.first(y) + k) + begin;
      const std::int32_t weight = rows.weights(y)[k];
      for (std::size_t i = 0; i < line.size(); ++i) line[i] += in[i] * weight;
    }
    for (int x = 0; x < columns.size(); ++x) {
      const std::int16_t* const weights = columns.weights(x);
      const std::int32_t* const in =
          line.data() + static_cast<std::size_t>(columns.first(x)) * static_cast<std::size_t>(n) - begin;
      for (int c = 0; c < n; ++c) {
        std::int64_t sum = std::int64_t{1} << (2 * weight_bits - 1);
        for (int k = 0; k < columns.count(x); ++k) sum += std::int64_t{in[k * n + c]} * weights[k];
        *to++ = static_cast<std::uint16_t>(std::clamp<std::int64_t>(sum >> (2 * weight_bits), 0, 65535));
      }
    }
  }
  return out;
}

/// Writes levels from 0 to `most`: unchanged as int32, or as float32 in [0, 1], normalized. Planar or
/// interleaved. \throws wick::error when the number of means doesn't match the channels
template <class Level>
inline void write_numbers(const Level* levels, std::size_t pixels, int channels, float most, dtype type,
                          const normalization& by, const slot& to) {
  if (by.count > 1) require_channels(by, channels);
  const auto n = static_cast<std::size_t>(channels);
  for (std::size_t c = 0; c < n; ++c) {
    const std::size_t k = by.count > 1 ? c : 0;
    const float mean = by.count != 0 ? by.mean[k] : 0.0f, deviation = by.count != 0 ? by.deviation[k] : 1.0f;
    const std::size_t step = to.planar ? 1 : n;
    std::byte* out = to.data + 4 * (to.planar ? c * pixels : c);
    for (std::size_t i = 0; i < pixels; ++i, out += 4 * step) {
      const Level level = levels[i * n + c];
      if (type == dtype::int32) {
        const std::int32_t number = level;
        std::memcpy(out, &number, 4);
      } else {
        const float number = (static_cast<float>(level) / most - mean) / deviation;
        std::memcpy(out, &number, 4);
      }
    }
  }
}

}  // namespace wick::detail

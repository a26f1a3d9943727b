/// \file
/// Geometry of pictures of 16 bits a channel, by the same tables as that of 8 bits, and how levels are
/// written as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <wick/pixels/image.hpp>
#include <wick/pixels/pixel_ops.hpp>
#include <wick/pixels/wide_rows.hpp>
#include <wick/resample/detail/axis.hpp>
#include <wick/resample/detail/row_resampler.hpp>
#include <wick/sample/shape.hpp>

namespace wick::detail {

/// Carries out the axis tables in `scratch`. The sums are exact, and rounded once: at most 2 levels from what
/// weights without a fixed point would give.
wide_rows resample_wide(const wide_rows& from, const resample_scratch& scratch);

/// Levels, up to `most`, as int32 as they are, or as float32 in [0, 1] and then normalized. Planar or
/// interleaved. \throws wick::error when there are not as many means as channels
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

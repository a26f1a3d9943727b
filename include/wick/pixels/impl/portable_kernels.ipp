// The inner loops of the resize in plain C++. The other sets use them, too, for the end of a row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <wick/pixels/detail/resample_kernels.hpp>

namespace wick::inline v0_1::detail {

inline constexpr int column_shift = weight_bits + row_bits;
/// Half a level for rounding, and the 128 levels that were subtracted from a row's values.
inline constexpr std::int32_t column_start = (1 << (column_shift - 1)) + (128 << column_shift);

inline void blend_rows_from(std::size_t i, const std::uint8_t* const* rows, const std::int16_t* weights,
                            int taps, std::int16_t* out, std::size_t n) noexcept {
  for (; i < n; ++i) {
    std::int32_t sum = 0;
    for (int k = 0; k < taps; ++k) sum += ((rows[k][i] - 128) * weights[k] + 64) >> 7;
    out[i] = static_cast<std::int16_t>(sum);
  }
}

inline void blend_rows_portable(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                                std::int16_t* out, std::size_t n) {
  constexpr std::size_t block = 64;
  std::size_t i = 0;
  for (; i + block <= n; i += block) {
    std::int16_t sum[block] = {};
    for (int k = 0; k < taps; ++k) {
      const std::uint8_t* const in = rows[k] + i;
      const std::int16_t w = weights[k];
      for (std::size_t j = 0; j < block; ++j) {
        sum[j] = static_cast<std::int16_t>(sum[j] + (((in[j] - 128) * w + 64) >> 7));
      }
    }
    std::memcpy(out + i, sum, sizeof sum);
  }
  blend_rows_from(i, rows, weights, taps, out, n);
}

template <int Channels>
inline void blend_columns_of(const std::int16_t* row, const column_table& t, std::uint8_t* quads) noexcept {
  for (int x = 0; x < t.count; ++x) {
    const std::int16_t* const first = row + t.first[x];
    const std::int16_t* const weights = t.weights + std::ptrdiff_t{x / 2} * t.pairs * 16 + (x % 2) * 8;
    // Channel by channel: with four sums side by side, g++ 12 loses some at -O3 for ARM.
    for (int c = 0; c < Channels; ++c) {
      const std::int16_t *in = first + c, *w = weights;
      std::int32_t sum = column_start;
      for (int j = 0; j < t.pairs; ++j, in += 2 * Channels, w += 16) {
        sum += in[0] * w[0] + in[Channels] * w[1];
      }
      quads[4 * x + c] = static_cast<std::uint8_t>(std::clamp(sum >> column_shift, 0, 255));
    }
  }
}

inline void blend_columns_portable(const std::int16_t* row, const column_table& t, std::uint8_t* quads) {
  switch (t.channels) {
    case 1:
      return blend_columns_of<1>(row, t, quads);
    case 2:
      return blend_columns_of<2>(row, t, quads);
    case 3:
      return blend_columns_of<3>(row, t, quads);
    default:
      return blend_columns_of<4>(row, t, quads);
  }
}

inline void pack_triples_from(std::size_t i, const std::uint8_t* quads, std::uint8_t* out,
                              std::size_t n) noexcept {
  for (; i < n; ++i) {
    out[3 * i] = quads[4 * i];
    out[3 * i + 1] = quads[4 * i + 1];
    out[3 * i + 2] = quads[4 * i + 2];
  }
}
inline void pack_triples_portable(const std::uint8_t* quads, std::uint8_t* out, std::size_t n) {
  pack_triples_from(0, quads, out, n);
}

inline void split_planes_from(std::size_t i, const std::uint8_t* quads, std::uint8_t* const* planes,
                              int channels, std::size_t n) noexcept {
  for (int c = 0; c < channels; ++c) {
    std::uint8_t* const out = planes[c];
    for (std::size_t x = i; x < n; ++x) out[x] = quads[4 * x + static_cast<std::size_t>(c)];
  }
}
inline void split_planes_portable(const std::uint8_t* quads, std::uint8_t* const* planes, int channels,
                                  std::size_t n) {
  split_planes_from(0, quads, planes, channels, n);
}

inline constexpr resample_kernels portable_kernels{"portable", &blend_rows_portable, &blend_columns_portable,
                                                   &pack_triples_portable, &split_planes_portable};

/// Exact sums for a large number of rows: the same code on every machine.
inline void blend_many_rows_portable(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                                     std::int16_t* out, std::size_t n) {
  constexpr std::size_t block = 64;
  for (std::size_t i = 0; i < n; i += block) {
    const std::size_t width = std::min(block, n - i);
    std::int32_t sum[block];
    std::fill_n(sum, block, 64 - (128 << weight_bits));
    for (int k = 0; k < taps; ++k) {
      const std::uint8_t* const in = rows[k] + i;
      const std::int16_t w = weights[k];
      if (width == block) {
        for (std::size_t j = 0; j < block; ++j) sum[j] += std::int16_t{in[j]} * w;
      } else {
        for (std::size_t j = 0; j < width; ++j) sum[j] += std::int16_t{in[j]} * w;
      }
    }
    for (std::size_t j = 0; j < width; ++j) out[i + j] = static_cast<std::int16_t>(sum[j] >> 7);
  }
}

}  // namespace wick::detail

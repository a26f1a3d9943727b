// The inner loops of the resize for NEON, which every 64-bit ARM has.
#pragma once

#include <arm_neon.h>
#include <cstddef>
#include <cstdint>

#include <wick/pixels/detail/resample_kernels.hpp>
#include <wick/pixels/impl/portable_kernels.ipp>

namespace wick::inline v0_1::detail {

inline void blend_16_neon(std::size_t i, const std::uint8_t* const* rows, const std::int16_t* weights,
                          int taps, std::int16_t* out) noexcept {
  const uint8x16_t middle = vdupq_n_u8(0x80);
  const uint8x16_t zero = vdupq_n_u8(0);
  int16x8_t low = vdupq_n_s16(0), high = low;
  for (int k = 0; k < taps; ++k) {
    const uint8x16_t in = veorq_u8(vld1q_u8(rows[k] + i), middle);
    const int16x8_t w = vdupq_n_s16(weights[k]);
    low = vaddq_s16(low, vqrdmulhq_s16(vreinterpretq_s16_u8(vzip1q_u8(zero, in)), w));
    high = vaddq_s16(high, vqrdmulhq_s16(vreinterpretq_s16_u8(vzip2q_u8(zero, in)), w));
  }
  vst1q_s16(out + i, low);
  vst1q_s16(out + i + 8, high);
}

inline void blend_rows_neon(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                            std::int16_t* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) blend_16_neon(i, rows, weights, taps, out);
  if (i == n) return;
  if (n < 16) return blend_rows_from(i, rows, weights, taps, out, n);
  blend_16_neon(n - 16, rows, weights, taps, out);
}

inline void blend_columns_neon(const std::int16_t* row, const column_table& t, std::uint8_t* quads) {
  const int channels = t.channels;
  const std::int16_t* w = t.weights;
  for (int x = 0; x < t.count; x += 4, quads += 16) {
    int16x4_t level[4];
    for (int q = 0; q < 4; ++q) {
      const std::int16_t* in = row + t.first[x + q];
      const std::int16_t* weights = w + (q / 2) * t.pairs * 16 + (q % 2) * 8;
      int32x4_t s = vdupq_n_s32(column_start);
      for (int j = 0; j < t.pairs; ++j, in += 2 * channels, weights += 16) {
        s = vmlal_n_s16(s, vld1_s16(in), weights[0]);
        s = vmlal_n_s16(s, vld1_s16(in + channels), weights[1]);
      }
      level[q] = vqmovn_s32(vshrq_n_s32(s, column_shift));
    }
    w += t.pairs * 32;
    vst1q_u8(quads, vcombine_u8(vqmovun_s16(vcombine_s16(level[0], level[1])),
                                vqmovun_s16(vcombine_s16(level[2], level[3]))));
  }
}

inline void pack_triples_neon(const std::uint8_t* quads, std::uint8_t* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const uint8x16x4_t in = vld4q_u8(quads + 4 * i);
    vst3q_u8(out + 3 * i, uint8x16x3_t{{in.val[0], in.val[1], in.val[2]}});
  }
  pack_triples_from(i, quads, out, n);
}

inline void split_planes_neon(const std::uint8_t* quads, std::uint8_t* const* planes, int channels,
                              std::size_t n) {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const uint8x16x4_t in = vld4q_u8(quads + 4 * i);
    vst1q_u8(planes[0] + i, in.val[0]);
    if (channels > 1) vst1q_u8(planes[1] + i, in.val[1]);
    if (channels > 2) vst1q_u8(planes[2] + i, in.val[2]);
    if (channels > 3) vst1q_u8(planes[3] + i, in.val[3]);
  }
  split_planes_from(i, quads, planes, channels, n);
}

inline constexpr resample_kernels neon_kernels{"neon", &blend_rows_neon, &blend_columns_neon,
                                               &pack_triples_neon, &split_planes_neon};

}  // namespace wick::detail

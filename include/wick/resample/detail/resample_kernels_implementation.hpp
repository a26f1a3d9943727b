/// \file
/// The inner loops of the resize for every instruction set that there may be, in one portable build. Included
/// in exactly one file of a program, with stb_image.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <wick/resample/detail/resample_kernels.hpp>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace wick::detail {

// ---- portable: also what the others do at the end of a row

inline constexpr int column_shift = weight_bits + row_bits;
/// Half a level to round by, and the 128 levels that a row's values lack.
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
    const std::int16_t* in = row + t.first[x];
    const std::int16_t* w = t.weights + std::ptrdiff_t{x / 2} * t.pairs * 16 + (x % 2) * 8;
    std::int32_t sum[Channels];
    for (std::int32_t& s : sum) s = column_start;
    for (int j = 0; j < t.pairs; ++j, in += 2 * Channels, w += 16) {
      for (int c = 0; c < Channels; ++c) sum[c] += in[c] * w[0] + in[Channels + c] * w[1];
    }
    for (int c = 0; c < Channels; ++c) {
      quads[4 * x + c] = static_cast<std::uint8_t>(std::clamp(sum[c] >> column_shift, 0, 255));
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

/// Exact sums, for a great many rows: the same code for every machine.
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

#if defined(__x86_64__) || defined(__i386__)

// ---- SSSE3: 128 bits

#define WICK_SSSE3 __attribute__((target("ssse3")))
#define WICK_AVX2 __attribute__((target("avx2")))

/// Puts the channels of two neighbouring pixels, 16 bits each, beside each other: r r g g b b.
alignas(16) inline constexpr std::int8_t pair_shuffle[5][16] = {
    {},
    {0, 1, 2, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
    {0, 1, 4, 5, 2, 3, 6, 7, -1, -1, -1, -1, -1, -1, -1, -1},
    {0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1},
    {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15},
};

WICK_SSSE3 inline __m128i load16(const void* from) noexcept {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

WICK_SSSE3 inline void blend_16_ssse3(std::size_t i, const std::uint8_t* const* rows,
                                      const std::int16_t* weights, int taps, std::int16_t* out) noexcept {
  const __m128i middle = _mm_set1_epi8(static_cast<char>(0x80)), zero = _mm_setzero_si128();
  __m128i low = zero, high = zero;
  for (int k = 0; k < taps; ++k) {
    const __m128i w = _mm_set1_epi16(weights[k]);
    const __m128i in = _mm_xor_si128(load16(rows[k] + i), middle);
    low = _mm_add_epi16(low, _mm_mulhrs_epi16(_mm_unpacklo_epi8(zero, in), w));
    high = _mm_add_epi16(high, _mm_mulhrs_epi16(_mm_unpackhi_epi8(zero, in), w));
  }
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), low);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i + 8), high);
}

WICK_SSSE3 inline void blend_rows_ssse3(const std::uint8_t* const* rows, const std::int16_t* weights,
                                        int taps, std::int16_t* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) blend_16_ssse3(i, rows, weights, taps, out);
  if (i == n) return;
  if (n < 16) return blend_rows_from(i, rows, weights, taps, out, n);
  blend_16_ssse3(n - 16, rows, weights, taps, out);  // overlaps the one before
}

template <int Pairs>
WICK_SSSE3 inline void blend_columns_ssse3_by(const std::int16_t* row, const column_table& t,
                                              std::uint8_t* quads) noexcept {
  const __m128i shuffle = load16(pair_shuffle[t.channels]);
  const int pairs = Pairs != 0 ? Pairs : t.pairs;
  const std::ptrdiff_t step = 2 * t.channels;
  const std::int16_t* w = t.weights;
  for (int x = 0; x < t.count; x += 4, quads += 16) {
    __m128i sum[4];
    for (int q = 0; q < 4; ++q) {
      const std::int16_t* in = row + t.first[x + q];
      const std::int16_t* weights = w + (q / 2) * pairs * 16 + (q % 2) * 8;
      __m128i s = _mm_set1_epi32(column_start);
      for (int j = 0; j < pairs; ++j, in += step, weights += 16) {
        s = _mm_add_epi32(s, _mm_madd_epi16(_mm_shuffle_epi8(load16(in), shuffle), load16(weights)));
      }
      sum[q] = _mm_srai_epi32(s, column_shift);
    }
    w += pairs * 32;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(quads),
                     _mm_packus_epi16(_mm_packs_epi32(sum[0], sum[1]), _mm_packs_epi32(sum[2], sum[3])));
  }
}

WICK_SSSE3 inline void blend_columns_ssse3(const std::int16_t* row, const column_table& t,
                                           std::uint8_t* quads) {
  switch (t.pairs) {
    case 1:
      return blend_columns_ssse3_by<1>(row, t, quads);
    case 2:
      return blend_columns_ssse3_by<2>(row, t, quads);
    case 3:
      return blend_columns_ssse3_by<3>(row, t, quads);
    default:
      return blend_columns_ssse3_by<0>(row, t, quads);
  }
}

WICK_SSSE3 inline void pack_triples_ssse3(const std::uint8_t* quads, std::uint8_t* out, std::size_t n) {
  const __m128i triples = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  std::size_t i = 0;
  for (; i + 6 <= n; i += 4) {  // the four bytes too many are written again
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * i),
                     _mm_shuffle_epi8(load16(quads + 4 * i), triples));
  }
  pack_triples_from(i, quads, out, n);
}

WICK_SSSE3 inline void split_planes_ssse3(const std::uint8_t* quads, std::uint8_t* const* planes,
                                          int channels, std::size_t n) {
  const __m128i gather = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m128i a = _mm_shuffle_epi8(load16(quads + 4 * i), gather),
                  b = _mm_shuffle_epi8(load16(quads + 4 * i + 16), gather),
                  c = _mm_shuffle_epi8(load16(quads + 4 * i + 32), gather),
                  d = _mm_shuffle_epi8(load16(quads + 4 * i + 48), gather);
    const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
    const __m128i ab2 = _mm_unpackhi_epi32(a, b), cd2 = _mm_unpackhi_epi32(c, d);
    const __m128i plane[4] = {_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd),
                              _mm_unpacklo_epi64(ab2, cd2), _mm_unpackhi_epi64(ab2, cd2)};
    for (int k = 0; k < channels; ++k) _mm_storeu_si128(reinterpret_cast<__m128i*>(planes[k] + i), plane[k]);
  }
  split_planes_from(i, quads, planes, channels, n);
}

inline constexpr resample_kernels ssse3_kernels{"ssse3", &blend_rows_ssse3, &blend_columns_ssse3,
                                                &pack_triples_ssse3, &split_planes_ssse3};

// ---- AVX2: 256 bits

template <int Vectors>
WICK_AVX2 inline void blend_32_avx2(std::size_t i, const std::uint8_t* const* rows,
                                    const std::int16_t* weights, int taps, std::int16_t* out) noexcept {
  const __m256i middle = _mm256_set1_epi8(static_cast<char>(0x80)), zero = _mm256_setzero_si256();
  __m256i low[Vectors], high[Vectors];
  for (int v = 0; v < Vectors; ++v) low[v] = high[v] = zero;
  for (int k = 0; k < taps; ++k) {
    const __m256i w = _mm256_set1_epi16(weights[k]);
    const std::uint8_t* const row = rows[k] + i;
    for (int v = 0; v < Vectors; ++v) {
      const __m256i in =
          _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 32 * v)), middle);
      low[v] = _mm256_add_epi16(low[v], _mm256_mulhrs_epi16(_mm256_unpacklo_epi8(zero, in), w));
      high[v] = _mm256_add_epi16(high[v], _mm256_mulhrs_epi16(_mm256_unpackhi_epi8(zero, in), w));
    }
  }
  for (int v = 0; v < Vectors; ++v) {  // unpacking works within the halves of a register
    auto* const to = reinterpret_cast<__m256i*>(out + i + static_cast<std::size_t>(32 * v));
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(low[v], high[v], 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(low[v], high[v], 0x31));
  }
}

WICK_AVX2 inline void blend_rows_avx2(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                                      std::int16_t* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) blend_32_avx2<2>(i, rows, weights, taps, out);
  for (; i + 32 <= n; i += 32) blend_32_avx2<1>(i, rows, weights, taps, out);
  if (i == n) return;
  if (n < 32) return blend_rows_from(i, rows, weights, taps, out, n);
  blend_32_avx2<1>(n - 32, rows, weights, taps, out);
}

template <int Pairs>
WICK_AVX2 inline void blend_columns_avx2_by(const std::int16_t* row, const column_table& t,
                                            std::uint8_t* quads) noexcept {
  const __m256i shuffle = _mm256_broadcastsi128_si256(load16(pair_shuffle[t.channels]));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const int pairs = Pairs != 0 ? Pairs : t.pairs;
  const std::ptrdiff_t step = 2 * t.channels;
  const std::int16_t* w = t.weights;
  for (int x = 0; x < t.count; x += 8, quads += 32) {
    __m256i sum[4];
    for (int q = 0; q < 4; ++q) {  // two outputs in a register
      const std::int16_t *a = row + t.first[x + 2 * q], *b = row + t.first[x + 2 * q + 1];
      __m256i s = _mm256_set1_epi32(column_start);
      for (int j = 0; j < pairs; ++j, a += step, b += step, w += 16) {
        const __m256i in = _mm256_inserti128_si256(_mm256_castsi128_si256(load16(a)), load16(b), 1);
        s = _mm256_add_epi32(s, _mm256_madd_epi16(_mm256_shuffle_epi8(in, shuffle),
                                                  _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w))));
      }
      sum[q] = _mm256_srai_epi32(s, column_shift);
    }
    const __m256i levels =
        _mm256_packus_epi16(_mm256_packs_epi32(sum[0], sum[1]), _mm256_packs_epi32(sum[2], sum[3]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(quads), _mm256_permutevar8x32_epi32(levels, order));
  }
}

WICK_AVX2 inline void blend_columns_avx2(const std::int16_t* row, const column_table& t,
                                         std::uint8_t* quads) {
  switch (t.pairs) {
    case 1:
      return blend_columns_avx2_by<1>(row, t, quads);
    case 2:
      return blend_columns_avx2_by<2>(row, t, quads);
    case 3:
      return blend_columns_avx2_by<3>(row, t, quads);
    default:
      return blend_columns_avx2_by<0>(row, t, quads);
  }
}

inline constexpr resample_kernels avx2_kernels{"avx2", &blend_rows_avx2, &blend_columns_avx2,
                                               &pack_triples_ssse3, &split_planes_ssse3};

#undef WICK_SSSE3
#undef WICK_AVX2

#elif defined(__aarch64__)

// ---- NEON: 128 bits, in every 64-bit ARM

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

#endif

void blend_many_rows(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                     std::int16_t* out, std::size_t n) noexcept {
  blend_many_rows_portable(rows, weights, taps, out, n);
}

std::span<const resample_kernels* const> available_kernels() noexcept {
  struct list {
    const resample_kernels* sets[3] = {&portable_kernels};
    std::size_t count = 1;
    list() noexcept {
#if defined(__x86_64__) || defined(__i386__)
      if (__builtin_cpu_supports("ssse3")) sets[count++] = &ssse3_kernels;
      if (__builtin_cpu_supports("avx2")) sets[count++] = &avx2_kernels;
#elif defined(__aarch64__)
      sets[count++] = &neon_kernels;
#endif
    }
  };
  static const list all;
  return {all.sets, all.count};
}

const resample_kernels& best_kernels() noexcept {
  static const resample_kernels& best = *available_kernels().back();
  return best;
}

}  // namespace wick::detail

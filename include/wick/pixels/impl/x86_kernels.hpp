/// \file
/// The inner loops of the resize for SSSE3 and AVX2, in one build for any x86.
#pragma once

#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include <wick/pixels/detail/resample_kernels.hpp>
#include <wick/pixels/impl/portable_kernels.hpp>

namespace wick::detail {

// ---- SSSE3: 128 bits

#define WICK_SSSE3 __attribute__((target("ssse3")))
#define WICK_AVX2 __attribute__((target("avx2")))

/// Puts the channels of two neighboring pixels, 16 bits each, beside each other: r r g g b b.
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

}  // namespace wick::detail

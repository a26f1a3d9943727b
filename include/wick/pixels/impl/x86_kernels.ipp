// The inner loops of the resize for SSSE3, AVX2, and AVX-512, in one build for any x86.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include <wick/pixels/detail/resample_kernels.hpp>
#include <wick/pixels/impl/portable_kernels.ipp>

namespace wick::inline v0_1::detail {

// ---- SSSE3: 128 bits

#define WICK_SSSE3 __attribute__((target("ssse3")))
#define WICK_AVX2 __attribute__((target("avx2")))

/// Interleaves the channels of two neighboring pixels, 16 bits each: r r g g b b.
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
  blend_16_ssse3(n - 16, rows, weights, taps, out);  // overlaps the previous block
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
  for (; i + 6 <= n; i += 4) {  // the next store overwrites the four extra bytes
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
  for (int v = 0; v < Vectors; ++v) {  // unpacking works within each half of a register
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
    for (int q = 0; q < 4; ++q) {  // two outputs per register
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

// ---- AVX-512: 512 bits, the subset of Ice Lake and Zen 4

#define WICK_AVX512 __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")))

WICK_AVX512 inline __m512i load64(const void* from) noexcept { return _mm512_loadu_si512(from); }

WICK_AVX512 inline void blend_rows_avx512(const std::uint8_t* const* rows, const std::int16_t* weights,
                                          int taps, std::int16_t* out, std::size_t n) {
  const __m512i middle = _mm512_set1_epi8(static_cast<char>(0x80)), zero = _mm512_setzero_si512();
  // Unpacking works within each quarter of a register.
  const __m512i front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    __m512i low = zero, high = zero;
    for (int k = 0; k < taps; ++k) {
      const __m512i w = _mm512_set1_epi16(weights[k]);
      const __m512i in = _mm512_xor_si512(load64(rows[k] + i), middle);
      low = _mm512_add_epi16(low, _mm512_mulhrs_epi16(_mm512_unpacklo_epi8(zero, in), w));
      high = _mm512_add_epi16(high, _mm512_mulhrs_epi16(_mm512_unpackhi_epi8(zero, in), w));
    }
    _mm512_storeu_si512(out + i, _mm512_permutex2var_epi64(low, front, high));
    _mm512_storeu_si512(out + i + 32, _mm512_permutex2var_epi64(low, back, high));
  }
  for (; i + 32 <= n; i += 32) blend_32_avx2<1>(i, rows, weights, taps, out);
  if (i == n) return;
  if (n < 32) return blend_rows_from(i, rows, weights, taps, out, n);
  blend_32_avx2<1>(n - 32, rows, weights, taps, out);
}

template <int Pairs>
WICK_AVX512 inline void pick_columns_avx512_by(const std::int16_t* row, const column_table& t,
                                               std::uint8_t* quads) noexcept {
  const __m512i start = _mm512_set1_epi32(column_start);
  const __m512i step = _mm512_set1_epi16(static_cast<short>(2 * t.channels));
  const __m512i order = _mm512_setr_epi64(0, 2, 1, 3, 4, 6, 5, 7);
  const int pairs = Pairs != 0 ? Pairs : t.pairs;
  const std::int32_t* from = t.pick_from;
  const std::int16_t *w = t.weights, *picks = t.picks;
  for (int x = 0; x < t.count; x += 8, quads += 32) {
    __m512i sum[2];
    for (__m512i& s : sum) {  // four outputs
      const __m512i in = load64(row + *from++);
      __m512i places = load64(picks);
      s = start;
      for (int j = 0; j < pairs; ++j, w += 32) {
        s = _mm512_dpwssd_epi32(s, _mm512_permutexvar_epi16(places, in), load64(w));
        places = _mm512_add_epi16(places, step);
      }
      s = _mm512_srai_epi32(s, column_shift);
      picks += picked_values;
    }
    const __m512i values = _mm512_permutexvar_epi64(order, _mm512_packs_epi32(sum[0], sum[1]));
    const __m256i levels =
        _mm256_packus_epi16(_mm512_castsi512_si256(values), _mm512_extracti64x4_epi64(values, 1));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(quads), levels);
  }
}

WICK_AVX512 inline void blend_columns_avx512(const std::int16_t* row, const column_table& t,
                                             std::uint8_t* quads) {
  if (t.picks == nullptr) return blend_columns_avx2(row, t, quads);
  switch (t.pairs) {
    case 1:
      return pick_columns_avx512_by<1>(row, t, quads);
    case 2:
      return pick_columns_avx512_by<2>(row, t, quads);
    case 3:
      return pick_columns_avx512_by<3>(row, t, quads);
    default:
      return pick_columns_avx512_by<0>(row, t, quads);
  }
}

WICK_AVX512 inline void pack_triples_avx512(const std::uint8_t* quads, std::uint8_t* out, std::size_t n) {
  alignas(64) static constexpr auto triples = [] {
    std::array<std::uint8_t, 64> all{};
    for (std::size_t i = 0; i < 48; ++i) all[i] = static_cast<std::uint8_t>(i / 3 * 4 + i % 3);
    return all;
  }();
  const __m512i order = load64(triples.data());
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m512i packed = _mm512_permutexvar_epi8(order, load64(quads + 4 * i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 3 * i), _mm512_castsi512_si256(packed));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * i + 32), _mm512_extracti32x4_epi32(packed, 2));
  }
  pack_triples_ssse3(quads + 4 * i, out + 3 * i, n - i);
}

inline constexpr resample_kernels avx512_kernels{
    "avx512", &blend_rows_avx512, &blend_columns_avx512, &pack_triples_avx512, &split_planes_ssse3, true};

#undef WICK_SSSE3
#undef WICK_AVX2
#undef WICK_AVX512

}  // namespace wick::detail

// The rounds of a permutation with AVX2 and AVX-512, if the processor has them. Included in exactly one file
// of a program.
#pragma once

#include <wick/sampling/detail/grid_rounds.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wick::inline v0_1::detail {

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // from gcc's own intrinsics, on purpose
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

__attribute__((target("avx512f"))) inline __m512i all_512(std::uint64_t x) noexcept {
  return _mm512_set1_epi64(static_cast<long long>(x));
}
__attribute__((target("avx2"))) inline __m256i all(std::uint64_t x) noexcept {
  return _mm256_set1_epi64x(static_cast<long long>(x));
}

/// Eight places per register, 64 bits each: the products need all of them, the rest only the lower half.
__attribute__((target("avx512f"))) void grid_rounds::many_avx512(std::uint64_t* places) const noexcept {
  constexpr int registers = lanes / 8;
  const __m128i bits = _mm_cvtsi32_si128(static_cast<int>(column_bits));
  const __m128i but_bits = _mm_cvtsi32_si128(static_cast<int>(64 - column_bits));
  const __m512i count = all_512(rows), mask = all_512((std::uint64_t{1} << column_bits) - 1);
  __m512i row[registers], column[registers];
  for (int k = 0; k < registers; ++k) {
    const __m512i place = _mm512_loadu_si512(places + 8 * k);
    row[k] = _mm512_srl_epi64(place, bits);
    column[k] = _mm512_and_si512(place, mask);
  }
  for (std::uint32_t r = 0; r < rounds; r += 2) {
    const __m512i f = all_512(factor[r]), c = all_512(offset[r]), g = all_512(factor[r + 1]),
                  d = all_512(offset[r + 1]);
    for (int k = 0; k < registers; ++k) {
      const __m512i by = _mm512_add_epi64(_mm512_mul_epu32(column[k], f), c);
      const __m512i moved = _mm512_add_epi64(row[k], _mm512_srli_epi64(_mm512_mul_epu32(by, count), 32));
      row[k] = _mm512_min_epu32(moved, _mm512_sub_epi32(moved, count));
      const __m512i change = _mm512_slli_epi64(_mm512_add_epi64(_mm512_mul_epu32(row[k], g), d), 32);
      column[k] = _mm512_xor_si512(column[k], _mm512_srl_epi64(change, but_bits));
    }
  }
  for (int k = 0; k < registers; ++k) {
    _mm512_storeu_si512(places + 8 * k, _mm512_or_si512(_mm512_sll_epi64(row[k], bits), column[k]));
  }
}

/// The same with four per register and half of the lanes, so that everything stays in registers.
__attribute__((target("avx2"))) inline void half_avx2(const grid_rounds& g, std::uint64_t* places) noexcept {
  constexpr int registers = grid_rounds::lanes / 8;
  const __m128i bits = _mm_cvtsi32_si128(static_cast<int>(g.column_bits));
  const __m128i but_bits = _mm_cvtsi32_si128(static_cast<int>(64 - g.column_bits));
  const __m256i count = all(g.rows), mask = all((std::uint64_t{1} << g.column_bits) - 1);
  __m256i row[registers], column[registers];
  for (int k = 0; k < registers; ++k) {
    const __m256i place = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(places) + k);
    row[k] = _mm256_srl_epi64(place, bits);
    column[k] = _mm256_and_si256(place, mask);
  }
  for (std::uint32_t r = 0; r < g.rounds; r += 2) {
    const __m256i f = all(g.factor[r]), c = all(g.offset[r]), f2 = all(g.factor[r + 1]),
                  d = all(g.offset[r + 1]);
    for (int k = 0; k < registers; ++k) {
      const __m256i by = _mm256_add_epi64(_mm256_mul_epu32(column[k], f), c);
      const __m256i moved = _mm256_add_epi64(row[k], _mm256_srli_epi64(_mm256_mul_epu32(by, count), 32));
      row[k] = _mm256_min_epu32(moved, _mm256_sub_epi32(moved, count));
      const __m256i change = _mm256_slli_epi64(_mm256_add_epi64(_mm256_mul_epu32(row[k], f2), d), 32);
      column[k] = _mm256_xor_si256(column[k], _mm256_srl_epi64(change, but_bits));
    }
  }
  for (int k = 0; k < registers; ++k) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(places) + k,
                        _mm256_or_si256(_mm256_sll_epi64(row[k], bits), column[k]));
  }
}

__attribute__((target("avx2"))) void grid_rounds::many_avx2(std::uint64_t* places) const noexcept {
  half_avx2(*this, places);
  half_avx2(*this, places + lanes / 2);
}

#pragma GCC diagnostic pop
#endif

void grid_rounds::many(std::uint64_t* places) const noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return many_avx512(places);
  if (__builtin_cpu_supports("avx2")) return many_avx2(places);
#endif
  many_portable(places);
}

}  // namespace wick::detail

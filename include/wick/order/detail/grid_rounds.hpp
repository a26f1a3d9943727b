/// \file
/// The rounds of a permutation for many places at once.
#pragma once

#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wick::detail {

/// A place is a row and a column of a grid of 2^column_bits columns. Each pair of rounds moves the row by a
/// function of the column, then changes the column by a function of the row. See wick::permutation.
struct grid_rounds {
  static constexpr std::uint32_t max_rounds = 12;

  std::uint64_t rows = 1;
  std::uint32_t column_bits = 1, rounds = 2;
  std::array<std::uint64_t, max_rounds> factor{}, offset{};  ///< below 2^32 where Word is 32 bits

  /// `Word`: std::uint32_t for up to 2^16 rows and columns, std::uint64_t for up to 2^32.
  template <class Word>
  constexpr std::uint64_t one(std::uint64_t place) const noexcept {
    constexpr std::uint32_t bits = 8 * sizeof(Word);
    auto row = static_cast<Word>(place >> column_bits);
    auto column = static_cast<Word>(place & ((std::uint64_t{1} << column_bits) - 1));
    const auto count = static_cast<Word>(rows);
    for (std::uint32_t r = 0; r < rounds; r += 2) {
      const auto by = static_cast<Word>(column * static_cast<Word>(factor[r]) + static_cast<Word>(offset[r]));
      const auto moved = static_cast<Word>(row + (((std::uint64_t{by} >> (bits - 32)) * count) >> 32));
      row = moved < count ? moved : static_cast<Word>(moved - count);
      column ^=
          static_cast<Word>(row * static_cast<Word>(factor[r + 1]) + static_cast<Word>(offset[r + 1])) >>
          (bits - column_bits);
    }
    return (std::uint64_t{row} << column_bits) | column;
  }

  static constexpr int lanes = 32;
  /// one<std::uint32_t> of `lanes` places, in place: the rounds of one place wait for each other, those of
  /// many don't. By whatever the processor has.
  void many(std::uint64_t* places) const noexcept {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return many_avx512(places);
    if (__builtin_cpu_supports("avx2")) return many_avx2(places);
#endif
    many_portable(places);
  }
  void many_portable(std::uint64_t* places) const noexcept {
    std::uint32_t row[lanes], column[lanes];
    for (int k = 0; k < lanes; ++k) {
      const auto place = static_cast<std::uint32_t>(places[k]);
      row[k] = place >> column_bits;
      column[k] = place & ((1u << column_bits) - 1);
    }
    const auto count = static_cast<std::uint32_t>(rows);
    for (std::uint32_t r = 0; r < rounds; r += 2) {
      const auto f = static_cast<std::uint32_t>(factor[r]), c = static_cast<std::uint32_t>(offset[r]);
      for (int k = 0; k < lanes; ++k) {
        const std::uint32_t moved =
            row[k] + static_cast<std::uint32_t>((std::uint64_t{column[k] * f + c} * count) >> 32);
        row[k] = moved < count ? moved : moved - count;
      }
      const auto g = static_cast<std::uint32_t>(factor[r + 1]), d = static_cast<std::uint32_t>(offset[r + 1]);
      for (int k = 0; k < lanes; ++k) column[k] ^= (row[k] * g + d) >> (32 - column_bits);
    }
    for (int k = 0; k < lanes; ++k) places[k] = (std::uint64_t{row[k]} << column_bits) | column[k];
  }

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // what gcc's own intrinsics leave out on purpose
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
  __attribute__((target("avx2"))) void many_avx2(std::uint64_t* places) const noexcept {
    half_avx2(places);
    half_avx2(places + lanes / 2);
  }
  /// Eight places a register, 64 bits each, of which the products need all and the rest the lower half.
  __attribute__((target("avx512f"))) void many_avx512(std::uint64_t* places) const noexcept {
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

 private:
  __attribute__((target("avx512f"))) static __m512i all_512(std::uint64_t x) noexcept {
    return _mm512_set1_epi64(static_cast<long long>(x));
  }
  __attribute__((target("avx2"))) static __m256i all(std::uint64_t x) noexcept {
    return _mm256_set1_epi64x(static_cast<long long>(x));
  }
  /// The same with four a register, and half of the lanes, so that all are registers.
  __attribute__((target("avx2"))) void half_avx2(std::uint64_t* places) const noexcept {
    constexpr int registers = lanes / 8;
    const __m128i bits = _mm_cvtsi32_si128(static_cast<int>(column_bits));
    const __m128i but_bits = _mm_cvtsi32_si128(static_cast<int>(64 - column_bits));
    const __m256i count = all(rows), mask = all((std::uint64_t{1} << column_bits) - 1);
    __m256i row[registers], column[registers];
    for (int k = 0; k < registers; ++k) {
      const __m256i place = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(places) + k);
      row[k] = _mm256_srl_epi64(place, bits);
      column[k] = _mm256_and_si256(place, mask);
    }
    for (std::uint32_t r = 0; r < rounds; r += 2) {
      const __m256i f = all(factor[r]), c = all(offset[r]), g = all(factor[r + 1]), d = all(offset[r + 1]);
      for (int k = 0; k < registers; ++k) {
        const __m256i by = _mm256_add_epi64(_mm256_mul_epu32(column[k], f), c);
        const __m256i moved = _mm256_add_epi64(row[k], _mm256_srli_epi64(_mm256_mul_epu32(by, count), 32));
        row[k] = _mm256_min_epu32(moved, _mm256_sub_epi32(moved, count));
        const __m256i change = _mm256_slli_epi64(_mm256_add_epi64(_mm256_mul_epu32(row[k], g), d), 32);
        column[k] = _mm256_xor_si256(column[k], _mm256_srl_epi64(change, but_bits));
      }
    }
    for (int k = 0; k < registers; ++k) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(places) + k,
                          _mm256_or_si256(_mm256_sll_epi64(row[k], bits), column[k]));
    }
  }
#pragma GCC diagnostic pop
#endif
};

}  // namespace wick::detail

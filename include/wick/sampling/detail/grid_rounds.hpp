// The rounds of a permutation, for many places at once.
#pragma once

#include <array>
#include <cstdint>

namespace wick::inline v0_1::detail {

/// A place is a row and a column in a grid of 2^column_bits columns. Each pair of rounds moves the row by a
/// function of the column, then changes the column by a function of the row. See wick::permutation.
struct grid_rounds {
  static constexpr std::uint32_t max_rounds = 12;

  std::uint64_t rows = 1;
  std::uint32_t column_bits = 1, rounds = 2;
  std::array<std::uint64_t, max_rounds> factor{}, offset{};  ///< below 2^32 if Word has 32 bits

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
  /// one<std::uint32_t> for `lanes` places, in place: the rounds of one place wait for each other, those of
  /// many don't. Uses whatever the processor has.
  void many(std::uint64_t* places) const noexcept;
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
  __attribute__((target("avx2"))) void many_avx2(std::uint64_t* places) const noexcept;
  __attribute__((target("avx512f"))) void many_avx512(std::uint64_t* places) const noexcept;
#endif
};

}  // namespace wick::detail

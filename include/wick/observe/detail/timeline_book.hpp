/// \file
/// What a report's timeline is made of: readings of the clocks, some a second.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wick/observe/report.hpp>

namespace wick::detail {

/// By the consumer. Pieces get longer with the time: where there would be too many, two become one.
class timeline_book {
 public:
  static constexpr std::size_t most_pieces = 128;

  /// Ticks of work so far, and what is under way.
  struct reading {
    std::uint64_t at = 0;  // ticks
    std::vector<double> rows, workers;
    std::uint64_t ready = 0, in_flight = 0, bytes = 0;
  };

  void iteration(std::uint64_t waited) noexcept {
    ++now_.iterations;
    now_.waited += waited;
    now_.longest = std::max(now_.longest, waited);
  }
  /// Whether nothing was read yet.
  bool empty() const noexcept { return begin_.at == 0; }
  bool due(std::uint64_t now) const noexcept { return now >= next_; }
  /// A piece ends; the first reading begins one. `least`: ticks of a piece while there are few.
  void add(reading r, std::uint64_t least);
  /// All of it, and anew from the last reading on. `row_of`: of each of the report's stages, whose busy times
  /// and those of the workers are those of the pieces together.
  std::vector<timeline_piece> take(const report& of, const std::vector<std::size_t>& row_of, double tick);

 private:
  struct piece {
    reading until;
    std::uint64_t begin = 0, iterations = 0, waited = 0, longest = 0;
  };
  std::vector<piece> pieces_;
  reading begin_;
  piece now_;  // what is known of the one that has not ended
  std::uint64_t next_ = ~std::uint64_t{0}, width_ = 0;
};

}  // namespace wick::detail

/// \file
/// The order in which waiting work is let through.
#pragma once

#include <compare>
#include <cstdint>

namespace wick::detail {

/// Whose turn it is where memory is short: the lowest first, pass by pass through the data.
struct turn {
  std::uint64_t pass = 0;
  std::uint64_t position = 0;

  constexpr turn(std::uint64_t in_pass, std::uint64_t at) noexcept : pass(in_pass), position(at) {}
  constexpr turn(std::uint64_t at) noexcept : position(at) {}  // NOLINT: a position alone is a turn
  friend constexpr auto operator<=>(const turn&, const turn&) = default;
};

}  // namespace wick::detail

// Goes through a run of positions: computes their samples, a few at a time, and fetches samples that are in
// memory into the cache, some way ahead.
#pragma once

#include <algorithm>
#include <cstdint>

#include <wick/loader/detail/prefetch_choice.hpp>
#include <wick/profile/detail/run_mark.hpp>

namespace wick::inline v0_1::detail {

/// Calls `one(i, index)` for each of `count` positions from `first` on, with i counted from 0. Before that,
/// calls `computed(position, indexes, how many)` for a few of them at a time, and `prefetch(index)` for the
/// sample `ahead` positions further on (0: never).
template <class Plan, class Order, class Prefetch, class Computed, class One>
void for_each_position(const Plan& plan, const Order& order, std::uint64_t first, std::uint64_t count,
                       std::uint64_t ahead, Prefetch&& prefetch, Computed&& computed, One&& one) {
  constexpr std::uint64_t stride = run_mark::few;
  static_assert(prefetch_choice::most_samples <= stride);
  std::uint64_t indexes[2 * stride];
  const auto index = [&](std::uint64_t i) -> std::uint64_t& { return indexes[i % (2 * stride)]; };
  std::uint64_t known = 0;
  const auto foresee = [&](std::uint64_t end) {
    for (end = std::min(end, count); known < end; known += stride) {
      const std::uint64_t n = std::min(stride, count - known);
      plan.indexes(order, first + known, n, &index(known));
      computed(first + known, &index(known), n);
    }
  };
  foresee(ahead);
  for (std::uint64_t i = 0; i < std::min(ahead, count); ++i) prefetch(index(i));
  for (std::uint64_t next = 0; next < count;) {
    const std::uint64_t end = std::min(next + stride, count);
    foresee(end + ahead);
    for (; next < end; ++next) {
      if (ahead != 0 && next + ahead < count) prefetch(index(next + ahead));
      one(next, index(next));
    }
  }
}

}  // namespace wick::detail

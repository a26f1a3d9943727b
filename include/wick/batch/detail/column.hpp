// The concept `column`: the interface of a batch's columns.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <wick/batch/detail/slab.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

/// A full column: n samples of shape `each` (for images [H, W, C]) in one block of memory.
struct column_description {
  std::int64_t count = 0;
  shape each;
  dtype type = dtype::uint8;
  bool picture = false;
  layout order = layout::channels_last;

  /// The extents of the whole column: [N, …], for images in the layout `order`.
  shape extents() const {
    shape s{count};
    if (picture && order != layout::nhwc) {
      s.push_back(each[2]);
      s.push_back(each[0]);
      s.push_back(each[1]);
    } else {
      for (const std::int64_t e : each) s.push_back(e);
    }
    return s;
  }
  /// In elements, for extents().
  shape strides() const {
    const shape s = extents();
    std::int64_t step[shape::max_rank + 1] = {};
    if (picture && order == layout::channels_last) {
      const std::int64_t c = s[1], h = s[2], w = s[3];
      return {h * w * c, 1, w * c, c};
    }
    std::int64_t n = 1;
    for (std::size_t i = s.rank(); i-- > 0;) {
      step[i] = n;
      n *= s[i];
    }
    shape out;
    for (std::size_t i = 0; i < s.rank(); ++i) out.push_back(step[i]);
    return out;
  }
};

/// A sample whose shape differs from the others'.
struct misfit {
  std::size_t slot;
  std::string text;
};

/// One field of a batch's samples, or all of them together: slot i belongs to sample i. A column serves one
/// batch after another, each in this order:
///
///  1. `begin(n, order, pool)`: a batch of up to n samples. `order` is a layout, or converts to one.
///  2. `put(i, value)`: from any thread, each slot once. An exception fails the sample.
///     To write a slot again, call `forget(i)` first.
///  3. All samples have ended, and one thread has the column. `failed`: the slots without a sample, rising.
///     `first_misfit(n, failed)`: the lowest sample that doesn't fit the others; it fails, too.
///     `stale(failed)`: a failed sample set the shape, so all samples must be put again.
///  4. `close(failed, n)`: moves the other samples together. `seal(n)`: does any remaining work on the n
///     samples that are left.
///  5. `describe(hash)` and `content(i, seed)`: the shape, and the bytes of sample i, for fingerprints.
///  6. `finish(n)`: the output; or `drop()`: abandons the batch.
template <class C, class T, class Order = layout>
concept column = requires(C& c, const C& filled, std::size_t i, T&& value, const Order& order,
                          const std::shared_ptr<slab_pool>& pool, const std::vector<std::size_t>& failed,
                          fingerprint_hash& hash, std::uint64_t seed) {
  c.begin(i, order, pool);
  c.put(i, std::move(value));
  c.forget(i);
  { filled.first_misfit(i, failed) } -> std::same_as<std::optional<misfit>>;
  { filled.stale(failed) } -> std::same_as<bool>;
  c.close(failed, i);
  c.seal(i);
  filled.describe(hash);
  { filled.content(i, seed) } -> std::same_as<std::uint64_t>;
  { c.finish(i) } -> std::same_as<typename C::output>;
  c.drop();
};

/// The parts of a column whose samples always fit each other, and that has no work left once all have ended.
struct fitting_column {
  std::optional<misfit> first_misfit(std::size_t, const std::vector<std::size_t>&) const {
    return std::nullopt;
  }
  bool stale(const std::vector<std::size_t>&) const noexcept { return false; }
  void forget(std::size_t) noexcept {}
  void seal(std::size_t) noexcept {}
};

/// Closes the gaps among `n` slots: `gaps` (rising) have no sample, the others move together, in order.
template <class Slots>
void close_gaps(Slots& slots, const std::vector<std::size_t>& gaps, std::size_t n) {
  for (std::size_t g = 0; g < gaps.size(); ++g) {
    const std::size_t to = g + 1 < gaps.size() ? gaps[g + 1] : n;
    for (std::size_t i = gaps[g] + 1; i < to; ++i) slots[i - g - 1] = std::move(slots[i]);
  }
}

}  // namespace wick::detail

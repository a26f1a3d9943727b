/// \file
/// Where samples lie that are handed over one by one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <wick/batch/batch.hpp>

namespace wick::detail {

/// The column of a pipeline without batch(): each sample by itself, in groups that only the loader sees.
template <class Item>
class single_column {
 public:
  using output = std::vector<std::optional<Item>>;
  static constexpr kept_until keeps = kept_until::delivered;
  void begin(std::size_t n, layout, const std::shared_ptr<slab_pool>&) {
    slots_.clear();
    slots_.resize(n);
  }
  void put(std::size_t i, Item&& value) { slots_[i].emplace(std::move(value)); }
  std::optional<misfit> first_misfit(std::size_t, const std::vector<std::size_t>&) const {
    return std::nullopt;
  }
  void forget(std::size_t) noexcept {}
  bool stale(const std::vector<std::size_t>&) const noexcept { return false; }
  output finish(std::size_t) { return std::move(slots_); }
  void drop() noexcept { slots_.clear(); }
  /// Memory that finish() gave away, for the next time.
  void reuse(output&& used) noexcept {
    if (slots_.capacity() == 0) slots_ = std::move(used);
  }

 private:
  output slots_;
};

}  // namespace wick::detail

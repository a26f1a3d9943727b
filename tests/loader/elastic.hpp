// Sources that change their size, and loaders made at that moment to compare with.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test {

/// Has as many samples as `now` says.
struct elastic : numbers {
  std::shared_ptr<std::atomic<std::uint64_t>> now;
  explicit elastic(std::uint64_t n) : numbers{n}, now(std::make_shared<std::atomic<std::uint64_t>>(n)) {}
  std::uint64_t size() const { return *now; }
};

/// Shows its samples through a view that refresh() takes, whatever is set meanwhile.
struct viewed : elastic {
  using elastic::elastic;
  std::uint64_t view = 0;
  std::shared_ptr<std::atomic<int>> held = std::make_shared<std::atomic<int>>(0);
  struct lock {
    std::atomic<int>* of;
    explicit lock(std::atomic<int>* o) : of(o) { of->fetch_add(1); }
    lock(const lock&) = delete;
    lock& operator=(const lock&) = delete;
    ~lock() { of->fetch_sub(1); }
  };
  lock refresh() {
    view = *now;
    return lock(held.get());
  }
  std::uint64_t size() const { return view; }
};

/// Notes how many locks of its source are held when it is asked to refresh.
struct watched_stage {
  static constexpr wick::ext::stage_traits traits{
      .name = "watched", .kind = wick::ext::stage_kind::order, .has_refresh = true};
  std::shared_ptr<std::atomic<int>> held, seen;
  void refresh() { seen->store(seen->load() + held->load()); }
  std::uint64_t size(std::uint64_t n) const { return n; }
  wick::detail::identity_order prepare(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) const {
    return {};
  }
};

template <class Pipeline>
std::vector<std::vector<std::int64_t>> fresh(const Pipeline& p, std::uint64_t epoch, std::uint64_t seed) {
  wick::loader l(p, {.seed = seed, .workers = 1});
  return targets_of(l, epoch);
}

}  // namespace wick_test

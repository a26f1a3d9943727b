// The order of an epoch: made once, ahead by a worker where that can be, and shared by the epoch's batches.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include "support/doctest.hpp"
#include "support/eventually.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>

namespace wick_test::epoch_orders_tests {

namespace {

/// Which threads have prepared which epoch.
struct preparations {
  std::mutex mutex;
  std::multimap<std::uint64_t, std::thread::id> of;
  std::atomic<bool> fail{false};
  std::size_t count(std::uint64_t epoch) {
    const std::lock_guard lock(mutex);
    return of.count(epoch);
  }
  bool only_by(std::thread::id thread, std::uint64_t epoch) {
    const std::lock_guard lock(mutex);
    const auto [begin, end] = of.equal_range(epoch);
    for (auto i = begin; i != end; ++i) {
      if (i->second != thread) return false;
    }
    return true;
  }
};

struct watched_order {
  static constexpr wick::ext::stage_traits traits{.name = "watched", .kind = wick::ext::stage_kind::order};
  std::shared_ptr<preparations> seen = std::make_shared<preparations>();
  std::uint64_t size(std::uint64_t n) const { return n; }
  wick::detail::permutation prepare(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                                    std::uint32_t stage) const {
    if (seen->fail) throw std::bad_alloc();
    const std::lock_guard lock(seen->mutex);
    seen->of.emplace(epoch, std::this_thread::get_id());
    return wick::detail::shuffle_stage().prepare(n, seed, epoch, stage);
  }
};

/// Counts how often it says how long a sample is.
struct texts : numbers {
  std::shared_ptr<std::atomic<std::uint64_t>> lengths = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::uint64_t length(std::uint64_t i) const {
    lengths->fetch_add(1);
    return 1 + i % 7;
  }
};

}  // namespace

TEST_CASE("a worker makes the order of the next epoch in the middle of this one, once for all its batches") {
  const watched_order order;
  wick::loader l(wick::from(numbers{400}) | order | wick::array_batch(4),
                 {.seed = 3, .workers = 2, .prefetch = 4});
  const std::thread::id me = std::this_thread::get_id();
  for (std::uint64_t e = 0; e < 4; ++e) {
    l.epoch(e);
    for (std::uint64_t b = 0; b < l.batches(); ++b) {
      REQUIRE(l.next());
      if (b == 60) CHECK(eventually([&] { return order.seen->count(e + 1) == 1; }));
    }
    REQUIRE(!l.next());
    CHECK(order.seen->count(e) == 1);
    CHECK(order.seen->only_by(me, e) == (e == 0));
  }
}

TEST_CASE("the batches are the same whether an order was made ahead or not") {
  const auto make = [] { return wick::from(numbers{200}) | watched_order() | wick::array_batch(8); };
  wick::loader in_turn(make(), {.seed = 9, .workers = 2});
  for (const std::uint64_t e : {0, 1, 2, 7, 2, 2, 3, 4}) {
    wick::loader fresh(make(), {.seed = 9, .workers = 1});
    CHECK(targets_of(in_turn, e) == targets_of(fresh, e));
  }
}

TEST_CASE("an order that a worker has no memory for is made when it is needed, and throws there") {
  const watched_order order;
  wick::loader l(wick::from(numbers{80}) | order | wick::array_batch(4), {.workers = 2, .prefetch = 2});
  l.epoch(0);
  REQUIRE(l.next());
  order.seen->fail = true;
  while (l.next()) {
  }
  CHECK_THROWS_AS(targets_of(l, 1), std::bad_alloc);
  order.seen->fail = false;
  CHECK(targets_of(l, 1).size() == 20);
}

TEST_CASE("a loader is left, refreshed and planned again while a worker prepares an order") {
  for (int round = 0; round < 50; ++round) {
    const watched_order order;
    wick::loader l(wick::from(numbers{60}) | order | wick::array_batch(4), {.workers = 2});
    for (std::uint64_t e = 0; e < 3; ++e) {
      l.epoch(e);
      for (int i = 0; i < 5 + round % 7; ++i) REQUIRE(l.next());
      if (round % 3 == 0) l.refresh();
    }
  }
}

}  // namespace wick_test::epoch_orders_tests

// What refresh() does to states, fingerprints and calls that come at a bad moment.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "loader/elastic.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test::refresh_state_tests {

namespace {

/// Its samples may be exchanged, which its fingerprint says.
struct versioned : numbers {
  std::shared_ptr<std::uint64_t> version;
  versioned(std::uint64_t n, std::shared_ptr<std::uint64_t> v) : numbers{n}, version(std::move(v)) {}
  std::uint64_t fingerprint() const { return *version; }
};

}  // namespace

TEST_CASE(
    "between rounds a state continues with data of another size and other weights, within one it does not") {
  const auto pipeline = [](const elastic& from, const wick::weights& w) {
    return from | wick::weighted(w, {.samples = 48}) | wick::array_batch(8);
  };
  wick::weights w(std::vector<double>(20, 1.0));
  const elastic source(20);
  wick::loader l(pipeline(source, w), {.seed = 4, .workers = 2});
  const auto untouched = l.state();
  CHECK(targets_of(l, 0).size() == 6);
  const auto strict = l.state();
  w.resize(30, 2);
  *source.now = 30;
  l.refresh();
  const auto whole = targets_of(l, 1);
  const auto between = l.state();
  CHECK(between.size() <= 4096);
  l.epoch(1);
  for (int i = 0; i < 2; ++i) REQUIRE(l.next());
  const auto within = l.state();

  // The same again: to the batch.
  {
    wick::loader other(pipeline(elastic(30), wick::weights([] {
                                  std::vector<double> v(20, 1.0);
                                  v.resize(30, 2.0);
                                  return v;
                                }())),
                       {.seed = 4, .workers = 1});
    other.load_state(within);
    CHECK(other.current_epoch() == 1);
    CHECK(targets_of(other, 1) == std::vector(whole.begin() + 2, whole.end()));
    other.load_state(between);
    CHECK(other.current_epoch() == 2);
  }
  // Another size.
  wick::weights others(std::vector<double>(50, 1.0));
  const elastic more(50);
  wick::loader other(pipeline(more, others), {.seed = 4, .workers = 1});
  other.load_state(between);
  CHECK(other.current_epoch() == 2);
  const auto expected = targets_of(other, 2);
  CHECK(expected == fresh(pipeline(elastic(50), others), 2, 4));
  CHECK(contains(message_of([&] { return other.load_state(within), 0; }), "30 samples", "50"));
  CHECK(contains(message_of([&] { return other.load_state(strict), 0; }), "20 samples", "50"));
  CHECK(contains(message_of([&] { return other.load_state(untouched), 0; }), "20 samples", "50"));
  // It becomes what it was: by refresh() before or after the state is loaded.
  others.resize(30, 1);
  *more.now = 30;
  other.refresh();
  CHECK(contains(message_of([&] { return other.load_state(within), 0; }), "1st stage", "weighted",
                 "other parameters"));
  for (std::uint64_t i = 20; i < 30; ++i) others.set(i, 2);
  other.refresh();
  other.load_state(within);
  other.refresh();
  CHECK(targets_of(other, 1) == std::vector(whole.begin() + 2, whole.end()));
  other.load_state(within);
  *more.now = 20;
  others.resize(20, 1);
  CHECK(contains(message_of([&] { return other.refresh(), 0; }), "the state that was loaded", "30 samples",
                 "20"));
  CHECK(contains(message_of([&] { return other.next(); }), "last refresh() has failed"));
  *more.now = 30;
  others.resize(30, 2);
  other.refresh();
  CHECK(targets_of(other, 1) == std::vector(whole.begin() + 2, whole.end()));
}

TEST_CASE("after a refresh() the state is the beginning of the next epoch") {
  const elastic source(20);
  wick::loader l(source | wick::array_batch(5), {.workers = 1});
  l.refresh();
  CHECK(l.current_epoch() == 0);
  l.epoch(3);
  REQUIRE(l.next());
  l.refresh();
  wick::loader other(source | wick::array_batch(5), {.workers = 1});
  other.load_state(l.state());
  CHECK(other.current_epoch() == 4);
  CHECK(targets_of(other, 4).size() == 4);
}

TEST_CASE("a refresh() that fails throws, and the loader gives nothing until one has gone well") {
  const elastic source(20);
  wick::loader l(source | wick::shuffle() | wick::array_batch(5, {.drop_last = true}), {.workers = 2});
  const auto before = targets_of(l, 0);
  for (const std::uint64_t few : {0, 4}) {
    *source.now = few;
    CHECK(contains(message_of([&] { return l.refresh(), 0; }), few == 0 ? "empty" : "no full batch"));
    for (int i = 0; i < 2; ++i)
      CHECK(contains(message_of([&] { return l.epoch(1); }), "last refresh() has failed"));
    CHECK(!l.next());
  }
  *source.now = 20;
  l.refresh();
  CHECK(targets_of(l, 0) == before);
}

TEST_CASE("fingerprints of epochs stay what they were") {
  const elastic source(20);
  wick::loader l(source | wick::shuffle() | wick::array_batch(5), {.workers = 1}),
      still(elastic(20) | wick::shuffle() | wick::array_batch(5), {.workers = 1});
  targets_of(l, 0);
  targets_of(still, 0);
  CHECK(l.fingerprint(0) == still.fingerprint(0));
  *source.now = 30;
  l.refresh();
  CHECK(l.fingerprint(0) == still.fingerprint(0));
  targets_of(l, 1);
  CHECK(l.fingerprint(0) == still.fingerprint(0));
  wick::loader anew(elastic(30) | wick::shuffle() | wick::array_batch(5), {.workers = 1});
  targets_of(anew, 1);
  CHECK(l.fingerprint(1) == anew.fingerprint(1));
}

TEST_CASE("a fingerprint is of the data that its epoch had, whenever it is asked for") {
  const elastic source(20);
  wick::loader l(source | wick::shuffle() | wick::array_batch(5),
                 {.workers = 1, .prefetch_next_epoch = false}),
      still(elastic(20) | wick::shuffle() | wick::array_batch(5), {.workers = 1});
  targets_of(l, 0);
  targets_of(still, 0);
  *source.now = 30;
  l.refresh();
  CHECK(l.fingerprint(0) == still.fingerprint(0));
}

TEST_CASE("a state names the data of its epoch where samples were exchanged before it") {
  const auto name = std::make_shared<std::uint64_t>(1);
  const auto make = [&] {
    return wick::loader(versioned{20, name} | wick::shuffle() | wick::array_batch(5),
                        {.workers = 1, .prefetch_next_epoch = false});
  };
  auto l = make();
  targets_of(l, 0);
  l.state();
  const auto first = l.fingerprint(0);
  *name = 2;
  l.epoch(1);
  REQUIRE(l.next());
  CHECK(l.fingerprint(0) == first);
  auto other = make();
  other.load_state(l.state());
  CHECK(rest_of(other) == rest_of(l));
}

TEST_CASE("between epochs a state is compared with the samples that there are by then") {
  const auto name = std::make_shared<std::uint64_t>(1);
  const auto make = [&] {
    return wick::loader(versioned{20, name} | wick::shuffle() | wick::array_batch(5),
                        {.workers = 1, .prefetch_next_epoch = false});
  };
  const auto state_over = [&](std::uint64_t version) {
    *name = version;
    auto l = make();
    l.epoch(0);
    REQUIRE(l.next());
    return l.state();
  };
  const auto first = state_over(1), second = state_over(2);
  *name = 1;
  auto l = make();
  targets_of(l, 0);
  *name = 2;
  CHECK(contains(message_of([&] { return l.load_state(first), 0; }), "load_state: the state is of "));
  l.load_state(second);
  auto other = make();
  other.load_state(l.state());
  CHECK(rest_of(l) == rest_of(other));
  CHECK(targets_of(l, 1) == targets_of(other, 1));
}

TEST_CASE("refresh() on a worker: between epochs, not while batches are under way") {
  struct consumer {
    using loader_type = decltype(wick::loader(elastic(1) | wick::array_batch(1)));
    static wick::task<std::size_t> run(wick::executor* on, loader_type* l, const elastic* source) {
      co_await on->schedule();
      l->refresh();
      std::size_t taken = 0;
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        l->epoch(epoch);
        for (;;) {
          auto taking = l->next_async();
          const auto batch = co_await taking;
          if (!batch) break;
          bool refused = false;
          try {
            if (taken == 0) l->refresh();
          } catch (const std::logic_error&) {
            refused = true;
          }
          CHECK(refused == (taken == 0));
          ++taken;
        }
        source->now->fetch_add(10);
        l->refresh();
      }
      co_return taken;
    }
  };
  wick::executor ex(2);
  const elastic source(100);
  consumer::loader_type l(source | wick::array_batch(10), {.executor = &ex});
  CHECK(wick::ext::sync_wait(consumer::run(&ex, &l, &source)) == 10 + 11 + 12);
}

}  // namespace wick_test::refresh_state_tests

// Data that changes between epochs, with refresh() in between: each epoch is that of a loader made at that
// moment.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;
using wick_test::targets_of;

namespace {

/// Has as many samples as somebody says.
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
  using stage_kind = wick::on_order;
  using stage_hooks = wick::hooks<wick::hook::refresh>;
  static constexpr std::string_view name = "watched";
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

}  // namespace

TEST_CASE("after refresh() an epoch is that of a loader made anew, at any worker and rank count") {
  for (const std::size_t workers : {1, 4}) {
    for (const bool ahead : {false, true}) {
      for (const std::uint64_t ranks : {1, 2, 4}) {
        std::vector<elastic> sources;
        std::vector<std::vector<std::vector<std::int64_t>>> together;
        for (std::uint64_t rank = 0; rank < ranks; ++rank) {
          const elastic source(50);
          wick::loader l(source | wick::shuffle() | wick::shard(rank, ranks) | wick::array_batch(12),
                         {.seed = 3, .workers = workers, .prefetch_next_epoch = ahead});
          std::uint64_t epoch = 0;
          for (const std::uint64_t n : {50, 70, 70, 31, 400, 13}) {
            *source.now = n;
            l.refresh();
            CHECK(l.size() == n);
            const auto expected = fresh(
                elastic(n) | wick::shuffle() | wick::shard(rank, ranks) | wick::array_batch(12), epoch, 3);
            CHECK(targets_of(l, epoch++) == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("what was prefetched is dropped, whenever refresh() comes, and nothing is lost or comes twice") {
  for (const std::size_t workers : {1, 4}) {
    const elastic source(40);
    wick::loader l(source | wick::shuffle() | wick::array_batch(8),
                   {.seed = 9, .workers = workers, .prefetch = 3});
    std::uint64_t n = 40, epoch = 0;
    for (int i = 0; i < 200; ++i) {
      // From the first refresh() on the source may change whenever no epoch is under way.
      const auto batches = targets_of(l, epoch);
      CHECK(batches == fresh(elastic(n) | wick::shuffle() | wick::array_batch(8), epoch, 9));
      n = 20 + (n * 7 + 5) % 50;
      if (i % 3 == 0) ++epoch;
      *source.now = n;
      l.refresh();
      if (i % 5 == 0) l.refresh();
    }
  }
}

TEST_CASE("without refresh() a source that has grown is refused, and the message says what to call") {
  const elastic source(40);
  wick::loader l(source | wick::array_batch(8), {.workers = 1});
  CHECK(targets_of(l, 0).size() == 5);
  *source.now = 48;
  CHECK(contains(message_of([&] { return l.epoch(1); }), "40 samples when this loader was made", "has 48 now",
                 "call refresh()"));
  l.refresh();
  CHECK(targets_of(l, 1).size() == 6);
  *source.now = 8;
  CHECK(contains(message_of([&] { return l.epoch(2); }), "48 samples at the last refresh()", "has 8 now"));
}

TEST_CASE("refresh() in the middle of an epoch ends it there") {
  for (const bool ahead : {false, true}) {
    const elastic source(80);
    wick::loader l(source | wick::shuffle() | wick::array_batch(8),
                   {.workers = 2, .prefetch = 4, .prefetch_next_epoch = ahead});
    std::size_t taken = 0;
    for ([[maybe_unused]] auto& batch : l.epoch(0)) {
      if (++taken == 3) l.refresh();
    }
    CHECK(taken == 3);
    CHECK(!l.next());
    CHECK(l.current_epoch() == 0);
    CHECK(targets_of(l, 1) == fresh(elastic(80) | wick::shuffle() | wick::array_batch(8), 1, 0));
    l.epoch(2);
    REQUIRE(l.next());
    l.refresh();
    CHECK(targets_of(l, 2) == fresh(elastic(80) | wick::shuffle() | wick::array_batch(8), 2, 0));
  }
}

TEST_CASE("a round is drawn by the weights that there were at its refresh(), whatever is set meanwhile") {
  for (const std::size_t workers : {1, 4}) {
    wick::weights w(std::vector<double>(100, 1.0));
    const viewed source(100);
    wick::loader l(source | wick::weighted(w, {.samples = 64}) | wick::array_batch(16),
                   {.seed = 5, .workers = workers});
    std::vector<double> values(100, 1.0);
    for (std::uint64_t round = 0; round < 60; ++round) {
      for (int i = 0; i < 10; ++i) {
        values.push_back(static_cast<double>(round % 3));
        w.push_back(values.back());
      }
      for (std::uint64_t i = 0; i < values.size(); i += 7)
        w.set(i, values[i] = static_cast<double>((i + round) % 5));
      *source.now = values.size();
      l.refresh();
      const std::vector<double> then = values;
      std::vector<std::vector<std::int64_t>> got;
      for (auto& batch : l.epoch(round)) {
        const std::int64_t* const t = batch.target.as<std::int64_t>();
        got.emplace_back(t, t + 16);
        for (const std::int64_t i : got.back()) CHECK(then.at(static_cast<std::size_t>(i)) > 0);
        // None of this is of this round.
        for (std::uint64_t i = 0; i < values.size(); i += 3) w.set(i, values[i] = 0.25);
        values.push_back(1e6);
        w.push_back(1e6);
        *source.now = values.size();
      }
      CHECK(got == fresh(elastic(then.size()) | wick::weighted(wick::weights(then), {.samples = 64}) |
                             wick::array_batch(16),
                         round, 5));
    }
  }
}

TEST_CASE("what a source's refresh() returns is kept until the weights are taken") {
  const viewed source(10);
  const auto seen = std::make_shared<std::atomic<int>>(0);
  wick::loader l(wick::from(source) | watched_stage{source.held, seen} | wick::array_batch(5),
                 {.workers = 1});
  CHECK(seen->load() == 1);
  l.refresh();
  CHECK(seen->load() == 2);
  CHECK(source.held->load() == 0);
}

TEST_CASE(
    "between rounds a state goes on with data of another size and other weights, within one it does not") {
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
  CHECK(contains(message_of([&] { return other.load_state(within), 0; }), "stage 1", "weighted",
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

TEST_CASE("behind a refresh() the state is the beginning of the next epoch") {
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

TEST_CASE("a refresh() that fails is told, and the loader gives nothing until one has gone well") {
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

TEST_CASE("refresh() without batch()") {
  const elastic source(20);
  wick::loader l(source | wick::shuffle(), {.workers = 2});
  const auto count = [&](std::uint64_t epoch) {
    std::size_t n = 0;
    for ([[maybe_unused]] auto& s : l.epoch(epoch)) ++n;
    return n;
  };
  CHECK(count(0) == 20);
  *source.now = 45;
  l.refresh();
  CHECK(count(1) == 45);
  l.epoch(2);
  for (int i = 0; i < 5; ++i) REQUIRE(l.next());
  l.refresh();
  CHECK(!l.next());
  CHECK(count(2) == 45);
}

TEST_CASE("from the first refresh() on nobody looks at the source beyond the end of an epoch") {
  const elastic source(40);
  wick::loader l(source | wick::array_batch(8), {.workers = 2});
  l.refresh();
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    CHECK(targets_of(l, epoch).size() == 5);
    CHECK(source.asked->load() == 40 * (epoch + 1));
  }
}

TEST_CASE("refresh() on a worker: between epochs, not while batches are under way") {
  struct consumer {
    using loader_type = wick::loader<decltype(elastic(1) | wick::array_batch(1))>;
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
  CHECK(wick::sync_wait(consumer::run(&ex, &l, &source)) == 10 + 11 + 12);
}

TEST_CASE("samples moved to gaps are those of their round") {
  struct picky {
    static int keep(int i) {
      if (i % 10 == 3) throw wick::error("no");
      return i;
    }
  };
  struct ints {
    std::shared_ptr<std::atomic<std::uint64_t>> now = std::make_shared<std::atomic<std::uint64_t>>(40);
    std::uint64_t size() const { return *now; }
    int at(std::uint64_t i) const { return static_cast<int>(i); }
  };
  const ints source;
  wick::loader l(wick::from(source) | &picky::keep | wick::array_batch(8),
                 {.workers = 2, .on_error = wick::on_error(wick::skip, {.compact = true})});
  const auto count = [&](std::uint64_t epoch) {
    std::int64_t n = 0;
    for (auto& batch : l.epoch(epoch)) n += batch.extents()[0];
    return n;
  };
  CHECK(count(0) == 36);
  for (const std::uint64_t n : {60, 30, 100}) {
    *source.now = n;
    l.refresh();
    CHECK(count(1) == static_cast<std::int64_t>(n - n / 10));
  }
}

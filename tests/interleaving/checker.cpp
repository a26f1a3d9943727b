// The checker itself: it finds what the C++ memory model allows, and nothing that it forbids.
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "support/doctest.hpp"
#include "support/interleaving.hpp"

using namespace wick_test::interleaving;

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;
constexpr auto seq_cst = std::memory_order_seq_cst;

using pair = std::pair<int, int>;

/// All results of two threads that each leave a number.
template <class First, class Second>
std::set<pair> results(const First& first, const Second& second,
                       plan p = {.preemptions = 3, .stale_reads = 2}) {
  std::set<pair> seen;
  const outcome o = explore(p, [&] {
    atomic<int> x(0), y(0);
    int a = -1, b = -1;
    spawn([&] { a = first(x, y); });
    spawn([&] { b = second(x, y); });
    join();
    seen.emplace(a, b);
  });
  CHECK_MESSAGE(!o.failed, o.report());
  CHECK(o.complete);
  return seen;
}

}  // namespace

TEST_CASE("store buffering: two loads may both miss the other's store, unless all is seq_cst") {
  const auto with = [](std::memory_order st, std::memory_order ld) {
    return results(
        [=](auto& x, auto& y) {
          x.store(1, st);
          return y.load(ld);
        },
        [=](auto& x, auto& y) {
          y.store(1, st);
          return x.load(ld);
        });
  };
  CHECK(with(relaxed, relaxed) == std::set<pair>{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  CHECK(with(release, acquire) == std::set<pair>{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  CHECK(with(seq_cst, seq_cst) == std::set<pair>{{0, 1}, {1, 0}, {1, 1}});
}

TEST_CASE("message passing: who acquires the flag sees the message, who doesn't may miss it") {
  const auto with = [](std::memory_order st, std::memory_order ld) {
    return results(
        [=](auto& x, auto& y) {
          x.store(1, relaxed);
          y.store(1, st);
          return 0;
        },
        [=](auto& x, auto& y) {
          const int flag = y.load(ld);
          return 2 * flag + x.load(relaxed);
        });
  };
  CHECK(with(release, acquire).count({0, 2}) == 0);
  CHECK(with(relaxed, acquire).count({0, 2}) == 1);
  CHECK(with(release, relaxed).count({0, 2}) == 1);
}

TEST_CASE(
    "message passing through a read-modify-write in between, and through a plain store that breaks the "
    "sequence") {
  for (const bool modify : {true, false}) {
    bool missed = false;
    const outcome o = explore({.preemptions = 3, .stale_reads = 2}, [&] {
      atomic<int> message(0), flag(0);
      spawn([&] {
        message.store(1, relaxed);
        flag.store(1, release);
        if (!modify) flag.store(2, relaxed);
      });
      spawn([&] {
        if (modify) flag.fetch_add(1, relaxed);
      });
      spawn([&] {
        if (flag.load(acquire) == 2 && message.load(relaxed) == 0) missed = true;
      });
      join();
    });
    CHECK_FALSE(o.failed);
    CHECK(o.complete);
    CHECK(missed == !modify);
  }
}

TEST_CASE("coherence: one thread never reads a word backwards") {
  const std::set<pair> seen = results(
      [](auto& x, auto&) {
        x.store(1, relaxed);
        x.store(2, relaxed);
        return 0;
      },
      [](auto& x, auto&) {
        const int first = x.load(relaxed);
        return 10 * first + x.load(relaxed);
      },
      {.preemptions = 3, .stale_reads = 4});
  CHECK(seen == std::set<pair>{{0, 0}, {0, 1}, {0, 2}, {0, 11}, {0, 12}, {0, 22}});
}

TEST_CASE("two words may be left by the first stores of both threads, unless all is seq_cst or ordered") {
  const auto left = [](std::memory_order first, std::memory_order second) {
    std::set<pair> seen;
    const outcome o = explore({.preemptions = 3, .stale_reads = 2}, [&] {
      atomic<int> x(0), y(0);
      spawn([&] {
        x.store(1, first);
        y.store(2, second);
      });
      spawn([&] {
        y.store(1, first);
        x.store(2, second);
      });
      join();
      seen.emplace(x.load(relaxed), y.load(relaxed));
    });
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
    return seen;
  };
  CHECK(left(seq_cst, seq_cst) == std::set<pair>{{1, 2}, {2, 1}, {2, 2}});
  CHECK(left(release, release) == std::set<pair>{{1, 1}, {1, 2}, {2, 1}, {2, 2}});
  CHECK(left(relaxed, seq_cst).contains({1, 1}));
}

TEST_CASE(
    "a store comes after those that its thread knows of, and never between a word and its modification") {
  for (const bool ordered : {true, false}) {
    std::set<pair> seen;
    const outcome o = explore({.preemptions = 3, .stale_reads = 2}, [&] {
      atomic<int> x(0), flag(0);
      int before = -1;
      spawn([&] {
        x.store(1, relaxed);
        flag.store(1, ordered ? release : relaxed);
      });
      spawn([&] {
        if (flag.load(acquire) == 1)
          x.store(2, relaxed);
        else
          before = x.fetch_add(4, relaxed);
      });
      join();
      seen.emplace(before, x.load(relaxed));
    });
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
    // Never (0, 4): the modification read 0, so a store that is executed later does not go before it.
    std::set<pair> expected{{-1, 2}, {0, 1}, {1, 5}};
    if (!ordered) expected.insert({-1, 1});
    CHECK(seen == expected);
  }
}

TEST_CASE("a modification may come before a store that was executed earlier, unless the two are ordered") {
  for (const bool ordered : {true, false}) {
    for (const bool exchange : {true, false}) {
      std::set<pair> seen;
      const outcome o = explore({.preemptions = 3, .stale_reads = 2}, [&] {
        atomic<int> x(0), flag(0);
        int before = -1;
        spawn([&] {
          x.store(1, relaxed);
          flag.store(1, ordered ? release : relaxed);
        });
        spawn([&] {
          if (flag.load(acquire) == 0) return;
          if (exchange)
            before = x.exchange(2, relaxed);
          else if (before = 0; !x.compare_exchange_strong(before, 2, relaxed))
            before += 10;
        });
        join();
        if (before != -1) seen.emplace(before, x.load(relaxed));
      });
      CHECK_MESSAGE(!o.failed, o.report());
      CHECK(o.complete);
      std::set<pair> expected{exchange ? pair{1, 2} : pair{11, 1}};
      if (!ordered) expected.emplace(0, 1);
      CHECK(seen == expected);
    }
  }
}

TEST_CASE("a read-modify-write never misses another; a load and a store do") {
  const auto add = [](auto& x, auto&) { return x.fetch_add(1, relaxed); };
  CHECK(results(add, add) == std::set<pair>{{0, 1}, {1, 0}});
  const auto by_hand = [](auto& x, auto&) {
    const int before = x.load(seq_cst);
    x.store(before + 1, seq_cst);
    return before;
  };
  CHECK(results(by_hand, by_hand).count({0, 0}) == 1);
}

TEST_CASE("independent readers may see two stores in different orders, unless all is seq_cst") {
  for (const bool strong : {true, false}) {
    const std::memory_order st = strong ? seq_cst : release, ld = strong ? seq_cst : acquire;
    bool different = false;
    const outcome o = explore({.preemptions = 3, .stale_reads = 2}, [&] {
      atomic<int> x(0), y(0);
      int a = 0, b = 0, c = 0, d = 0;
      spawn([&] { x.store(1, st); });
      spawn([&] { y.store(1, st); });
      spawn([&] {
        a = x.load(ld);
        b = y.load(ld);
      });
      spawn([&] {
        c = y.load(ld);
        d = x.load(ld);
      });
      join();
      different = different || (a == 1 && b == 0 && c == 1 && d == 0);
    });
    CHECK_FALSE(o.failed);
    CHECK(o.complete);
    CHECK(different == !strong);
  }
}

TEST_CASE("a weak compare-exchange may fail for no reason, within the plan's bounds; a strong one not") {
  const auto weak = [](auto& x, auto&) {
    int expected = 0;
    return x.compare_exchange_weak(expected, 1) ? 1 : 0;
  };
  const auto strong = [](auto&, auto& y) {
    int expected = 0;
    return y.compare_exchange_strong(expected, 1) ? 1 : 0;
  };
  CHECK(results(weak, strong, {.spurious = 1}) == std::set<pair>{{0, 1}, {1, 1}});
  CHECK(results(weak, strong, {.spurious = 0}) == std::set<pair>{{1, 1}});
}

TEST_CASE("plain data written on two threads without order is a race, whatever the order they run in") {
  const outcome o = explore({.preemptions = 0}, [] {
    plain<int> data(0);
    spawn([&] { data.write(1); });
    spawn([&] { data.write(2); });
    join();
  });
  CHECK(o.failed);
  CHECK(o.runs == 1);
}

TEST_CASE("plain data is published by release and acquire, not by relaxed") {
  for (const std::memory_order st : {release, relaxed}) {
    const outcome o = explore({}, [&] {
      plain<int> data(0);
      atomic<bool> ready(false);
      spawn([&] {
        data.write(1);
        ready.store(true, st);
      });
      spawn([&] {
        if (ready.load(acquire)) expect(data.read() == 1, "the payload is not there");
      });
      join();
    });
    CHECK(o.failed == (st == relaxed));
    CHECK(o.complete == (st == release));
  }
}

TEST_CASE("what is written after a release is not published by it") {
  const outcome o = explore({}, [&] {
    plain<int> data(0);
    atomic<bool> ready(false);
    spawn([&] {
      ready.store(true, release);
      data.write(1);
    });
    spawn([&] {
      if (ready.load(acquire)) (void)data.read();
    });
    join();
  });
  CHECK(o.failed);
}

TEST_CASE("a mutex orders what is done under it, and two taken crosswise are a deadlock") {
  const outcome good = explore({}, [] {
    plain<int> data(0);
    mutex m;
    for (int t = 0; t < 3; ++t) {
      spawn([&] {
        m.lock();
        data.write(data.read() + 1);
        m.unlock();
      });
    }
    join();
    expect(data.read() == 3, "an increment was lost");
  });
  CHECK_MESSAGE(!good.failed, good.report());
  CHECK(good.complete);
  const outcome bad = explore({}, [] {
    mutex a, b;
    spawn([&] {
      a.lock();
      b.lock();
      b.unlock();
      a.unlock();
    });
    spawn([&] {
      b.lock();
      a.lock();
      a.unlock();
      b.unlock();
    });
    join();
  });
  CHECK(bad.failed);
  CHECK(bad.what.starts_with("nobody can go on"));
}

TEST_CASE("a wake-up before the sleep is lost unless the sleeper compares") {
  const auto body = [] {
    atomic<std::uint32_t> word(0);
    spawn([&] {
      while (word.load(acquire) == 0) model::wait(word, 0);
    });
    spawn([&] {
      word.store(1, release);
      model::wake_one(word);
    });
    join();
  };
  CHECK(explore({.preemptions = 3, .stale_reads = 2, .spurious = 1}, body).complete);
  CHECK(explore({.faults = {{"operator()", operation::wait, fault::blind}}}, body).failed);
  CHECK(explore({.faults = {{"operator()", operation::wake, fault::dropped}}}, body).failed);
}

TEST_CASE("a word that is destroyed while another may still touch it is an error") {
  for (const bool ordered : {true, false}) {
    const outcome o = explore({}, [&] {
      std::optional<atomic<int>> word;
      atomic<int> done(0);
      word.emplace(0);
      spawn([&] {
        word->fetch_add(1, relaxed);
        done.store(1, ordered ? release : relaxed);
      });
      spawn([&] {
        if (done.load(acquire) == 1) word.reset();
      });
      join();
    });
    CHECK(o.failed == !ordered);
  }
}

TEST_CASE("a loop that waits without sleeping is reported, not run without an end") {
  const outcome o = explore({.max_steps = 100}, [] {
    atomic<int> never(0);
    spawn([&] {
      while (never.load() == 0) {
      }
    });
    join();
  });
  CHECK(o.failed);
}

TEST_CASE(
    "a failing run is done again by its choices, operation by operation, whether it was found by search or "
    "by chance") {
  const auto body = [] {
    plain<int> data(0);
    atomic<int> x(0), ready(0);
    for (int t = 0; t < 2; ++t) {
      spawn([&] {
        for (int i = 0; i < 3; ++i) x.fetch_add(1, acq_rel);
        if (x.load(relaxed) == 5) ready.store(1, relaxed);
        if (ready.load(acquire) == 1 && x.load(relaxed) == 6) data.write(1);
      });
    }
    join();
  };
  const outcome searched = explore({}, body);
  const outcome random = explore({.random_runs = 100'000}, body);
  CHECK_FALSE(explore({.preemptions = 0, .stale_reads = 0}, body).failed);
  for (const outcome& o : {searched, random}) {
    REQUIRE(o.failed);
    const outcome again = explore({.replay = o.choices}, body);
    CHECK(again.failed);
    CHECK(again.what == o.what);
    CHECK(again.trace == o.trace);
  }
  CHECK(explore({.random_runs = 1, .seed = random.seed}, body).what == random.what);
}

TEST_CASE("the number of runs is what the bound on preemptions says") {
  // Two threads of two operations each: without preemption either goes first; with enough, all C(4, 2)
  // mergings. A point before each operation, the first too, and the free choice at the end of a thread.
  const auto runs = [](unsigned preemptions) {
    std::set<std::string> orders;
    const outcome o = explore({.preemptions = preemptions}, [&] {
      atomic<int> x(0);
      std::string order;
      for (const char name : {'a', 'b'}) {
        spawn([&, name] {
          for (int i = 0; i < 2; ++i) {
            x.fetch_add(1, relaxed);
            order += name;
          }
        });
      }
      join();
      orders.insert(order);
    });
    CHECK(o.complete);
    return orders.size();
  };
  CHECK(runs(0) == 2);
  CHECK(runs(1) == 4);
  CHECK(runs(4) == 6);
}

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/detail/event_count.hpp>
#include <wick/base/detail/futex.hpp>

namespace wick_test::event_count_tests {

using wick::detail::event_count;
using wick_test::rounds;

TEST_CASE("who retires sleeps until it cancels") {
  event_count e;
  CHECK(e.sleepers() == 0);
  e.begin_search();
  e.retire();
  CHECK(e.sleepers() == 1);
  e.cancel();
  CHECK(e.sleepers() == 0);
}

TEST_CASE("a notify between retire and sleep is not lost: sleep returns at once") {
  event_count e;
  e.begin_search();
  e.retire();
  e.notify();
  CHECK(e.sleepers() == 0);
  e.sleep();  // would hang
  e.found();
  CHECK(e.sleepers() == 0);
}

TEST_CASE("who cancels after it was chosen uses up the permit, so that no thread is woken for nothing") {
  event_count e;
  e.begin_search();
  e.retire();
  e.notify();
  e.cancel();
  e.found();
  // The next sleeper finds no permit left over: it is counted as asleep and needs a notify of its own.
  e.begin_search();
  e.retire();
  CHECK(e.sleepers() == 1);
  e.notify();
  e.sleep();
  CHECK(e.sleepers() == 0);
}

TEST_CASE("notify leaves the item to someone who searches already") {
  event_count e;
  e.begin_search();  // a sleeper
  e.retire();
  e.begin_search();  // a searcher
  e.notify();
  CHECK(e.sleepers() == 1);
  e.found();  // the last searcher has what it wanted: now the sleeper is chosen
  CHECK(e.sleepers() == 0);
  e.sleep();
}

TEST_CASE("the last searcher that looks again wakes a sleeper only when there is something") {
  event_count e;
  for (int i = 0; i < 3; ++i) e.begin_search();
  e.retire();  // one sleeps, two search
  int looks = 0;
  const auto look = [&](bool there) {
    return [&looks, there] {
      ++looks;
      return there;
    };
  };
  e.found(look(true));  // the other still searches: no need to look
  CHECK(looks == 0);
  CHECK(e.sleepers() == 1);
  e.found(look(false));
  CHECK(looks == 1);
  CHECK(e.sleepers() == 1);
  e.begin_search();
  e.found(look(true));
  CHECK(looks == 2);
  CHECK(e.sleepers() == 0);
  e.sleep();
}

TEST_CASE("one burst of notifies wakes one sleeper, which wakes the next") {
  event_count e;
  for (int i = 0; i < 3; ++i) {
    e.begin_search();
    e.retire();
  }
  e.notify();
  e.notify();
  e.notify();
  CHECK(e.sleepers() == 2);
  e.sleep();
  e.found();
  CHECK(e.sleepers() == 1);
  e.sleep();
  e.found();
  CHECK(e.sleepers() == 0);
}

TEST_CASE("notify_all chooses everybody who sleeps") {
  event_count e;
  for (int i = 0; i < 5; ++i) {
    e.begin_search();
    e.retire();
  }
  e.notify_all();
  CHECK(e.sleepers() == 0);
  for (int i = 0; i < 5; ++i) e.sleep();
}

namespace {

/// Items that are only counted, and workers that take them and sleep as the executor's do.
struct market {
  bool looks_again = true;  // the last searcher wakes a successor only for something
  event_count idle;
  std::atomic<int> items{0};
  std::atomic<int> taken{0};
  std::atomic<bool> stopping{false};

  void produce() {
    items.fetch_add(1, std::memory_order_release);
    idle.notify();
  }
  bool take() {
    int n = items.load(std::memory_order_acquire);
    while (n > 0) {
      if (items.compare_exchange_weak(n, n - 1, std::memory_order_acq_rel)) {
        taken.fetch_add(1);
        return true;
      }
    }
    return false;
  }
  void consume() {
    for (;;) {
      if (take()) continue;
      idle.begin_search();
      for (;;) {
        if (take()) break;
        idle.retire();
        if (items.load(std::memory_order_acquire) > 0) {
          idle.cancel();
        } else if (stopping.load(std::memory_order_acquire)) {
          idle.cancel();
          idle.found();
          return;
        } else {
          idle.sleep();
        }
      }
      if (looks_again)
        idle.found([this] { return items.load(std::memory_order_acquire) > 0; });
      else
        idle.found();
    }
  }
  void stop() {
    stopping.store(true, std::memory_order_release);
    idle.notify_all();
  }
};

}  // namespace

TEST_CASE("no wake-up is lost when items come one by one, each after all sleep or nearly do") {
  for (const std::size_t workers : {1u, 2u, 4u}) {
    CAPTURE(workers);
    market m;
    m.looks_again = workers != 2;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < workers; ++i) threads.emplace_back([&] { m.consume(); });
    const int n = rounds(8'000, 1'000);
    bool all = true;
    for (int i = 0; i < n && all; ++i) {
      if (i % 3 == 0) all = wick_test::eventually([&] { return m.idle.sleepers() == workers; });
      m.produce();
      all = all && wick_test::eventually([&] { return m.taken.load() == i + 1; });
    }
    CHECK(all);
    m.stop();
    for (std::thread& t : threads) t.join();
    CHECK(m.taken.load() == n);
  }
}

TEST_CASE("no wake-up is lost when several threads produce in bursts, and all workers sleep in the end") {
  bool looks_again = false;
  SUBCASE("the last searcher looks again") { looks_again = true; }
  SUBCASE("the last searcher always wakes another") {}
  market m;
  m.looks_again = looks_again;
  constexpr int producers = 3;
  const int each = rounds(40'000, 5'000);
  constexpr std::size_t workers = 4;
  std::vector<std::thread> takers, makers;
  for (std::size_t i = 0; i < workers; ++i) takers.emplace_back([&] { m.consume(); });
  for (int p = 0; p < producers; ++p) {
    makers.emplace_back([&, p] {
      auto random = static_cast<std::uint32_t>(p + 1);
      for (int i = 0; i < each; ++i) {
        m.produce();
        random = random * 1664525u + 1013904223u;
        if (random >> 26 == 0) std::this_thread::yield();
      }
    });
  }
  for (std::thread& t : makers) t.join();
  CHECK(wick_test::eventually([&] { return m.taken.load() == producers * each; }));
  CHECK(wick_test::eventually([&] { return m.idle.sleepers() == workers; }));
  m.stop();
  for (std::thread& t : takers) t.join();
}

TEST_CASE("stopping never leaves a worker asleep, whatever it does at that moment") {
  for (int round = 0; round < rounds(300, 60); ++round) {
    market m;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { m.consume(); });
    for (int i = 0; i < round % 7; ++i) m.produce();
    m.stop();
    for (std::thread& t : threads) t.join();  // would hang
    CHECK(m.taken.load() == round % 7);
  }
}

TEST_CASE("a wake flag that was set before the wait doesn't wait, and is clear after clear") {
  wick::detail::wake_flag f;
  CHECK_FALSE(f.is_set());
  f.set();
  CHECK(f.is_set());
  f.wait();
  f.clear();
  CHECK_FALSE(f.is_set());
}

TEST_CASE("a wake flag wakes its waiter, shows it the earlier writes, and may be destroyed by it at once") {
  const int n = rounds(20'000, 2'000);
  struct message {
    wick::detail::wake_flag ready;
    int content = 0;
  };
  std::atomic<message*> out{nullptr};
  std::thread setter([&] {
    for (int i = 0; i < n; ++i) {
      message* m = nullptr;
      while ((m = out.exchange(nullptr)) == nullptr) std::this_thread::yield();
      m->content = i;
      m->ready.set();
    }
  });
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    const auto m = std::make_unique<message>();
    out.store(m.get());
    m->ready.wait();
    if (m->content != i) ++wrong;
  }
  setter.join();
  CHECK(wrong == 0);
}

}  // namespace wick_test::event_count_tests

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/detail/timer_queue.hpp>

namespace wick_test::timer_queue_tests {

using wick::detail::timer;
using wick::detail::timer_queue;
using wick_test::countdown;
using wick_test::eventually;
using wick_test::rounds;
using namespace std::chrono_literals;

namespace {

struct counted_timer : timer {
  explicit counted_timer(std::chrono::nanoseconds in = 0ns) {
    due = clock::now() + in;
    expired = [](timer* t, bool on_time) noexcept {
      auto* self = static_cast<counted_timer*>(t);
      self->early = on_time && clock::now() < self->due;
      if (self->order != nullptr) self->order->push_back(self);
      self->dropped = !on_time;
      countdown* const told = self->done;
      self->calls.fetch_add(1);  // a thread that looks at this may free the timer
      if (told != nullptr) told->down();
    };
  }
  std::atomic<int> calls{0};
  bool early = false, dropped = false;
  countdown* done = nullptr;
  std::vector<counted_timer*>* order = nullptr;  // only the queue's thread writes
};

}  // namespace

TEST_CASE("timers expire once each, none before its time, in the order of their deadlines") {
  // The order of what is added late is another one: tried again, with more time, until all were in before the
  // first.
  bool in_time = false;
  for (auto head_start = 2ms; !in_time; head_start *= 4) {
    REQUIRE(head_start < 10s);
    timer_queue q;
    constexpr int n = 500;
    countdown done(n);
    std::vector<counted_timer*> order;
    std::deque<counted_timer> timers;
    std::uint32_t random = 7;
    const auto start = timer::clock::now() + head_start;
    for (int i = 0; i < n; ++i) {
      random = random * 1664525u + 1013904223u;
      counted_timer& a = timers.emplace_back();
      a.due = start + std::chrono::microseconds((random >> 16) % 20'000);
      a.done = &done;
      a.order = &order;
    }
    for (counted_timer& a : timers) REQUIRE(q.add(a));
    in_time = timer::clock::now() < start;
    REQUIRE(done.wait());
    CHECK(q.size() == 0);
    bool right = true;
    for (const counted_timer& a : timers) right = right && a.calls.load() == 1 && !a.early && !a.dropped;
    CHECK(right);
    CHECK(order.size() == n);
    if (in_time) {
      CHECK(std::is_sorted(order.begin(), order.end(),
                           [](const auto* a, const auto* b) { return a->due < b->due; }));
    }
  }
}

TEST_CASE("those that become due together expire by deadline, and by order of adding when that is the same") {
  timer_queue q;
  std::vector<counted_timer*> order;
  std::deque<counted_timer> timers(200);
  countdown done(timers.size()), busy(1);
  wick_test::gate entered;
  // The queue's thread is kept busy until all are in and due.
  struct blocker : timer {
    countdown* go;
    wick_test::gate* here;
  } block;
  block.due = timer::clock::now();
  block.go = &busy;
  block.here = &entered;
  block.expired = [](timer* t, bool) noexcept {
    auto* self = static_cast<blocker*>(t);
    self->here->open();
    (void)self->go->wait();
  };
  REQUIRE(q.add(block));
  REQUIRE(entered.wait());
  const auto past = timer::clock::now() - 1s;
  std::uint32_t random = 3;
  for (counted_timer& a : timers) {
    random = random * 1664525u + 1013904223u;
    a.due = past + std::chrono::milliseconds(random >> 30);
    a.done = &done;
    a.order = &order;
    REQUIRE(q.add(a));
  }
  busy.down();
  REQUIRE(done.wait());
  std::vector<counted_timer*> expected;
  for (counted_timer& a : timers) expected.push_back(&a);
  std::stable_sort(expected.begin(), expected.end(),
                   [](const counted_timer* a, const counted_timer* b) { return a->due < b->due; });
  CHECK(order == expected);
}

TEST_CASE("a timer that is earlier than all others wakes the thread for itself") {
  timer_queue q;
  counted_timer far(1h), near(1ms);
  countdown done(1);
  near.done = &done;
  REQUIRE(q.add(far));
  REQUIRE(q.add(near));
  CHECK(done.wait());
  CHECK(far.calls.load() == 0);
  CHECK(q.cancel(far));
}

TEST_CASE("a cancelled timer does not expire, wherever in the heap it was, and the others do") {
  timer_queue q;
  std::deque<counted_timer> timers;
  std::uint32_t random = 5;
  int left = 0;
  countdown done(150);
  for (int i = 0; i < 300; ++i) {
    random = random * 1664525u + 1013904223u;
    counted_timer& a = timers.emplace_back(1h);
    a.due += std::chrono::microseconds(random >> 16);
    a.done = &done;
    REQUIRE(q.add(a));
  }
  std::deque<counted_timer> soon;
  for (std::size_t i = 0; i < timers.size(); i += 2) CHECK(q.cancel(timers[i]));
  CHECK(q.size() == 150);
  for (std::size_t i = 0; i < timers.size(); i += 2) CHECK_FALSE(q.cancel(timers[i]));
  q.stop();
  REQUIRE(done.wait());
  for (std::size_t i = 0; i < timers.size(); ++i) left += timers[i].calls.load() == static_cast<int>(i % 2);
  CHECK(left == 300);
}

TEST_CASE("a timer that was cancelled before it is added is refused") {
  timer_queue q;
  counted_timer a(0ns);
  CHECK_FALSE(q.cancel(a));
  CHECK_FALSE(q.add(a));
  CHECK(a.calls.load() == 0);
}

TEST_CASE("stop expires all that wait at once, and says that it was not their time; later ones are refused") {
  timer_queue q;
  counted_timer a(1h), b(2h), late(0ns);
  REQUIRE(q.add(b));
  REQUIRE(q.add(a));
  q.stop();
  CHECK(a.calls.load() == 1);
  CHECK(b.calls.load() == 1);
  CHECK(a.dropped);
  CHECK(b.dropped);
  CHECK_FALSE(q.add(late));
  q.stop();
}

TEST_CASE("whatever adds, cancels and expiries meet, each timer expires or was cancelled, never both") {
  timer_queue q;
  std::atomic<int> wrong{0}, cancelled{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      auto random = static_cast<std::uint32_t>(t + 1);
      for (int i = 0; i < rounds(3'000, 500); ++i) {
        random = random * 1664525u + 1013904223u;
        counted_timer a(std::chrono::nanoseconds((random >> 16) % 200'000));
        if (i % 16 == 0) a.due += 1h;  // this one is cancelled for sure
        if (!q.add(a)) wrong.fetch_add(1);
        for (unsigned k = 0; k < (random >> 8) % 8; ++k) std::this_thread::yield();
        if (q.cancel(a)) {
          cancelled.fetch_add(1);
          if (a.calls.load() != 0) wrong.fetch_add(1);
        } else if (!eventually([&] { return a.calls.load() == 1; })) {
          wrong.fetch_add(1);
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong.load() == 0);
  CHECK(cancelled.load() > 0);
  CHECK(q.size() == 0);
}

}  // namespace wick_test::timer_queue_tests

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "../async/support.hpp"
#include "../support/doctest.hpp"
#include "../support/eventually.hpp"
#include <wick/async/async_semaphore.hpp>
#include <wick/async/detail/scope.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/pipeline/detail/budget.hpp>

namespace wick_test::budget_tests {

using wick::executor;
using wick::task;
using wick::detail::byte_account;
using wick::detail::byte_budget;
using wick::detail::scope;
using wick_test::call;
using wick_test::gate;
using wick_test::rounds;

namespace {

using std::chrono::hours;

/// Bytes taken at once, or none.
class charge {
 public:
  charge(byte_budget& from, std::size_t bytes) : taken_(from.try_acquire(*mine_, bytes)) {}
  explicit operator bool() const noexcept { return taken_; }
  void reset() noexcept { mine_->give_back(); }

 private:
  std::unique_ptr<byte_account> mine_ = std::make_unique<byte_account>();
  bool taken_;
};

/// Takes bytes, notes its position, and gives them back after a hop.
task<void> want(executor* on, byte_budget* from, std::size_t bytes, std::uint64_t position,
                std::vector<std::uint64_t>* granted) {
  byte_account mine;
  co_await from->acquire(mine, *on, bytes, position);
  granted->push_back(position);
  co_await on->schedule();
}

/// All that was posted to the one worker of `ex` before has run, or waits.
void settle(executor& ex) {
  gate g;
  call marker([&] { g.open(); });
  ex.post(&marker);
  REQUIRE(g.wait());
}

/// A thread that might run something at any time: the executor is not at rest while it lives.
class helper_elsewhere {
 public:
  explicit helper_elsewhere(executor& ex)
      : thread_([this, &ex] {
          const executor::helper slot(ex);
          there_.open();
          (void)done_.wait();
        }) {
    REQUIRE(there_.wait());
  }
  ~helper_elsewhere() {
    done_.open();
    thread_.join();
  }

 private:
  gate there_, done_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("bytes count while an account holds them, and are given back when it is destroyed") {
  byte_budget b(100, hours(1));
  {
    const charge c(b, 60);
    CHECK(c);
    CHECK(b.used() == 60);
  }
  CHECK(b.used() == 0);
  CHECK(b.peak() == 60);
  CHECK(b.limit() == 100);
}

TEST_CASE("what does not fit is not given, what fits exactly is") {
  byte_budget b(100, hours(1));
  const charge a(b, 60);
  CHECK_FALSE(charge(b, 41));
  const charge c(b, 40);
  CHECK(c);
  CHECK(b.used() == 100);
  CHECK_FALSE(charge(b, 1));
}

TEST_CASE("what is larger than the whole budget passes alone") {
  byte_budget b(100, hours(1));
  {
    const charge small(b, 1);
    CHECK_FALSE(charge(b, 1000));
  }
  const charge large(b, 1000);
  CHECK(large);
  CHECK(b.used() == 1000);
  CHECK_FALSE(charge(b, 1));
  CHECK_FALSE(charge(b, ~std::size_t{0}));
}

TEST_CASE("nothing at all may be had as long as the budget is kept") {
  byte_budget b(100, hours(1));
  const charge nothing(b, 0);
  CHECK(nothing);
  CHECK(b.used() == 0);
}

TEST_CASE("waiters are served in the order of their positions") {
  executor ex(1);
  byte_budget b(100, hours(1));
  std::vector<std::uint64_t> granted;
  scope s(ex);
  charge all(b, 100);
  for (const std::uint64_t position : {5u, 2u, 9u, 0u, 7u, 1u})
    s.spawn(want(&ex, &b, 100, position, &granted));
  settle(ex);
  CHECK(granted.empty());
  all.reset();
  s.wait();
  CHECK(granted == std::vector<std::uint64_t>{0, 1, 2, 5, 7, 9});
}

TEST_CASE(
    "one release may let several through, lowest position first, and stops at the first that does not fit") {
  executor ex(1);
  byte_budget b(100, hours(1));
  std::vector<std::uint64_t> granted;
  std::vector<std::unique_ptr<byte_account>> held;
  const auto keep = [](executor* on, byte_budget* from, std::size_t bytes, std::uint64_t position,
                       std::vector<std::uint64_t>* order,
                       std::vector<std::unique_ptr<byte_account>>* to) -> task<void> {
    auto mine = std::make_unique<byte_account>();
    co_await from->acquire(*mine, *on, bytes, position);
    order->push_back(position);
    to->push_back(std::move(mine));
  };
  scope s(ex);
  charge all(b, 100);
  s.spawn(keep(&ex, &b, 10, 4, &granted, &held));  // would fit beside 1 and 2, but 3 comes first
  s.spawn(keep(&ex, &b, 90, 3, &granted, &held));
  s.spawn(keep(&ex, &b, 30, 2, &granted, &held));
  s.spawn(keep(&ex, &b, 40, 1, &granted, &held));
  settle(ex);
  all.reset();
  settle(ex);
  CHECK(granted == std::vector<std::uint64_t>{1, 2});
  CHECK(b.used() == 70);
  std::exchange(held, {}).clear();  // the worker fills `held` again meanwhile
  s.wait();
  CHECK(granted == std::vector<std::uint64_t>{1, 2, 3, 4});
  CHECK(b.used() == 100);
  held.clear();
  CHECK(b.peak() == 100);
}

TEST_CASE("try_acquire does not overtake one who waits") {
  executor ex(1);
  byte_budget b(100, hours(1));
  std::vector<std::uint64_t> granted;
  scope s(ex);
  charge most(b, 60);
  s.spawn(want(&ex, &b, 50, 3, &granted));
  settle(ex);
  CHECK(granted.empty());
  CHECK_FALSE(charge(b, 1));  // 40 are free, but 50 are wanted first
  most.reset();
  s.wait();
  CHECK(charge(b, 1));
}

TEST_CASE("a lower position that fits passes the waiters after it") {
  // The consumer waits for the lowest position: what is free is for that one, even while a later one wants
  // more.
  executor ex(1);
  byte_budget b(100, hours(1));
  std::vector<std::uint64_t> granted;
  scope s(ex);
  charge most(b, 60);
  s.spawn(want(&ex, &b, 50, 7, &granted));
  s.spawn(want(&ex, &b, 40, 8, &granted));
  s.spawn(want(&ex, &b, 40, 6, &granted));
  settle(ex);
  settle(ex);
  CHECK((granted == std::vector<std::uint64_t>{6}));
  most.reset();
  s.wait();
  CHECK(granted == std::vector<std::uint64_t>{6, 7, 8});
}

TEST_CASE("of equal positions all are served") {
  executor ex(1);
  byte_budget b(10, hours(1));
  std::vector<std::uint64_t> granted;
  scope s(ex);
  for (int i = 0; i < 20; ++i) s.spawn(want(&ex, &b, 10, 1, &granted));
  s.wait();
  CHECK(granted.size() == 20);
}

TEST_CASE("bytes may be given back on a thread that isn't a worker") {
  executor ex(1);
  byte_budget b(10, hours(1));
  std::vector<std::uint64_t> granted;
  scope s(ex);
  charge c(b, 10);
  s.spawn(want(&ex, &b, 10, 1, &granted));
  settle(ex);
  std::thread([drop = std::move(c)]() mutable { drop.reset(); }).join();
  s.wait();
  CHECK(granted.size() == 1);
}

TEST_CASE("bytes are given back when their holder throws") {
  executor ex(1);
  byte_budget b(10, hours(1));
  const auto fail = [](executor* on, byte_budget* from) -> task<void> {
    byte_account mine;
    co_await from->acquire(mine, *on, 10, 0);
    throw std::runtime_error("bad");
  };
  CHECK_THROWS_AS(wick::ext::sync_wait(fail(&ex, &b)), std::runtime_error);
  CHECK(b.used() == 0);
}

namespace {

struct load {
  byte_budget budget;
  std::atomic<std::size_t> held{0};
  std::atomic<int> holders{0};
  std::atomic<int> broken{0};

  explicit load(std::size_t limit, const executor* keeps = nullptr)
      : budget(limit, std::chrono::seconds(1), keeps) {}

  static task<void> sample(executor* on, load* l, std::uint64_t position, std::size_t bytes, int hops) {
    byte_account mine;
    co_await l->budget.acquire(mine, *on, bytes, position);
    const std::size_t now = l->held.fetch_add(bytes) + bytes;
    const int others = l->holders.fetch_add(1);
    if (now > l->budget.limit() && others != 0) l->broken.fetch_add(1);
    for (int i = 0; i < hops; ++i) co_await on->schedule();
    l->holders.fetch_sub(1);
    l->held.fetch_sub(bytes);
  }
};

}  // namespace

TEST_CASE("under load the sum never exceeds the limit, and everyone is served") {
  executor ex(4);
  load l(1000);
  scope s(ex);
  std::uint32_t random = 7;
  const int n = rounds(20'000, 2'000);
  for (int i = 0; i < n; ++i) {
    random = random * 1664525u + 1013904223u;
    const std::size_t bytes = 1 + (random >> 8) % 1000;
    s.spawn(load::sample(&ex, &l, static_cast<std::uint64_t>(i), bytes, static_cast<int>(random >> 30)));
  }
  s.wait();
  CHECK(l.broken.load() == 0);
  CHECK(l.budget.peak() <= 1000);
  CHECK(l.budget.peak() > 500);
  CHECK(l.budget.used() == 0);
}

TEST_CASE("under load the larger than all pass alone, and everyone is served") {
  executor ex(4);
  load l(1000);
  scope s(ex);
  std::uint32_t random = 11;
  const int n = rounds(20'000, 2'000);
  for (int i = 0; i < n; ++i) {
    random = random * 1664525u + 1013904223u;
    const std::size_t bytes = random >> 29 == 0 ? 5000 : 1 + (random >> 8) % 400;
    s.spawn(load::sample(&ex, &l, static_cast<std::uint64_t>(i), bytes, static_cast<int>(random >> 30)));
  }
  s.wait();
  CHECK(l.broken.load() == 0);
  CHECK(l.budget.peak() == 5000);
  CHECK(l.budget.used() == 0);
}

TEST_CASE("bytes that workers keep ready come back as soon as a request needs them") {
  executor ex(4);
  const std::size_t limit = std::size_t{1} << 20;
  load l(limit, &ex);
  scope s(ex);
  std::uint32_t random = 5;
  const int n = rounds(20'000, 4'000);
  for (int i = 0; i < n; ++i) {
    random = random * 1664525u + 1013904223u;
    // In stretches without large requests, workers keep bytes again.
    const bool large = i % 2'000 < 200 && random >> 28 == 0;
    const std::size_t bytes = large ? limit - (random >> 8) % 2 : 1 + (random >> 8) % 400;
    s.spawn(load::sample(&ex, &l, static_cast<std::uint64_t>(i), bytes, static_cast<int>(random >> 30)));
  }
  s.wait();
  CHECK(l.broken.load() == 0);
  CHECK(l.budget.peak() <= limit);
  CHECK(l.budget.used() == 0);
  charge all(l.budget, limit);
  CHECK(all);
}

TEST_CASE("a worker takes small requests from what it keeps, and gives back what is too much") {
  executor ex(1);
  const std::size_t limit = std::size_t{64} << 20;
  byte_budget b(limit, hours(1), &ex);
  const auto few = [](executor* on, byte_budget* from) -> task<void> {
    for (int i = 0; i < 1'000; ++i) {
      byte_account mine;
      co_await from->acquire(mine, *on, 1'000, 0);
      CHECK(from->used() == 1'000);
    }
    CHECK(from->used() == 0);
    CHECK(from->peak() > 1'000);  // with what is kept
    CHECK(from->peak() < 300'000);
    byte_account large;
    co_await from->acquire(large, *on, std::size_t{64} << 20, 0);
    CHECK(from->used() == from->limit());
  };
  scope s(ex);
  s.spawn(few(&ex, &b));
  s.wait();
  CHECK(b.used() == 0);
  CHECK(charge(b, limit));
}

namespace {

/// Takes `first`, hops, takes `second` while it has that, hops, ends.
task<void> two_steps(executor* on, byte_budget* from, std::size_t first, std::size_t second,
                     wick::detail::turn at, std::vector<std::uint64_t>* ended) {
  wick::detail::byte_account mine;
  co_await from->acquire(mine, *on, first, at);
  co_await on->schedule();
  co_await from->acquire(mine, *on, second, at);
  co_await on->schedule();
  if (ended != nullptr) ended->push_back(at.position);
}

}  // namespace

TEST_CASE("turns go by pass, then by position") {
  CHECK(wick::detail::turn(0, 900) < wick::detail::turn(1, 3));
  CHECK(wick::detail::turn(1, 2) < wick::detail::turn(1, 3));
  CHECK(wick::detail::turn(7) == wick::detail::turn(0, 7));
}

TEST_CASE("an account grows in steps and gives all back at once") {
  byte_budget b(100, hours(1));
  {
    wick::detail::byte_account a;
    CHECK(b.try_acquire(a, 30));
    CHECK(b.try_acquire(a, 50));
    CHECK_FALSE(b.try_acquire(a, 30));
    CHECK(b.used() == 80);
    a.give_back();
    CHECK(b.used() == 0);
    a.give_back();
    CHECK(b.try_acquire(a, 100));
  }
  CHECK(b.used() == 0);
  CHECK(b.peak() == 100);
}

TEST_CASE("when all bytes are held by tasks that wait for more, the lowest turn is let through") {
  executor ex(1);
  byte_budget b(100, hours(1));
  std::vector<std::uint64_t> ended;
  scope s(ex);
  charge all(b, 100);
  for (const std::uint64_t position : {3u, 1u, 2u, 0u}) s.spawn(two_steps(&ex, &b, 25, 50, position, &ended));
  settle(ex);
  all.reset();
  s.wait();
  CHECK(ended == std::vector<std::uint64_t>{0, 1, 2, 3});
  CHECK(b.used() == 0);
  CHECK(b.peak() == 150);
}

TEST_CASE("under load work in two steps ends, and goes beyond the limit by one of them at most") {
  executor ex(4);
  byte_budget b(1000, hours(1));
  scope s(ex);
  std::uint32_t random = 5;
  const int n = rounds(20'000, 2'000);
  for (int i = 0; i < n; ++i) {
    random = random * 1664525u + 1013904223u;
    s.spawn(two_steps(&ex, &b, 1 + (random >> 8) % 400, 1 + (random >> 20) % 400,
                      static_cast<std::uint64_t>(i), nullptr));
  }
  s.wait();
  CHECK(b.used() == 0);
  CHECK(b.peak() <= 1800);
}

TEST_CASE(
    "a task that holds bytes and waits for something else than bytes does not stop the tasks that have "
    "that") {
  // `owner` has the lock and waits for bytes; `guest` has all bytes and waits for the lock.
  struct scene {
    byte_budget budget{100};
    wick::async_semaphore lock{1};
    int ended = 0;
    static task<void> owner(executor* on, scene* s) {
      auto key = co_await s->lock.acquire({*on, {}});
      byte_account mine;
      co_await s->budget.acquire(mine, *on, 50, 2);
      ++s->ended;
    }
    static task<void> guest(executor* on, scene* s) {
      wick::detail::byte_account mine;
      co_await s->budget.acquire(mine, *on, 100, 1);
      auto key = co_await s->lock.acquire({*on, {}});
      ++s->ended;
    }
  };
  executor ex(1);
  for (int round = 0; round < 3; ++round) {
    scene s;
    charge first(s.budget, 100);
    {
      scope both(ex);
      std::optional<helper_elsewhere> not_at_rest(std::in_place, ex);  // or a task is let through too early
      both.spawn(scene::guest(&ex, &s));
      both.spawn(scene::owner(&ex, &s));
      settle(ex);
      first.reset();
      not_at_rest.reset();
      both.wait();
    }
    CHECK(s.ended == 2);
    CHECK(s.budget.used() == 0);
    CHECK(s.budget.peak() == 150);
  }
}

namespace {

/// Takes 10 bytes, waits for the gate, then takes a lock, then 50 bytes more, and gives all back.
struct convoy {
  byte_budget budget{100};
  wick::async_semaphore gate{0};
  wick::async_semaphore lock{1};
  std::vector<std::uint64_t> ended;
  static task<void> sample(executor* on, convoy* s, std::uint64_t position) {
    wick::detail::byte_account mine;
    co_await s->budget.acquire(mine, *on, 10, position);
    auto permit = co_await s->gate.acquire({*on, {}});
    permit.forget();
    auto key = co_await s->lock.acquire({*on, {}});
    co_await s->budget.acquire(mine, *on, 50, position);
    s->ended.push_back(position);
  }
};

}  // namespace

TEST_CASE(
    "after a lock whose holder waits for bytes it is the holder who is let through, not all before it") {
  executor ex(1);
  convoy c;
  scope s(ex);
  charge some(c.budget, 20);
  std::optional<helper_elsewhere> not_at_rest(std::in_place, ex);
  for (std::uint64_t position = 10; position < 18; ++position) s.spawn(convoy::sample(&ex, &c, position));
  settle(ex);
  for (std::uint64_t position = 0; position < 10; ++position) s.spawn(convoy::sample(&ex, &c, position));
  settle(ex);
  c.gate.release(18);
  settle(ex);
  some.reset();
  not_at_rest.reset();
  s.wait();
  CHECK(c.ended.size() == 18);
  CHECK(c.ended.front() == 10);
  CHECK(c.budget.used() == 0);
  CHECK(c.budget.peak() <= 150);
}

TEST_CASE("an executor is at rest when nothing is queued, run, called or slept for") {
  executor ex(1);
  CHECK(wick_test::eventually([&] { return ex.at_rest(); }));
  std::atomic<bool> go{false};
  {
    scope s(ex);
    s.spawn([](executor* on, std::atomic<bool>* go) -> task<void> {
      auto call = on->io().run(*on, [go] {
        while (!go->load()) std::this_thread::yield();
      });
      co_await call;
    }(&ex, &go));
    settle(ex);
    CHECK_FALSE(ex.at_rest());
    go = true;
    s.wait();
  }
  CHECK(wick_test::eventually([&] { return ex.at_rest(); }));
  {
    scope s(ex);
    s.spawn([](scope* in) -> task<void> {
      auto sleep = wick::sleep_for(hours(1), *in);
      try {
        co_await sleep;
      } catch (const wick::cancelled&) {
      }
    }(&s));
    settle(ex);
    CHECK_FALSE(ex.at_rest());
    s.request_stop();
    s.wait();
  }
  CHECK(wick_test::eventually([&] { return ex.at_rest(); }));
  {
    const executor::helper slot(ex);
    CHECK_FALSE(ex.at_rest());
  }
  CHECK(wick_test::eventually([&] { return ex.at_rest(); }));
}

TEST_CASE("a budget may be dropped right after a task had to wait") {
  executor ex(2);
  for (int round = 0; round < rounds(2000, 200); ++round) {
    byte_budget b(10, std::chrono::microseconds(50));
    scope s(ex);
    for (std::uint64_t i = 0; i < 4; ++i) s.spawn(two_steps(&ex, &b, 5, 5, i, nullptr));
    s.wait();
  }
}

}  // namespace wick_test::budget_tests

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/detail/scope.hpp>
#include <wick/async/detail/worker_local.hpp>
#include <wick/async/sync_wait.hpp>

namespace wick_test::worker_local_tests {

using wick::executor;
using wick::task;
using wick::detail::worker_local;

namespace {

/// Runs f once on each worker of ex: all meet before any leaves.
template <class F>
void on_every_worker(executor& ex, F f) {
  wick_test::countdown here(ex.workers()), done(ex.workers());
  wick_test::call each([&] {
    here.down();
    (void)here.wait();
    f();
    done.down();
  });
  std::vector<std::unique_ptr<wick_test::call>> jobs;
  for (std::size_t i = 0; i < ex.workers(); ++i) {
    jobs.push_back(std::make_unique<wick_test::call>([&] { each.execute(&each); }));
    ex.post(jobs.back().get());
  }
  REQUIRE(done.wait());
}

}  // namespace

TEST_CASE("each worker has an object of its own and finds it again") {
  executor ex(4);
  worker_local<std::thread::id> own(ex);
  std::atomic<int> wrong{0};
  on_every_worker(ex, [&] { own.get([] { return std::this_thread::get_id(); }); });
  for (int i = 0; i < 10; ++i) {
    on_every_worker(ex, [&] {
      if (own.get([] { return std::thread::id(); }) != std::this_thread::get_id()) wrong.fetch_add(1);
    });
  }
  CHECK(wrong.load() == 0);
  std::set<std::thread::id> seen;
  own.for_each([&](std::thread::id id) { seen.insert(id); });
  CHECK(seen.size() == 4);
}

TEST_CASE("an object is made when a worker first asks, and only then") {
  executor ex(3);
  std::atomic<int> made{0};
  worker_local<int> own(ex);
  const auto make = [&] { return made.fetch_add(1); };
  CHECK(made.load() == 0);
  on_every_worker(ex, [&] { own.get(make); });
  on_every_worker(ex, [&] { own.get(make); });
  CHECK(made.load() == 3);
}

TEST_CASE("without a maker the object is value-initialized") {
  executor ex(1);
  worker_local<int> own(ex);
  int seen = -1;
  on_every_worker(ex, [&] { seen = own.get()++; });
  CHECK(seen == 0);
  on_every_worker(ex, [&] { seen = own.get(); });
  CHECK(seen == 1);
}

TEST_CASE("a thread that is no worker is refused") {
  executor ex(1), other(1);
  worker_local<int> own(ex);
  CHECK_THROWS_AS(own.get(), std::logic_error);
  bool refused = false;
  on_every_worker(other, [&] {
    try {
      own.get();
    } catch (const std::logic_error&) {
      refused = true;
    }
  });
  CHECK(refused);
}

TEST_CASE("an I/O thread is no worker") {
  executor ex(1);
  worker_local<int> own(ex);
  const auto ask = [](executor* on, worker_local<int>* w) -> task<void> {
    auto operation = on->io().run(*on, [w] { w->get(); });
    co_await operation;
  };
  CHECK_THROWS_AS(wick::ext::sync_wait(ask(&ex, &own)), std::logic_error);
}

TEST_CASE("a helper has an object of its own") {
  executor ex(2);
  worker_local<int> own(ex);
  on_every_worker(ex, [&] { own.get() = 1; });
  {
    const executor::helper h(ex);
    CHECK(own.get() == 0);
    own.get() = 1;
  }
  int sum = 0;
  own.for_each([&](int n) { sum += n; });
  CHECK(sum == 3);
}

TEST_CASE("a maker that throws leaves nothing, and the next one is tried") {
  executor ex(1);
  worker_local<int> own(ex);
  bool thrown = false;
  int got = 0;
  on_every_worker(ex, [&] {
    try {
      own.get([]() -> int { throw std::runtime_error("no model file"); });
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    got = own.get([] { return 7; });
  });
  CHECK(thrown);
  CHECK(got == 7);
}

TEST_CASE("the objects live as long as the worker_local, whatever runs in between") {
  executor ex(2);
  std::atomic<int> alive{0};
  {
    worker_local<wick_test::counted> own(ex);
    on_every_worker(ex, [&] { own.get([&] { return wick_test::counted(alive); }); });
    CHECK(alive.load() == 2);
  }
  CHECK(alive.load() == 0);
}

TEST_CASE("neighbors share no cache line") {
  executor ex(4);
  worker_local<char> own(ex);
  std::vector<std::uintptr_t> lines;
  on_every_worker(ex, [&] { own.get(); });
  own.for_each([&](char& c) { lines.push_back(reinterpret_cast<std::uintptr_t>(&c) / 64); });
  CHECK(std::set<std::uintptr_t>(lines.begin(), lines.end()).size() == 4);
}

TEST_CASE("coroutines that hop from worker to worker use the object of the one they are on, without a race") {
  executor ex(4);
  worker_local<long> own(ex);  // plain: a race if two workers ever shared one
  const auto count = [](executor* on, worker_local<long>* w, int times) -> task<void> {
    for (int i = 0; i < times; ++i) {
      ++w->get();
      co_await on->schedule();
    }
  };
  const int coroutines = 50, times = wick_test::rounds(500, 100);
  wick::detail::scope s(ex);
  // The first step of each is on a worker too: spawn schedules.
  for (int i = 0; i < coroutines; ++i) s.spawn(count(&ex, &own, times));
  s.wait();
  long sum = 0;
  own.for_each([&](long n) { sum += n; });
  CHECK(sum == long{coroutines} * times);
}

}  // namespace wick_test::worker_local_tests

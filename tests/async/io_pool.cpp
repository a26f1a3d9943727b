#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/eventually.hpp"
#include "support.hpp"
#include <wick/async/detail/io_pool.hpp>
#include <wick/async/detail/scope.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sync_wait.hpp>

namespace wick_test::io_pool_tests {

using wick::executor;
using wick::task;
using wick::detail::io_pool;
using wick::ext::sync_wait;
using wick_test::call;
using wick_test::countdown;
using wick_test::gate;
using wick_test::rounds;

TEST_CASE("a blocking call runs off the workers and its coroutine continues on one") {
  executor ex(2);
  struct places {
    std::size_t during = 0, after = executor::none;
    std::thread::id call_thread, caller;
  };
  const auto run = [](executor* on, places* p) -> task<void> {
    auto operation = on->io().run(*on, [on, p] {
      p->during = on->this_slot();
      p->call_thread = std::this_thread::get_id();
    });
    co_await operation;
    p->after = on->this_slot();
  };
  places p;
  p.caller = std::this_thread::get_id();
  sync_wait(run(&ex, &p));
  CHECK(p.during == executor::none);
  CHECK(p.call_thread != p.caller);
  CHECK(p.after < ex.workers());
}

TEST_CASE("a blocking call gives back what it returns") {
  executor ex(1);
  const auto run = [](executor* on) -> task<std::unique_ptr<std::string>> {
    auto operation = on->io().run(*on, [] { return std::make_unique<std::string>("bytes"); });
    auto result = co_await operation;
    co_return result;
  };
  CHECK(*sync_wait(run(&ex)) == "bytes");
}

TEST_CASE("what a blocking call throws is thrown where it is awaited, on a worker") {
  executor ex(1);
  const auto run = [](executor* on) -> task<std::string> {
    std::string text;
    auto operation = on->io().run(*on, []() -> int { throw std::runtime_error("disk gone"); });
    try {
      const int n = co_await operation;
      (void)n;
    } catch (const std::runtime_error& e) {
      text = e.what();
    }
    if (on->this_slot() == executor::none) text += " (but not on a worker)";
    co_return text;
  };
  CHECK(sync_wait(run(&ex)) == "disk gone");
}

TEST_CASE("what a blocking call of void throws is thrown where it is awaited") {
  executor ex(1);
  const auto run = [](executor* on) -> task<void> {
    auto operation = on->io().run(*on, [] { throw std::runtime_error("disk gone"); });
    co_await operation;
  };
  CHECK_THROWS_WITH_AS(sync_wait(run(&ex)), "disk gone", std::runtime_error);
}

TEST_CASE("the callable may own what can only be moved, and is called once") {
  executor ex(1);
  const auto run = [](executor* on, std::atomic<int>* calls) -> task<int> {
    auto operation = on->io().run(*on, [p = std::make_unique<int>(6), calls]() mutable {
      calls->fetch_add(1);
      return *p * 7;
    });
    const int n = co_await operation;
    co_return n;
  };
  std::atomic<int> calls{0};
  CHECK(sync_wait(run(&ex, &calls)) == 42);
  CHECK(calls.load() == 1);
}

TEST_CASE("workers continue while a call blocks") {
  executor ex({.workers = 1, .io_threads = 1});
  gate open, finished;
  const auto blocked = [](executor* on, gate* g, gate* end) -> task<void> {
    auto operation = on->io().run(*on, [g] { return g->wait(); });
    const bool in_time = co_await operation;
    if (in_time) end->open();
  };
  wick::detail::scope s(ex);
  s.spawn(blocked(&ex, &open, &finished));
  // The only worker does a thousand other things, the last of which ends the wait.
  countdown rest(1000);
  std::vector<std::unique_ptr<call>> jobs;
  for (int i = 0; i < 1000; ++i) jobs.push_back(std::make_unique<call>([&] { rest.down(); }));
  for (auto& j : jobs) ex.post(j.get());
  REQUIRE(rest.wait());
  open.open();
  s.wait();
  CHECK(finished.wait());
}

TEST_CASE("many calls from many coroutines all come back, from no more threads than were asked for") {
  executor ex({.workers = 4, .io_threads = 3});
  CHECK(ex.io().threads() == 3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> sum{0};
  struct reader {
    static task<void> run(executor* on, int times, std::mutex* m, std::set<std::thread::id>* ids,
                          std::atomic<int>* to) {
      for (int i = 0; i < times; ++i) {
        auto operation = on->io().run(*on, [m, ids, i] {
          const std::lock_guard lock(*m);
          ids->insert(std::this_thread::get_id());
          return i;
        });
        const int n = co_await operation;
        to->fetch_add(n);
      }
    }
  };
  const int coroutines = 50, times = rounds(200, 40);
  wick::detail::scope s(ex);
  for (int i = 0; i < coroutines; ++i) s.spawn(reader::run(&ex, times, &mutex, &seen, &sum));
  s.wait();
  CHECK(sum.load() == coroutines * (times * (times - 1) / 2));
  CHECK(seen.size() <= 3);
  CHECK(seen.count(std::this_thread::get_id()) == 0);
}

TEST_CASE("as many calls block at the same time as there are threads") {
  executor ex({.workers = 1, .io_threads = 4});
  countdown together(4);
  const auto meet = [](executor* on, countdown* c) -> task<bool> {
    auto operation = on->io().run(*on, [c] {
      c->down();
      return c->wait();  // until all four are here
    });
    const bool met = co_await operation;
    co_return met;
  };
  const auto check = [](task<bool> t, std::atomic<int>* n) -> task<void> {
    const bool met = co_await t;
    if (met) n->fetch_add(1);
  };
  std::atomic<int> met{0};
  wick::detail::scope s(ex);
  for (int i = 0; i < 4; ++i) s.spawn(check(meet(&ex, &together), &met));
  s.wait();
  CHECK(met.load() == 4);
}

TEST_CASE("a pool of one thread runs jobs in the order in which they were posted") {
  io_pool io(1);
  std::vector<int> order;
  countdown done(500);
  std::vector<std::unique_ptr<call>> jobs;
  for (int i = 0; i < 500; ++i) {
    jobs.push_back(std::make_unique<call>([&, i] {
      order.push_back(i);
      done.down();
    }));
  }
  for (auto& j : jobs) io.post(j.get());
  REQUIRE(done.wait());
  for (std::size_t i = 0; i < order.size(); ++i) REQUIRE(order[i] == static_cast<int>(i));
}

#ifdef __linux__
namespace {

/// How often threads of pools have gone to sleep so far.
std::uint64_t sleeps_of_io_threads() {
  std::uint64_t all = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream in(task.path() / "status");
    bool mine = false;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("Name:")) mine = line.find("wick-io") != std::string::npos;
      constexpr std::string_view count = "voluntary_ctxt_switches:";
      if (mine && line.starts_with(count)) all += std::stoull(line.substr(count.size()));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("a call that has to wait for others wakes no thread") {
  struct blocking : wick::detail::job {
    std::atomic<int>* begun = nullptr;
    std::atomic<int>* may_end = nullptr;
  };
  struct turn : wick::detail::job {
    std::mutex* one_at_a_time = nullptr;
    std::atomic<std::uint64_t>* left = nullptr;
  };
  io_pool io(wick::detail::concurrency(8, 1, 8));
  // Calls that only one at a time can do: more threads bring nothing, and the pool uses fewer.
  std::mutex one_at_a_time;
  std::atomic<std::uint64_t> left{0};
  std::vector<turn> turns(2000);
  for (turn& t : turns) {
    t.one_at_a_time = &one_at_a_time;
    t.left = &left;
    t.execute = [](wick::detail::job* j) noexcept {
      auto* const self = static_cast<turn*>(j);
      const std::lock_guard lock(*self->one_at_a_time);
      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
      while (std::chrono::steady_clock::now() < until) {
      }
      self->left->fetch_sub(1);
    };
  }
  for (int round = 0; round < 200 && io.threads() > 4; ++round) {
    left = turns.size();
    for (turn& t : turns) io.post(&t);
    REQUIRE(wick_test::eventually([&] { return left == 0; }));
  }
  REQUIRE(io.threads() <= 4);
  REQUIRE(wick_test::eventually([&] { return io.at_rest(); }));

  std::atomic<int> begun{0}, may_end{0};
  std::vector<blocking> held(io.threads()), waiting(200);
  const auto run = [](wick::detail::job* j) noexcept {
    auto* const self = static_cast<blocking*>(j);
    self->begun->fetch_add(1);
    self->begun->notify_all();
    self->may_end->wait(0);
  };
  for (auto* const some : {&held, &waiting}) {
    for (blocking& b : *some) {
      b.begun = &begun;
      b.may_end = &may_end;
      b.execute = run;
    }
  }
  for (blocking& b : held) io.post(&b);
  REQUIRE(wick_test::eventually([&] { return begun == static_cast<int>(held.size()); }));
  std::uint64_t before = sleeps_of_io_threads();
  REQUIRE(wick_test::eventually([&] { return std::exchange(before, sleeps_of_io_threads()) == before; }));
  for (blocking& b : waiting) {
    io.post(&b);
    std::this_thread::yield();
  }
  CHECK(sleeps_of_io_threads() - before < waiting.size() / 4);
  may_end = 1;
  may_end.notify_all();
  CHECK(wick_test::eventually([&] { return begun == static_cast<int>(held.size() + waiting.size()); }));
  CHECK(wick_test::eventually([&] { return io.at_rest(); }));
}
#endif

TEST_CASE("a pool of zero threads has one") { CHECK(io_pool(0).threads() == 1); }

TEST_CASE("stopping does what is queued") {
  std::atomic<int> ran{0};
  std::vector<std::unique_ptr<call>> jobs;
  for (int i = 0; i < 500; ++i) jobs.push_back(std::make_unique<call>([&] { ran.fetch_add(1); }));
  io_pool io(2);
  for (auto& j : jobs) io.post(j.get());
  io.stop();
  CHECK(ran.load() == 500);
  io.stop();
}

TEST_CASE("a stopped pool refuses a job instead of forgetting it") {
  io_pool io(1);
  bool ran = false;
  call j([&] { ran = true; });
  io.stop();
  CHECK_THROWS_AS(io.post(&j), std::logic_error);
  CHECK_FALSE(ran);
}

TEST_CASE("a call that is never awaited never runs") {
  executor ex(1);
  bool ran = false;
  {
    const auto operation = ex.io().run(ex, [&] { ran = true; });
    (void)operation;
  }
  CHECK_FALSE(ran);
}

TEST_CASE("a pool that chooses runs more calls at a time where that gives more, and no more than it says") {
  executor ex(2);
  const std::size_t first = ex.io().threads();
  REQUIRE(ex.io().chooses_threads());
  std::atomic<std::size_t> running{0}, most{0}, done{0};
  std::atomic<bool> enough{false};
  const auto call = [&] {
    const std::size_t now = ++running;
    for (std::size_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    --running;
    ++done;
  };
  const auto lane = [](executor* on, const auto* f, const std::atomic<bool>* stop) -> task<void> {
    while (!*stop) {
      auto operation = on->io().run(*on, [f] { (*f)(); });
      co_await operation;
    }
  };
  {
    wick::detail::scope all(ex);
    for (int i = 0; i < 200; ++i) all.spawn(lane(&ex, &call, &enough));
    CHECK(wick_test::eventually([&] { return ex.io().threads() >= 2 * first; }));
    enough = true;
    all.wait();
  }
  CHECK(most <= ex.io().most_threads());
  CHECK(most > first);
  // A call's coroutine continues before the thread that has run the call counts it as ended.
  CHECK(wick_test::eventually([&] { return ex.io().at_rest(); }));
}

}  // namespace wick_test::io_pool_tests

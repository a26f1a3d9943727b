#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/async_semaphore.hpp>
#include <wick/async/detail/scope.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/when_all.hpp>

namespace wick_test::when_all_tests {

using wick::task;
using wick::when_all;
using wick::ext::environment;
using wick::ext::sync_wait;
using wick_test::counted;
using wick_test::rounds;
using namespace std::chrono_literals;

namespace {

task<int> give(int i) { co_return i; }
task<void> nothing() { co_return; }
task<int> fail(std::string text) {
  throw std::runtime_error(text);
  co_return 0;
}
task<int> give_elsewhere(wick::executor* on, int i, int hops = 1) {
  for (int k = 0; k < hops; ++k) co_await on->schedule();
  co_return i;
}

}  // namespace

TEST_CASE("the results come in the order of the tasks, whatever their types and whichever ends first") {
  wick::executor ex(2);
  int borrowed = 3;
  const auto text = [](wick::executor* on) -> task<std::string> {
    co_await on->schedule();
    co_await wick::sleep_for(1ms, *on);
    co_return "tar";
  };
  const auto unique = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(9); };
  const auto ref = [](int* p) -> task<int&> { co_return *p; };
  auto all = sync_wait(
      when_all(give_elsewhere(&ex, 1), text(&ex), nothing(), unique(), ref(&borrowed), ex.schedule()));
  static_assert(std::is_same_v<decltype(all), std::tuple<int, std::string, std::monostate,
                                                         std::unique_ptr<int>, int, std::monostate>>);
  CHECK(std::get<0>(all) == 1);
  CHECK(std::get<1>(all) == "tar");
  CHECK(*std::get<3>(all) == 9);
  CHECK(std::get<4>(all) == 3);
}

TEST_CASE("none at all is an empty tuple, or an empty vector") {
  CHECK(sync_wait(when_all()) == std::tuple<>());
  CHECK(sync_wait(when_all(std::vector<task<int>>())).empty());
  sync_wait(when_all(std::vector<task<void>>()));
}

TEST_CASE("a vector of tasks gives a vector of results in its order") {
  wick::executor ex(3);
  std::vector<task<int>> tasks;
  const int n = rounds(2'000, 300);
  for (int i = 0; i < n; ++i) tasks.push_back(give_elsewhere(&ex, i, i % 7));
  const std::vector<int> all = sync_wait(when_all(std::move(tasks)));
  REQUIRE(all.size() == static_cast<std::size_t>(n));
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && all[static_cast<std::size_t>(i)] == i;
  CHECK(right);
}

TEST_CASE("they are under way at the same time") {
  // Each waits for the other.
  wick::executor ex(1);
  const auto run = [](wick::executor* on) -> task<int> {
    wick::async_semaphore a(0), b(0);
    const auto left = [](wick::async_semaphore* x, wick::async_semaphore* y, environment env) -> task<int> {
      x->release();
      auto p = co_await y->acquire(env);
      static_cast<void>(p.forget());
      co_return 1;
    };
    auto both = co_await when_all(left(&a, &b, *on), left(&b, &a, *on));
    co_return std::get<0>(both) + std::get<1>(both);
  };
  CHECK(sync_wait(run(&ex)) == 2);
}

TEST_CASE("starts_on puts each on a worker, so that they compute at the same time") {
  wick::executor ex(2);
  std::atomic<int> here{0};
  const auto meet = [](std::atomic<int>* n) -> task<bool> {
    n->fetch_add(1);
    co_return wick_test::eventually(
        [&] { return n->load() == 2; });  // blocks its worker until the other is there
  };
  const auto both =
      sync_wait(when_all(wick::detail::starts_on(ex, meet(&here)), wick::detail::starts_on(ex, meet(&here))));
  CHECK(std::get<0>(both));
  CHECK(std::get<1>(both));
}

TEST_CASE("an exception waits for the others") {
  wick::executor ex(1);
  std::atomic<int> ended{0};
  const auto slow = [](wick::executor* on, std::atomic<int>* n) -> task<void> {
    co_await wick::sleep_for(2ms, *on);
    n->fetch_add(1);
  };
  CHECK_THROWS_WITH_AS(sync_wait(when_all(fail("early"), slow(&ex, &ended))), "early", std::runtime_error);
  CHECK(ended.load() == 1);
}

TEST_CASE("awaiters that are no tasks may be given as they are: a lock, a sleep") {
  wick::executor ex(1);
  wick::async_semaphore a(1), b(1);
  const auto run = [](wick::executor* on, wick::async_semaphore* x, wick::async_semaphore* y) -> task<bool> {
    auto all = co_await when_all(x->acquire(*on), y->acquire(*on), wick::sleep_for(1ms, *on));
    co_return std::get<0>(all) && std::get<1>(all) && !x->try_acquire() && !y->try_acquire();
  };
  CHECK(sync_wait(run(&ex, &a, &b)));
  CHECK(a.try_acquire());
}

TEST_CASE("many in sequence, and nested deeply, take no stack") {
  wick_test::stack_span span;
  struct nest {
    static task<int> level(wick_test::stack_span* s, int depth) {
      s->touch();
      if (depth == 0) co_return 0;
      auto both = co_await when_all(level(s, depth - 1), give(1));
      s->touch();
      co_return std::get<0>(both) + std::get<1>(both);
    }
    static task<int> loop(wick_test::stack_span* s, int n) {
      int sum = 0;
      for (int i = 0; i < n; ++i) {
        auto two = co_await when_all(give(1), give(2));
        s->touch();
        sum += std::get<0>(two) + std::get<1>(two);
      }
      co_return sum;
    }
  };
  const int n = rounds(100'000, 10'000);
  CHECK(sync_wait(nest::level(&span, n)) == n);
  CHECK(sync_wait(nest::loop(&span, n)) == 3 * n);
  CHECK(span.bytes() < wick_test::stack_span::bounded);
}

TEST_CASE("whichever task ends last on whatever worker, the caller continues exactly once and sees all") {
  wick::executor ex(4);
  std::uint32_t random = 5;
  const auto run = [](wick::executor* on, std::uint32_t r) -> task<int> {
    int plain[4] = {};  // written by the siblings, read after
    const auto write = [](wick::executor* w, int* to, unsigned hops) -> task<void> {
      for (unsigned i = 0; i < hops; ++i) co_await w->schedule();
      *to = 1;
    };
    auto all = co_await when_all(write(on, &plain[0], r & 3), write(on, &plain[1], (r >> 2) & 3),
                                 write(on, &plain[2], (r >> 4) & 3), write(on, &plain[3], (r >> 6) & 3));
    static_cast<void>(all);
    co_return plain[0] + plain[1] + plain[2] + plain[3];
  };
  int sum = 0;
  const int n = rounds(5'000, 600);
  for (int i = 0; i < n; ++i) {
    random = random * 1664525u + 1013904223u;
    sum += sync_wait(run(&ex, random >> 16));
  }
  CHECK(sum == 4 * n);
}

}  // namespace wick_test::when_all_tests

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include <wick/async/detail/scope.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/budget.hpp>
#include <wick/pipeline/error.hpp>

namespace wick_test::context_tests {

namespace {

std::vector<std::uint32_t> draws(wick::context& c, int n) {
  std::vector<std::uint32_t> out;
  for (int i = 0; i < n; ++i) out.push_back(c.random()());
  return out;
}

constexpr wick::detail::place here{.seed = 1, .epoch = 2, .position = 3, .index = 4};

}  // namespace

TEST_CASE("a context says where its sample stands") {
  wick::context c(here);
  CHECK(c.seed() == 1);
  CHECK(c.epoch() == 2);
  CHECK(c.position() == 3);
  CHECK(c.index() == 4);
}

TEST_CASE("the random stream is that of seed, epoch, position and stage") {
  wick::context c(here);
  c.enter(5);
  wick::random_stream expected(1, 2, 3, 5);
  for (const std::uint32_t drawn : draws(c, 20)) CHECK(drawn == expected());
}

TEST_CASE(
    "the random stream does not depend on the index: another order of the data keeps the augmentations "
    "apart") {
  wick::detail::place other = here;
  other.index = 99;
  wick::context a(here), b(other);
  CHECK(draws(a, 10) == draws(b, 10));
}

TEST_CASE("a stage's stream continues from call to call, and what another stage draws doesn't change it") {
  wick::context drawn(here), alone(here);
  drawn.enter(1);
  draws(drawn, 7);
  drawn.enter(2);
  alone.enter(2);
  const auto first = draws(drawn, 3), second = draws(drawn, 3);
  CHECK(first != second);
  CHECK(first == draws(alone, 3));
  CHECK(second == draws(alone, 3));
}

TEST_CASE("on the next sample every stage has a new stream, the same as in a new context") {
  wick::context c(here);
  c.enter(1);
  const auto before = draws(c, 4);
  const wick::detail::place next{.seed = 1, .epoch = 2, .position = 4, .index = 0};
  c.move_to(next);
  const auto after = draws(c, 4);
  CHECK(after != before);
  wick::context fresh(next);
  fresh.enter(1);
  CHECK(after == draws(fresh, 4));
  c.move_to(here);
  CHECK(draws(c, 4) == before);
}

TEST_CASE("a context made by hand has no executor, no bound on memory and is never asked to stop") {
  wick::context c(here);
  CHECK(c.on() == nullptr);
  CHECK(!c.memory_limit());
  CHECK(c.try_reserve(std::size_t{1} << 40));
  CHECK(c.reserve(std::size_t{1} << 40).await_ready());
  CHECK(!c.stop().stop_requested());
  CHECK(c.key() == "sample " + std::to_string(c.index()));
}

TEST_CASE("what a sample has reserved is given back when it ends, and when the next one begins") {
  wick::executor ex(1);
  wick::detail::byte_budget budget(100);
  {
    wick::context c(here, &ex, &budget);
    CHECK(c.try_reserve(60));
    CHECK(!c.try_reserve(60));
    CHECK(c.try_reserve(40));
    CHECK(budget.used() == 100);
    c.move_to(here);
    CHECK(budget.used() == 0);
    CHECK(c.try_reserve(70));
    c.give_back();
    CHECK(budget.used() == 0);
    CHECK(c.try_reserve(10));
  }
  CHECK(budget.used() == 0);
}

TEST_CASE(
    "where memory is short a sample of an earlier pass comes before one of a later, of the same epoch, too") {
  wick::executor ex(1);
  wick::detail::byte_budget budget(100, std::chrono::hours(1));
  std::vector<int> served;
  {
    const auto serve = [](wick::context* c, int name, std::vector<int>* to) -> wick::task<void> {
      co_await c->reserve(80);
      to->push_back(name);
      c->give_back();
    };
    wick::context holder(here, &ex, &budget);
    REQUIRE(holder.try_reserve(80));
    wick::context later({here.seed, here.epoch, 0, 0}, &ex, &budget, {}, 2);
    wick::context earlier({here.seed, here.epoch, 900, 900}, &ex, &budget, {}, 1);
    wick::detail::scope waiting(ex);
    waiting.spawn(serve(&later, 2, &served));
    waiting.spawn(serve(&earlier, 1, &served));
    // Jobs of one worker are run in their order: both wait by then.
    wick::ext::sync_wait([](wick::executor* on) -> wick::task<void> { co_await on->schedule(); }(&ex));
    holder.give_back();
    waiting.wait();
  }
  CHECK(served == std::vector<int>{1, 2});
}

TEST_CASE("a context is asked to stop with its loader's source") {
  wick::detail::stop_source source;
  wick::context c(here, nullptr, nullptr, source.token());
  CHECK(!c.stop().stop_requested());
  source.request_stop();
  CHECK(c.stop().stop_requested());
}

TEST_CASE("a blocking call runs on an I/O thread, and gives what it returns or throws on a worker") {
  wick::executor ex(1);
  wick::context c(here, &ex);
  const auto call = [](wick::context* c, wick::executor* on, bool fails) -> wick::task<int> {
    co_await on->schedule();  // a call that is over before it is waited for continues where it was made
    auto calling = c->run_blocking([on, fails] {
      if (fails) throw wick::error("no such row");
      return on->io().has_this_thread() ? 7 : 0;
    });
    const int got = co_await calling;
    co_return on->this_slot() == 0 ? got : -1;
  };
  CHECK(wick::ext::sync_wait(call(&c, &ex, false)) == 7);
  CHECK_THROWS_AS(wick::ext::sync_wait(call(&c, &ex, true)), wick::error);
  int called = 0;
  const auto nothing = [](wick::context* c, int* called) -> wick::task<void> {
    auto calling = c->run_blocking([called] { ++*called; });
    co_await calling;
  };
  wick::ext::sync_wait(nothing(&c, &called));
  wick::context by_hand(here);
  wick::ext::sync_wait(nothing(&by_hand, &called));
  CHECK(called == 2);
}

}  // namespace wick_test::context_tests

// Which threads may call a loader, and the errors of those that may not.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "loader/misuse_of.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test::loader_threads_tests {

TEST_CASE(
    "next() of a loader in a stage of another one on the same executor is an error of the sample, each "
    "time") {
  for (int round = 0; round < 200; ++round) {
    wick::executor both(2);
    wick::loader inner(numbers{1000} | wick::array_batch(8), {.executor = &both});
    std::vector<int> items(64);
    wick::loader outer(wick::in_memory(items) |
                           wick::map("nested", [&](int x) { return x + int(inner.next().has_value()); }) |
                           wick::array_batch(1),
                       {.executor = &both});
    for (std::uint64_t batch = 0; batch < outer.batches(); ++batch) {
      const std::string text = message_of([&] { return outer.next(); });
      REQUIRE_MESSAGE(contains(text, "sample", "nested: ", "would block a worker", "co_await next_async()"),
                      text);
    }
    CHECK(!outer.next());
    CHECK(targets_of(inner, 0).size() == 125);  // nothing of it has changed
  }
}

TEST_CASE(
    "a thread that helps is a worker while it does: next() in a stage that it runs is refused as well") {
  wick::executor both(1);
  wick::loader inner(numbers{1000} | wick::array_batch(8), {.executor = &both});
  {
    const wick::executor::helper slot(both);
    REQUIRE(slot);
    CHECK(contains(misuse_of([&] { return inner.next(); }), "would block a worker"));
  }
  CHECK(inner.next().has_value());
  // In a loader whose samples are short enough for the loop to run some, whichever thread runs which.
  std::atomic<std::uint64_t> refused{0};
  const auto nested = [&](cell c) {
    // Now and then only: an exception takes longer than the samples at which a loop helps.
    if (c.target % 512 == 511)
      refused += contains(misuse_of([&] { return inner.next(); }), "would block a worker");
    return c;
  };
  wick::loader outer(numbers{1 << 14} | wick::map("nested", nested) | wick::array_batch(128),
                     {.prefetch_next_epoch = false, .executor = &both});
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) CHECK(targets_of(outer, epoch).size() == 128);
  CHECK(refused == 5 * 32);
  CHECK(inner.report().batches == 1);
}

TEST_CASE("what a worker is refused has changed nothing: the loader continues where it stood") {
  wick::executor ex(1);
  wick::loader l(numbers{100} | wick::shuffle() | wick::array_batch(10), {.executor = &ex});
  struct stranger {
    static wick::task<std::string> next(wick::executor* on, decltype(l)* from) {
      co_await on->schedule();
      co_return misuse_of([&] { return from->next(); });
    }
    static wick::task<std::string> range(wick::executor* on, decltype(l)::epoch_range* from) {
      co_await on->schedule();
      co_return misuse_of([&] { return from->next(); }) + misuse_of([&] { return from->begin(); });
    }
    static wick::task<std::string> advance(wick::executor* on, decltype(l)::epoch_range::iterator* from) {
      co_await on->schedule();
      co_return misuse_of([&] { return ++*from; });
    }
  };
  const auto untouched = l.state();
  CHECK(contains(wick::ext::sync_wait(stranger::next(&ex, &l)), "would block a worker"));
  CHECK(l.state() == untouched);
  auto range = l.epoch(3);
  auto at = range.begin();
  const std::int64_t first = at->target.as<std::int64_t>()[0];
  const auto standing = l.state();
  CHECK(contains(wick::ext::sync_wait(stranger::range(&ex, &range)), "would block a worker"));
  CHECK(contains(wick::ext::sync_wait(stranger::advance(&ex, &at)), "would block a worker"));
  CHECK(l.state() == standing);
  CHECK(at->target.as<std::int64_t>()[0] == first);
  std::size_t rest = 0;
  for (; at != range.end(); ++at) ++rest;
  CHECK(rest == 10);
}

TEST_CASE("an I/O thread of the loader's executor is refused, since the loader's own reads may wait for it") {
  wick::executor both(wick::executor_options{.workers = 1, .io_threads = 1});
  const auto blocking = [](cell c, wick::context& context) -> wick::task<cell> {
    auto reading = context.run_blocking([] { return 1; });
    const int one = co_await reading;
    c.data[0] = static_cast<std::uint8_t>(one);
    co_return c;
  };
  wick::loader inner(numbers{100} | wick::map("blocking", blocking) | wick::array_batch(10),
                     {.executor = &both});
  struct caller {
    static wick::task<std::string> run(wick::executor* on, decltype(inner)* from) {
      auto calling = on->io().run(*on, [from] { return misuse_of([&] { return from->next(); }); });
      auto text = co_await calling;
      co_return text;
    }
  };
  CHECK(contains(wick::ext::sync_wait(caller::run(&both, &inner)), "would block an I/O thread",
                 "co_await next_async()"));
  CHECK(targets_of(inner, 0).size() == 10);
}

TEST_CASE("a loader that goes on an I/O thread of its executor ends, whatever its samples wait for") {
  wick::executor both(wick::executor_options{.workers = 1, .io_threads = 1});
  std::atomic<int> asked{0};
  const auto blocking = [&asked](cell c, wick::context& context) -> wick::task<cell> {
    ++asked;
    auto reading = context.run_blocking([] { return 1; });
    const int one = co_await reading;
    c.data[0] = static_cast<std::uint8_t>(one);
    co_return c;
  };
  const auto call = [&] {
    wick::loader inner(numbers{100} | wick::map("blocking", blocking) | wick::array_batch(10),
                       {.executor = &both});
    inner.epoch(0);
    // Its calls come after this one.
    while (asked == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return misuse_of([&] { return inner.next(); });
  };
  struct caller {
    static wick::task<std::string> run(wick::executor* on, decltype(call)* what) {
      auto calling = on->io().run(*on, [what] { return (*what)(); });
      auto text = co_await calling;
      co_return text;
    }
  };
  CHECK(contains(wick::ext::sync_wait(caller::run(&both, &call)), "would block an I/O thread"));
}

TEST_CASE("workers of another executor may wait in next(), one after another") {
  wick::executor one(1), other(2);
  wick::loader inner(numbers{6400} | wick::array_batch(8), {.executor = &one});
  std::mutex turns;  // of the other's workers, and of the loop that helps them
  const auto nested = [&](int x) {
    const std::lock_guard turn(turns);
    return x + int(inner.next().has_value());
  };
  std::vector<int> items(64);
  wick::loader outer(wick::in_memory(items) | wick::map("nested", nested) | wick::array_batch(8),
                     {.prefetch_next_epoch = false, .executor = &other});
  std::int64_t sum = 0;
  for (auto& batch : outer.epoch(0)) {
    for (int i = 0; i < 8; ++i) sum += batch.as<std::int32_t>()[i];
  }
  CHECK(sum == 64);
}

TEST_CASE(
    "a thread that begins an epoch while another one waits for its batch gets an error, and the other gets "
    "its batch") {
  std::function<std::string()> use_it;
  std::string told;
  const auto use = [&](cell c) {
    if (c.target == 0) told = use_it();  // the loop is in next(), which waits for this very sample
    return c;
  };
  wick::loader l(numbers{20} | wick::map("use", use) | wick::array_batch(10),
                 {.workers = 1, .prefetch_next_epoch = false});
  use_it = [&] { return misuse_of([&] { return l.epoch(1); }); };
  const auto batch = l.next();
  REQUIRE(batch);
  CHECK(contains(told, "epoch(): two threads or coroutines use one loader at the same time",
                 "a loader of its own"));
  CHECK(batch->target.as<std::int64_t>()[9] == 9);
  CHECK(l.next());
  CHECK(!l.next());
}

}  // namespace wick_test::loader_threads_tests

// Several threads and coroutines that take from one loader.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "loader/misuse_of.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test::loader_consumers_tests {

TEST_CASE(
    "threads that take from one loader at the same time get each batch once, or an error that they are two") {
  constexpr int threads = 3;
  for (int round = 0; round < 30; ++round) {
    wick::loader l(numbers{4000} | wick::shuffle() | wick::array_batch(4), {.seed = 1, .workers = 2});
    start_line line(threads);
    std::atomic<std::uint64_t> taken{0}, samples{0}, others{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        line.wait();
        for (int i = 0; i < 300; ++i) {
          const std::string text = misuse_of([&] {
            if (i % 50 == 49 && t == 0) l.epoch(static_cast<std::uint64_t>(i) / 50);
            if (const auto batch = l.next()) {
              ++taken;
              samples += static_cast<std::uint64_t>(batch->target.extents()[0]);
            }
            return 0;
          });
          if (!text.empty() && !contains(text, "two threads or coroutines")) ++others;
        }
      });
    }
    for (std::thread& t : all) t.join();
    CHECK(samples == 4 * taken);
    CHECK(others == 0);
    CHECK(targets_of(l, 9).size() == 1000);
  }
}

TEST_CASE(
    "workers are refused samples without batch() as well, also those of a group that another thread began") {
  wick::executor both(2);
  wick::loader inner(numbers{1000} | wick::map("target", [](cell c) { return c.target; }),
                     {.executor = &both});
  REQUIRE(inner.next());  // and 15 more are there
  wick::loader outer(wick::in_memory(std::vector<int>(64)) |
                         wick::map("nested", [&](int x) { return x + int(inner.next().has_value()); }) |
                         wick::array_batch(1),
                     {.executor = &both});
  for (std::uint64_t i = 0; i < outer.batches(); ++i)
    CHECK(contains(message_of([&] { return outer.next(); }), "would block a worker"));
  std::uint64_t rest = 0;
  while (inner.next()) ++rest;
  CHECK(rest + 1 == 1000);
}

TEST_CASE("without batch(), a range says whether its next sample is there, after any end of the last group") {
  const auto make = [](std::int64_t fails) {
    return wick::loader(numbers{100} | wick::map("target", [fails](cell c) {
                          if (c.target == fails) throw std::runtime_error("no such sample");
                          return c.target;
                        }));
  };
  wick::loader l = make(-1);
  auto left_early = l.epoch(0);
  CHECK_FALSE(left_early.is_ready());
  REQUIRE(left_early.next());
  CHECK(left_early.is_ready());  // of its group, 15 more are there
  auto again = l.epoch(0);
  CHECK_FALSE(again.is_ready());
  std::uint64_t waits = 0;
  for (bool more = true; more;) {
    const bool ready = again.is_ready();
    more = again.next().has_value();
    if (more && !ready) ++waits;
  }
  CHECK(waits == l.batches());

  for (const int fails : {5, 15}) {  // within a group, and as the last of one
    wick::loader failing = make(fails);
    auto range = failing.epoch(0);
    for (int i = 0; i < fails; ++i) REQUIRE(range.next());
    CHECK(range.is_ready());
    CHECK_THROWS_AS(range.next(), wick::sample_error);
    CHECK(range.is_ready() == (fails != 15));
    REQUIRE(range.next());
    CHECK(range.is_ready());
    failing.refresh();
    CHECK_FALSE(range.is_ready());
  }
}

TEST_CASE(
    "a thread that is lent to the executor is refused samples that it could take before, and can after") {
  wick::executor both(2);
  wick::loader l(numbers{1000} | wick::map("target", [](cell c) { return c.target; }), {.executor = &both});
  REQUIRE(l.next());  // and 15 more are there
  {
    const wick::executor::helper lent(both);
    REQUIRE(lent);
    CHECK(contains(misuse_of([&] { return l.next(); }), "would block a worker"));
  }
  std::uint64_t rest = 0;
  while (l.next()) ++rest;
  CHECK(rest + 1 == 1000);
}

TEST_CASE("stages that await one loader at the same time get an error that they are several") {
  wick::executor both(2);
  wick::loader inner(numbers{100'000} | wick::array_batch(8), {.executor = &both});
  struct stages {
    static wick::task<int> take(int x, decltype(inner)* from) {
      auto taking = from->next_async();
      auto batch = co_await taking;
      co_return x + int(batch.has_value());
    }
  };
  std::vector<int> items(2000);
  wick::loader outer(wick::in_memory(items) |
                         wick::map("nested", [&](int x) { return stages::take(x, &inner); }) |
                         wick::array_batch(1),
                     {.prefetch_next_epoch = false, .executor = &both});
  std::uint64_t good = 0;
  for (std::uint64_t i = 0; i < outer.batches(); ++i) {
    const std::string text = message_of([&] {
      good += outer.next().has_value();
      return 0;
    });
    if (!text.empty()) REQUIRE_MESSAGE(contains(text, "two threads or coroutines use one loader"), text);
  }
  CHECK(good > 0);
}

TEST_CASE("a coroutine goes from epoch to epoch, to any one, on the only worker, without blocking it") {
  const auto slow = [](cell c, wick::context& context) -> wick::task<cell> {
    if (context.position() % 3 == 0) co_await context.on()->schedule();
    co_return c;
  };
  const auto make = [&](wick::executor& ex) {
    return wick::loader(numbers{200} | wick::shuffle() | wick::map("slow", slow) | wick::array_batch(10),
                        {.seed = 2, .executor = &ex});
  };
  wick::executor ex(1), alone(1);
  auto l = make(ex), expected = make(alone);
  struct consumer {
    static wick::task<std::vector<std::int64_t>> run(wick::executor* on, decltype(l)* from,
                                                     std::uint64_t epoch, int most) {
      co_await on->schedule();
      std::vector<std::int64_t> out;
      from->epoch(epoch);
      while (most-- > 0) {
        auto taking = from->next_async();
        auto batch = co_await taking;
        if (!batch) break;
        out.push_back(batch->target.template as<std::int64_t>()[0]);
      }
      co_return out;
    }
  };
  const auto firsts = [&](std::uint64_t epoch) {
    std::vector<std::int64_t> out;
    for (const auto& batch : targets_of(expected, epoch)) out.push_back(batch[0]);
    return out;
  };
  CHECK(wick::ext::sync_wait(consumer::run(&ex, &l, 0, 100)) == firsts(0));
  CHECK(wick::ext::sync_wait(consumer::run(&ex, &l, 7, 3)).size() ==
        3);  // another one than what is prefetched
  CHECK(wick::ext::sync_wait(consumer::run(&ex, &l, 7, 100)) == firsts(7));
  CHECK(wick::ext::sync_wait(consumer::run(&ex, &l, 2, 1)).size() == 1);
  // A loop continues what a coroutine has asked for, and the other way round; a state does, too.
  struct asker {
    static wick::task<void> run(wick::executor* on, decltype(l)* from, std::uint64_t epoch) {
      co_await on->schedule();
      from->epoch(epoch);
    }
  };
  wick::ext::sync_wait(asker::run(&ex, &l, 5));
  const auto state = l.state();
  CHECK(l.next()->target.as<std::int64_t>()[0] == firsts(5)[0]);
  l.load_state(state);
  CHECK(wick::ext::sync_wait(consumer::run(&ex, &l, 5, 100)) == firsts(5));
  wick::ext::sync_wait(asker::run(&ex, &l, 1));
  wick::ext::sync_wait(asker::run(&ex, &l, 3));
  CHECK(targets_of(l, 3)[0][0] == firsts(3)[0]);
  wick::ext::sync_wait(asker::run(&ex, &l, 8));  // and destroyed at once
}

TEST_CASE("a loader may be moved between epochs, into a container for example") {
  auto pipeline = numbers{100} | wick::array_batch(10);
  std::vector<decltype(wick::loader(pipeline))> all;
  all.reserve(1);
  wick::loader l(std::move(pipeline), {.workers = 1});
  CHECK(targets_of(l, 0).size() == 10);
  all.push_back(std::move(l));
  CHECK(targets_of(all[0], 1).size() == 10);
}

TEST_CASE("a wait that its check ends takes nothing, and the next call gets the same batch") {
  static std::atomic<bool> open;
  struct stages {
    static wick::task<cell> wait(cell c, wick::context& context) {
      while (!open) co_await wick::sleep_for(std::chrono::milliseconds(1), context);
      co_return c;
    }
  };
  for (const bool in_range : {false, true}) {
    CAPTURE(in_range);
    open = false;
    wick::loader l(numbers{40} | wick::map("wait", &stages::wait) | wick::array_batch(10), {.workers = 2});
    auto range = l.epoch(0);
    const auto next = [&](auto keep) { return in_range ? range.next(keep) : l.next(keep); };
    for (int left = 0; left < 3; ++left) {
      int asked = 0;
      CHECK_THROWS_AS(next([&] { return ++asked <= left; }), wick::cancelled);
      CHECK(asked == left + 1);
    }
    open = true;
    std::vector<std::int64_t> targets;
    while (const auto batch = next([] { return true; })) {
      for (int i = 0; i < 10; ++i) targets.push_back(batch->target.template as<std::int64_t>()[i]);
    }
    REQUIRE(targets.size() == 40);
    for (std::size_t i = 0; i < 40; ++i) CHECK(targets[i] == static_cast<std::int64_t>(i));
    CHECK(l.report().batches == 4);
  }
}

}  // namespace wick_test::loader_consumers_tests

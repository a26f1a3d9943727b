// Who may call a loader, and what who may not is told.
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

using wick_test::cell;
using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;
using wick_test::targets_of;

namespace {

/// The text of the std::logic_error that a call throws; empty when it throws none.
template <class Call>
std::string misuse_of(Call&& call) {
  try {
    static_cast<void>(call());
  } catch (const std::logic_error& e) {
    return e.what();
  }
  return {};
}

/// Threads that begin at the same moment.
class start_line {
 public:
  explicit start_line(int runners) : missing_(runners) {}
  void wait() {
    missing_.fetch_sub(1);
    while (missing_.load() > 0) std::this_thread::yield();
  }

 private:
  std::atomic<int> missing_;
};

}  // namespace

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
  // In a loader whose samples are short enough for the loop to run some, whoever runs which.
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

TEST_CASE("what a worker is refused has changed nothing: the loader goes on where it stood") {
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
  CHECK(contains(wick::sync_wait(stranger::next(&ex, &l)), "would block a worker"));
  CHECK(l.state() == untouched);
  auto range = l.epoch(3);
  auto at = range.begin();
  const std::int64_t first = at->target.as<std::int64_t>()[0];
  const auto standing = l.state();
  CHECK(contains(wick::sync_wait(stranger::range(&ex, &range)), "would block a worker"));
  CHECK(contains(wick::sync_wait(stranger::advance(&ex, &at)), "would block a worker"));
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
  CHECK(contains(wick::sync_wait(caller::run(&both, &inner)), "would block an I/O thread",
                 "co_await next_async()"));
  CHECK(targets_of(inner, 0).size() == 10);
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
    "who begins an epoch while another thread waits for its batch is told so, and the other gets its batch") {
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

TEST_CASE(
    "threads that take from one loader at the same time get each batch once, or are told that they are two") {
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
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < outer.batches(); ++i) {
    refused += contains(message_of([&] { return outer.next(); }), "would block a worker");
  }
  CHECK(refused > 0);  // all but what this thread ran while it helped
  std::uint64_t rest = 0;
  while (inner.next()) ++rest;
  CHECK(rest + 1 + (64 - refused) == 1000);
}

TEST_CASE("stages that await one loader at the same time are told that they are several") {
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
  CHECK(wick::sync_wait(consumer::run(&ex, &l, 0, 100)) == firsts(0));
  CHECK(wick::sync_wait(consumer::run(&ex, &l, 7, 3)).size() == 3);  // another one than what is prefetched
  CHECK(wick::sync_wait(consumer::run(&ex, &l, 7, 100)) == firsts(7));
  CHECK(wick::sync_wait(consumer::run(&ex, &l, 2, 1)).size() == 1);
  // What a coroutine has asked for, a loop goes on with, the other way round, and a state.
  struct asker {
    static wick::task<void> run(wick::executor* on, decltype(l)* from, std::uint64_t epoch) {
      co_await on->schedule();
      from->epoch(epoch);
    }
  };
  wick::sync_wait(asker::run(&ex, &l, 5));
  const auto state = l.state();
  CHECK(l.next()->target.as<std::int64_t>()[0] == firsts(5)[0]);
  l.load_state(state);
  CHECK(wick::sync_wait(consumer::run(&ex, &l, 5, 100)) == firsts(5));
  wick::sync_wait(asker::run(&ex, &l, 1));
  wick::sync_wait(asker::run(&ex, &l, 3));
  CHECK(targets_of(l, 3)[0][0] == firsts(3)[0]);
  wick::sync_wait(asker::run(&ex, &l, 8));  // and destroyed at once
}

TEST_CASE("a loader may be moved between epochs, into a container for example") {
  auto pipeline = numbers{100} | wick::array_batch(10);
  std::vector<wick::loader<decltype(pipeline)>> all;
  all.reserve(1);
  wick::loader l(std::move(pipeline), {.workers = 1});
  CHECK(targets_of(l, 0).size() == 10);
  all.push_back(std::move(l));
  CHECK(targets_of(all[0], 1).size() == 10);
}

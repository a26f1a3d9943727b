#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/async/executor.hpp>
#include <wick/base/detail/cpus.hpp>
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>

namespace wick_test::loader_options_tests {

using wick_test::bytes_of;
using wick_test::cell;
using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;

namespace {

/// How many samples are between its two ends at a time.
struct crowd {
  std::atomic<int> now{0}, most{0};

  static wick::task<cell> enter(cell c, wick::context& context, crowd* of) {
    const int inside = of->now.fetch_add(1) + 1;
    int most = of->most.load();
    while (inside > most && !of->most.compare_exchange_weak(most, inside)) {
    }
    co_await context.on()->schedule();
    of->now.fetch_sub(1);
    co_return c;
  }
  auto stage() {
    return [this](cell c, wick::context& context) { return enter(c, context, this); };
  }
};

}  // namespace

TEST_CASE("without options a loader has a worker a processor, seed 0, and half a GiB for bytes in flight") {
  std::atomic<std::size_t> limit{0};
  wick::loader l(wick::from(numbers{10}) | [&](cell c, wick::context& context) {
    limit = context.memory_limit().value_or(0);
    CHECK(context.seed() == 0);
    return c;
  });
  CHECK(l.on().workers() == wick::detail::available_cpus());
  CHECK(l.on().io().threads() >= 4);
  REQUIRE(l.next());
  CHECK(limit == std::size_t{512} << 20);
}

TEST_CASE("workers and io_threads are as many as asked for") {
  wick::loader l(numbers{10} | wick::array_batch(5), {.workers = 3, .io_threads = 5});
  CHECK(l.on().workers() == 3);
  CHECK(l.on().io().threads() == 5);
}

TEST_CASE("0 workers, threads, batches, or samples, and a priority that there is not, are refused") {
  const auto message = [](const wick::loader_options& options) {
    return message_of([&] { return wick::loader(numbers{10} | wick::array_batch(5), options).batches(); });
  };
  CHECK(message({.workers = 0}) == "loader: .workers is 0; it is at least 1, or left out");
  CHECK(message({.io_threads = 0}) == "loader: .io_threads is 0; it is at least 1, or left out");
  CHECK(message({.prefetch = 0}) == "loader: .prefetch is 0; it is at least 1, or left out");
  CHECK(message({.in_flight = 0}) == "loader: .in_flight is 0; it is at least 1, or left out");
  CHECK(message({.nice = -1}) == "loader: .nice is -1; it is from 0 to 19, or left out");
  wick::executor ex(2);
  const std::string beside = "which has threads of its own; leave one of the two out";
  for (const std::size_t workers : {std::size_t{0}, std::size_t{1}, std::size_t{99'999}})
    CHECK(contains(message({.workers = workers, .executor = &ex}), ".workers is given beside .executor",
                   beside));
  CHECK(message({.prefetch = 0, .executor = &ex}) == "loader: .prefetch is 0; it is at least 1, or left out");
}

TEST_CASE("a loader runs on the executor it is given, and leaves it as it was") {
  wick::executor ex(2);
  for (int round = 0; round < 3; ++round) {
    wick::loader l(numbers{10} | wick::array_batch(5), {.executor = &ex});
    CHECK(&l.on() == &ex);
    CHECK(l.next());
  }
  CHECK(ex.workers() == 2);
}

TEST_CASE("the seed reaches each stage") {
  std::atomic<int> other{0};
  wick::loader l(wick::from(numbers{100}) |
                     [&](cell c, wick::context& context) {
                       other += context.seed() != 77;
                       return c;
                     } |
                     wick::array_batch(10),
                 {.seed = 77, .workers = 2});
  bytes_of(l, 0);
  CHECK(other == 0);
}

TEST_CASE("no more batches are made ahead than prefetch says") {
  for (const std::size_t prefetch : {1, 2, 5}) {
    const numbers source{400};
    wick::loader l(source | wick::array_batch(10), {.workers = 4, .prefetch = prefetch});
    l.epoch(0);
    for (std::uint64_t taken = 1; taken <= 40; ++taken) {
      REQUIRE(l.next());
      CHECK(source.asked->load() <= (taken + prefetch) * 10);
    }
  }
}

TEST_CASE("without prefetch_next_epoch no sample of the next is begun before it is asked for") {
  const numbers source{40};
  wick::loader l(source | wick::array_batch(10), {.workers = 2, .prefetch_next_epoch = false});
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    bytes_of(l, epoch);
    CHECK(source.asked->load() == 40 * (epoch + 1));
  }
}

TEST_CASE("the memory bound is the budget that stages see") {
  std::atomic<std::size_t> limit{0};
  wick::loader l(wick::from(numbers{10}) |
                     [&](cell c, wick::context& context) {
                       limit = context.memory_limit().value_or(0);
                       return c;
                     } |
                     wick::array_batch(10),
                 {.workers = 1, .memory = 12345});
  REQUIRE(l.next());
  CHECK(limit == 12345);
}

TEST_CASE("no more samples are under way at a time than in_flight says") {
  for (const std::size_t in_flight : {1, 2, 7, 100}) {
    CAPTURE(in_flight);
    crowd c;
    {
      wick::loader l(wick::from(numbers{2000}) | c.stage() | wick::array_batch(50),
                     {.workers = 4, .in_flight = in_flight});
      bytes_of(l, 0);
    }
    CHECK(c.most <= static_cast<int>(in_flight));
    CHECK(c.now == 0);
  }
}

TEST_CASE("workers of a loader's own beside an executor that is shared are refused, not ignored") {
  wick::executor ex(1);
  const auto refusal = [&](wick::loader_options options) {
    try {
      wick::loader l(numbers{10} | wick::array_batch(5), options);
      return std::string();
    } catch (const wick::error& e) {
      return std::string(e.what());
    }
  };
  CHECK(refusal({.executor = &ex}).empty());
  CHECK(refusal({.workers = 2, .executor = &ex}).find(".workers is given beside .executor") !=
        std::string::npos);
  CHECK(refusal({.io_threads = 2, .executor = &ex}).find(".io_threads is given beside .executor") !=
        std::string::npos);
}

}  // namespace wick_test::loader_options_tests

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/per_worker.hpp>
#include <wick/sampling/order.hpp>

namespace wick_test::per_worker_tests {

using wick_test::bytes_of;
using wick_test::cell;
using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;
using wick_test::targets_of;

namespace {

/// Not thread-safe, neither copied nor moved once it is in its place, and knows where it was made.
struct tool {
  std::unique_ptr<int> in_use = std::make_unique<int>(0);
  std::thread::id home = std::this_thread::get_id();
};

struct workshop {
  std::atomic<int> made{0}, used{0}, shared{0};
  std::mutex mutex;
  std::map<std::thread::id, const tool*> owned;

  auto make() {
    return [this] {
      ++made;
      return tool();
    };
  }
  void use(tool& t) {
    ++used;
    if (++*t.in_use != 1 || t.home != std::this_thread::get_id()) ++shared;
    {
      std::lock_guard lock(mutex);
      if (const tool*& mine = owned[t.home]; mine == nullptr)
        mine = &t;
      else if (mine != &t)
        ++shared;
    }
    --*t.in_use;
  }
};

}  // namespace

TEST_CASE("each worker has one state, made where it is used and kept over epochs") {
  for (const std::size_t workers : {1, 4}) {
    workshop w;
    wick::executor ex(workers);
    wick::loader l(numbers{1000} |
                       wick::per_worker(w.make(),
                                        [&](tool& t, cell c) {
                                          w.use(t);
                                          return c;
                                        }) |
                       wick::array_batch(20),
                   {.prefetch_next_epoch = false, .executor = &ex});
    for (std::uint64_t epoch = 0; epoch < 4; ++epoch) bytes_of(l, epoch);
    CHECK(w.used == 4000);
    CHECK(w.shared == 0);
    // The workers' and, since it helps, the training loop's.
    CHECK(w.made <= static_cast<int>(workers) + 1);
    CHECK(w.made == static_cast<int>(w.owned.size()));
  }
}

TEST_CASE("no state is made before the first sample") {
  workshop w;
  const auto stage = wick::per_worker(w.make(), [](tool&, cell c) { return c; });
  CHECK(w.made == 0);
}

TEST_CASE(
    "a per_worker stage takes what any stage takes: the item or its data, to keep or in place, with a "
    "context") {
  const auto zero = [] { return 0; };
  wick::loader l(numbers{64} |
                     wick::per_worker(zero, [](int&, std::array<std::uint8_t, 8>& data) { data[0] = 1; }) |
                     wick::per_worker(zero,
                                      [](int&, cell& c, wick::context& context) {
                                        c.data[1] = static_cast<std::uint8_t>(context.position());
                                      }) |
                     wick::per_worker(zero,
                                      [](int&, const cell& c) {
                                        return wick::sample<float>{c.data[1] + 0.5f, c.target};
                                      }) |
                     wick::per_worker(zero, [](int&, float f) { return f * 2; }) | wick::array_batch(8),
                 {.workers = 2});
  std::int64_t n = 0;
  for (auto& batch : l.epoch(0)) {
    for (int i = 0; i < 8; ++i, ++n) CHECK(batch.data.as<float>()[i] == static_cast<float>(n * 2 + 1));
  }
}

TEST_CASE("a state that can't be made fails the sample, by the stage's name, and is tried again") {
  std::atomic<int> tries{0};
  wick::loader l(numbers{30} |
                     wick::per_worker(
                         "tokenizer",
                         [&] {
                           if (tries++ < 5) throw std::runtime_error("no vocabulary");
                           return 1;
                         },
                         [](int&, cell c) { return c; }) |
                     wick::array_batch(10),
                 {.workers = 1, .prefetch_next_epoch = false});
  // Of the first five tries; which samples those are is up to the threads that run the batch.
  CHECK(contains(message_of([&] { return l.next(); }), "number ",
                 ": tokenizer: std::runtime_error: no vocabulary"));
  CHECK(l.next());
  CHECK(l.failure_log().total() == 5);
}

TEST_CASE("the random stream of a per_worker stage is the sample's: no worker changes a byte") {
  std::uint64_t expected = 0;
  for (const std::size_t workers : {1, 2, 4}) {
    wick::loader l(numbers{1000} | wick::shuffle() |
                       wick::per_worker([] { return std::vector<int>(); },
                                        [](std::vector<int>&, cell& c, wick::context& context) {
                                          c.data[0] = static_cast<std::uint8_t>(context.random().below(256));
                                        }) |
                       wick::array_batch(32),
                   {.seed = 3, .workers = workers});
    const std::uint64_t got = bytes_of(l, 1);
    if (workers == 1) expected = got;
    CHECK(got == expected);
  }
}

TEST_CASE("a per_worker stage in a named chain stands in several pipelines, each with states of its own") {
  workshop w;
  const auto chain = wick::per_worker(w.make(),
                                      [&](tool& t, cell c) {
                                        w.use(t);
                                        return c;
                                      }) |
                     wick::map([](cell c) { return c; });
  for (int i = 0; i < 2; ++i) {
    wick::loader l(numbers{100} | chain | wick::array_batch(10), {.workers = 1});
    bytes_of(l, 0);
  }
  CHECK(w.made >= 2);
  CHECK(w.used >= 200);
}

}  // namespace wick_test::per_worker_tests

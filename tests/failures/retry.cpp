// Samples that are tried again, and what may be drawn in their place.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "failures/faulty.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>

namespace wick_test::retry_tests {

using wick::on_error;

TEST_CASE("a retry waits for its backoff, each further one for twice as long") {
  using namespace std::chrono_literals;
  using wick::detail::pause_before;
  CHECK(pause_before(on_error::retry(3, 2s), 1) == 2s);
  CHECK(pause_before(on_error::retry(3, 2s), 2) == 4s);
  CHECK(pause_before(on_error::retry(3, 2s), 3) == 8s);
  CHECK(pause_before(on_error::retry(1), 1) == 0s);
  // The most retries that there may be are no overflow.
  CHECK(pause_before(on_error::retry(1000, 1s), 1000) > std::chrono::hours(24));

  auto at = std::make_shared<std::vector<std::chrono::steady_clock::time_point>>();
  wick::loader l(numbers{1} |
                     wick::map("never",
                               [at](cell) -> cell {
                                 at->push_back(std::chrono::steady_clock::now());
                                 throw std::runtime_error("no");
                               }) |
                     wick::array_batch(1),
                 {.workers = 2,
                  .prefetch_next_epoch = false,
                  .on_error = on_error(on_error::retry(3, 4ms).then(on_error::skip))});
  const auto batch = l.next();
  REQUIRE(batch);
  CHECK(batch->data.extents()[0] == 0);
  REQUIRE(at->size() == 4);
  CHECK((*at)[1] - (*at)[0] >= 4ms);
  CHECK((*at)[2] - (*at)[1] >= 8ms);
  CHECK((*at)[3] - (*at)[2] >= 16ms);
}

TEST_CASE("what a retry does not help is tried as often as was said, then left out") {
  auto calls = std::make_shared<std::atomic<int>>(0);
  wick::loader l(numbers{10} |
                     wick::map("never",
                               [calls](cell c) {
                                 if (c.target != 6) return c;
                                 ++*calls;
                                 throw std::runtime_error("no");
                               }) |
                     wick::array_batch(5),
                 {.workers = 1,
                  .prefetch_next_epoch = false,
                  .on_error = on_error(on_error::retry(4).then(on_error::skip))});
  seen s;
  take(l, s);
  CHECK(flat(s) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 7, 8, 9});
  CHECK(*calls == 5);
  REQUIRE(l.failure_log().entries().size() == 1);
  CHECK(l.failure_log().entries()[0].tries == 5);
}

TEST_CASE("while a sample waits to be tried again the only worker continues, also where no stage suspends") {
  using namespace std::chrono_literals;
  auto open = std::make_shared<std::atomic<bool>>(false);
  wick::loader l(numbers{40} |
                     wick::map("meet",
                               [open](cell c) {
                                 // 0 can't succeed before 39, of the last batch, was there.
                                 if (c.target == 0 && !*open) throw std::runtime_error("not yet");
                                 if (c.target == 39) *open = true;
                                 return c;
                               }) |
                     wick::array_batch(10),
                 {.workers = 1,
                  .prefetch = 4,
                  .prefetch_next_epoch = false,
                  .on_error = on_error(on_error::retry(1000, 1us))});
  seen s;
  take(l, s);
  std::vector<std::int64_t> all(40);
  for (std::size_t i = 0; i < 40; ++i) all[i] = static_cast<std::int64_t>(i);
  CHECK(flat(s) == all);
}

TEST_CASE("a loader is destroyed promptly while samples wait for hours to be tried again") {
  using namespace std::chrono_literals;
  for (int round = 0; round < 20; ++round) {
    auto alive = std::make_shared<int>(0);
    {
      wick::loader l(numbers{1000} |
                         wick::map("bad",
                                   [alive](cell c) -> cell {
                                     if (c.target < 10) return c;
                                     throw std::runtime_error("bad");
                                   }) |
                         wick::array_batch(10),
                     {.workers = 2, .on_error = on_error(on_error::retry(3, 10h).then(on_error::skip))});
      REQUIRE(l.next());
      if (round % 2 == 0) l.epoch(1);  // leaves them behind, too
    }
    CHECK(alive.use_count() == 1);
  }
}

TEST_CASE("substitutes are bounded: when all that may be drawn fail the batch fails, and says so") {
  wick::loader l(numbers{100} |
                     wick::map("all",
                               [](cell c) -> cell {
                                 if (c.target < 10) return c;
                                 throw std::runtime_error("bad");
                               }) |
                     wick::array_batch(10),
                 {.workers = 2, .on_error = on_error(on_error::replace, {.substitutes = 3})});
  CHECK(l.next());
  const std::string text = message_of([&] { return l.next(); });
  CHECK(contains(text, ": all: std::runtime_error: bad; all 3 substitutes drawn for this position failed"));
  for (const auto& e : l.failure_log().entries()) {
    const auto same = [&](const wick::failure_log::entry& o) { return o.position == e.position; };
    CHECK(std::count_if(l.failure_log().entries().begin(), l.failure_log().entries().end(), same) <= 4);
  }
  // One sample alone: there is no other.
  wick::loader one(numbers{1} | wick::map("bad", [](cell) -> cell { throw std::runtime_error("bad"); }) |
                       wick::array_batch(1),
                   {.workers = 1, .on_error = on_error(on_error::replace)});
  CHECK(contains(message_of([&] { return one.next(); }), "number 0: bad: std::runtime_error: bad; all 16"));
}

}  // namespace wick_test::retry_tests

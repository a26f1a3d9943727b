#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/core.hpp>

namespace wick_test::benchmark_tests {

using namespace std::chrono_literals;

namespace {

std::vector<std::int64_t> up_to(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(i);
  return out;
}

}  // namespace

TEST_CASE("a benchmark returns the loader's report of the time after the first batch") {
  std::atomic<int> runs{0};
  const auto slow = wick::map("slow", [&runs](std::int64_t v) {
    const auto begun = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begun < 100us) {
    }
    ++runs;
    return v;
  });
  const wick::report r =
      wick::benchmark(wick::from(up_to(64)) | wick::shuffle() | slow | wick::array_batch(8),
                      {.workers = 2, .io_threads = 3}, 200ms);
  CHECK(r.workers == 2);
  CHECK(r.io_threads == 3);
  CHECK(r.batches > 8);  // of several epochs
  CHECK(r.samples == 8 * r.batches);
  CHECK(r.seconds >= 0.2);
  CHECK(runs >= static_cast<int>(r.samples) + 8);  // those of the first batch aren't in the report
  REQUIRE(r.stages.size() >= 3);
  const auto stage =
      std::find_if(r.stages.begin(), r.stages.end(), [](const auto& s) { return s.name == "slow"; });
  REQUIRE(stage != r.stages.end());
  CHECK(stage->busy > 0.5 * r.busy());
  CHECK(contains(r.to_string(), "slow"));
}

TEST_CASE("a benchmark runs samples without batch(), and takes a first batch that is slower than its time") {
  const wick::report r = wick::benchmark(
      wick::from(up_to(4)) | wick::map("wait",
                                       [](std::int64_t v, wick::context& c) -> wick::task<std::int64_t> {
                                         co_await wick::sleep_for(20ms, c);
                                         co_return v;
                                       }),
      {.workers = 1}, 1ms);
  CHECK(r.samples >= 1);
}

TEST_CASE("a benchmark has the loader's errors, and its policy for failures") {
  const auto fails = wick::map("fails", [](std::int64_t v) {
    if (v == 5) throw std::runtime_error("five");
    return v;
  });
  const auto pipeline = wick::from(up_to(32)) | fails | wick::array_batch(8);
  CHECK(contains(message_of([&] { return wick::benchmark(pipeline, {.workers = 2}, 50ms).samples; }), "fails",
                 "five"));
  const wick::report r = wick::benchmark(pipeline, {.workers = 2, .on_error = wick::on_error::skip}, 50ms);
  CHECK(r.samples > 0);
  CHECK(r.failures > 0);
  wick::executor workers(2);
  CHECK(contains(
      message_of([&] { return wick::benchmark(pipeline, {.workers = 2, .executor = &workers}).samples; }),
      "workers"));
  CHECK(contains(
      message_of([&] { return wick::benchmark(wick::from(up_to(0)) | wick::array_batch(8)).samples; }),
      "empty"));
}

TEST_CASE("a benchmark of a rank that has no sample ends") {
  const wick::report r =
      wick::benchmark(wick::from(up_to(2)) | wick::shard(0, 4) | wick::group(4), {.workers = 1}, 5ms);
  CHECK(r.samples == 0);
}

}  // namespace wick_test::benchmark_tests

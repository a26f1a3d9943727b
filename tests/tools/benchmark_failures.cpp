// Samples that fail, options that are refused, and the printed table.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/temp_dir.hpp"
#include "tools/benchmarked.hpp"
#include <wick/core.hpp>
#include <wick/tools/benchmark.hpp>

using namespace wick_test;

TEST_CASE("samples that fail are counted and listed with key, stage and reason, and the rest is measured") {
  const auto values = up_to(1000);
  const auto fails = [](std::int64_t v) {
    if (v % 10 == 7) throw std::runtime_error("the value " + std::to_string(v) + " is bad");
    return v;
  };
  const auto check = [&](auto pipeline) {
    const wick::benchmark_result m = wick::benchmark(pipeline, {.workers = 2}, 200ms);
    CHECK(all_came(m));
    CHECK(m.failures >= m.failed.size());
    REQUIRE(!m.failed.empty());
    CHECK(m.failed.size() <= 10);
    std::set<std::string> keys;
    for (const wick::failure_log_entry& e : m.failed) {
      CHECK(e.stage == "check");
      CHECK(e.key.starts_with("sample "));
      CHECK(contains(e.text, "the value " + e.key.substr(7) + " is bad"));
      keys.insert(e.key);
    }
    CHECK(keys.size() == m.failed.size());
    CHECK(contains(m.to_string(), m.failed[0].key + ": check: std::runtime_error: the value"));
  };
  check(wick::from(values) | wick::shuffle() | wick::map("check", fails) | wick::array_batch(16));
  check(wick::from(values) | wick::shuffle() | hop | [](std::int64_t v) { return v - 1; } |
        wick::map("check", fails) | wick::array_batch(16));
  check(wick::from(values) | wick::map("check", fails) | hop);
}

TEST_CASE("where all fail it says so and ends") {
  const auto values = up_to(100);
  const auto fails = [](std::int64_t) -> std::int64_t { throw std::runtime_error("no"); };
  const wick::benchmark_result m = wick::benchmark(
      wick::from(values) | wick::map("fails", fails) | twice | wick::array_batch(16), {.workers = 2}, 200ms);
  CHECK(m.samples == 0);
  CHECK_FALSE(m.first_batch.has_value());
  CHECK(stage(m, "source").up_to > 0);
  CHECK(stage(m, "fails").up_to == 0);
  CHECK_FALSE(stage(m, "fails").cached.has_value());  // there was nothing to keep
  CHECK(stage(m, "fails").without.value_or(0) > 0);
  CHECK(m.failed.size() == 10);
  const wick::benchmark_result of_batches = wick::benchmark(
      wick::from(values) | twice | wick::array_batch(16) |
          wick::map("after", [](const wick::array&) -> wick::array { throw std::runtime_error("no"); }),
      {.workers = 2}, 200ms);
  CHECK(of_batches.failures > 0);
  CHECK(of_batches.failed.at(0).stage == "after");
  CHECK(of_batches.failed.at(0).key.starts_with("batch "));
}

TEST_CASE("what is on the quarantine list is not tried") {
  const wick_test::temp_dir folder;
  const std::string list = folder / "bad";
  const auto values = up_to(200);
  std::atomic<bool> tried{false};
  const auto fails = [&tried](std::int64_t v) {
    if (v == 7) {
      tried = true;
      throw std::runtime_error("bad");
    }
    return v;
  };
  const auto pipeline = wick::from(values) | fails | wick::array_batch(16);
  wick::loader first(pipeline,
                     {.workers = 2, .prefetch_next_epoch = false, .on_error = wick::on_error::skip});
  for (auto& batch : first.epoch(0)) CHECK(batch.extents()[0] > 0);
  first.write_quarantine(list);
  tried = false;
  const wick::benchmark_result m =
      wick::benchmark(pipeline, {.workers = 2, .on_error = wick::on_error::skip, .quarantine = {list}}, 30ms);
  CHECK(all_came(m));
  CHECK_FALSE(tried);
  CHECK(m.failures == 0);
}

TEST_CASE("a stage that nothing can be batched without is named") {
  const auto values = up_to(500);
  const auto first = [](std::int64_t v) {
    return row{std::vector<std::int64_t>(static_cast<std::size_t>(v % 5 + 1), v)};
  };
  const auto five = [](row r) {
    r.values.resize(5);
    return r;
  };
  const auto same = [](row r) { return r; };
  const wick::benchmark_result m = wick::benchmark(wick::from(values) | first | wick::map("resize", five) |
                                                       wick::map("same", same) | wick::array_batch(16),
                                                   {.workers = 2}, 60ms);
  CHECK(all_came(m));
  CHECK_FALSE(stage(m, "resize").without.has_value());
  CHECK(stage(m, "same").without.has_value());
  CHECK(m.failures == 0);  // what is left out here is no fault of the data
  REQUIRE(m.notes.size() == 1);
  CHECK(contains(m.notes[0], "without resize: shape [", "in a batch whose first sample has"));
}

TEST_CASE("it is refused on a worker, and for options that a loader refuses") {
  wick::executor workers(2);
  const auto pipeline = wick::from(up_to(100)) | twice | wick::array_batch(16);
  const auto on_worker = [](wick::executor* on, decltype(pipeline) of) -> wick::task<std::string> {
    co_await on->schedule();
    co_return text_of([&] { return wick::benchmark(of, {.executor = on}, 1ms).samples; });
  };
  CHECK(contains(wick::sync_wait(on_worker(&workers, pipeline)), "benchmark()"));
  CHECK(contains(
      text_of([&] { return wick::benchmark(pipeline, {.workers = 2, .executor = &workers}, 1ms).samples; }),
      ".workers is given beside .executor"));
  CHECK(contains(text_of([&] { return wick::benchmark(wick::from(up_to(0)) | twice, {}, 1ms).samples; }),
                 "the source is empty"));
}

TEST_CASE("the table is 80 columns wide at most, and says what there is") {
  wick::benchmark_result m;
  m.seconds = 5;
  m.workers = 128;
  m.io_threads = 32;
  m.in_flight = 592;
  m.samples = 912.3;
  m.batches = 3.56;
  m.bytes = 2.15e9;
  m.first_batch = 0.29;
  m.stages = {{"source", 9.1e5, {}, {}},
              {"read", 12'000, 905.0, {}},
              {"a stage of the user's with a name that is ünreasonably long", 912, 1e15, 950.0},
              {"batch", 912, {}, {}}};
  m.notes = {
      "without random_resized_crop: shape [375, 500, 3] of uint8 in a batch whose first sample has [500, "
      "375, 3]"};
  m.failures = 12;
  m.failed.push_back(
      {.key = "photos/cat/0012.jpg",
       .stage = "decode",
       .text = "not a JPEG or PNG (starts with 47 49 46 38); leave it out of what is trained on"});
  const std::string text = m.to_string();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  CHECK(contains(text, "912 samples/s, 3.56 batches/s, 2.15GB/s"));
  CHECK(contains(text, "the first"));
  CHECK(contains(text, "592 samples at a time"));
  CHECK(contains(text, "a stage of the user's with a ~"));
  CHECK(contains(text, "\n  read" + std::string(36, ' ') + "12.0k            905              -\n"));
  CHECK(contains(text, "note: without random_resized_crop"));
  CHECK(contains(text, "failed: 12 times; the first:\n  photos/cat/0012.jpg: decode: not a JPEG"));
  std::ostringstream printed;
  printed << m;
  CHECK(printed.str() == text);
}

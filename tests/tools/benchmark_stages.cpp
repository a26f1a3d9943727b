// Stages that are cached, suspend or fail; packed and grouped samples.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/picture.hpp"
#include "support/temp_dir.hpp"
#include "tools/benchmarked.hpp"
#include <wick/batch/detail/cloning.hpp>
#include <wick/core.hpp>
#include <wick/tools/benchmark.hpp>

using namespace wick_test;
using wick::detail::isolated_cache;
using wick::detail::isolated_end;
using wick::detail::isolated_failures;

TEST_CASE("what can't be copied is cached where it can be cloned, also in what is made of it") {
  using wick::detail::cloning;
  struct only_moved {
    std::unique_ptr<int> value;
  };
  struct cloned {
    std::unique_ptr<int> value;
    cloned clone() const { return {std::make_unique<int>(*value)}; }
  };
  CHECK(cloning<int>::possible);
  CHECK_FALSE(cloning<only_moved>::possible);
  CHECK_FALSE(cloning<std::vector<only_moved>>::possible);
  CHECK_FALSE(cloning<wick::sample<only_moved>>::possible);
  CHECK_FALSE(cloning<std::tuple<int, only_moved>>::possible);
  std::vector<cloned> some;
  some.push_back({std::make_unique<int>(3)});
  using item_type = std::tuple<wick::sample<wick::bytes>, std::vector<cloned>>;
  const item_type item(wick::sample<wick::bytes>{wick::bytes("abc", 3), 7}, std::move(some));
  const auto again = cloning<item_type>::of(item);
  CHECK(std::get<0>(again).data.text() == "abc");
  CHECK(std::get<0>(again).target == 7);
  CHECK(*std::get<1>(again).at(0).value == 3);
}

TEST_CASE("behind a stage that is cached nothing before it is called, and its items are the cached ones") {
  const auto values = up_to(10'000);
  std::atomic<std::uint64_t> before{0}, behind{0};
  std::mutex mutex;
  std::set<std::int64_t> came;
  const auto first = [&before](std::int64_t v) {
    ++before;
    return v;
  };
  const auto second = [&](std::int64_t v, wick::context& c) {
    ++behind;
    const std::lock_guard lock(mutex);
    came.insert(v);
    if (static_cast<std::int64_t>(c.index()) != v) came.insert(-1);
    return v;
  };
  const auto check = [&](auto pipeline) {
    using pipeline_type = decltype(pipeline);
    wick::executor on(2);
    auto* const typed = new wick::detail::typed_pipeline<pipeline_type>(pipeline, on);
    wick::detail::run_settings settings(wick::detail::owned<wick::detail::erased_pipeline>(typed), {}, on);
    wick::detail::isolated_runs<pipeline_type> isolated(*typed, settings);
    constexpr std::size_t none = decltype(isolated)::none, all = decltype(isolated)::types::batching;
    isolated_failures failures;
    isolated_cache<std::int64_t> kept;
    using cache = isolated_cache<std::int64_t>;
    before = behind = 0;
    isolated.template run<1, 2, none, isolated_end::dropped, void, cache>(0.01, nullptr, &kept, failures);
    CHECK(before >= cache::most);
    CHECK(behind == 0);
    const std::uint64_t called = before;
    came.clear();
    isolated.template run<2, all, none, isolated_end::all, cache, void>(0.01, &kept, nullptr, failures);
    CHECK(before == called);
    CHECK(behind > cache::most);
    CHECK(came.size() == cache::most);
    CHECK(!came.contains(-1));
    for (std::uint64_t i = 0; i < cache::most; ++i) CHECK(came.contains(kept.copy(i)));
    // Without the first, the second alone is called.
    behind = 0;
    isolated.template run<1, all, 1, isolated_end::all, void, void>(0.01, nullptr, nullptr, failures);
    CHECK(before == called);
    CHECK(behind > 0);
    CHECK(failures.count() == 0);
  };
  check(wick::from(values) | wick::shuffle() | first | second | wick::array_batch(64));
  check(wick::from(values) | wick::shuffle() | first | second | hop | wick::array_batch(64));
}

TEST_CASE("a cache is left out, and one on disk stays as it was") {
  const temp_dir dir;
  std::atomic<std::uint64_t> runs{0};
  const auto pipeline = [&](const auto& cache) {
    return numbers{64} |
           wick::map("before",
                     [&runs](cell c) {
                       ++runs;
                       return c;
                     }) |
           cache | wick::array_batch(8);
  };
  const auto on_disk = pipeline(wick::cache_on_disk(dir.path().string()));
  const auto take = [&] {
    wick::loader l(on_disk, {.workers = 1, .prefetch_next_epoch = false});
    targets_of(l, 0);
    std::string notes;
    for (const std::string& note : l.report().notes) notes += note + "\n";
    return notes;
  };
  take();
  const auto bytes = [&] {
    std::uint64_t all = 0;
    for (const auto& e : std::filesystem::recursive_directory_iterator(dir.path()))
      all += e.is_regular_file() ? e.file_size() : 0;
    return all;
  };
  const std::uint64_t kept = bytes();
  CHECK(runs == 64);
  const wick::benchmark_result m = wick::benchmark(on_disk, {.workers = 2}, 50ms);
  CHECK(m.samples > 0);
  CHECK(m.failures == 0);
  CHECK(bytes() == kept);
  runs = 0;
  CHECK(!contains(take(), "changed"));
  CHECK(runs == 0);
  CHECK(wick::benchmark(pipeline(wick::cache_in_memory()), {.workers = 2}, 50ms).samples > 0);
  CHECK(runs > 64);
}

TEST_CASE("a sample that the end of a run calls off has not failed") {
  const auto values = up_to(10'000);
  auto pipeline = wick::from(values) | hop | wick::array_batch(1);
  using pipeline_type = decltype(pipeline);
  wick::executor on(4);
  auto* const typed = new wick::detail::typed_pipeline<pipeline_type>(pipeline, on);
  wick::detail::run_settings settings(wick::detail::owned<wick::detail::erased_pipeline>(typed),
                                      {.in_flight = 256}, on);
  wick::detail::isolated_runs<pipeline_type> isolated(*typed, settings);
  using runs = decltype(isolated);
  isolated_failures failures;
  for (int i = 0; i < 200; ++i) {
    isolated.run<runs::types::order_end, runs::types::batching, runs::none, isolated_end::all, void, void>(
        0.001, nullptr, nullptr, failures);
  }
  CHECK(failures.count() == 0);
}

TEST_CASE("as many samples are under way as the loader has") {
  const auto values = up_to(100'000);
  for (const std::size_t in_flight : {1, 3, 40}) {
    std::atomic<std::size_t> now{0}, most{0};
    const auto together = [&](std::int64_t v, wick::context& c) -> wick::task<std::int64_t> {
      const std::size_t n = ++now;
      std::size_t seen = most;
      while (n > seen && !most.compare_exchange_weak(seen, n)) {
      }
      // Continues when as many as there may be have been here at a time: fewer never would.
      while (most < in_flight) {
        auto pause = wick::sleep_for(100us, c);
        co_await pause;
      }
      --now;
      co_return v;
    };
    const wick::benchmark_result m =
        wick::benchmark(wick::from(values) | wick::map("together", together) | wick::array_batch(16),
                        {.workers = 2, .in_flight = in_flight}, 20ms);
    CHECK(m.in_flight == in_flight);
    CHECK(stage(m, "together").up_to > 0);
    CHECK(most == in_flight);
  }
}

TEST_CASE("a sample that would wait without an end is called off when the time is over") {
  const auto values = up_to(100'000);
  const auto mostly = [](std::int64_t v, wick::context& c) -> wick::task<std::int64_t> {
    if (v % 8 != 0) {
      auto pause = wick::sleep_for(std::chrono::hours(1), c);
      co_await pause;
    }
    co_return v;
  };
  const wick::benchmark_result m =
      wick::benchmark(wick::from(values) | mostly | wick::array_batch(4), {.workers = 2}, 20ms);
  CHECK(m.samples > 0);
  CHECK(m.failures == 0);  // being called off is none
}

TEST_CASE("samples that fail are counted and listed with key, stage and reason, and the rest is measured") {
  const auto values = up_to(1000);
  const auto fails = [](std::int64_t v) {
    if (v % 10 == 7) throw std::runtime_error("the value " + std::to_string(v) + " is bad");
    return v;
  };
  const auto check = [&](auto pipeline) {
    const wick::benchmark_result m = wick::benchmark(pipeline, {.workers = 2}, 50ms);
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
    CHECK(contains(m.to_string(), m.failed[0].key + ": check: the value"));
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
      wick::from(values) | wick::map("fails", fails) | twice | wick::array_batch(16), {.workers = 2}, 20ms);
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
      {.workers = 2}, 20ms);
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
  wick::loader first(pipeline, {.workers = 2, .on_error = wick::on_error::skip});
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

TEST_CASE("buckets, packed rows, others, ranks and a small last batch are measured, too") {
  const auto values = up_to(333);
  std::vector<std::uint32_t> lengths;
  for (const std::int64_t v : values) lengths.push_back(static_cast<std::uint32_t>(v % 9 + 1));
  const auto text = [](std::int64_t v) {
    return std::vector<std::int32_t>(static_cast<std::size_t>(v % 9 + 1), 1);
  };
  {
    CHECK(all_came(wick::benchmark(
        wick::from(values) | wick::shuffle() | text | wick::array_pack(4, 16, {.lengths = lengths}),
        {.workers = 2}, 30ms)));
  }
  {
    CHECK(all_came(wick::benchmark(wick::from(values) | wick::shuffle() |
                                       wick::bucket({.tokens = 50, .lengths = lengths}) | text |
                                       wick::array_batch(64, {.ragged = wick::pad_with(0)}),
                                   {.workers = 2}, 30ms)));
  }
  {
    const auto sum = [](std::int64_t own, std::vector<std::int64_t>& others) {
      for (const std::int64_t other : others) own += other;
      return own;
    };
    CHECK(all_came(wick::benchmark(wick::from(values) | wick::shuffle() | twice | wick::with_others(2) |
                                       wick::join(sum) | wick::array_batch(10),
                                   {.workers = 2}, 30ms)));
  }
  {
    CHECK(all_came(wick::benchmark(
        wick::from(values) | wick::shuffle() | wick::shard(3, 4) | twice | wick::array_batch(8),
        {.workers = 2}, 30ms)));
  }
}

TEST_CASE("a rank that has no sample in any batch has nothing to measure, and gets an error") {
  CHECK(contains(
      message_of([] {
        return wick::benchmark(numbers{2} | wick::shard(0, 4) | wick::group(4), {.workers = 1}, 1ms).samples;
      }),
      "rank 0 of 4 has no sample in any batch"));
}

TEST_CASE("memory is bounded as the loader's is") {
  const auto values = up_to(5000);
  std::atomic<std::uint64_t> held{0}, most{0};
  const auto takes = [&](std::int64_t v, wick::context& c) -> wick::task<std::int64_t> {
    co_await c.reserve(400);
    const std::uint64_t now = held += 400;
    std::uint64_t seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    co_await c.on()->schedule();
    held -= 400;
    co_return v;
  };
  CHECK(all_came(wick::benchmark(wick::from(values) | takes | wick::array_batch(16),
                                 {.workers = 2, .memory = 1000}, 50ms)));
  CHECK(most <= 800);
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

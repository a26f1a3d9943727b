// Stages that are cached, suspend or are called off.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
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
    isolated.template run<1, 2, none, isolated_end::dropped, void, cache>(0.2, nullptr, &kept, failures);
    CHECK(before >= cache::most);
    CHECK(behind == 0);
    const std::uint64_t called = before;
    came.clear();
    isolated.template run<2, all, none, isolated_end::all, cache, void>(0.2, &kept, nullptr, failures);
    CHECK(before == called);
    CHECK(behind > cache::most);
    CHECK(came.size() == cache::most);
    CHECK(!came.contains(-1));
    for (std::uint64_t i = 0; i < cache::most; ++i) CHECK(came.contains(kept.copy(i)));
    // Without the first, the second alone is called.
    behind = 0;
    isolated.template run<1, all, 1, isolated_end::all, void, void>(0.2, nullptr, nullptr, failures);
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
  const wick::benchmark_result m = wick::benchmark(on_disk, {.workers = 2}, 200ms);
  CHECK(m.samples > 0);
  CHECK(m.failures == 0);
  CHECK(bytes() == kept);
  runs = 0;
  CHECK(!contains(take(), "changed"));
  CHECK(runs == 0);
  CHECK(wick::benchmark(pipeline(wick::cache_in_memory()), {.workers = 2}, 200ms).samples > 0);
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
                        {.workers = 2, .in_flight = in_flight}, 200ms);
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
      wick::benchmark(wick::from(values) | mostly | wick::array_batch(4), {.workers = 2}, 200ms);
  CHECK(m.samples > 0);
  CHECK(m.failures == 0);  // being called off is none
}

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
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

TEST_CASE("each stage has what can be said of it") {
  const auto values = up_to(500);
  const wick::benchmark_result m = wick::benchmark(
      wick::from(values) | wick::shuffle() | wick::map("twice", twice) |
          wick::map("narrow", [](std::int64_t v) { return static_cast<std::int32_t>(v); }) |
          wick::map("alone", [](std::int32_t v) { return std::make_unique<std::int32_t>(v); }) |
          wick::map("whole", [](const std::unique_ptr<std::int32_t>& v) { return *v; }) |
          wick::array_batch(32),
      {.workers = 2, .io_threads = 3}, 200ms);
  CHECK(all_came(m));
  CHECK(m.seconds == doctest::Approx(0.2));
  CHECK(m.workers == 2);
  CHECK(m.io_threads == 3);
  CHECK(m.in_flight == 0);  // none suspends
  CHECK(m.batches == doctest::Approx(m.samples * 16 / 500));
  CHECK(m.bytes == doctest::Approx(m.batches * 32 * 4));
  CHECK(m.first_batch.value_or(-1) > 0);
  CHECK(m.failures == 0);
  CHECK(m.notes.empty());
  std::vector<std::string> names;
  for (const auto& s : m.stages) names.push_back(s.name);
  CHECK(names == std::vector<std::string>{"source", "twice", "narrow", "alone", "whole", "batch"});
  const auto has = [&](std::string_view name, bool cached, bool without) {
    return stage(m, name).cached.has_value() == cached && stage(m, name).without.has_value() == without;
  };
  CHECK(has("source", false, false));
  CHECK(has("twice", true, true));    // int64 to int64
  CHECK(has("narrow", true, false));  // the next wants int32
  CHECK(has("alone", false, false));  // can't be copied
  CHECK(has("whole", true, false));
  CHECK(has("batch", false, false));
  CHECK(stage(m, "batch").up_to == m.samples);
}

TEST_CASE("without batch() there is nothing behind the last stage") {
  const auto values = up_to(500);
  const wick::benchmark_result m = wick::benchmark(
      wick::from(values) | wick::map("twice", twice) | wick::map("hop", hop), {.workers = 2}, 200ms);
  CHECK(all_came(m));
  CHECK(m.batches == 0);
  CHECK(m.bytes == 0);
  CHECK(m.stages.size() == 3);
  CHECK(stage(m, "twice").cached.has_value());
  CHECK_FALSE(stage(m, "hop").cached.has_value());
  CHECK(stage(m, "hop").without.has_value());
  CHECK(m.in_flight > 0);
}

TEST_CASE("batch stages, those that suspend, too, are in the whole and not in the row of batch()") {
  const auto values = up_to(500);
  std::atomic<std::uint64_t> batches{0};
  const auto count = [&batches](wick::array a) {
    ++batches;
    return a;
  };
  const auto wait = [](wick::array a, wick::context& c) -> wick::task<wick::array> {
    co_await c.on()->schedule();
    co_return std::move(a);
  };
  CHECK(all_came(wick::benchmark(wick::from(values) | hop | wick::array_batch(32) | count | wait | count,
                                 {.workers = 2}, 200ms)));
  CHECK(batches > 0);
}

TEST_CASE("pictures are cached as they are: as bytes, and with what is planned for them") {
  const wick_test::temp_dir folder;
  for (int i = 0; i < 8; ++i) {
    const wick::image photo = wick_test::photo(40 + i, 30);
    wick_test::write_file(folder / ("c/" + std::to_string(i) + ".bmp"), wick_test::encode_bmp(photo));
  }
  const wick::benchmark_result m =
      wick::benchmark(wick::image_folder(folder / "") | wick::shuffle() | wick::read() | wick::decode() |
                          wick::random_resized_crop(16) | wick::array_batch(4),
                      {.workers = 2}, 100ms);
  CHECK(all_came(m));
  CHECK(stage(m, "read").cached.has_value());
  CHECK(stage(m, "decode").cached.has_value());
  CHECK(stage(m, "random_resized_crop").cached.has_value());
  CHECK_FALSE(stage(m, "random_resized_crop").without.has_value());
  CHECK(m.notes.size() == 1);
  CHECK(m.failures == 0);
}

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/batch/pack.hpp>
#include <wick/batch/ragged.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/bucket.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/memory.hpp>
#include <wick/tools/measure_lengths.hpp>

namespace wick_test::measure_lengths_tests {

using wick_test::contains;
using wick_test::message_of;

namespace {

struct line {
  std::int64_t number;
  std::vector<std::int32_t> tokens;
  std::vector<float> weights;
};
line tokenize(const wick::sample<std::uint64_t>& s) {
  if (s.data == 77) throw std::runtime_error("bad");
  return {s.target, std::vector<std::int32_t>(s.data % 10), std::vector<float>(3)};
}
std::vector<wick::sample<std::uint64_t>> texts(std::uint64_t n) {
  std::vector<wick::sample<std::uint64_t>> out;
  for (std::uint64_t i = 0; i < n; ++i) out.push_back({i * 7 % 64, static_cast<std::int64_t>(i)});
  return out;
}

}  // namespace

TEST_CASE("lengths are those of the first field that has any, in the source's order, at any worker count") {
  const auto all = texts(500);
  for (const std::size_t workers : {1, 4}) {
    const std::vector<std::uint32_t> lengths =
        wick::measure_lengths(wick::from(all) | tokenize, {.workers = workers});
    CHECK(lengths.size() == 500);
    for (std::size_t i = 0; i < lengths.size(); ++i) CHECK(lengths[i] == all[i].data % 10);
  }
}

TEST_CASE("measured lengths plan rows and batches of the same pipeline") {
  const auto all = texts(500);
  const auto lengths = wick::measure_lengths(wick::from(all) | tokenize);
  const auto only_tokens = [](line l) { return std::move(l.tokens); };
  wick::loader packed(wick::from(all) | wick::shuffle() | tokenize | only_tokens |
                      wick::array_pack(4, 16, {.lengths = lengths}));
  std::int64_t rows = 0;
  for (auto& b : packed.epoch(0)) rows += b.values.extents()[0];
  std::uint64_t tokens = 0;
  for (const std::uint32_t l : lengths) tokens += l;
  CHECK(rows >= static_cast<std::int64_t>(tokens / 16));
  CHECK(rows <= static_cast<std::int64_t>(tokens / 16 + 8));
  wick::loader buckets(wick::from(all) | wick::shuffle() | wick::bucket({.tokens = 100, .lengths = lengths}) |
                       tokenize | wick::array_batch(64, {.ragged = wick::pad_with(0)}));
  std::int64_t samples = 0;
  for (auto& [number, ids, weights] : buckets.epoch(0)) {
    CHECK(ids.values.extents()[0] * ids.values.extents()[1] <= 100);
    samples += number.extents()[0];
  }
  CHECK(samples == 500);
}

TEST_CASE("a sample that can't be made ends the measuring, whatever on_error says") {
  auto all = texts(20);
  all[11].data = 77;
  CHECK(contains(
      message_of([&] {
        return wick::measure_lengths(wick::from(all) | tokenize, {.on_error = wick::on_error::skip}).size();
      }),
      "11"));
}

TEST_CASE("every sample is made once") {
  std::atomic<std::uint64_t> made{0};
  const auto all = texts(100);
  wick::measure_lengths(wick::from(all) |
                            [&made](const wick::sample<std::uint64_t>& s) {
                              ++made;
                              return line{s.target, std::vector<std::int32_t>(s.data % 10), {}};
                            },
                        {.workers = 2, .prefetch = 8});
  CHECK(made == 100);
}

}  // namespace wick_test::measure_lengths_tests

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/batch/batch.hpp>
#include <wick/batch/ragged.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>

namespace wick_test::ragged_tests {

using wick_test::contains;
using wick_test::message_of;

namespace {

std::vector<int> counted(std::int64_t from, std::size_t length) {
  std::vector<int> out(length);
  std::iota(out.begin(), out.end(), static_cast<int>(from));
  return out;
}

/// Sample i is (i * 7 mod 13) numbers from 100 i on.
struct texts {
  std::uint64_t count = 50;
  std::uint64_t size() const { return count; }
  wick::sample<std::uint64_t> at(std::uint64_t i) const { return {i, static_cast<std::int64_t>(i)}; }
  std::string key(std::uint64_t i) const { return "text " + std::to_string(i); }
};
/// With a stage, so that callables find wick's operator.
auto source(std::uint64_t n = 50) { return texts{n} | wick::take(n); }
std::size_t length_of(std::int64_t i) { return static_cast<std::size_t>(i * 7 % 13); }
wick::sample<std::vector<int>> tokenize(wick::sample<std::uint64_t> s) {
  return {counted(100 * s.target, length_of(s.target)), s.target};
}

/// Each row is what its target says, and padded with -1. The width.
template <class Batch>
std::int64_t check_rows(const Batch& b) {
  const std::int64_t n = b.target.extents()[0], width = b.data.values.extents()[1];
  CHECK(b.data.values.extents() == wick::shape{n, width});
  CHECK(b.data.lengths.extents() == wick::shape{n});
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t target = b.target.template as<std::int64_t>()[i];
    std::vector<int> wanted = counted(100 * target, length_of(target));
    CHECK(b.data.lengths.template as<std::int64_t>()[i] == static_cast<std::int64_t>(wanted.size()));
    wanted.resize(static_cast<std::size_t>(width), -1);
    const int* const row = b.data.values.template as<int>() + i * width;
    CHECK(std::vector<int>(row, row + width) == wanted);
  }
  return width;
}

template <class Loader>
std::vector<std::vector<int>> rows_of(Loader& l, std::uint64_t epoch) {
  std::vector<std::vector<int>> out;
  for (auto& b : l.epoch(epoch)) {
    const std::int64_t width = b.data.values.extents()[1];
    for (std::int64_t i = 0; i < b.data.values.extents()[0]; ++i) {
      const int* const row = b.data.values.template as<int>() + i * width;
      out.emplace_back(row, row + b.data.lengths.template as<std::int64_t>()[i]);
      out.back().push_back(static_cast<int>(b.target.template as<std::int64_t>()[i]));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("fields of any length are filled up to the longest of their batch, and say how long they are") {
  for (const std::size_t workers : {1, 4}) {
    wick::loader l(
        source() | wick::shuffle() | tokenize | wick::array_batch(8, {.ragged = wick::pad_with(-1)}),
        {.workers = workers});
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::size_t batches = 0;
      for (auto& b : l.epoch(epoch)) {
        std::int64_t longest = 0;
        for (std::int64_t i = 0; i < b.target.extents()[0]; ++i) {
          longest = std::max(longest, b.data.lengths.as<std::int64_t>()[i]);
        }
        CHECK(check_rows(b) == longest);
        ++batches;
      }
      CHECK(batches == 7);
    }
  }
}

TEST_CASE("the width is a multiple where one is asked for") {
  wick::loader l(source() | tokenize |
                     wick::array_batch(5, {.drop_last = true, .ragged = wick::pad_with(-1, {.multiple = 8})}),
                 {.workers = 2});
  std::vector<std::int64_t> widths;
  for (auto& b : l.epoch(0)) widths.push_back(check_rows(b));
  CHECK(widths.size() == 10);
  for (const std::int64_t w : widths) CHECK((w == 8 || w == 16));
  CHECK(message_of([] { return wick::pad_with(0, {.multiple = 0}).multiple; }) ==
        "pad_with: a length can't be a multiple of 0; 1 leaves it as it is");
}

TEST_CASE("options without .ragged are those of a batch of fixed shapes") {
  wick::loader l(source() | wick::array_batch(8, {.drop_last = true}));
  wick::loader m(source() | wick::array_batch(8, {}));
  CHECK(l.next().value().data.as<std::uint64_t>()[7] == 7);
  CHECK(l.batches() + 1 == m.batches());
}

TEST_CASE("rows of arrays and several fields of any length, beside fields of a fixed shape") {
  struct item {
    std::vector<std::array<float, 4>> boxes;
    std::int64_t number;
    std::vector<std::uint8_t> names;
  };
  wick::loader l(source(20) | [](const wick::sample<std::uint64_t>& s) {
    item out{{}, s.target, {}};
    for (std::uint64_t i = 0; i < s.data % 4; ++i) {
      const auto x = static_cast<float>(i);
      out.boxes.push_back({x, x + 1, x + 2, x + 3});
      out.names.push_back(static_cast<std::uint8_t>(10 + i));
      out.names.push_back(7);
    }
    return out;
  } | wick::array_batch(4, {.ragged = wick::pad_with(0)}));
  for (auto& [boxes, numbers, names] : l.epoch(0)) {
    CHECK(boxes.values.extents() == wick::shape{4, 3, 4});
    CHECK(boxes.values.type() == wick::dtype::float32);
    CHECK(boxes.values.strides() == wick::shape{12, 4, 1});
    CHECK(names.values.extents() == wick::shape{4, 6});
    for (std::int64_t i = 0; i < 4; ++i) {
      CHECK(boxes.lengths.as<std::int64_t>()[i] == numbers.as<std::int64_t>()[i] % 4);
      CHECK(names.lengths.as<std::int64_t>()[i] == numbers.as<std::int64_t>()[i] % 4 * 2);
    }
    const float* const last = boxes.values.as<float>() + 3 * 12;
    CHECK(std::vector<float>(last, last + 12) == std::vector<float>{0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5});
    const std::uint8_t* const second = names.values.as<std::uint8_t>() + 6;
    CHECK(std::vector<int>(second, second + 6) == std::vector<int>{10, 7, 0, 0, 0, 0});
  }
}

TEST_CASE("a struct of the user's takes padded columns, and the fields after them") {
  struct sentences {
    wick::padded<wick::array> tokens;
    wick::array number;
  };
  wick::loader named(source() | tokenize | wick::array_batch<sentences>(8, {.ragged = wick::pad_with(-1)}));
  wick::loader plain(source() | tokenize | wick::array_batch(8, {.ragged = wick::pad_with(-1)}));
  std::size_t batches = 0;
  for (const sentences& b : named.epoch(0)) {
    const auto other = plain.next();
    REQUIRE(other);
    struct view {
      const wick::padded<wick::array>& data;
      const wick::array& target;
    };
    CHECK(check_rows(view{b.tokens, b.number}) == check_rows(*other));
    ++batches;
  }
  CHECK(batches == 7);
}

TEST_CASE("samples without a value, and batches without a sample") {
  wick::loader l(source(6) | [](const wick::sample<std::uint64_t>&) { return std::vector<double>(); } |
                 wick::array_batch(3, {.ragged = wick::pad_with(0.5)}));
  for (auto& b : l.epoch(0)) {
    CHECK(b.values.extents() == wick::shape{3, 0});
    CHECK(b.lengths.as<std::int64_t>()[2] == 0);
  }
  wick::loader none(
      source(6) | [](const wick::sample<std::uint64_t>& s) -> std::vector<double> {
        if (s.target < 3) throw wick::error("bad");
        return {1.0};
      } | wick::array_batch(3, {.ragged = wick::pad_with(0.5)}),
      {.on_error = wick::on_error::skip});
  auto first = none.next().value();
  CHECK(first.values.extents() == wick::shape{0, 0});
  CHECK(first.lengths.extents() == wick::shape{0});
  CHECK(none.next().value().values.extents() == wick::shape{3, 1});
}

TEST_CASE("what is left out leaves no row, and the other rows move up with their lengths") {
  for (const std::size_t workers : {1, 4}) {
    wick::loader l(source() | wick::shuffle() |
                       [](wick::sample<std::uint64_t> s) {
                         if (s.target % 5 == 0) throw wick::error("bad");
                         return tokenize(s);
                       } |
                       wick::array_batch(8, {.ragged = wick::pad_with(-1)}),
                   {.workers = workers, .on_error = wick::on_error::skip, .content_fingerprint = true});
    std::int64_t rows = 0;
    for (auto& b : l.epoch(0)) {
      check_rows(b);
      rows += b.target.extents()[0];
    }
    CHECK(rows == 40);
    CHECK(l.failure_log().entries().size() == 10);
  }
}

TEST_CASE("a rank's rows are its slice of the batch, as wide as it needs") {
  const auto pipeline = source() | wick::shuffle();
  const auto rest = wick::array_batch(8, {.ragged = wick::pad_with(-1)});
  wick::loader whole(pipeline | tokenize | rest, {.seed = 3, .content_fingerprint = true});
  std::vector<std::vector<int>> wanted = rows_of(whole, 1);
  for (const std::uint64_t world : {2, 4}) {
    std::vector<std::vector<int>> got;
    wick::epoch_fingerprint print{};
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      wick::loader l(pipeline | wick::shard(rank, world) | tokenize | rest,
                     {.seed = 3, .content_fingerprint = true});
      for (auto& row : rows_of(l, 1)) got.push_back(std::move(row));
      print += l.fingerprint(1);
    }
    std::sort(got.begin(), got.end());
    std::vector<std::vector<int>> sorted = wanted;
    std::sort(sorted.begin(), sorted.end());
    CHECK(got == sorted);
    CHECK(print == whole.fingerprint(1));
  }
}

TEST_CASE("a padding that the field's type can't hold is an error that names it") {
  const auto pipeline =
      source(3) | [](const wick::sample<std::uint64_t>&) { return std::vector<std::uint8_t>(2); };
  wick::loader l(pipeline | wick::array_batch(3, {.ragged = wick::pad_with(-100)}));
  CHECK(
      contains(message_of([&] { return l.next(); }), "pad_with(-100): a field of uint8 has no such number"));
  wick::loader h(pipeline | wick::array_batch(3, {.ragged = wick::pad_with(0.5)}));
  CHECK(contains(message_of([&] { return h.next(); }), "text 0: batch: pad_with(0.5"));
}

TEST_CASE("a warm loader takes its padded batches out of the pool") {
  wick::loader l(source(64) | [](const wick::sample<std::uint64_t>& s) {
    return std::vector<float>(100 + s.data % 16, 1.0F);
  } | wick::array_batch(16, {.ragged = wick::pad_with(0)}));
  for (std::uint64_t e = 0; e < 20; ++e) {
    for (auto& b : l.epoch(e)) CHECK(b.values.extents()[1] == 115);
  }
  const std::uint64_t before = l.slab_allocations();
  for (std::uint64_t e = 20; e < 60; ++e) {
    for (auto& b : l.epoch(e)) CHECK(b.values.extents()[1] == 115);
  }
  CHECK(l.slab_allocations() == before);
}

TEST_CASE("a padding that isn't a number has one fingerprint, whatever compiled it") {
  volatile double unknown = std::numeric_limits<double>::quiet_NaN();  // not by the compiler
  const auto print = [](double pad) {
    return wick::array_batch(2, {.ragged = wick::pad_with(pad)}).fingerprint();
  };
  CHECK(print(unknown) == print(std::numeric_limits<double>::quiet_NaN()));
  CHECK(wick::pad_with(unknown).whole == 0);
  CHECK(wick::pad_with(-std::numeric_limits<float>::infinity()).whole == 0);
  CHECK(wick::pad_with(-7).whole == -7);
}

TEST_CASE("a state of another padding is refused") {
  wick::loader l(source() | tokenize | wick::array_batch(8, {.ragged = wick::pad_with(-1)}));
  l.next();
  const auto state = l.state();
  wick::loader same(source() | tokenize | wick::array_batch(8, {.ragged = wick::pad_with(-1)}));
  same.load_state(state);
  CHECK(check_rows(same.next().value()) > 0);
  wick::loader other(source() | tokenize | wick::array_batch(8, {.ragged = wick::pad_with(-2)}));
  CHECK(contains(message_of([&] {
                   other.load_state(state);
                   return 0;
                 }),
                 "batch"));
}

TEST_CASE("concatenated fields have offsets instead of padding, in every kind of batch") {
  for (const std::size_t workers : {1, 3}) {
    wick::loader loader(source() | wick::shuffle() | tokenize |
                            wick::array_batch(8, {.drop_last = true, .ragged = wick::concatenated}),
                        {.workers = workers});
    std::size_t samples = 0;
    for (const std::uint64_t epoch : {0, 1}) {
      for (const auto& b : loader.epoch(epoch)) {
        const auto* const offsets = b.data.offsets.as<std::int64_t>();
        CHECK(b.data.offsets.extents() == wick::shape{9});
        CHECK(b.data.values.extents() == wick::shape{offsets[8]});
        CHECK(offsets[0] == 0);
        for (std::int64_t i = 0; i < 8; ++i, ++samples) {
          const std::int64_t target = b.target.as<std::int64_t>()[i];
          const int* const values = b.data.values.as<int>();
          CHECK(std::vector<int>(values + offsets[i], values + offsets[i + 1]) ==
                counted(100 * target, length_of(target)));
        }
      }
    }
    CHECK(samples == 2 * 48);
  }
}

TEST_CASE("concatenated fields of arrays, beside others, as a struct, and with samples left out") {
  struct graph {
    std::vector<std::array<std::int64_t, 2>> edges;
    std::vector<float> weights;
    float label;
  };
  struct graphs {
    wick::jagged<wick::array> edges, weights;
    wick::array label;
  };
  const auto make = [](const wick::sample<std::uint64_t>& s) {
    if (s.target % 5 == 3) throw wick::error("damaged");
    graph g{
        {}, std::vector<float>(static_cast<std::size_t>(s.target % 3), 0.5f), static_cast<float>(s.target)};
    for (std::int64_t k = 0; k < s.target % 4; ++k) g.edges.push_back({s.target, k});
    return g;
  };
  wick::loader loader(source(20) | make | wick::array_batch<graphs>(20, {.ragged = wick::concatenated}),
                      {.workers = 2, .on_error = wick::on_error::skip});
  const graphs b = loader.next().value();
  CHECK(b.label.extents() == wick::shape{16});
  CHECK(b.edges.offsets.extents() == wick::shape{17});
  const auto* const offsets = b.edges.offsets.as<std::int64_t>();
  const auto* const weights = b.weights.offsets.as<std::int64_t>();
  CHECK(b.edges.values.extents() == wick::shape{offsets[16], 2});
  for (std::int64_t i = 0; i < 16; ++i) {
    const auto id = static_cast<std::int64_t>(b.label.as<float>()[i]);
    CHECK(offsets[i + 1] - offsets[i] == id % 4);
    CHECK(weights[i + 1] - weights[i] == id % 3);
    for (std::int64_t k = 0; k < id % 4; ++k) {
      CHECK(b.edges.values.as<std::int64_t>()[2 * (offsets[i] + k)] == id);
      CHECK(b.edges.values.as<std::int64_t>()[2 * (offsets[i] + k) + 1] == k);
    }
  }
  // Nothing in any of them, and no sample at all.
  wick::loader empty(source(3) | [](const wick::sample<std::uint64_t>&) { return std::vector<int>(); } |
                     wick::array_batch(4, {.ragged = wick::concatenated}));
  const wick::jagged<wick::array> none = empty.next().value();
  CHECK(none.values.extents() == wick::shape{0});
  CHECK(none.offsets.extents() == wick::shape{4});
  wick::loader gone(
      source(3) | [](const wick::sample<std::uint64_t>&) -> std::vector<int> {
        throw wick::error("bad");
      } | wick::array_batch(4, {.ragged = wick::concatenated}),
      {.on_error = wick::on_error::skip});
  const wick::jagged<wick::array> no_sample = gone.next().value();
  CHECK(no_sample.offsets.extents() == wick::shape{1});
  CHECK(no_sample.offsets.as<std::int64_t>()[0] == 0);
}

}  // namespace wick_test::ragged_tests

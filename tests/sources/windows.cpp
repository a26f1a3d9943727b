#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/windows.hpp>

namespace wick_test::windows_tests {

static_assert(wick::ext::source<wick::detail::window_source>);
static_assert(wick::ext::source<wick::detail::targeted_windows>);

namespace {

using wick_test::contains;
using wick_test::message_of;

/// Row r of a series is 10 r, 10 r + 1, …
std::vector<std::int32_t> rows(std::int32_t count, std::int32_t width) {
  std::vector<std::int32_t> out;
  for (std::int32_t r = 0; r < count; ++r) {
    for (std::int32_t c = 0; c < width; ++c) out.push_back(10 * r + c);
  }
  return out;
}

template <class T>
std::vector<T> values_of(const wick::memory_view& view) {
  std::vector<T> out(view.size() / sizeof(T));
  view.write_to({reinterpret_cast<std::byte*>(out.data()), false});
  return out;
}

template <class T>
std::vector<T> values_of(const wick::array& a) {
  return std::vector<T>(a.as<T>(), a.as<T>() + a.extents().count());
}

/// `count` rows of a series that begins with `first`, whose rows lie in the other order and some elements
/// apart.
wick::detail::series transposed(const std::vector<std::int32_t>& columns, std::uint64_t count) {
  wick::detail::series s;
  s.data = reinterpret_cast<const std::byte*>(columns.data());
  s.rows = count;
  s.type = wick::dtype::int32;
  s.row = {static_cast<std::int64_t>(columns.size() / count)};
  s.strides = {static_cast<std::int64_t>(count)};
  s.step = 1;
  return s;
}

}  // namespace

TEST_CASE("sample i is the rows from i times the stride on, where they lie") {
  const std::vector<std::int32_t> series = rows(11, 3);
  for (const std::int64_t stride : {1, 2, 3, 7, 100}) {
    for (const std::int64_t length : {1, 2, 5, 11}) {
      CAPTURE(stride);
      CAPTURE(length);
      const auto source = wick::windows(std::span(series), {3}, length, stride);
      REQUIRE(source.size() == static_cast<std::uint64_t>((11 - length) / stride + 1));
      for (std::uint64_t i = 0; i < source.size(); ++i) {
        source.prefetch(i, 512);
        const wick::memory_view view = source.at(i);
        CHECK(view.extents() == wick::shape{length, 3});
        CHECK(view.as<std::int32_t>() == series.data() + 3 * i * static_cast<std::uint64_t>(stride));
        const std::string first = std::to_string(i * static_cast<std::uint64_t>(stride));
        CHECK(source.key(i).rfind("rows " + first + " to ", 0) == 0);
      }
      CHECK(source.at(0).size() == static_cast<std::size_t>(length) * 12);
    }
  }
}

TEST_CASE("the last window ends with the series, or before it") {
  const auto of = [](std::int32_t count, std::int64_t length, std::int64_t stride) {
    return wick::windows(rows(count, 1), {1}, length, stride).size();
  };
  CHECK(of(10, 10, 1) == 1);
  CHECK(of(11, 10, 1) == 2);
  CHECK(of(11, 10, 2) == 1);
  CHECK(of(12, 10, 2) == 2);
  CHECK(of(13, 10, 2) == 2);
  CHECK(of(10, 1, 10) == 1);
  CHECK(of(11, 1, 10) == 2);
  CHECK(wick::windows(rows(100, 1), {1}, 10, std::numeric_limits<std::int64_t>::max()).size() == 1);
}

TEST_CASE("rows may be numbers, or of several dimensions") {
  const auto numbers = wick::windows(std::vector<double>{1, 2, 3, 4}, {}, 3);
  CHECK(numbers.at(1).extents() == wick::shape{3});
  CHECK(values_of<double>(numbers.at(1)) == std::vector<double>{2, 3, 4});
  const auto planes = wick::windows(rows(4, 6), {2, 3}, 2);
  CHECK(planes.at(2).extents() == wick::shape{2, 2, 3});
  CHECK(values_of<std::int32_t>(planes.at(2)) ==
        std::vector<std::int32_t>{20, 21, 22, 23, 24, 25, 30, 31, 32, 33, 34, 35});
}

TEST_CASE("a vector is taken over, and lives as long as any copy of the source") {
  std::vector<std::int32_t> series = rows(50, 2);
  const std::int32_t* const where = series.data();
  std::optional<wick::detail::window_source> first(wick::windows(std::move(series), {2}, 4));
  CHECK(first->at(0).as<std::int32_t>() == where);
  const wick::detail::targeted_windows pairs = first->target(2);
  const wick::detail::window_source copy = *first;
  first.reset();
  CHECK(copy.at(46).as<std::int32_t>()[7] == 491);
  CHECK(pairs.at(44).target.as<std::int32_t>()[0] == 480);
}

TEST_CASE("a target is the rows after the window, or where the offset says") {
  const auto source = wick::windows(rows(20, 1), {1}, 4, 3);
  const auto first_of = [](const wick::memory_view& v) { return v.as<std::int32_t>()[0] / 10; };
  const auto ahead = source.target(2);
  REQUIRE(ahead.size() == 5);  // the last at 12: 12 to 15, and 16 to 17
  for (std::uint64_t i = 0; i < ahead.size(); ++i) {
    ahead.prefetch(i, 512);
    CHECK(first_of(ahead.at(i).data) == static_cast<std::int32_t>(3 * i));
    CHECK(first_of(ahead.at(i).target) == static_cast<std::int32_t>(3 * i + 4));
    CHECK(ahead.at(i).target.extents() == wick::shape{2, 1});
  }
  CHECK(ahead.key(2) == "rows 6 to 9");

  const auto next = source.target(4, {.offset = 1});
  CHECK(next.size() == 6);  // the last at 15: 15 to 18, and 16 to 19
  CHECK(first_of(next.at(5).target) == 16);
  const auto within = source.target(1, {.offset = 3});
  CHECK(within.size() == source.size());
  CHECK(first_of(within.at(5).target) == 18);
  CHECK(source.target(1, {.offset = 19}).size() == 1);
  CHECK(source.target(20, {.offset = 0}).size() == 1);
  CHECK(source.target(16).size() == 1);
}

TEST_CASE("a target may be of a series of its own: a class for each row") {
  std::vector<std::int64_t> classes(20);
  for (std::size_t r = 0; r < classes.size(); ++r) classes[r] = static_cast<std::int64_t>(100 + r);
  const auto source = wick::windows(rows(20, 2), {2}, 4).target(classes, 1, {.offset = 3});
  classes.assign(20, 0);  // it keeps its own
  REQUIRE(source.size() == 17);
  CHECK(source.at(16).target.extents() == wick::shape{1});
  CHECK(values_of<std::int64_t>(source.at(16).target) == std::vector<std::int64_t>{119});
}

TEST_CASE("windows never reach from one series into the next; a short one has none") {
  std::vector<std::vector<std::int32_t>> kept;
  std::vector<wick::detail::series> all;
  for (const std::int32_t count : {5, 0, 3, 2, 9, 0, 1, 4, 2}) {
    kept.push_back(rows(count, 1));
    for (std::int32_t& v : kept.back()) v += 1000 * static_cast<std::int32_t>(kept.size());
    all.push_back(wick::detail::series::packed(nullptr, kept.back().data(), kept.back().size(),
                                               wick::dtype::int32, {1}));
  }
  const wick::detail::window_source source(all, 3, 2);
  std::vector<std::int32_t> found;
  for (std::uint64_t i = 0; i < source.size(); ++i) {
    const auto window = values_of<std::int32_t>(source.at(i));
    CHECK(window[2] == window[0] + 20);
    found.push_back(window[0]);
    CHECK(source.key(i) == "series " + std::to_string(window[0] / 1000 - 1) + ", rows " +
                               std::to_string(window[0] % 1000 / 10) + " to " +
                               std::to_string(window[0] % 1000 / 10 + 2));
  }
  CHECK(found == std::vector<std::int32_t>{1000, 1020, 3000, 5000, 5020, 5040, 5060, 8000});
  CHECK(source.target(1).size() == 1 + 3 + 1);
}

TEST_CASE("windows of rows with any strides are those of the same rows packed") {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    const std::size_t count = std::uniform_int_distribution<std::size_t>(6, 40)(random);
    const std::size_t width = std::uniform_int_distribution<std::size_t>(1, 9)(random);
    std::vector<std::int32_t> packed(count * width), columns(count * width);
    for (std::size_t r = 0; r < count; ++r) {
      for (std::size_t c = 0; c < width; ++c) {
        packed[r * width + c] = columns[c * count + r] = static_cast<std::int32_t>(random());
      }
    }
    const wick::detail::window_source strided({transposed(columns, count)}, 6, 1);
    const auto plain = wick::windows(std::span(packed), {static_cast<std::int64_t>(width)}, 6);
    REQUIRE(strided.size() == plain.size());
    for (std::uint64_t i = 0; i < plain.size(); ++i) {
      strided.prefetch(i, 64);
      CHECK(values_of<std::int32_t>(strided.at(i)) == values_of<std::int32_t>(plain.at(i)));
    }
    CHECK(strided.fingerprint() == plain.fingerprint());
  }
}

TEST_CASE("an epoch of windows is the same at any number of workers and ranks, shuffled or not") {
  const auto source = wick::windows(rows(103, 2), {2}, 8, 2).target(3);
  const auto epoch_of = [&](std::size_t workers, std::uint64_t world) {
    std::vector<std::vector<std::int32_t>> batches;
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      wick::loader loader(source | wick::shuffle() | wick::shard(rank, world) | wick::array_batch(8),
                          {.seed = 5, .workers = workers});
      std::size_t b = 0;
      for (auto& batch : loader.epoch(2)) {
        if (batches.size() <= b) batches.emplace_back();
        const auto n = batch.data.extents()[0];
        REQUIRE(batch.data.extents() == wick::shape{n, 8, 2});
        REQUIRE(batch.target.extents() == wick::shape{n, 3, 2});
        const auto data = values_of<std::int32_t>(batch.data), target = values_of<std::int32_t>(batch.target);
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
          CHECK(target[6 * i] == data[16 * i] + 80);
          CHECK(target[6 * i + 5] == data[16 * i] + 101);
        }
        batches[b].insert(batches[b].end(), data.begin(), data.end());
        ++b;
      }
    }
    return batches;
  };
  const auto expected = epoch_of(1, 1);
  CHECK(expected.size() == (source.size() + 7) / 8);
  for (const std::size_t workers : {1, 4}) {
    for (const std::uint64_t world : {1, 2, 4}) CHECK(epoch_of(workers, world) == expected);
  }
}

TEST_CASE("the fingerprint tells other data, windows and targets apart") {
  const auto of = [](std::vector<std::int32_t> v, std::int64_t length, std::int64_t stride) {
    return wick::windows(std::move(v), {2}, length, stride).fingerprint();
  };
  const std::uint64_t same = of(rows(30, 2), 4, 2);
  CHECK(of(rows(30, 2), 4, 2) == same);
  CHECK(of(rows(30, 2), 4, 1) != same);
  CHECK(of(rows(30, 2), 5, 2) != same);
  CHECK(of(rows(31, 2), 4, 2) != same);
  for (const std::size_t changed : {0, 1, 30, 59}) {
    std::vector<std::int32_t> other = rows(30, 2);
    ++other[changed];
    CHECK(of(other, 4, 2) != same);
  }
  CHECK(wick::windows(rows(30, 2), {1, 2}, 4, 2).fingerprint() != same);
  CHECK(wick::windows(std::vector<float>(60), {2}, 4, 2).fingerprint() !=
        of(std::vector<std::int32_t>(60), 4, 2));
  const auto source = wick::windows(rows(30, 2), {2}, 4, 2);
  const std::uint64_t with = source.target(2).fingerprint();
  CHECK(with != same);
  CHECK(source.target(2, {.offset = 4}).fingerprint() == with);
  CHECK(source.target(3).fingerprint() != with);
  CHECK(source.target(2, {.offset = 5}).fingerprint() != with);
  CHECK(source.target(std::vector<float>(30), 2).fingerprint() != with);
}

TEST_CASE("the fingerprint looks at all of a long series, a row here and there") {
  std::vector<std::int32_t> series = rows(1 << 20, 1);
  const std::uint64_t same = wick::windows(std::span(series), {1}, 4).fingerprint();
  for (std::size_t r = 1 << 19; r < (1 << 19) + 8; ++r) series[r] = -1;
  CHECK(wick::windows(std::span(series), {1}, 4).fingerprint() != same);
}

TEST_CASE("what gives no windows is refused, with the numbers found") {
  const auto said = [](std::int64_t length, std::int64_t stride) {
    return message_of([&] { return wick::windows(rows(10, 2), {2}, length, stride); });
  };
  CHECK(said(11, 1) == "windows: the series has 10 rows, and a window takes 11; ask for shorter ones");
  CHECK(contains(said(std::int64_t{1} << 61, 1), "a window takes 2305843009213693952; ask for shorter ones"));
  CHECK(message_of([] { return wick::windows(std::vector<float>(160), {16}, std::int64_t{1} << 61); }) ==
        "windows: the series has 10 rows, and a window takes 2305843009213693952; ask for shorter ones");
  CHECK(said(0, 1) == "windows: a length of 0 rows was asked for; it is at least 1");
  CHECK(said(-4, 1) == "windows: a length of -4 rows was asked for; it is at least 1");
  CHECK(said(4, 0) == "windows: a stride of 0 rows was asked for; it is at least 1, which gives all windows");
  CHECK(said(4, -1) ==
        "windows: a stride of -1 rows was asked for; it is at least 1, which gives all windows");
  CHECK(message_of([] { return wick::windows(rows(0, 2), {2}, 1); }) ==
        "windows: the series has 0 rows, and a window takes 1; ask for shorter ones");
  CHECK(message_of([] { return wick::windows(rows(5, 3), {2}, 1); }) ==
        "windows: 15 values aren't whole rows of shape [2]; check both");
  CHECK(message_of([] { return wick::windows(rows(5, 3), {0}, 1); }) ==
        "windows: 15 values aren't whole rows of shape [0]; check both");
  CHECK(message_of([] { return wick::detail::window_source({}, 1, 1); }) ==
        "windows: there is no series; give it at least one");
}

TEST_CASE("a target that does not fit is refused, with the numbers found") {
  const auto source = wick::windows(rows(10, 2), {2}, 4);
  CHECK(message_of([&] { return source.target(7); }) ==
        "windows: the series has 10 rows, and a window takes 11 with its target; ask for shorter ones");
  CHECK(message_of([&] { return source.target(1, {.offset = 10}); }) ==
        "windows: the series has 10 rows, and a window takes 11 with its target; ask for shorter ones");
  CHECK(message_of([&] { return source.target(0); }) ==
        "windows: targets: a length of 0 rows was asked for; it is at least 1");
  CHECK(contains(message_of([&] { return source.target(4, {.offset = ~std::uint64_t{0} - 2}); }),
                 "the target begins 18446744073709551613 rows after the window's first"));
  CHECK(message_of([&] { return source.target(std::vector<int>(9), 1); }) ==
        "windows: the series has 10 rows, and its targets 9; there must be one for each row");
}

TEST_CASE("series that differ are refused, with the first that does") {
  const std::vector<std::int32_t> numbers(12);
  const auto packed = [&](const wick::shape& row, wick::dtype type) {
    return wick::detail::series::packed(nullptr, numbers.data(), numbers.size(), type, row);
  };
  CHECK(message_of([&] {
          return wick::detail::window_source(
              {packed({2}, wick::dtype::int32), packed({2}, wick::dtype::int32),
               packed({3}, wick::dtype::int32)},
              1, 1);
        }) ==
        "windows: series 2 has rows [3] of int32, and the first [2] of int32; bring all to one shape "
        "and type");
  CHECK(message_of([&] {
          return wick::detail::window_source(
              {packed({2}, wick::dtype::int32), packed({2}, wick::dtype::float32)}, 1, 1);
        }) ==
        "windows: series 1 has rows [2] of float32, and the first [2] of int32; bring all to one shape "
        "and type");
  const wick::detail::window_source two({packed({2}, wick::dtype::int32), packed({2}, wick::dtype::int32)}, 2,
                                        1);
  CHECK(message_of([&] { return two.target(std::vector<int>(6), 1); }) ==
        "windows: 1 series of targets for 2 series; there must be one for each");
  CHECK(message_of([&] {
          return wick::detail::window_source(
              {packed({2}, wick::dtype::int32), packed({2}, wick::dtype::int32),
               packed({2}, wick::dtype::int32)},
              7, 1);
        }) == "windows: the longest of 3 series has 6 rows, and a window takes 7; ask for shorter ones");
}

}  // namespace wick_test::windows_tests

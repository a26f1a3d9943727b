#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include <wick/sources/memory.hpp>

namespace wick_test::memory_tests {

static_assert(wick::ext::source<wick::detail::memory_items<std::string>>);
static_assert(wick::ext::source<wick::detail::memory_rows>);

namespace {

using wick_test::contains;
using wick_test::message_of;

struct big {
  std::array<int, 100> values;
};

}  // namespace

static_assert(std::is_same_v<decltype(std::declval<const wick::detail::memory_items<int>&>().at(0)), int>);
static_assert(
    std::is_same_v<decltype(std::declval<const wick::detail::memory_items<big>&>().at(0)), const big&>);
static_assert(std::is_same_v<decltype(std::declval<const wick::detail::memory_items<std::string>&>().at(0)),
                             const std::string&>);
static_assert(wick::ext::source<wick::detail::memory_items<std::unique_ptr<int>>>);

TEST_CASE("a vector of anything is a source of its items") {
  const auto numbers = wick::in_memory(std::vector<int>{3, 1, 4});
  CHECK(numbers.size() == 3);
  CHECK(numbers.at(2) == 4);
  const auto words = wick::in_memory(std::vector<std::string>{"wick", "feeds", "a torch"});
  CHECK(words.at(1) == "feeds");
  CHECK(&words.at(1) == &words.at(1));
  words.prefetch(1, 64);
  CHECK(wick::detail::key_of(words, 1) == "sample 1");
}

TEST_CASE("rows of an array come with their targets") {
  std::vector<std::uint8_t> pixels(5 * 6);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  const auto rows = wick::in_memory(pixels, {2, 3}, {10, 11, 12, 13, 14});
  REQUIRE(rows.size() == 5);
  CHECK(rows.format().extents == wick::shape{2, 3});
  CHECK(rows.format().type == wick::dtype::uint8);
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    rows.prefetch(i, 512);
    const auto s = rows.at(i);
    CHECK(s.target == static_cast<std::int64_t>(10 + i));
    CHECK(s.data.as<std::uint8_t>()[0] == 6 * i);
    std::array<std::uint8_t, 6> slot{};
    s.data.write_to({reinterpret_cast<std::byte*>(slot.data()), false});
    CHECK(slot[5] == 6 * i + 5);
  }
}

TEST_CASE("rows may be of any arithmetic type, scalars, and lie in the caller's memory") {
  const std::vector<float> values = {0.5f, 1.5f, 2.5f};
  const auto rows = wick::in_memory(values.data(), {}, {7, 8, 9});
  CHECK(rows.format().bytes == 4);
  CHECK(rows.at(1).data.as<float>() == values.data() + 1);
  CHECK(rows.format().type == wick::dtype::float32);
}

TEST_CASE("a source stays valid when it is copied and the first is moved and gone") {
  auto first =
      std::make_unique<wick::detail::memory_rows>(wick::in_memory(std::vector<int>{1, 2, 3, 4}, {2}, {0, 1}));
  const wick::detail::memory_rows copy = *first;
  const wick::detail::memory_rows moved = std::move(*first);
  first.reset();
  CHECK(copy.at(1).data.as<int>()[1] == 4);
  CHECK(moved.at(1).data.extents() == wick::shape{2});
  CHECK(copy.at(1).target == 1);
}

TEST_CASE("the fingerprint changes with any value, target, shape or type") {
  const std::vector<std::uint8_t> v = {1, 2, 3, 4};
  std::vector<std::uint8_t> w = v;
  w[3] = 5;
  const std::uint64_t f = wick::in_memory(v, {2}, {0, 1}).fingerprint();
  CHECK(f == wick::in_memory(v.data(), {2}, {0, 1}).fingerprint());
  CHECK(f != wick::in_memory(w, {2}, {0, 1}).fingerprint());
  CHECK(f != wick::in_memory(v, {2}, {0, 2}).fingerprint());
  CHECK(f != wick::in_memory(v, {2, 1}, {0, 1}).fingerprint());
  CHECK(f != wick::in_memory(std::vector<std::int8_t>{1, 2, 3, 4}, {2}, {0, 1}).fingerprint());
  using words = std::vector<std::string>;
  CHECK(wick::in_memory(words{"a", "b"}).fingerprint() == wick::in_memory(words{"a", "b"}).fingerprint());
  CHECK(wick::in_memory(words{"a", "b"}).fingerprint() != wick::in_memory(words{"a", "c"}).fingerprint());
  CHECK(wick::in_memory(std::vector<int>{1, 2}).fingerprint() !=
        wick::in_memory(std::vector<int>{1, 3}).fingerprint());
}

TEST_CASE("a large array is fingerprinted by rows spread over all of it") {
  std::vector<std::uint8_t> v(std::size_t{48} << 20);
  const std::size_t row = std::size_t{1} << 20;
  const auto of = [&] {
    return wick::in_memory(v.data(), {static_cast<std::int64_t>(row)}, std::vector<std::int64_t>(48))
        .fingerprint();
  };
  const std::uint64_t before = of();
  std::size_t seen = 0;
  for (std::size_t i = 0; i < 48; ++i) {
    v[i * row + 17] = 1;
    seen += of() != before;
    v[i * row + 17] = 0;
  }
  CHECK(seen >= 16);
}

TEST_CASE("sizes that disagree and sources without a sample are refused, with the finding") {
  CHECK(message_of([] { return wick::in_memory(std::vector<int>{}); }) ==
        "in_memory: the vector is empty; give it at least one sample");
  CHECK(message_of([] {
          return wick::in_memory(std::vector<std::uint8_t>(100), {28, 28}, {0, 1});
        }) == "in_memory: 100 values are not 2 rows (one a target) of shape [28, 28]; check both");
  CHECK(contains(message_of([] { return wick::in_memory(std::vector<float>{}, {2}, {}); }),
                 "there are no targets"));
  CHECK(contains(message_of([] { return wick::in_memory(std::vector<float>(2), {0}, {1}); }),
                 "[0] has no elements"));
  CHECK(contains(message_of([] { return wick::in_memory(static_cast<const float*>(nullptr), {1}, {1}); }),
                 "null"));
}

}  // namespace wick_test::memory_tests

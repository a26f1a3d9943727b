#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "support/doctest.hpp"
#include "support/numbers.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/concat.hpp>

namespace wick_test::concat_tests {

using wick_test::numbers;

namespace {

struct tens {
  std::uint64_t n;
  std::uint64_t size() const { return n; }
  int at(std::uint64_t i) const { return static_cast<int>(10 * i); }
  std::string key(std::uint64_t i) const { return "ten " + std::to_string(i); }
  void prefetch(std::uint64_t i, std::size_t) const noexcept { last = i; }
  mutable std::uint64_t last = 99;
};
struct kept {
  std::vector<int> all;
  std::uint64_t size() const { return all.size(); }
  const int& at(std::uint64_t i) const { return all[i]; }
};

}  // namespace

static_assert(wick::ext::source<decltype(wick::concat(tens{1}, kept{{2}}))>);
static_assert(std::is_same_v<decltype(wick::concat(kept{{1}}, kept{{2}}).at(0)), const int&>);
static_assert(std::is_same_v<decltype(wick::concat(kept{{1}}, tens{2}).at(0)), int>);

TEST_CASE("sources stand end to end, empty ones too, each with its own keys and hints") {
  const auto all = wick::concat(tens{3}, kept{{}}, kept{{7, 8}}, tens{1});
  CHECK(all.size() == 6);
  std::vector<int> got;
  std::string keys;
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    got.push_back(all.at(i));
    keys += all.key(i) + ";";
  }
  CHECK(got == std::vector<int>{0, 10, 20, 7, 8, 0});
  CHECK(keys == "ten 0;ten 1;ten 2;sample 0;sample 1;ten 0;");
  all.prefetch(2, 64);
  all.prefetch(5, 64);
  CHECK(all.get<0>().last == 2);
  CHECK(all.get<3>().last == 0);
}

TEST_CASE("the fingerprint is that of all sources in their order") {
  CHECK(wick::concat(tens{3}, kept{{1}}).fingerprint() == wick::concat(tens{3}, kept{{1}}).fingerprint());
  CHECK(wick::concat(tens{3}, tens{4}).fingerprint() != wick::concat(tens{4}, tens{3}).fingerprint());
}

TEST_CASE("a loader goes over all of them") {
  wick::loader l(wick::concat(numbers{30}, numbers{12}) | wick::array_batch(10), {.workers = 2});
  std::vector<std::int64_t> all;
  for (const auto& b : wick_test::targets_of(l, 0)) all.insert(all.end(), b.begin(), b.end());
  REQUIRE(all.size() == 42);
  for (std::size_t i = 0; i < 42; ++i) CHECK(all[i] == static_cast<std::int64_t>(i < 30 ? i : i - 30));
}

TEST_CASE("concat says how long samples are where all its sources do") {
  struct lines {
    std::uint64_t first, count;
    std::uint64_t size() const { return count; }
    std::int64_t at(std::uint64_t i) const { return static_cast<std::int64_t>(first + i); }
    std::uint64_t length(std::uint64_t i) const { return 10 * (first + i); }
  };
  const auto both = wick::concat(lines{0, 3}, lines{7, 2});
  CHECK(both.length(2) == 20);
  CHECK(both.length(3) == 70);
  static_assert(wick::detail::says_length<decltype(both)>);
  static_assert(!wick::detail::says_length<decltype(wick::concat(lines{0, 3}, std::vector<std::int64_t>()))>);
}

}  // namespace wick_test::concat_tests

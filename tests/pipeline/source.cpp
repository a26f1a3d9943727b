#include <string>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/ext/source.hpp>

namespace wick_test::source_tests {

namespace {

struct counting {
  std::uint64_t n;
  std::uint64_t size() const { return n; }
  int at(std::uint64_t i) const { return static_cast<int>(i); }
};

struct named : counting {
  std::string key(std::uint64_t i) const { return "row-" + std::to_string(i); }
  void prefetch(std::uint64_t i, std::size_t) const noexcept { last = i; }
  std::uint64_t fingerprint() const { return 77; }
  mutable std::uint64_t last = 0;
};

struct viewed : counting {
  std::string_view key(std::uint64_t) const { return "all the same"; }
};

struct no_size {
  int at(std::uint64_t) const;
};
struct returns_nothing : counting {
  void at(std::uint64_t) const;
};
struct not_const {
  std::uint64_t size() const;
  int at(std::uint64_t);
};

}  // namespace

static_assert(wick::ext::source<counting>);
static_assert(wick::ext::source<named>);
static_assert(wick::ext::source<const named&>);
static_assert(wick::ext::source<std::vector<std::string>>);
static_assert(!wick::ext::source<no_size>);
static_assert(!wick::ext::source<returns_nothing>);
static_assert(!wick::ext::source<not_const>);
static_assert(!wick::ext::source<int>);
static_assert(std::is_same_v<wick::detail::item_of<counting>, int>);
static_assert(std::is_same_v<wick::detail::item_of<std::vector<std::string>>, std::string>);

TEST_CASE("a source without names calls its samples by number") {
  CHECK(wick::detail::key_of(counting{10}, 3) == "sample 3");
  CHECK(wick::detail::key_of(named{{10}}, 3) == "row-3");
  CHECK(wick::detail::key_of(viewed{{10}}, 3) == "all the same");
}

TEST_CASE("a source without a fingerprint has one of its size") {
  CHECK(wick::detail::fingerprint_of(counting{10}) == wick::detail::fingerprint_of(counting{10}));
  CHECK(wick::detail::fingerprint_of(counting{10}) != wick::detail::fingerprint_of(counting{11}));
  CHECK(wick::detail::fingerprint_of(named{{10}}) == 77);
}

TEST_CASE("a hint reaches the source that takes it, and no other minds") {
  const named n{{10}};
  wick::detail::prefetch_sample(n, 5, 64);
  CHECK(n.last == 5);
  wick::detail::prefetch_sample(counting{10}, 5, 64);
}

}  // namespace wick_test::source_tests

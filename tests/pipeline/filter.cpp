#include <cstdint>
#include <string>
#include <utility>

#include "support/doctest.hpp"
#include <wick/image/decode.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/dropped.hpp>
#include <wick/pipeline/filter.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick_test::filter_tests {

using wick::detail::apply;

namespace {

bool is_dropped(auto&& call) {
  try {
    call();
  } catch (...) {
    return std::current_exception() == wick::detail::dropped();
  }
  return false;
}

struct only_moves {
  explicit only_moves(int n) : number(n) {}
  only_moves(only_moves&&) = default;
  only_moves& operator=(only_moves&&) = default;
  int number;
};

}  // namespace

TEST_CASE("a predicate takes the item, or the data of a sample, with a context or without") {
  wick::context c(wick::detail::place{});
  using labeled = wick::sample<only_moves>;
  const auto check = [&](auto stage) {
    CHECK(apply(stage, labeled{only_moves(4), 2}, c).data.number == 4);
    CHECK(is_dropped([&] { apply(stage, labeled{only_moves(5), 2}, c); }));
  };
  check(wick::filter([](const only_moves& m) { return m.number % 2 == 0; }));
  check(wick::filter([](const only_moves& m, wick::context&) { return m.number % 2 == 0; }));
  check(wick::filter([](const labeled& s) { return s.data.number % 2 == 0 && s.target == 2; }));
  check(wick::filter([](const auto& s) { return s.data.number % 2 == 0; }));
  check(wick::filter([](const labeled& s, wick::context&) { return s.data.number % 2 == 0; }));
  auto plain = wick::filter("even", [](int i) { return i % 2 == 0; });
  CHECK(plain.label() == "even");
  CHECK(apply(plain, 6, c) == 6);
  CHECK(is_dropped([&] { apply(plain, 7, c); }));
}

TEST_CASE("what a predicate throws is a failure like any other, also where it looks the same") {
  wick::context c(wick::detail::place{});
  auto stage = wick::filter([](int) -> bool { throw wick::error("left out by filter()"); });
  CHECK(!is_dropped([&] { apply(stage, 6, c); }));
  CHECK_THROWS_AS(apply(stage, 6, c), wick::error);
}

namespace {
struct above {
  static constexpr wick::ext::stage_traits traits{.has_fingerprint = true};
  int bound;
  bool operator()(int i) const { return i > bound; }
  std::uint64_t fingerprint() const { return static_cast<std::uint64_t>(bound); }
};
}  // namespace

TEST_CASE("a predicate with parameters has their fingerprint") {
  CHECK(wick::filter(above{3}).fingerprint() == 3);
  CHECK(wick::filter([](int) { return true; }).fingerprint() == 0);
}

}  // namespace wick_test::filter_tests

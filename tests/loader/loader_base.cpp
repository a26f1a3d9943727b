#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/core.hpp>

namespace wick_test::loader_base_tests {

namespace {

struct checkpoint {
  std::vector<std::byte> state;
  std::uint64_t epoch, samples;
};

/// As a trainer would: it doesn't know what is in the batches.
checkpoint save(const wick::loader_base& of) { return {of.state(), of.current_epoch(), of.samples()}; }
void resume(wick::loader_base& to, const checkpoint& from) { to.load_state(from.state); }

}  // namespace

TEST_CASE("a function that takes any loader saves and resumes it") {
  const auto numbers = wick::in_memory(std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  const auto words = wick::in_memory(std::vector<std::string>{"a", "b", "c", "d"});
  const auto second_of = [](auto pipeline, std::uint64_t samples) {
    wick::loader train(pipeline, {.seed = 3, .workers = 2});
    auto batch = train.epoch(2).begin();
    static_cast<void>(batch);
    const checkpoint saved = save(train);
    CHECK(saved.epoch == 2);
    CHECK(saved.samples == samples);
    const auto expected = train.next();
    wick::loader again(pipeline, {.seed = 3, .workers = 1});
    resume(again, saved);
    const auto got = again.next();
    REQUIRE(expected);
    REQUIRE(got);
    return std::pair(*expected, *got);
  };
  const auto [a, b] = second_of(numbers | wick::shuffle() | wick::group(2), 8);
  CHECK(a == b);
  const auto [c, d] = second_of(words | wick::shuffle() | wick::group(1), 4);
  CHECK(c == d);
}

TEST_CASE("an empty loader says so, through its base as well") {
  const wick::loader<int> nothing;
  const wick::loader_base& base = nothing;
  CHECK_FALSE(base);
  CHECK_THROWS_AS(base.state(), std::logic_error);
}

TEST_CASE("only a loader has a base: it is neither made nor destroyed by itself") {
  CHECK_FALSE(std::is_default_constructible_v<wick::loader_base>);
  CHECK_FALSE(std::is_destructible_v<wick::loader_base>);
}

}  // namespace wick_test::loader_base_tests

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/plain.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/sampling/order.hpp>

namespace wick_test::pipeline_tests {

using wick_test::bytes_of;
using wick_test::cell;
using wick_test::doubled;
using wick_test::numbers;
using wick_test::plain;
using wick_test::run;
using wick_test::tens;

namespace {

template <class Pipeline>
std::uint64_t bytes(Pipeline p, std::size_t workers = 2) {
  wick::loader l(std::move(p), {.seed = 1, .workers = workers});
  return bytes_of(l, 0);
}

cell marked(cell c, wick::context& context) {
  c.data[0] = static_cast<std::uint8_t>(context.random().below(256));
  return c;
}

// A pipeline isn't a range, and a concept that asks finds that out without an error.
static_assert(!std::ranges::range<wick::pipeline<numbers>>);
static_assert(!std::ranges::range<const wick::pipeline<numbers>>);
static_assert(!std::ranges::range<decltype(numbers{10} | wick::shuffle() | marked | wick::array_batch(4))&>);

}  // namespace

// ---- composing ----

TEST_CASE("a chain is a value: put into a pipeline it gives what its stages give one by one") {
  const auto inline_one =
      bytes(numbers{500} | wick::shuffle() | marked | wick::map(marked) | wick::array_batch(32));
  const auto augment = wick::map(marked) | marked;
  CHECK(bytes(numbers{500} | wick::shuffle() | augment | wick::array_batch(32)) == inline_one);
  CHECK(bytes(numbers{500} | (wick::shuffle() | augment) | wick::array_batch(32)) == inline_one);
  CHECK(bytes(numbers{500} | (wick::shuffle() | augment | wick::array_batch(32))) == inline_one);
  const auto all = wick::shuffle() | augment | wick::array_batch(32);
  CHECK(bytes(numbers{500} | all) == inline_one);
  CHECK(bytes(numbers{500} | all, 4) == inline_one);
}

TEST_CASE("it does not matter how chains are bracketed") {
  const auto a = wick::map([](int x) { return x + 1; });
  const auto b = wick::map([](int x) { return x + 2; });
  const auto c = wick::map([](int x) { return x * 2; });
  const auto expected = run(plain{} | a | b | c);
  CHECK(run(plain{} | ((a | b) | c)) == expected);
  CHECK(run(plain{} | (a | (b | c))) == expected);
  CHECK(run((plain{} | a) | (b | c)) == expected);
}

TEST_CASE("a pipeline is a value: two ends on one beginning don't disturb each other") {
  const auto begun = wick::from(plain{}) | doubled;
  const auto left = begun | doubled;
  CHECK(run(begun) == tens(2));
  CHECK(run(left) == tens(4));
  CHECK(run(begun | [](int x) { return x / 2; }) == tens(1));
  CHECK(run(begun) == tens(2));
}

TEST_CASE("the same stage twice has two random streams") {
  const auto all = run(
      wick::from(numbers{50}) | [](cell, wick::context& c) { return c.random()(); } |
      [](std::uint32_t first, wick::context& c) { return std::pair(first, c.random()()); });
  for (const auto& [first, second] : all) CHECK(first != second);
}

TEST_CASE("a stage draws from the stream of its place in the pipeline, at any number of workers") {
  const auto p = numbers{300} | wick::shuffle() | marked | wick::array_batch(10);
  CHECK(bytes(p, 1) == bytes(p, 4));
  const auto nothing = wick::map([](cell c) { return c; });
  CHECK(bytes(p) != bytes(numbers{300} | wick::shuffle() | nothing | marked | wick::array_batch(10)));
}

// ---- sources ----

TEST_CASE("a vector is a source through from()") {
  const std::vector<std::string> words{"one", "two", "three"};
  CHECK(run(wick::from(words) | [](const std::string& w) { return w.size(); }) ==
        std::vector<std::size_t>{3, 3, 5});
  CHECK(run(wick::from(std::vector<int>{1, 2, 3}) | wick::take(2)) == std::vector<int>{1, 2});
  CHECK(run(wick::from(words)) == words);
}

TEST_CASE("a vector stands directly before a stage of wick's") {
  CHECK(run(std::vector<int>{1, 2, 3} | wick::skip(1)) == std::vector<int>{2, 3});
}

TEST_CASE("views over a vector of samples stay the standard library's") {
  const std::vector<wick::sample<int>> all{{1, 0}, {2, 0}, {3, 0}};
  int sum = 0;
  for (const auto& s : all | std::views::drop(1)) sum += s.data;
  CHECK(sum == 5);
}

TEST_CASE("from() copies a source that is kept and moves one that is not") {
  const std::vector<std::string> words{"one", "two"};
  CHECK(run(wick::from(words)).size() == 2);
  CHECK(words[0] == "one");
  std::vector<std::string> gone(1, std::string(100, 'x'));
  const char* const where = gone[0].data();
  const auto p = wick::from(std::move(gone));
  CHECK(p.origin[0].data() == where);
}

TEST_CASE("a source that can only be moved is moved into the loader") {
  struct unique : plain {
    std::unique_ptr<int> own = std::make_unique<int>(7);
    int at(std::uint64_t i) const { return *own + static_cast<int>(i); }
  };
  CHECK(run(unique{} | wick::take(2)) == std::vector<int>{7, 8});
}

TEST_CASE("what a source gives by reference is copied: stages that change it don't change the source") {
  const auto kept = wick::from(std::vector<std::string>{"one", "two"}) | [](std::string& s) { s += "!"; };
  CHECK(run(kept) == std::vector<std::string>{"one!", "two!"});
  CHECK(run(kept) == std::vector<std::string>{"one!", "two!"});
}

// ---- order stages ----

TEST_CASE("order stages apply from left to right") {
  CHECK(run(plain{} | wick::skip(3) | wick::take(4)) == std::vector<int>{3, 4, 5, 6});
  CHECK(run(plain{} | wick::take(4) | wick::skip(3)) == std::vector<int>{3});
  const auto some = run(plain{} | wick::shuffle() | wick::take(4)), all = run(plain{} | wick::shuffle());
  CHECK(some == std::vector<int>(all.begin(), all.begin() + 4));
  const wick::detail::permutation first_four(4, 1, 0, 1);
  std::vector<int> expected;
  for (std::uint64_t p = 0; p < 4; ++p) expected.push_back(static_cast<int>(first_four(p)));
  CHECK(run(plain{} | wick::take(4) | wick::shuffle()) == expected);
}

TEST_CASE("an error names the stage as map() does, and where it was written when that gives no name") {
  const auto fails = [](int) -> int { throw wick::error("no"); };
  const auto text = [](auto p) { return wick_test::message_of([&] { run(std::move(p)); }); };
  CHECK(wick_test::contains(text(wick::from(plain{}) | fails), "sample 0: map", ": no"));
  CHECK(text(wick::from(plain{}) | wick::map("tokenize", fails)) == "sample 0: tokenize: no");
}

}  // namespace wick_test::pipeline_tests

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/order/order.hpp>
#include <wick/pipeline/pipeline.hpp>

using wick_test::bytes_of;
using wick_test::cell;
using wick_test::numbers;

namespace {

/// What leaves the pipeline in epoch 0.
template <class Pipeline>
auto run(Pipeline p) {
  wick::loader l(std::move(p), {.seed = 1, .workers = 2});
  std::vector<typename decltype(l)::value_type> out;
  for (auto& value : l.epoch(0)) out.push_back(std::move(value));
  return out;
}

template <class Pipeline>
std::uint64_t bytes(Pipeline p, std::size_t workers = 2) {
  wick::loader l(std::move(p), {.seed = 1, .workers = workers});
  return bytes_of(l, 0);
}

/// Numbers without anything around them.
struct plain {
  std::uint64_t size() const { return 10; }
  int at(std::uint64_t i) const { return static_cast<int>(i); }
};

std::vector<int> tens(int step) {
  std::vector<int> out;
  for (int i = 0; i < 10; ++i) out.push_back(i * step);
  return out;
}

int doubled(int x) { return 2 * x; }
wick::task<int> doubled_later(int x, wick::context& context) {
  co_await context.on()->schedule();
  co_return 2 * x;
}
cell marked(cell c, wick::context& context) {
  c.data[0] = static_cast<std::uint8_t>(context.random().below(256));
  return c;
}

/// An item that shows when it was moved out of.
struct parcel {
  std::unique_ptr<int> inside;
};

/// A stand-in for a number that is made when a stage wants it.
struct later {
  using materialized_type = int;
  int x;
  int materialize() && { return x; }
};

/// Takes nothing by call: the free function below is its meaning.
struct by_free_function {
  using stage_kind = wick::on_data;
  static constexpr std::string_view name = "by_free_function";
  int add;
};
int apply_stage(by_free_function& s, int&& x, wick::context&) { return x + s.add; }

}  // namespace

// ---- what a callable may look like ----

TEST_CASE("a stage takes its item by value, by const reference and by rvalue") {
  CHECK(run(wick::from(plain{}) | [](int x) { return 2 * x; }) == tens(2));
  CHECK(run(wick::from(plain{}) | [](const int& x) { return 2 * x; }) == tens(2));
  CHECK(run(wick::from(plain{}) | [](int&& x) { return 2 * x; }) == tens(2));
  CHECK(run(wick::from(plain{}) | [](auto x) { return 2 * x; }) == tens(2));
}

TEST_CASE("a stage that takes a reference and gives nothing changes the item in place") {
  CHECK(run(wick::from(plain{}) | [](int& x) { x *= 2; }) == tens(2));
  CHECK(run(wick::from(plain{}) | [](auto& x) { x *= 2; }) == tens(2));
}

TEST_CASE("a stage that looks and gives nothing lets the item pass as it was") {
  std::atomic<int> sum{0};
  CHECK(run(
            wick::from(plain{}) | [&](const int& x) { sum += x; } | [&](int x) { sum += x; }) == tens(1));
  CHECK(sum >= 90);
}

TEST_CASE("every form may ask for a context, and gets the sample's") {
  std::atomic<std::uint64_t> wrong{0};
  const auto same = [&](int x, wick::context& c) { wrong += c.position() != static_cast<std::uint64_t>(x); };
  CHECK(run(
            wick::from(plain{}) |
            [&](int x, wick::context& c) {
              same(x, c);
              return 2 * x;
            } |
            [](const int& x, wick::context&) { return x; } |
            [](int& x, wick::context& c) { x = x / 2 + static_cast<int>(c.position()); } |
            [&](const int& x, wick::context& c) { same(x / 2, c); }) == tens(2));
  CHECK(wrong == 0);
}

TEST_CASE("a lambda of `auto` is a stage in every form that has types") {
  CHECK(run(plain() | wick::take(10) | [](auto x) { return 2 * x; }) == tens(2));
  CHECK(run(plain() | wick::take(10) | [](const auto& x) { return 2 * x; }) == tens(2));
  CHECK(run(plain() | wick::take(10) | [](auto&& x) { return 2 * x; }) == tens(2));
  CHECK(run(plain() | wick::take(10) | [](auto& x) { x *= 2; }) == tens(2));
  CHECK(run(plain() | wick::take(10) | [](auto&& x) { x *= 2; }) == tens(2));
  CHECK(run(plain() | wick::take(10) | [](const auto&) {}) == tens(1));
  CHECK(run(plain() | wick::take(10) | [](auto x, wick::context&) { return 2 * x; }) == tens(2));
  CHECK(run(plain() | wick::take(10) |
            [](auto& x, auto& context) { x = 2 * static_cast<int>(context.index()); }) == tens(2));
  CHECK(run(plain() | wick::take(10) | [factor = 2](auto x) mutable { return factor * x; }) == tens(2));
}

TEST_CASE("a stage with several call operators, or one that suits some types only, is asked for what comes") {
  struct several {
    int operator()(int x) const { return 2 * x; }
    int operator()(const std::string&) const { return 0; }
  };
  struct changing {
    int operator()(int x) { return factor * x; }
    int operator()(std::string) { return 0; }
    int factor = 2;
  };
  CHECK(run(plain() | wick::take(10) | several()) == tens(2));
  CHECK(run(plain() | wick::take(10) | changing()) == tens(2));
  const auto sampled = plain() | wick::take(10) | [](int x) { return wick::sample<int>{x, 7}; };
  std::vector<int> got;
  for (const auto& s : run(sampled | [](std::integral auto x) { return 2 * x; })) got.push_back(s.data);
  CHECK(got == tens(2));
  got.clear();
  for (const auto& s : run(sampled | []<class T>(wick::sample<T> s) {
         s.data *= 2;
         return s;
       })) {
    got.push_back(s.data);
  }
  CHECK(got == tens(2));
}

TEST_CASE("a stage may take only the data of a sample: the target is carried along") {
  using octet = std::array<std::uint8_t, 8>;
  const auto all = run(
      wick::from(numbers{20}) | [](octet d) { return d[0] + 0.5; } | [](double& d) { d *= 2; } |
      [](const double& d, wick::context&) { return static_cast<float>(d); } | [](float) {});
  static_assert(std::is_same_v<decltype(all), const std::vector<wick::sample<float>>>);
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(all[i].data == 2.0f * static_cast<float>(i) + 1);
    CHECK(all[i].target == static_cast<std::int64_t>(i));
  }
}

TEST_CASE("functions, pointers to them, std::function and stateful lambdas are stages") {
  const std::function<int(int)> wrapped = doubled;
  std::atomic<int> calls{0};
  CHECK(run(wick::from(plain{}) | doubled) == tens(2));
  CHECK(run(wick::from(plain{}) | &doubled | wrapped) == tens(4));
  CHECK(run(wick::from(plain{}) | wick::map("double", doubled)) == tens(2));
  CHECK(run(wick::from(plain{}) | [&calls, extra = 1](int x) mutable {
          ++calls;
          return x + extra - 1;
        }) == tens(1));
  CHECK(calls >= 10);
}

TEST_CASE("coroutines are stages: functions, and lambdas, which live in the stage with what they captured") {
  CHECK(run(wick::from(plain{}) | doubled_later) == tens(2));
  const auto big = std::make_shared<int>(3);
  CHECK(run(wick::from(plain{}) | [big](int x, wick::context& context) -> wick::task<int> {
          co_await context.on()->schedule();
          co_return *big* x;
        } | doubled | doubled_later) == tens(12));
}

TEST_CASE("anything that can be awaited may be returned, not only a task") {
  CHECK(run(wick::from(plain{}) | [](int x, wick::context& context) {
          return context.on()->io().run(*context.on(), [x] { return 2 * x; });
        }) == tens(2));
}

TEST_CASE("a coroutine that gives nothing changes the item in place, or only looks at it") {
  CHECK(run(wick::from(plain{}) | [](int& x, wick::context& context) -> wick::task<void> {
          co_await context.on()->schedule();
          x *= 2;
        }) == tens(2));
  std::atomic<int> sum{0};
  CHECK(run(wick::from(plain{}) | [&sum](const int& x, wick::context& context) -> wick::task<void> {
          co_await context.on()->schedule();
          sum += x;
        }) == tens(1));
  CHECK(sum >= 45);
}

TEST_CASE("what gives nothing gets a copy when it takes by value, so that the item goes on whole") {
  using words = std::vector<std::string>;
  const auto source =
      wick::from(std::vector<words>(10, words{"a string that is too long to lie in the object", "b"}));
  const auto whole = [](const std::vector<words>& all) {
    for (const words& w : all) {
      if (w.size() != 2 || w[0].size() < 40) return false;
    }
    return all.size() == 10;
  };
  CHECK(whole(run(source | [](words w) { w.clear(); })));
  CHECK(whole(run(source | [](words w, wick::context& context) -> wick::task<void> {
    co_await context.on()->schedule();
    w.clear();
  })));
}

TEST_CASE("items that can only be moved pass through every form of stage") {
  auto all = run(
      wick::from(plain{}) | [](int x) { return parcel{std::make_unique<int>(x)}; } |
          [](parcel p) { return p; } | [](parcel& p) { *p.inside *= 2; } | [](const parcel&) {} |
          [](parcel p, wick::context& context) -> wick::task<parcel> {
        co_await context.on()->schedule();
        co_return std::move(p);
      } | [](parcel& p, wick::context& context) -> wick::task<void> {
        co_await context.on()->schedule();
        *p.inside += 1;
      });
  for (std::size_t i = 0; i < 10; ++i) CHECK(*all[i].inside == static_cast<int>(2 * i + 1));
}

TEST_CASE("a stage object that can only be moved, with state of its own, is moved into the loader") {
  struct table {
    std::unique_ptr<int> factor = std::make_unique<int>(2);
    int operator()(int x) const { return *factor * x; }
  };
  CHECK(run(wick::from(plain{}) | table{} | wick::map("named", table{})) == tens(4));
}

TEST_CASE("a stage may give a reference to what it keeps: the item is a copy of it") {
  struct table {
    std::vector<int> values = tens(3);
    const int& operator()(int x) const { return values[static_cast<std::size_t>(x)]; }
  };
  CHECK(run(wick::from(plain{}) | table{}) == tens(3));
}

TEST_CASE("a stage that is offered the whole and the data takes the whole") {
  const auto all = run(wick::from(numbers{5}) | [](auto item) { return item.target; });
  CHECK(all == std::vector<std::int64_t>{0, 1, 2, 3, 4});
}

TEST_CASE("what is put off is made when a stage wants it, and at the latest when it leaves") {
  const auto put_off = wick::from(plain{}) | [](int x) { return wick::sample<later>{{x}, x}; };
  const auto seen = run(
      put_off | [](const later& l) { return later{2 * l.x}; } | [](int x) { return 2 * x; });
  static_assert(std::is_same_v<decltype(seen), const std::vector<wick::sample<int>>>);
  CHECK(seen[3].data == 12);
  const auto left = run(put_off);
  static_assert(std::is_same_v<decltype(left), const std::vector<wick::sample<int>>>);
  CHECK(left[3].data == 3);
}

TEST_CASE("a stage type whose meaning is a free function is called by it") {
  CHECK(run(wick::from(plain{}) | by_free_function{5})[3] == 8);
  CHECK(run(wick::from(plain{}) |
            [](int x) {
              return wick::sample<int>{x, 1};
            } |
            by_free_function{5})[3]
            .data == 8);
}

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
  CHECK(run(std::vector<int>{1, 2, 3} | wick::skip_first(1)) == std::vector<int>{2, 3});
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
  CHECK(run(plain{} | wick::skip_first(3) | wick::take(4)) == std::vector<int>{3, 4, 5, 6});
  CHECK(run(plain{} | wick::take(4) | wick::skip_first(3)) == std::vector<int>{3});
  const auto some = run(plain{} | wick::shuffle() | wick::take(4)), all = run(plain{} | wick::shuffle());
  CHECK(some == std::vector<int>(all.begin(), all.begin() + 4));
  const wick::detail::permutation first_four(4, 1, 0, 1);
  std::vector<int> expected;
  for (std::uint64_t p = 0; p < 4; ++p) expected.push_back(static_cast<int>(first_four(p)));
  CHECK(run(plain{} | wick::take(4) | wick::shuffle()) == expected);
}

TEST_CASE("an error names the stage as map() was told, and \"map\" when it was not") {
  const auto fails = [](int) -> int { throw wick::error("no"); };
  const auto text = [](auto p) { return wick_test::message_of([&] { run(std::move(p)); }); };
  CHECK(text(wick::from(plain{}) | fails) == "sample 0: map: no");
  CHECK(text(wick::from(plain{}) | wick::map("tokenize", fails)) == "sample 0: tokenize: no");
}

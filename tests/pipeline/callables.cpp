// What a callable may look like to be a stage.
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pipeline/plain.hpp"
#include "support/doctest.hpp"
#include "support/numbers.hpp"
#include <wick/pipeline/pipeline.hpp>

namespace wick_test::callables_tests {

using wick_test::doubled;
using wick_test::numbers;
using wick_test::plain;
using wick_test::run;
using wick_test::tens;

namespace {

wick::task<int> doubled_later(int x, wick::context& context) {
  co_await context.on()->schedule();
  co_return 2 * x;
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
  static constexpr wick::ext::stage_traits traits{
      .name = "by_free_function", .kind = wick::ext::stage_kind::data, .has_apply_stage = true};
  int add;
};
int apply_stage(by_free_function& s, int&& x, wick::context&) { return x + s.add; }

}  // namespace

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

TEST_CASE(
    "a stage with several call operators, or one that suits some types only, is asked for the item's type") {
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

TEST_CASE("what gives nothing gets a copy when it takes by value, so that the item continues whole") {
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

}  // namespace wick_test::callables_tests

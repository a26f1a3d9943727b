#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include <wick/batch/detail/fields.hpp>

namespace wick_test::fields_tests {

using wick::detail::can_batch;
using wick::detail::composite;
using wick::detail::field_count;
using wick::detail::field_types;
using wick::detail::leaf;
using wick::detail::with_fields;

namespace {

struct f1 {
  int a;
};
struct f2 {
  int a;
  float b;
};
struct f3 {
  int a;
  float b;
  bool c;
};
struct f4 {
  int a;
  float b;
  bool c;
  double d;
};
struct f5 {
  int a;
  float b;
  bool c;
  double d;
  char e;
};
struct f6 {
  int a;
  float b;
  bool c;
  double d;
  char e;
  long f;
};
struct f7 {
  int a;
  float b;
  bool c;
  double d;
  char e;
  long f;
  std::string g;
};
struct f8 {
  int a;
  float b;
  bool c;
  double d;
  char e;
  long f;
  std::string g;
  std::array<int, 2> h;
};
struct f9 {
  int a, b, c, d, e, f, g, h, i;
};

struct empty {};
struct box {
  float corners[4];
  int label;
};
struct grid {
  std::uint8_t cells[3][5];
};
struct nested {
  f2 inner;
  box where;
  std::pair<int, std::string> named;
};
struct without_default {
  explicit without_default(int v) : value(v) {}
  int value;
  wick::shape extents() const { return {}; }
  wick::dtype type() const { return wick::dtype::int32; }
  void write_to(wick::ext::slot) const {}
};
struct holds_without_default {
  int a;
  without_default b;
};
struct derived : f1 {
  int b;
};
struct ragged {
  int a;
  std::vector<int> b;
};
struct maybe {
  int a;
  std::optional<int> b;
};
struct private_parts {
  int a = 0;

 private:
  [[maybe_unused]] int b_ = 0;
};

/// A type that can't have members of those names.
struct foreign {
  float x, y;
};

/// Batchable, and an aggregate too: it must not be taken apart.
struct self_writing {
  int a, b;
  wick::shape extents() const { return {2}; }
  wick::dtype type() const { return wick::dtype::int32; }
  void write_to(wick::ext::slot) const {}
};
struct photo : self_writing {
  static constexpr bool is_picture = true;
};

}  // namespace

}  // namespace wick_test::fields_tests

template <>
struct wick::detail::field_access<wick_test::fields_tests::foreign> {
  static shape extents(const wick_test::fields_tests::foreign&) { return {2}; }
  static dtype type(const wick_test::fields_tests::foreign&) { return dtype::float32; }
  static void write_to(const wick_test::fields_tests::foreign& f, slot where) {
    std::memcpy(where.data, &f, sizeof f);
  }
};

namespace wick_test::fields_tests {

// The fields of plain structs are counted, C arrays as one, what has no default constructor too.
static_assert(field_count<f1>() == 1);
static_assert(field_count<f2>() == 2);
static_assert(field_count<f3>() == 3);
static_assert(field_count<f4>() == 4);
static_assert(field_count<f5>() == 5);
static_assert(field_count<f6>() == 6);
static_assert(field_count<f7>() == 7);
static_assert(field_count<f8>() == 8);
static_assert(field_count<box>() == 2);
static_assert(field_count<grid>() == 1);
static_assert(field_count<nested>() == 3);
static_assert(field_count<holds_without_default>() == 2);
static_assert(field_count<maybe>() == 2);
static_assert(field_count<empty>() == 0);

// What is a value of its own is not taken apart.
static_assert(leaf<int> && leaf<bool> && leaf<double> && leaf<std::string>);
static_assert(leaf<std::array<int, 3>> && leaf<std::array<std::array<float, 2>, 3>> && leaf<float[4]>);
static_assert(leaf<self_writing> && !composite<self_writing>);
static_assert(leaf<foreign> && !composite<foreign>);
static_assert(wick::detail::batchable<without_default>);
static_assert(wick::detail::is_picture<photo> && !wick::detail::is_picture<self_writing> &&
              !wick::detail::is_picture<int>);

// What has fields is.
static_assert(composite<f8> && composite<nested> && composite<std::tuple<int>> &&
              composite<std::pair<int, int>>);
static_assert(composite<wick::sample<int>> && composite<std::array<self_writing, 2>>);
static_assert(!composite<f9> && !composite<derived> && !composite<private_parts> && !composite<empty>);
static_assert(!composite<std::vector<int>> && !composite<int> && !composite<std::string>);

// A type can be batched when all its fields can.
static_assert(can_batch<f8>::value && can_batch<nested>::value && can_batch<box>::value &&
              can_batch<grid>::value);
static_assert(can_batch<wick::sample<std::tuple<int, f2>, std::string>>::value);
static_assert(can_batch<wick::sample<wick::sample<int>, std::array<foreign, 2>>>::value);
static_assert(can_batch<holds_without_default>::value);
static_assert(!can_batch<std::vector<int>>::value && !can_batch<ragged>::value && !can_batch<maybe>::value);
static_assert(!can_batch<wick::sample<wick::bytes>>::value &&
              !can_batch<std::tuple<int, std::vector<int>>>::value);
static_assert(!can_batch<int*>::value && !can_batch<std::unique_ptr<int>>::value && !can_batch<empty>::value);
static_assert(!can_batch<f9>::value && !can_batch<derived>::value && !can_batch<private_parts>::value);
static_assert(!can_batch<long double>::value && !can_batch<std::array<long double, 2>>::value);
static_assert(!can_batch<std::array<int, 0>>::value);

static_assert(std::is_same_v<field_types<box>::type, std::tuple<float[4], int>>);
static_assert(std::is_same_v<field_types<wick::sample<int, bool>>::type, std::tuple<int, bool>>);
static_assert(std::is_same_v<field_types<std::array<foreign, 2>>::type, std::tuple<foreign, foreign>>);

TEST_CASE("the fields of a struct are seen in order and in place") {
  f8 v{1, 2.5f, true, 4.5, 'e', 6, "seven", {8, 9}};
  with_fields(
      v, [](int& a, float& b, bool& c, double& d, char& e, long& f, std::string& g, std::array<int, 2>& h) {
        CHECK(a == 1);
        CHECK(b == 2.5f);
        CHECK(c);
        CHECK(d == 4.5);
        CHECK(e == 'e');
        CHECK(f == 6);
        CHECK(g == "seven");
        CHECK(h[1] == 9);
        a = 10;
      });
  CHECK(v.a == 10);
}

TEST_CASE("structs of one to eight fields give as many references") {
  const auto count = [](auto v) { return with_fields(v, [](auto&... fields) { return sizeof...(fields); }); };
  CHECK(count(f1{}) == 1);
  CHECK(count(f2{}) == 2);
  CHECK(count(f3{}) == 3);
  CHECK(count(f4{}) == 4);
  CHECK(count(f5{}) == 5);
  CHECK(count(f6{}) == 6);
  CHECK(count(f7{}) == 7);
  CHECK(count(f8{}) == 8);
}

TEST_CASE("samples, tuples, pairs and arrays give their elements, const when they are") {
  wick::sample<int> s{1, 2};
  with_fields(s, [](int& data, std::int64_t& target) { CHECK(data + target == 3); });
  const std::tuple<int, float> t(1, 2.0f);
  with_fields(t, [](const int& a, const float& b) { CHECK((a == 1 && b == 2.0f)); });
  std::pair<int, int> p(1, 2);
  with_fields(p, [](int& a, int& b) { CHECK(a + b == 3); });
  std::array<std::string, 2> a{"x", "y"};
  with_fields(a, [](std::string& x, std::string& y) { CHECK(x + y == "xy"); });
  const box b{{1, 2, 3, 4}, 5};
  with_fields(b, [](const auto& corners, const int& label) {
    CHECK(corners[3] == 4);
    CHECK(label == 5);
  });
}

}  // namespace wick_test::fields_tests

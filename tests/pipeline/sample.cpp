#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "support/doctest.hpp"
#include <wick/pipeline/sample.hpp>

namespace wick_test::sample_tests {

using wick::bytes;

static_assert(wick::detail::is_sample<wick::sample<int>>);
static_assert(wick::detail::is_sample<wick::sample<bytes, float>>);
static_assert(!wick::detail::is_sample<int>);
static_assert(std::is_same_v<wick::sample<bytes>::target_type, std::int64_t>);
static_assert(std::is_aggregate_v<wick::sample<bytes>>);
static_assert(!std::is_copy_constructible_v<bytes>);
static_assert(std::is_nothrow_move_constructible_v<bytes>);

TEST_CASE("bytes hold a copy of what they were made from") {
  std::string text = "a JPEG";
  const bytes b(text.data(), text.size());
  text[0] = '-';
  CHECK(b.text() == "a JPEG");
  CHECK(b.size() == 6);
  CHECK(b.span().size() == 6);
  CHECK(!b.empty());
}

TEST_CASE("no bytes are no memory") {
  const bytes none, zero(0), nothing(nullptr, 0);
  for (const bytes* b : {&none, &zero, &nothing}) {
    CHECK(b->empty());
    CHECK(b->data() == nullptr);
    CHECK(b->text().empty());
  }
}

TEST_CASE("moving bytes moves the memory and leaves none behind") {
  bytes a("abc", 3);
  const std::byte* const where = a.data();
  bytes b(std::move(a));
  CHECK(b.data() == where);
  CHECK(a.empty());
  CHECK(a.data() == nullptr);
  bytes c("de", 2);
  c = std::move(b);
  CHECK(c.text() == "abc");
  bytes& same = c;
  c = std::move(same);
  CHECK(c.text() == "abc");
}

TEST_CASE("bytes shrink and never grow") {
  bytes b("abcdef", 6);
  b.shrink(4);
  CHECK(b.text() == "abcd");
  b.shrink(100);
  CHECK(b.text() == "abcd");
  b.shrink(0);
  CHECK(b.empty());
}

TEST_CASE("bytes that are assigned over are those of the other") {
  bytes a(10), b("abc", 3);
  a = std::move(b);
  CHECK(a.text() == "abc");
  CHECK(b.empty());
}

}  // namespace wick_test::sample_tests

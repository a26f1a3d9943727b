// What is owned is destroyed once, by its last owner.

#include <cstddef>
#include <utility>

#include "../support/doctest.hpp"
#include <wick/base/detail/owned.hpp>

namespace wick_test::owned_tests {

namespace {

using wick::detail::make_owned;
using wick::detail::owned;

struct counted {
  explicit counted(int& alive) : alive(alive) { ++alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --alive; }
  int& alive;
};

}  // namespace

TEST_CASE("owned: what it points to goes with it, once") {
  int alive = 0;
  {
    owned<counted> a = make_owned<counted>(alive);
    const owned<counted> none, also_none = nullptr;
    CHECK(a);
    CHECK_FALSE(none);
    CHECK_FALSE(also_none);
    CHECK(&a->alive == &alive);
    CHECK(&(*a).alive == &alive);
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE("owned: a move hands over, and destroys the object that was there") {
  int alive = 0;
  owned<counted> a = make_owned<counted>(alive);
  counted* const first = a.get();
  owned<counted> b = std::move(a);
  CHECK_FALSE(a);  // NOLINT(bugprone-use-after-move): empty, and may be used
  CHECK(b.get() == first);
  owned<counted> c = make_owned<counted>(alive);
  CHECK(alive == 2);
  c = std::move(b);
  CHECK(alive == 1);
  CHECK(c.get() == first);
  owned<counted>& same = c;
  c = std::move(same);
  CHECK(c.get() == first);
  CHECK(alive == 1);
  c.reset();
  CHECK(alive == 0);
  CHECK_FALSE(c);
}

TEST_CASE("owned: what is released is the caller's") {
  int alive = 0;
  counted* mine = nullptr;
  {
    owned<counted> a = make_owned<counted>(alive);
    mine = a.release();
    CHECK_FALSE(a);
  }
  CHECK(alive == 1);
  delete mine;
  CHECK(alive == 0);
}

TEST_CASE("owned: an array begins as zeros, and moves") {
  owned<int[]> a(1000);
  int sum = 0;
  for (int i = 0; i < 1000; ++i) sum += a[static_cast<std::size_t>(i)];
  CHECK(sum == 0);
  a[999] = 7;
  int* const there = a.get();
  const owned<int[]> b = std::move(a);
  CHECK(b.get() == there);
  CHECK(b[999] == 7);
}

}  // namespace wick_test::owned_tests

#include <chrono>

#include "../support/doctest.hpp"
#include <wick/async/detail/sharing_record.hpp>

namespace wick_test::sharing_record_tests {

using namespace std::chrono_literals;
using wick::detail::sharing_record;

namespace {

constexpr auto at(std::chrono::nanoseconds t) {
  return [t] { return t; };
}
void in_vain(sharing_record& r, int times) {
  for (int i = 0; i < times; ++i) {
    r.woke(1s);
    r.idle(at(1s + 2us));
  }
}

}  // namespace

TEST_CASE("a worker less is enough when a worker is idle soon after each wake-up, several times in a row") {
  sharing_record r(3);
  in_vain(r, 2);
  CHECK_FALSE(r.in_vain());
  in_vain(r, 1);
  CHECK(r.in_vain());
  r.woke(2s);
  r.idle(at(2s + 5ms));  // both had something to do
  CHECK_FALSE(r.in_vain());
  in_vain(r, 2);
  CHECK_FALSE(r.in_vain());
}

TEST_CASE("a wake-up is judged once, and who is idle without one before is not judged") {
  sharing_record r(2);
  r.woke(1s);
  r.idle(at(1s + 1us));
  for (int i = 0; i < 5; ++i) r.idle(at(1s + 2us));
  CHECK_FALSE(r.in_vain());
  in_vain(r, 1);
  CHECK(r.in_vain());
  for (int i = 0; i < 5; ++i) r.idle(at(10s));
  CHECK(r.in_vain());
}

TEST_CASE("jobs that take less than moving them does are not worth taking") {
  sharing_record r(2);
  r.took(8, 1us);
  r.took(8, 1us);
  CHECK(r.in_vain());
  r.took(8, 3us);
  CHECK_FALSE(r.in_vain());
  r.took(1, 1us);
  CHECK_FALSE(r.in_vain());
}

TEST_CASE("naps become longer up to a bound, and short again once it was of use") {
  sharing_record r(2);
  in_vain(r, 2);
  std::chrono::nanoseconds last = r.nap();
  CHECK(last > 0ns);
  for (int i = 0; i < 3; ++i) {
    in_vain(r, 1);
    CHECK(r.nap() == 2 * last);
    last = r.nap();
  }
  in_vain(r, 100);
  CHECK(r.nap() == last);
  CHECK(last < 1ms);
  r.took(1, 1s);
  in_vain(r, 2);
  CHECK(r.nap() < last);
}

}  // namespace wick_test::sharing_record_tests

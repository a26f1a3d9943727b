#include <cstdint>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/batch/any_length.hpp>
#include <wick/batch/ragged.hpp>

namespace wick_test::any_length_tests {

using wick_test::contains;
using wick_test::message_of;

TEST_CASE("a padding is a number of each type that has it, and an error for the others") {
  const wick::row_padding whole = wick::pad_with(-100);
  CHECK(whole.as<std::int8_t>() == -100);
  CHECK(whole.as<std::int64_t>() == -100);
  CHECK(whole.as<float>() == -100.0F);
  CHECK(contains(message_of([&] { return whole.as<std::uint8_t>(); }),
                 "pad_with(-100): a field of uint8 has no such number"));
  CHECK(contains(message_of([] { return wick::pad_with(128).as<std::int8_t>(); }), "a field of int8"));

  const wick::row_padding real = wick::pad_with(0.5);
  CHECK(real.as<double>() == 0.5);
  CHECK(contains(message_of([&] { return real.as<int>(); }), "a field of int32 has no such number"));
  CHECK(contains(message_of([] { return wick::pad_with(0, {.multiple = 0}); }), "multiple of 0"));
}

}  // namespace wick_test::any_length_tests

#include <cmath>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/transforms/normalize.hpp>

namespace wick_test::normalize_tests {

static_assert(wick::detail::stage_of<wick::detail::normalize_stage, wick::ext::stage_kind::sample_or_data>);

TEST_CASE("normalize writes float32 straight into the slot, after any geometry") {
  const auto stage = wick::normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225});
  wick::context ctx = context_at(0);
  wick::lazy_image lazy(photo(40, 30));
  lazy.resize(16, 12);
  const wick::image pixels = lazy.pixels();
  lazy = stage(std::move(lazy), ctx);
  lazy.mirror_x();
  CHECK(lazy.type() == wick::dtype::float32);
  CHECK(lazy.extents() == wick::shape{12, 16, 3});
  std::vector<float> slot(12 * 16 * 3);
  lazy.write_to({reinterpret_cast<std::byte*>(slot.data()), true});
  for (int y = 0; y < 12; ++y) {
    for (int x = 0; x < 16; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        const float v = static_cast<float>(pixels.row(y)[(15 - x) * 3 + static_cast<int>(c)]);
        CHECK(slot[c * 192 + static_cast<std::size_t>(y * 16 + x)] ==
              (v / 255.0f - stage.mean()[c]) / stage.std()[c]);
      }
    }
  }
}

TEST_CASE("one number serves all channels") {
  CHECK(wick::normalize(0.5, 0.25).count() == 1);
  const auto mixed = wick::normalize({0.1, 0.2, 0.3}, 0.5);
  CHECK(mixed.count() == 3);
  CHECK(mixed.std()[2] == 0.5f);
  CHECK(mixed.mean()[1] == 0.2f);
}

TEST_CASE("numbers that cannot normalize are refused when the stage is made") {
  CHECK(contains(message_of([] { return wick::normalize(0.5, 0.0); }), "deviation", "above 0"));
  CHECK(contains(message_of([] { return wick::normalize(NAN, 1.0); }), "finite"));
  CHECK(contains(message_of([] {
                   return wick::normalize({123.7, 116.3, 103.5}, {58.4, 57.1, 57.4});
                 }),
                 "mean 123.", "divide", "255"));
  CHECK(contains(message_of([] {
                   return wick::normalize({0.1, 0.2, 0.3}, {0.1, 0.2});
                 }),
                 "3 means and 2 deviations"));
  CHECK(contains(message_of([] { return wick::normalize({1, 2, 3, 4, 5}, 1); }), "5 values"));
}

}  // namespace wick_test::normalize_tests

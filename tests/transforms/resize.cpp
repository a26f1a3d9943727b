#include <algorithm>
#include <utility>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/transforms/crop.hpp>
#include <wick/transforms/flip.hpp>
#include <wick/transforms/pad.hpp>
#include <wick/transforms/resize.hpp>

namespace wick_test::resize_tests {

static_assert(wick::detail::stage_of<wick::detail::resize_stage, wick::ext::stage_kind::sample_or_data>);

using size = std::pair<int, int>;

TEST_CASE("resize by the shorter edge cuts the longer one off to a whole number, as torchvision does") {
  CHECK(wick::resize(256).size_for(500, 375) == size{341, 256});
  CHECK(wick::resize(256).size_for(375, 500) == size{256, 341});
  CHECK(wick::resize(256).size_for(300, 300) == size{256, 256});
  CHECK(wick::resize(8).size_for(1, 1000) == size{8, 8000});
  CHECK(wick::resize(232).size_for(3, 1) == size{696, 232});
  for (int longer = 375; longer < 2000; ++longer) {
    CHECK(wick::resize(224).size_for(longer, 375).first == 224 * longer / 375);
  }
}

TEST_CASE("max_size limits the longer edge and shrinks the shorter one with it") {
  CHECK(wick::resize(256, {.max_size = 300}).size_for(500, 375) == size{300, 225});
  CHECK(wick::resize(256, {.max_size = 342}).size_for(500, 375) == size{341, 256});
  CHECK(wick::resize(4, {.max_size = 5}).size_for(1, 1000) == size{1, 5});
}

TEST_CASE("resize by the longer edge cuts the shorter one off to a whole number, as torchvision does") {
  CHECK(wick::resize({.max_size = 256}).size_for(500, 375) == size{256, 192});
  CHECK(wick::resize({.max_size = 256}).size_for(375, 500) == size{192, 256});
  CHECK(wick::resize({.max_size = 100}).size_for(3, 7) == size{42, 100});
  CHECK(wick::resize({.max_size = 4}).size_for(4000, 1) ==
        size{4, 1});  // torchvision refuses to leave nothing
  for (int shorter = 1; shorter < 700; ++shorter)
    CHECK(wick::resize({.max_size = 700}).size_for(777, shorter).second == std::max(1, 700 * shorter / 777));
  wick::context ctx = context_at(0);
  CHECK(wick::resize({.max_size = 32})(wick::lazy_image(photo(64, 48)), ctx).extents() ==
        wick::shape{24, 32, 3});
  CHECK(wick::resize({.max_size = 32}).fingerprint() != wick::resize({.max_size = 33}).fingerprint());
  CHECK(wick::resize({.max_size = 32}).fingerprint() != wick::resize(32).fingerprint());
}

TEST_CASE("resize to a height and width gives just that") {
  wick::context ctx = context_at(0);
  CHECK(wick::resize(20, 30)(wick::lazy_image(photo(64, 48)), ctx).extents() == wick::shape{20, 30, 3});
  CHECK(wick::resize(20, 30).size_for(7, 9) == size{30, 20});
  const auto nearest = wick::resize(24, 32, {.interpolation = wick::interpolation::nearest});
  const wick::image p = nearest(wick::lazy_image(photo(64, 48)), ctx).pixels();
  CHECK(p.row(0)[0] == photo(64, 48).row(1)[3]);  // the pixel under the center
}

TEST_CASE("sizes that leave no picture are refused when the stage is made") {
  CHECK(contains(message_of([] { return wick::resize(0); }), "resize", "at least 1"));
  CHECK(contains(message_of([] { return wick::resize(5, -2); }), "-2 x 5"));
  CHECK(contains(message_of([] { return wick::resize(256, {.max_size = 256}); }), "max_size 256", "256"));
  CHECK(contains(message_of([] { return wick::resize(256, {.max_size = 0}); }), "max_size 0", "256"));
  CHECK(contains(message_of([] { return wick::resize(256, 256, {.max_size = 300}); }), "max_size"));
  CHECK(contains(message_of([] { return wick::resize({.interpolation = wick::interpolation::nearest}); }),
                 "no size", "resize({.max_size ="));
}

TEST_CASE("what would take gigabytes is refused, with both sizes") {
  wick::context ctx = context_at(0);
  const auto said = [&](int width, int height, const auto& stage) {
    return message_of([&] { return stage(wick::lazy_image(wick::image(width, height, 1)), ctx); });
  };
  CHECK(contains(said(1, 65'535, wick::resize(224)), "1 x 65535 px", "224 x 14679840 px", ".max_size"));
  CHECK(contains(said(1, 17'000'000, wick::resize(224)), "1 x 17000000 px"));
  CHECK(contains(said(2'000'000, 1, wick::resize(224, 224)), "2000000 x 1 px", "1048576 px is the longest"));
  CHECK(contains(said(100, 100, wick::pad(10'000)), "20100 x 20100 px"));
  CHECK(contains(message_of([] { return wick::pad(0, 0, 2'147'483'647, 0).fingerprint(); }),
                 "a padding of 2147483647 px"));
  CHECK(said(1, 65'535, wick::resize(224, {.max_size = 1000})).empty());
  // A picture that decode() was let take may be cut and turned.
  CHECK(said(20'000, 10'000, wick::horizontal_flip()).empty());
  CHECK(said(2'000'000, 1, wick::center_crop(1, 100)).empty());
}

TEST_CASE("an empty picture has nothing to resize") {
  wick::context ctx = context_at(0);
  const auto resized = [&](int width, int height) {
    return message_of(
        [&] { return wick::resize(2, 3)(wick::lazy_image(wick::image(width, height, 3)), ctx).pixels(); });
  };
  CHECK(contains(resized(0, 0), "0 x 0 px", "at least 1 px a side"));
  CHECK(contains(resized(5, 0), "5 x 0 px"));
  CHECK(contains(resized(0, 5), "0 x 5 px"));
  CHECK(contains(message_of([] {
                   wick::lazy_image none;
                   none.resize(2, 3);
                   return none.pixels();
                 }),
                 "0 x 0 px", "at least 1 px a side"));
}

TEST_CASE("nearest gives Torch's nearest-exact where a center falls between two pixels") {
  wick::context ctx = context_at(0);
  wick::image two(2, 1, 1);
  two.data()[0] = 0;
  two.data()[1] = 1;
  const auto middle = [&](int width, int height) {
    const wick::image p =
        wick::resize(height, width, {.interpolation = wick::interpolation::nearest})(two, ctx).pixels();
    return static_cast<int>(p.data()[width / 2]);
  };
  CHECK(middle(141, 1) == 1);
  CHECK(middle(41, 1) == 0);
  CHECK(middle(41, 88) == 1);
  CHECK(middle(141, 100) == 1);
}

}  // namespace wick_test::resize_tests

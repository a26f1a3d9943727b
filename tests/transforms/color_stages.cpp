#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "stages.hpp"
#include <wick/core.hpp>

namespace wick_test::color_stages_tests {

using wick::image;

namespace {

template <class... Stage>
bool all_differ(const Stage&... stage) {
  return std::set<std::uint64_t>{stage.fingerprint()...}.size() == sizeof...(Stage);
}

/// Whether the stages give in one pass what each gives by itself, one after the other.
template <class... Stage>
bool same_at_once(const image& picture, const Stage&... stage) {
  wick::lazy_image at_once = picture;
  ((at_once = after(stage, std::move(at_once), 5)), ...);
  image one_by_one = picture;
  ((one_by_one = pixels(stage, one_by_one, 5)), ...);
  return at_once.pixels() == one_by_one;
}

}  // namespace

TEST_CASE("whatever order stages come in, the pixels are those of doing each at once") {
  const image p = photo(48, 40);
  const auto crop = wick::random_crop(30, 34);
  const auto flip = wick::horizontal_flip();
  CHECK(same_at_once(p, wick::gaussian_blur(5, 1.5), crop, flip));
  CHECK(same_at_once(p, wick::adjust_sharpness(3), crop, wick::vertical_flip()));
  CHECK(same_at_once(p, wick::equalize(), crop));
  CHECK(same_at_once(p, wick::autocontrast(), crop, flip));
  CHECK(same_at_once(p, flip, wick::solarize(77), wick::random_erasing({.p = 1, .value = 3}), crop, flip,
                     wick::gaussian_blur(3, 1)));
  CHECK(same_at_once(p, wick::invert(), wick::resize(20, 21), wick::posterize(3)));
  CHECK(same_at_once(p, wick::invert(), wick::adjust_brightness(1.2), wick::equalize(), wick::posterize(4),
                     wick::gaussian_blur(3, 1), wick::adjust_hue(0.2), wick::solarize(99),
                     wick::autocontrast(), wick::adjust_sharpness(2)));
}

TEST_CASE("every stage changes all pictures of a sample by one draw, and leaves its mask") {
  using parts = std::tuple<wick::lazy_image, wick::mask, wick::lazy_image>;
  const image p = photo(24, 20), numbers = photo(24, 20, 1);
  const auto check = [&](const auto& stage) {
    const std::string_view name = wick::detail::stage_name(stage);
    CAPTURE(name);
    bool changed = false;
    for (std::uint64_t position = 0; position < 8; ++position) {
      wick::context ctx = context_at(position);
      const parts s = stage(parts{p, wick::mask(numbers), p}, ctx);
      CHECK(written(std::get<0>(s), false) == written(after(stage, p, position), false));
      CHECK(written(std::get<0>(s), false) == written(std::get<2>(s), false));
      CHECK(std::get<1>(s).pixels() == numbers);
      changed = changed || written(std::get<0>(s), false) != written(p, false);
    }
    CHECK(changed);
  };
  check(wick::invert());
  check(wick::random_invert());
  check(wick::adjust_hue(0.2));
  check(wick::gaussian_blur(5, 1.5));
  check(wick::random_gaussian_blur(5, {.p = 0.5}));
  check(wick::random_photometric_distort());
  check(wick::random_channel_permutation());
  check(wick::random_erasing());
  check(wick::to_float());
}

TEST_CASE("each parameter that changes pixels changes its stage's fingerprint") {
  CHECK(all_differ(wick::posterize(1), wick::posterize(2)));
  CHECK(all_differ(wick::solarize(1), wick::solarize(2)));
  CHECK(all_differ(wick::random_posterize(1), wick::random_posterize(2), wick::random_posterize(1, 0.25)));
  CHECK(all_differ(wick::random_invert(), wick::random_invert(0.25)));
  CHECK(all_differ(wick::adjust_hue(0.1), wick::adjust_hue(0.2)));
  CHECK(all_differ(wick::gaussian_blur(3, 1), wick::gaussian_blur({3, 5}, 1), wick::gaussian_blur({5, 3}, 1),
                   wick::gaussian_blur(3, 2)));
  CHECK(all_differ(wick::random_gaussian_blur(3), wick::random_gaussian_blur(5),
                   wick::random_gaussian_blur(3, {.sigma = {0.2, 2}}),
                   wick::random_gaussian_blur(3, {.sigma = {0.1, 3}}),
                   wick::random_gaussian_blur(3, {.p = 0.5})));
  CHECK(all_differ(wick::random_erasing(), wick::random_erasing({.p = 0.25}),
                   wick::random_erasing({.scale = {0.1, 0.33}}), wick::random_erasing({.scale = {0.02, 0.5}}),
                   wick::random_erasing({.ratio = {1, 3.3}}), wick::random_erasing({.ratio = {0.3, 4}}),
                   wick::random_erasing({.value = 3}), wick::random_erasing({.value = {0, 0, 0}}),
                   wick::random_erasing({.noise = true})));
  CHECK(all_differ(
      wick::random_photometric_distort(), wick::random_photometric_distort({.brightness = {1, 1.125}}),
      wick::random_photometric_distort({.contrast = {1, 1.5}}),
      wick::random_photometric_distort({.saturation = {1, 1.5}}),
      wick::random_photometric_distort({.hue = {0, 0.05}}), wick::random_photometric_distort({.p = 0.25})));
}

TEST_CASE("pictures of 16 bits, numbers of classes and normalized ones are refused") {
  wick::context ctx = context_at(0);
  const std::string png = encode_png(photo(8, 8, 1));
  const auto wide = [&] {
    const std::string deep = make_png(
        {.width = 2, .height = 2, .bits = 16, .color_type = 0, .rows = std::vector<std::uint8_t>(8)});
    return wick::decode({.type = wick::dtype::int32})(as_bytes(deep), ctx);
  };
  const auto mask = [&] { return wick::decode({.mode = wick::color::index})(as_bytes(png), ctx); };
  CHECK(contains(message_of([&] { return after(wick::invert(), wide()).width(); }), "16 bits"));
  CHECK(contains(message_of([&] { return after(wick::gaussian_blur(1, 1), wide()).width(); }), "16 bits"));
  CHECK(contains(message_of([&] { return after(wick::equalize(), mask()).width(); }), "numbers of classes"));
  CHECK(contains(message_of([&] { return after(wick::random_erasing({.p = 1}), mask()).width(); }),
                 "numbers of classes"));
  CHECK(contains(message_of([&] { return after(wick::to_float(), mask()).width(); }), "numbers of classes"));
  CHECK(contains(
      message_of([&] {
        return after(wick::adjust_sharpness(2), after(wick::normalize(0.5, 0.5), photo(4, 4))).width();
      }),
      "after normalize"));
  // A gray one has no operation to carry out, and is refused all the same.
  CHECK(contains(message_of([&] {
                   return after(wick::grayscale(3), after(wick::normalize(0.5, 0.5), photo(4, 4, 1))).width();
                 }),
                 "grayscale"));
}

}  // namespace wick_test::color_stages_tests

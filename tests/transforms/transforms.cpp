#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/core.hpp>

namespace wick_test::transforms_tests {

namespace {

/// A training chain by hand, as the loader runs it: every stage with its number.
template <class... Stage>
std::vector<std::uint8_t> run(const std::string& file, std::uint64_t seed, std::uint64_t epoch,
                              std::uint64_t position, const Stage&... stage) {
  wick::context ctx = context_at(position, seed, epoch);
  std::uint32_t number = 0;
  ctx.enter(number++);
  wick::lazy_image p = wick::decode()(as_bytes(file), ctx);
  ((ctx.enter(number++), p = stage(std::move(p), ctx)), ...);
  std::vector<std::uint8_t> slot(static_cast<std::size_t>(p.extents().count()) *
                                 wick::detail::size_of(p.type()));
  p.write_to({reinterpret_cast<std::byte*>(slot.data()), false});
  return slot;
}

/// Whether these stages of one type have a fingerprint each, and one that is made in the same way the same.
template <class... Stage>
bool all_differ(const Stage&... stage) {
  return std::set<std::uint64_t>{stage.fingerprint()...}.size() == sizeof...(Stage);
}

struct pictures {
  std::uint64_t size() const { return 4; }
  wick::sample<wick::bytes> at(std::uint64_t) const { return {as_bytes(file), 0}; }
  std::string file = encode_png(photo(64, 64));
};

}  // namespace

TEST_CASE(
    "a training chain gives the same bytes for the same seed, epoch and position, and others for others") {
  const std::string file = encode_jpeg(photo(120, 90));
  const auto chain = [&](std::uint64_t seed, std::uint64_t epoch, std::uint64_t position) {
    return run(file, seed, epoch, position, wick::random_resized_crop(32), wick::random_horizontal_flip(),
               wick::color_jitter(0.4, 0.4, 0.4, 0.1), wick::random_grayscale(), wick::normalize(0.5, 0.5));
  };
  const auto once = chain(1, 2, 3);
  CHECK(once.size() == 32 * 32 * 3 * 4);
  CHECK(chain(1, 2, 3) == once);
  CHECK_FALSE(chain(2, 2, 3) == once);
  CHECK_FALSE(chain(1, 3, 3) == once);
  CHECK_FALSE(chain(1, 2, 4) == once);
}

TEST_CASE("two stages of a kind draw from streams of their own") {
  const std::string file = encode_png(photo(8, 8));
  int same = 0;
  const auto straight = run(file, 1, 0, 0);
  for (std::uint64_t position = 0; position < 400; ++position) {
    same +=
        run(file, 1, 0, position, wick::random_horizontal_flip(), wick::random_horizontal_flip()) == straight;
  }
  CHECK(std::abs(same - 200) < 60);  // one stream for both would give 400
}

TEST_CASE("the evaluation chain is resize, crop and nothing by chance") {
  const std::string file = encode_jpeg(photo(120, 90));
  const auto chain = [&](std::uint64_t position) {
    return run(file, position, position, position, wick::resize(48), wick::center_crop(40));
  };
  CHECK(chain(0).size() == 40 * 40 * 3);
  CHECK(chain(0) == chain(99));
}

TEST_CASE("each parameter that changes pixels changes its stage's fingerprint") {
  using wick::interpolation, wick::padding_mode, wick::color;
  CHECK(all_differ(wick::center_crop(4), wick::center_crop(4, 5), wick::center_crop(5, 4)));
  CHECK(all_differ(wick::random_crop(4), wick::random_crop(4, 5), wick::random_crop(4, {.padding = 1}),
                   wick::random_crop(4, {.padding = {0, 1}}), wick::random_crop(4, {.pad_if_needed = true}),
                   wick::random_crop(4, {.fill = 1}),
                   wick::random_crop(4, {.padding_mode = padding_mode::edge})));
  CHECK(all_differ(wick::random_resized_crop(4), wick::random_resized_crop(4, 5),
                   wick::random_resized_crop(4, {.scale = {0.1, 1}}),
                   wick::random_resized_crop(4, {.scale = {0.08, 0.9}}),
                   wick::random_resized_crop(4, {.ratio = {1, 4. / 3}}),
                   wick::random_resized_crop(4, {.ratio = {3. / 4, 1}}),
                   wick::random_resized_crop(4, {.interpolation = interpolation::bicubic})));
  CHECK(all_differ(wick::resize(4), wick::resize(5), wick::resize(4, 4), wick::resize(4, 5),
                   wick::resize(4, {.max_size = 8}),
                   wick::resize(4, {.interpolation = interpolation::bicubic})));
  CHECK(all_differ(wick::random_horizontal_flip(), wick::random_horizontal_flip(0.25)));
  CHECK(all_differ(wick::random_vertical_flip(), wick::random_vertical_flip(0.25)));
  CHECK(all_differ(wick::pad(1), wick::pad(1, 0, 0, 0), wick::pad(0, 1, 0, 0), wick::pad(0, 0, 1, 0),
                   wick::pad(0, 0, 0, 1), wick::pad(1, {.fill = 9}),
                   wick::pad(1, {.padding_mode = padding_mode::reflect})));
  CHECK(all_differ(wick::normalize(0.5, 0.5), wick::normalize(0.5, 0.25), wick::normalize(0.25, 0.5),
                   wick::normalize({0.5, 0.5, 0.5}, 0.5), wick::normalize({0.5, 0.5, 0.25}, 0.5)));
  CHECK(all_differ(wick::color_jitter(), wick::color_jitter(0.1), wick::color_jitter(0, 0.1),
                   wick::color_jitter(0, 0, 0.1), wick::color_jitter(0, 0, 0, 0.1)));
  CHECK(all_differ(wick::grayscale(), wick::grayscale(3)));
  CHECK(all_differ(wick::random_grayscale(), wick::random_grayscale(0.2)));
  CHECK(all_differ(wick::decode(), wick::decode({.mode = color::gray}), wick::decode({.exact = true}),
                   wick::decode({.orient = true}), wick::decode({.type = wick::dtype::int32}),
                   wick::decode({.mode = color::index})));
  CHECK(wick::random_resized_crop(4).fingerprint() == wick::random_resized_crop(4, 4).fingerprint());
  CHECK(wick::normalize(0.5, 0.5).fingerprint() == wick::normalize({0.5}, {0.5}).fingerprint());
  // A broken picture may be the reason why the training stopped: it continues with a decode() that takes it.
  CHECK(wick::decode().fingerprint() ==
        wick::decode({.reduce_16_bits = true, .max_pixels = 10, .allow_truncated = true}).fingerprint());
}

TEST_CASE("a state of a training with another crop is refused, and the stage is named") {
  const auto loader_with = [](const auto&... stage) {
    return wick::loader((pictures{} | wick::decode() | ... | stage) | wick::array_batch(2), {.workers = 1});
  };
  const auto refused = [](auto&& from, auto&& to) {
    const auto state = from.state();
    return message_of([&] {
      to.load_state(state);
      return 0;
    });
  };
  const auto flip = wick::random_horizontal_flip();
  CHECK(refused(loader_with(wick::random_resized_crop(32), flip),
                loader_with(wick::random_resized_crop(32), flip)) == "");
  CHECK(contains(refused(loader_with(wick::random_resized_crop(32), flip),
                         loader_with(wick::random_resized_crop(40), flip)),
                 "another pipeline: the 2nd stage, random_resized_crop, was made with other parameters"));
  CHECK(contains(refused(loader_with(wick::center_crop(32), wick::normalize(0.5, 0.5)),
                         loader_with(wick::center_crop(32), wick::normalize(0.5, 0.25))),
                 "the 3rd stage, normalize, was made with other parameters"));
}

}  // namespace wick_test::transforms_tests

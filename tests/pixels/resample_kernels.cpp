// The inner loops of the resize: every set that this machine has gives the bytes of the portable one.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/picture.hpp"
#include <wick/pipeline/random.hpp>
#include <wick/pixels/detail/row_resampler.hpp>

namespace wick_test::resample_kernels_tests {

using wick::image;
using wick::interpolation;
using wick::detail::plan;
using wick::detail::resample_kernels;

namespace {

image resized_by(const resample_kernels& kernels, const image& from, const plan& p) {
  image out(p.output_width(), p.output_height(), from.channels());
  wick::detail::resample_lease scratch;
  wick::detail::build_axes(p, 1.0, 0, 0, *scratch);
  wick::detail::resample(
      from.view(), 0, 0, *scratch,
      wick::detail::picture_target::interleaved(out.data(), out.width(), out.height(), out.channels()),
      kernels);
  return out;
}

int below(wick::random_stream& random, int n) {
  return static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
}

}  // namespace

TEST_CASE("every set of kernels gives the same bytes at any size, filter and number of channels") {
  const auto sets = wick::detail::available_kernels();
  REQUIRE(sets.front()->name == "portable");
  CHECK(&wick::detail::best_kernels() == sets.back());
  wick::random_stream random(3, 0, 0, 0);
  for (int round = 0; round < 600; ++round) {
    const int channels = 1 + round % 4;
    const int width = 1 + below(random, round % 7 == 0 ? 700 : 90),
              height = 1 + below(random, round % 11 == 0 ? 900 : 70);
    image from(width, height, channels);
    // Noise of full contrast: nothing overflows, nothing is rounded away.
    const bool extreme = round % 3 == 0;
    for (std::uint8_t& v : from.pixels()) {
      v = static_cast<std::uint8_t>(extreme ? (random.bernoulli(0.5) ? 255 : 0) : below(random, 256));
    }
    plan p = plan::whole(width, height);
    const int w = 1 + below(random, width), h = 1 + below(random, height);
    compose_crop(p, {below(random, width - w + 1), below(random, height - h + 1), w, h});
    compose_resize(p, 1 + below(random, 100), 1 + below(random, 60),
                   round % 2 != 0 ? interpolation::bilinear : interpolation::bicubic);
    p.mirror_x = random.bernoulli(0.5);
    p.mirror_y = random.bernoulli(0.5);
    const image expected = resized_by(*sets.front(), from, p);
    for (const resample_kernels* const set : sets) {
      CAPTURE(set->name);
      CAPTURE(round);
      CHECK(resized_by(*set, from, p) == expected);
    }
  }
}

TEST_CASE("no set of kernels writes beside its row, at any length") {
  for (const resample_kernels* const set : wick::detail::available_kernels()) {
    CAPTURE(set->name);
    for (std::size_t n = 1; n <= 150; ++n) {
      std::vector<std::uint8_t> quads(4 * n + 64);
      for (std::size_t i = 0; i < quads.size(); ++i) quads[i] = static_cast<std::uint8_t>(7 * i + i / 97);
      std::vector<std::uint8_t> packed(3 * n + 8, 0xEE);
      set->pack_triples(quads.data(), packed.data(), n);
      bool right = std::all_of(packed.begin() + static_cast<std::ptrdiff_t>(3 * n), packed.end(),
                               [](std::uint8_t v) { return v == 0xEE; });
      for (std::size_t i = 0; i < 3 * n; ++i) right = right && packed[i] == quads[i / 3 * 4 + i % 3];
      CHECK(right);
      for (int channels = 1; channels <= 4; ++channels) {
        std::vector<std::uint8_t> memory(4 * (n + 8), 0xEE);
        std::uint8_t* planes[4];
        for (std::size_t c = 0; c < 4; ++c) planes[c] = memory.data() + c * (n + 8);
        set->split_planes(quads.data(), planes, channels, n);
        bool good = true;
        for (std::size_t c = 0; c < 4; ++c) {
          for (std::size_t i = 0; i < n + 8; ++i) {
            const bool written = i < n && c < static_cast<std::size_t>(channels);
            good = good && planes[c][i] == (written ? quads[4 * i + c] : 0xEE);
          }
        }
        CHECK(good);
      }
    }
  }
}

}  // namespace wick_test::resample_kernels_tests

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/picture.hpp"
#include "../support/pillow.hpp"
#include <wick/pixels/detail/resample.hpp>

namespace wick_test::resample_tests {

using wick::image;
using wick::interpolation;
using wick::detail::plan;

namespace {

double filter_at(double x, interpolation f) {
  x = std::fabs(x);
  if (f == interpolation::bilinear) return std::max(0.0, 1 - x);
  if (x < 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
  return x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
}

/// The weights of output i by the textbook, all source pixels considered.
std::vector<double> weights_of(int i, int in, int out, interpolation f, bool small) {
  const double scale = static_cast<double>(in) / out, center = (i + 0.5) * scale;
  std::vector<double> w(static_cast<std::size_t>(in), 0);
  if (f == interpolation::nearest) {
    // Torch's nearest-exact, in floats: by one fused product, or by two operations in small pictures.
    const float step = static_cast<float>(in) / static_cast<float>(out), half = static_cast<float>(i) + 0.5f;
    const float at = small ? half * step : std::fma(half, step, -0.5f) + 0.5f;
    w[std::min(static_cast<std::size_t>(at), w.size() - 1)] = 1;
    return w;
  }
  double sum = 0;
  for (int k = 0; k < in; ++k) {
    w[static_cast<std::size_t>(k)] = filter_at((k + 0.5 - center) / std::max(1.0, scale), f);
    sum += w[static_cast<std::size_t>(k)];
  }
  for (double& v : w) v /= sum;
  return w;
}

/// Resize in double precision, rounded once at the end.
image reference(const image& from, int width, int height, interpolation f) {
  const int channels = from.channels();
  std::vector<double> between(static_cast<std::size_t>(from.height() * width * channels));
  const auto at = [&](int y, int x, int c) -> double& {
    return between[static_cast<std::size_t>((y * width + x) * channels + c)];
  };
  for (int x = 0; x < width; ++x) {
    const std::vector<double> w = weights_of(x, from.width(), width, f, width + height <= 128);
    for (int y = 0; y < from.height(); ++y) {
      for (int c = 0; c < channels; ++c) {
        double sum = 0;
        for (int k = 0; k < from.width(); ++k)
          sum += w[static_cast<std::size_t>(k)] * from.row(y)[k * channels + c];
        at(y, x, c) = sum;
      }
    }
  }
  image out(width, height, channels);
  for (int y = 0; y < height; ++y) {
    const std::vector<double> w = weights_of(y, from.height(), height, f, width + height <= 128);
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        double sum = 0;
        for (int k = 0; k < from.height(); ++k) sum += w[static_cast<std::size_t>(k)] * at(k, x, c);
        out.row(y)[x * channels + c] =
            static_cast<std::uint8_t>(std::clamp(std::floor(sum + 0.5), 0.0, 255.0));
      }
    }
  }
  return out;
}

image resized(const image& from, int width, int height, interpolation f) {
  plan p = plan::whole(from.width(), from.height());
  compose_resize(p, width, height, f);
  return resample(from.view(), p);
}

constexpr interpolation all_filters[] = {interpolation::nearest, interpolation::bilinear,
                                         interpolation::bicubic};

}  // namespace

TEST_CASE("a resize is within one level of double precision, larger or smaller, for 1 to 4 channels") {
  const int sizes[][4] = {{60, 45, 28, 28}, {60, 45, 13, 90}, {33, 17, 64, 64}, {200, 9, 7, 3},
                          {31, 31, 30, 32}, {90, 70, 1, 1},   {1, 1, 9, 5}};
  for (const auto& size : sizes) {
    const int w = size[0], h = size[1], new_w = size[2], new_h = size[3];
    for (int channels = 1; channels <= 4; ++channels) {
      const image from = photo(w, h, channels);
      for (const interpolation f : all_filters) {
        const difference d = compare(resized(from, new_w, new_h, f), reference(from, new_w, new_h, f));
        CAPTURE(w);
        CAPTURE(h);
        CAPTURE(new_w);
        CAPTURE(new_h);
        CAPTURE(channels);
        CHECK(d.greatest <= (f == interpolation::nearest ? 0 : 1));
        if (new_w * new_h > 100) CHECK(d.mean < 0.05);
      }
    }
  }
}

TEST_CASE("a resize to the same size changes nothing") {
  const image from = photo(47, 31);
  for (const interpolation f : all_filters) CHECK(resized(from, 47, 31, f) == from);
  // … and along one axis nothing moves across the other
  const image tall = resized(from, 47, 62, interpolation::nearest);
  for (int y = 0; y < 62; ++y) CHECK(std::equal(tall.row(y), tall.row(y) + 47 * 3, from.row(y / 2)));
}

TEST_CASE("a constant picture stays constant under any resize") {
  for (const int level : {0, 1, 127, 254, 255}) {
    for (const auto& [w, h] : {std::pair{1, 1}, {7, 300}, {64, 64}, {199, 3}, {1000, 1}}) {
      for (const interpolation f : all_filters)
        CHECK(resized(flat(53, 37, 3, level), w, h, f) == flat(w, h, 3, level));
    }
  }
  CHECK(resized(flat(9001, 2, 1, 200), 1, 1, interpolation::bilinear) == flat(1, 1, 1, 200));
}

TEST_CASE("a mirrored resize is the resize mirrored, to the bit") {
  for (const interpolation f : all_filters) {
    for (const auto& [w, h] : {std::pair{20, 21}, {33, 8}, {101, 77}, {61, 45}}) {
      const image from = photo(61, 45);
      plan p = plan::whole(61, 45);
      compose_resize(p, w, h, f);
      const image straight = resample(from.view(), p);
      p.mirror_x = p.mirror_y = true;
      const image mirrored = resample(from.view(), p);
      plan turn = plan::whole(w, h);
      turn.mirror_x = turn.mirror_y = true;
      CHECK(resample(straight.view(), turn) == mirrored);
      if (f == interpolation::nearest) continue;  // its ties fall to the right
      plan first = plan::whole(61, 45);
      first.mirror_x = first.mirror_y = true;
      const image mirrored_before = resample(from.view(), first);
      CHECK(resized(mirrored_before, w, h, f) == mirrored);
    }
  }
}

TEST_CASE("planar and interleaved output hold the same levels, and nothing is written beside them") {
  const image from = photo(50, 40);
  plan p = plan::whole(50, 40);
  compose_resize(p, 23, 19, interpolation::bilinear);
  compose_crop(p, {3, 2, 17, 11});
  const image expected = resample(from.view(), p);
  std::vector<std::uint8_t> planes(17 * 11 * 3 + 64, 0xAB);
  resample(from.view(), p, wick::detail::picture_target::planar(planes.data(), 17, 11, 3));
  for (int y = 0; y < 11; ++y) {
    for (int x = 0; x < 17; ++x) {
      for (int c = 0; c < 3; ++c)
        CHECK(planes[static_cast<std::size_t>((c * 11 + y) * 17 + x)] == expected.row(y)[x * 3 + c]);
    }
  }
  CHECK(std::all_of(planes.begin() + 17 * 11 * 3, planes.end(), [](std::uint8_t v) { return v == 0xAB; }));
}

TEST_CASE("the filter never looks past the crop") {
  image a = photo(80, 60, 3, 1);
  const image b = photo(80, 60, 3, 2);
  image patched = b;
  for (int y = 10; y < 40; ++y) std::copy_n(a.row(y) + 20 * 3, 33 * 3, patched.row(y) + 20 * 3);
  for (const interpolation f : all_filters) {
    plan p = plan::whole(80, 60);
    compose_crop(p, {20, 10, 33, 30});
    compose_resize(p, 16, 16, f);
    CHECK(resample(a.view(), p) == resample(patched.view(), p));
  }
}

TEST_CASE("weights of a scaled source box sum to one and stay inside it") {
  wick::detail::axis axis;
  for (const double low : {0.0, 0.375, 3.25}) {
    for (const double length : {5.5, 28.125, 300.0}) {
      for (const int size : {1, 7, 40}) {
        for (const interpolation f : all_filters) {
          axis.build({low, low + length, size, 0, size, false, f});
          CHECK(axis.low() >= static_cast<int>(std::floor(low)));
          CHECK(axis.high() <= static_cast<int>(std::ceil(low + length)));
          for (int i = 0; i < size; ++i) {
            int sum = 0;
            for (int k = 0; k < axis.count(i); ++k) sum += axis.weights(i)[k];
            CHECK(sum == wick::detail::weight_one);
          }
        }
      }
    }
  }
}

TEST_CASE("weights that are kept from picture to picture are those of the present one") {
  const auto weights = [](const wick::detail::axis& of) {
    std::vector<int> out{of.low(), of.high(), of.most_taps(), of.copies() ? 1 : 0};
    for (int i = 0; i < of.size(); ++i) {
      out.push_back(of.first(i));
      for (int k = 0; k < of.count(i); ++k) out.push_back(of.weights(i)[k]);
    }
    return out;
  };
  const wick::detail::axis_request some{3.5, 90, 40, 0, 40, false, interpolation::bilinear};
  std::vector<wick::detail::axis_request> wanted(9, some);
  wanted[1].low = 3;
  wanted[2].high = 91;
  wanted[3].size = 41;
  wanted[4].window_first = 1, wanted[4].window_size = 39;
  wanted[5].mirrored = true;
  wanted[6].filter = interpolation::bicubic;
  wanted[7] = {3, 43, 40, 0, 40, false, interpolation::bilinear};  // copies
  wick::detail::axis kept;
  for (const auto& other : wanted) {
    kept.build(some);
    for (const auto& now : {other, other, some}) {
      kept.build(now);
      wick::detail::axis fresh;
      fresh.build(now);
      CHECK(weights(kept) == weights(fresh));
    }
    wick::detail::axis away = std::move(kept);  // as a decoder that resizes meanwhile finds it
    kept.build(some);
    CHECK(weights(kept) == weights(away));
  }
}

TEST_CASE("a resized crop is Pillow's, within two levels") {
  pillow with;
  const image from = photo(250, 190);
  const std::string file = with.write("photo.png", encode_png(from));
  const int jobs[][6] = {{0, 0, 250, 190, 224, 224}, {17, 31, 200, 150, 96, 64}, {3, 5, 61, 77, 224, 224},
                         {100, 0, 150, 190, 24, 31}, {0, 0, 250, 190, 5, 4},     {249, 189, 1, 1, 8, 8}};
  int n = 0;
  for (const auto& j : jobs) {
    for (const char* filter : {"bilinear", "bicubic"}) {
      std::string line = "resize " + file + " " + with.path(std::to_string(n++));
      for (const int v : j) line += " " + std::to_string(v);
      with.job(line + " " + filter);
    }
  }
  if (!with.run()) return;
  n = 0;
  for (const auto& j : jobs) {
    for (const interpolation f : {interpolation::bilinear, interpolation::bicubic}) {
      plan p = plan::whole(250, 190);
      compose_crop(p, {j[0], j[1], j[2], j[3]});
      compose_resize(p, j[4], j[5], f);
      const difference d = compare(resample(from.view(), p), with.pixels(std::to_string(n++), j[4], j[5], 3));
      CAPTURE(n);
      CHECK(d.greatest <= 2);
      CHECK(d.mean <= (j[4] * j[5] > 100 ? 0.25 : 0.6));
    }
  }
}

}  // namespace wick_test::resample_tests

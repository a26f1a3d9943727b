// What the tests of color stages share: a picture whose levels follow a formula, and a stage done to a
// picture.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "../support/picture.hpp"
#include <wick/image/lazy_image.hpp>

namespace wick_test {

/// Level (37 x² + 91 y + 13 x y + 50 c) mod 256, as the numbers from torchvision were made with.
inline wick::image by_formula(int width, int height, int channels = 1) {
  wick::image out(width, height, channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        out.row(y)[x * channels + c] = static_cast<std::uint8_t>(37 * x * x + 91 * y + 13 * x * y + 50 * c);
      }
    }
  }
  return out;
}

template <class Stage>
wick::lazy_image after(const Stage& stage, wick::lazy_image picture, std::uint64_t position = 0) {
  wick::context ctx = context_at(position);
  return stage(std::move(picture), ctx);
}

template <class Stage>
wick::image pixels(const Stage& stage, const wick::image& picture, std::uint64_t position = 0) {
  return after(stage, picture, position).pixels();
}

using row = std::vector<int>;

inline row levels(const wick::image& picture) { return {picture.pixels().begin(), picture.pixels().end()}; }

/// Whether no level is more than one from the other's.
inline bool near(const row& a, const row& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](int one, int other) { return std::abs(one - other) <= 1; });
}

inline std::vector<std::uint8_t> written(const wick::lazy_image& picture, bool planar) {
  std::vector<std::uint8_t> slot(static_cast<std::size_t>(picture.extents().count()) *
                                 wick::detail::size_of(picture.type()));
  picture.write_to({reinterpret_cast<std::byte*>(slot.data()), planar});
  return slot;
}

inline std::vector<float> numbers(const wick::lazy_image& picture, bool planar = false) {
  const std::vector<std::uint8_t> bytes = written(picture, planar);
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

/// Whether interleaved pixels, planes and the picture itself come out alike, and alpha as it went in.
template <class Stage>
bool same_in_each_layout(const Stage& stage, int channels, int width, int height, bool keeps_alpha = true) {
  const wick::image p = photo(width, height, channels), q = pixels(stage, p);
  const std::vector<std::uint8_t> side_by_side = written(after(stage, p), false),
                                  planes = written(after(stage, p), true);
  const int n = q.channels(), count = q.width() * q.height();
  for (int i = 0; i < count; ++i) {
    for (int c = 0; c < n; ++c) {
      const auto level = q.data()[i * n + c];
      if (side_by_side[static_cast<std::size_t>(i * n + c)] != level) return false;
      if (planes[static_cast<std::size_t>(c * count + i)] != level) return false;
    }
    if (keeps_alpha && n % 2 == 0 && q.data()[i * n + n - 1] != p.data()[i * n + n - 1]) return false;
  }
  return true;
}

}  // namespace wick_test

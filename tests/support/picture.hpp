// Pictures for tests: photograph-like pixels, encoded to files in memory, whole, odd and broken.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <wick/pipeline/context.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pixels/image.hpp>

namespace wick_test {

/// Gradients, a few shapes and some noise; another picture for another seed.
wick::image photo(int width, int height, int channels = 3, std::uint64_t seed = 1);
/// All pixels alike.
wick::image flat(int width, int height, int channels, int level);

std::string encode_jpeg(const wick::image& picture, int quality = 92);
std::string encode_png(const wick::image& picture);
std::string encode_bmp(const wick::image& picture);
/// Gray levels as a GIF of one frame.
std::string encode_gif(const wick::image& gray);

/// What goes into a PNG by hand. `rows` holds the scanlines without their filter bytes.
struct png_parts {
  std::uint32_t width = 0, height = 0;
  int bits = 8;
  int color_type = 2;  // 0 gray, 2 RGB, 3 palette, 4 gray and alpha, 6 RGBA
  std::vector<std::uint8_t> rows = {};
  std::vector<std::uint8_t> palette = {};
  std::vector<std::uint8_t> transparency = {};
  bool interlaced = false;      // Adam7, said in the header; what is in `compressed` has to be so
  std::string compressed = {};  // the zlib stream itself, in the place of `rows`
};
/// A zlib stream that holds `raw` as it is.
std::string zlib_stored(std::string_view raw);
std::string make_png(const png_parts& parts);

/// A JPEG's segment, put right after its start-of-image marker.
std::string with_jpeg_segment(const std::string& jpeg, unsigned char marker, std::string_view payload);
/// A JPEG whose frame header claims another size.
std::string with_jpeg_size(std::string jpeg, int width, int height);

inline wick::bytes as_bytes(std::string_view encoded) { return wick::bytes(encoded.data(), encoded.size()); }
inline wick::context context_at(std::uint64_t position, std::uint64_t seed = 7, std::uint64_t epoch = 0) {
  return wick::context(wick::detail::place{seed, epoch, position, position});
}

/// The greatest and the mean difference between two pictures of one shape; 256 when the shapes differ.
struct difference {
  int greatest = 256;
  double mean = 256;
};
difference compare(const wick::image& a, const wick::image& b);

/// Whether two pictures are equal at all pixels for which `counts(x, y)`.
template <class Counts>
bool same_where(const wick::image& a, const wick::image& b, Counts&& counts) {
  if (a.width() != b.width() || a.height() != b.height() || a.channels() != b.channels()) return false;
  for (int y = 0; y < a.height(); ++y) {
    for (int x = 0; x < a.width(); ++x) {
      const std::ptrdiff_t at = std::ptrdiff_t{x} * a.channels();
      if (counts(x, y) && !std::equal(a.row(y) + at, a.row(y) + at + a.channels(), b.row(y) + at))
        return false;
    }
  }
  return true;
}

}  // namespace wick_test

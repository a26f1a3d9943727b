// JPEGs of every kind, written by libjpeg, where there is one.
#pragma once

#include <array>
#include <string>

#include <wick/pixels/image.hpp>

namespace wick_test {

/// How the components are stored: `as_given` 1 to 4 channels are gray, nothing, RGB and CMYK.
enum class jpeg_colors { as_given, ycc };

struct jpeg_kind {
  int quality = 90;
  bool progressive = false, arithmetic = false;
  jpeg_colors colors = jpeg_colors::ycc;  ///< RGB as YCbCr, CMYK as YCCK
  std::array<int, 4> across{2, 1, 1, 2};  ///< sampling factors: how many blocks of a component to a unit
  std::array<int, 4> down{2, 1, 1, 2};
  unsigned restart_blocks = 0;  ///< units between restart markers; 0: none
  bool one_scan_each = false;   ///< the components one after the other
  bool most_scans = false;      ///< gray and progressive: 100 scans, as many as cjpeg and jpegtran write
};

/// `picture` has 1, 3 or 4 channels. CMYK levels are written as they are, with Adobe's marker.
std::string encode_jpeg(const wick::image& picture, const jpeg_kind& kind);

}  // namespace wick_test

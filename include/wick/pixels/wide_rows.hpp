// Rows of an image with 16 bits a channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wick::inline v0_1::ext {

/// Rows of an image at 16 bits a channel, in its full width.
struct wide_rows {
  int width = 0, height = 0, channels = 0;
  int top = 0;  ///< the source row of the first row
  std::vector<std::uint16_t> levels{};

  wide_rows() noexcept = default;
  wide_rows(int w, int h, int c, int first)
      : width(w),
        height(h),
        channels(c),
        top(first),
        levels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h) * static_cast<std::size_t>(c)) {}
  const std::uint16_t* row(int y) const noexcept {
    return levels.data() + std::ptrdiff_t{y - top} * width * channels;
  }
};

}  // namespace wick::ext

namespace wick::inline v0_1::detail {
using namespace ext;
}  // namespace wick::detail

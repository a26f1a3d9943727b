// Implements transforms/to_image.hpp. Included in exactly one file of a program.
#pragma once

#include <string>

#include <wick/pipeline/error.hpp>
#include <wick/transforms/to_image.hpp>

namespace wick::inline v0_1::detail {

picture_axes::picture_axes(const shape& extents, dtype type, const to_image_options& options) {
  if (type != dtype::uint8) {
    throw error("the array is of " + std::string(to_string(type)) +
                ", and pixels are levels of uint8; convert it once, before the training");
  }
  const auto few = [&](std::size_t axis) { return extents[axis] >= 1 && extents[axis] <= 4; };
  std::size_t first = 0;  // the row axis
  if (extents.rank() == 2) {
    channels = 1;
  } else if (extents.rank() == 3) {
    const bool said = options.layout.has_value();
    planes = said ? *options.layout == layout::nchw : few(0);
    if (!said && few(0) && few(2)) {
      throw error("of an array " + to_string(extents) +
                  " the first axis may be the channels, or the last; say which by {.layout = "
                  "wick::layout::nchw} or nhwc");
    }
    first = planes ? 1 : 0;
    const std::size_t axis = planes ? 0 : 2;
    channels = few(axis) ? static_cast<int>(extents[axis]) : 0;
  }
  constexpr std::int64_t longest = 1 << 30;
  if (channels == 0 || extents[first] > longest || extents[first + 1] > longest) {
    throw error("an array " + to_string(extents) +
                " isn't a picture: it has [H, W], [C, H, W] or [H, W, C], with 1 to 4 channels");
  }
  height = static_cast<int>(extents[first]);
  width = static_cast<int>(extents[first + 1]);
}

void picture_axes::interleave(const std::byte* planes, image& to) noexcept {
  const auto* level = reinterpret_cast<const std::uint8_t*>(planes);
  const auto n = static_cast<std::size_t>(to.channels());
  const std::size_t size = to.pixels().size();
  for (std::size_t c = 0; c < n; ++c) {
    for (std::size_t i = c; i < size; i += n) to.data()[i] = *level++;
  }
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::to_image_stage to_image(const to_image_options& options) { return detail::to_image_stage(options); }
detail::to_mask_stage to_mask(const to_image_options& options) { return detail::to_mask_stage(options); }

}  // namespace wick

// Adds a border around pixels.
#pragma once

#include <string_view>
#include <vector>

#include <wick/image/detail/steps.hpp>
#include <wick/pixels/image.hpp>
#include <wick/pixels/wide_rows.hpp>

namespace wick::inline v0_1::detail {

/// \throws wick::error for a negative edge, or one larger than an image may be
void require_edges(std::string_view stage, const edges& e);

/// The source coordinate for each coordinate of the padded image; -1 for the fill.
std::vector<int> padded_axis(int size, int before, int after, padding_mode mode);

/// `picture` with a border. \throws wick::error when it would mirror more than the image has
image pad_picture(const image& picture, const edges& by, const fill_color& fill, padding_mode mode);
/// The same for 16-bit numbers.
wide_rows pad_wide(const wide_rows& numbers, const border& around);

}  // namespace wick::detail

/// \file
/// A border around pixels, carried out.
#pragma once

#include <string_view>
#include <vector>

#include <wick/image/detail/steps.hpp>
#include <wick/pixels/image.hpp>
#include <wick/pixels/wide_rows.hpp>

namespace wick::inline v0_1::detail {

/// \throws wick::error for negative ones, and for more than a picture may have
void require_edges(std::string_view stage, const edges& e);

/// The source coordinate for each padded one; -1 where the fill goes.
std::vector<int> padded_axis(int size, int before, int after, padding_mode mode);

/// `picture` with a border. \throws wick::error when it is mirrored by more than it has
image pad_picture(const image& picture, const edges& by, const fill_color& fill, padding_mode mode);
/// The same of numbers of 16 bits.
wide_rows pad_wide(const wide_rows& numbers, const border& around);

}  // namespace wick::detail

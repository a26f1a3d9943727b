/// \file
/// Which way up a JPEG's camera was held: the orientation tag of its EXIF segment.
#pragma once

#include <cstddef>
#include <span>

#include <wick/pixels/image.hpp>

namespace wick::detail {

/// 1 to 8 as EXIF 2.3 numbers them; 1, upright, when nothing (or nonsense) is said.
int exif_orientation(std::span<const std::byte> encoded) noexcept;

/// Rows become columns.
image transposed(const image& from);

}  // namespace wick::detail

/// \file
/// BMPs that stb_image doesn't read, as ones that it reads.
#pragma once

#include <cstddef>
#include <span>

#include <wick/ext/codec.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1::detail {

/// The same image in an uncompressed file with a header of forty bytes, its whole palette, and no gap before
/// the pixels; empty when the file may stay as it is. Microsoft: "Bitmap Storage", and "Bitmap Compression"
/// for the run-length codes RLE8 and RLE4. \throws wick::error for a kind that isn't supported, or a file
/// that is cut off
bytes plain_bmp(std::span<const std::byte> encoded, const picture_info& info);

}  // namespace wick::detail

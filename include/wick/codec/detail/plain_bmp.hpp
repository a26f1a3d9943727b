// Rewrites BMPs that stb_image doesn't read.
#pragma once

#include <cstddef>
#include <span>

#include <wick/ext/codec.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1::detail {

/// The same image as an uncompressed file with a header of 40 bytes, a full palette, and no gap before the
/// pixels. Empty when stb_image reads the file as it is. Microsoft: "Bitmap Storage", and "Bitmap
/// Compression" for the run-length codes RLE8 and RLE4. \throws wick::error for an unsupported kind, or a
/// truncated file
bytes plain_bmp(std::span<const std::byte> encoded, const picture_info& info);

}  // namespace wick::detail

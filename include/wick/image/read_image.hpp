// One image outside of a pipeline, like torchvision.io: for inference, tools, and tests.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <wick/image/decode.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1 {

/// Decodes all pixels of an image: [H, W, C], 8-bit levels. The options of the crop index are ignored, and
/// `.type` must be uint8; a 16-bit PNG needs `.reduce_16_bits`. \throws wick::error that says what is wrong
/// with the bytes
image decode_image(std::span<const std::byte> encoded, const decode_options& options = {});

/// The same for a file. \throws wick::error that names the file
image read_image(const std::string& path, const decode_options& options = {});

}  // namespace wick

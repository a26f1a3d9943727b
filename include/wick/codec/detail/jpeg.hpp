// wick's own JPEG decoder: decodes only the wanted rectangle, at the cheapest scale that covers it, row by
// row into the resize, starting from a crop index if there is one. It needs no installed library.
#pragma once

#include <wick/ext/codec.hpp>

namespace wick::inline v0_1::detail {

/// Baseline JPEG, 8 bits, in one scan: gray, or YCbCr with chroma at full or half resolution horizontally,
/// vertically, or both; with or without restart markers. The pixels are bit-identical to libjpeg-turbo's and
/// Pillow's: accurate inverse DCT and smooth upsampling. Gray is the stored luminance, like Pillow's
/// draft("L"). Like Pillow and torchvision, it doesn't apply ICC color profiles.
///
/// The next decoder handles other kinds of JPEG, and damage within the pixels: libjpeg-turbo if wick was
/// built with it, otherwise stb_image. A truncated file is an error (see decode_options::allow_truncated).
///
/// Each thread keeps one decoder and its memory, and allocates nothing more after its largest image.
extern const codec jpeg_codec;

}  // namespace wick::detail

// JPEG by libjpeg-turbo, for files that wick doesn't decode itself: decodes only the wanted rectangle, at
// the cheapest scale that covers it, row by row into the resize. Available if CMake found libjpeg-turbo or,
// with the single header, if its jpeglib.h is found.
#pragma once

#include <wick/ext/codec.hpp>

namespace wick::inline v0_1::detail {

/// Baseline and progressive JPEG of 8 bits: gray, YCbCr and RGB with any subsampling, CMYK and YCCK
/// (converted to RGB like Pillow), restart markers, and arithmetic coding if the library supports it.
/// Upsampling is libjpeg's smooth one, and the pixels are Pillow's. Gray is the stored luminance, like
/// Pillow's draft("L"). Like Pillow and torchvision, it doesn't apply ICC color profiles.
///
/// Damage within the pixels is handled as in libjpeg-turbo and Pillow: unreadable parts are gray. A
/// truncated file is an error (see decode_options::allow_truncated).
///
/// Each thread keeps one decompressor and its memory, and allocates nothing more after its largest image.
/// Defined in codec/impl/libjpeg_turbo.ipp, which is compiled once, by CMake or in the one file that defines
/// WICK_IMPLEMENTATION; that program links -ljpeg.
extern const codec libjpeg_turbo_codec;

}  // namespace wick::detail

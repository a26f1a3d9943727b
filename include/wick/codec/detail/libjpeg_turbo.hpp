/// \file
/// JPEG by libjpeg-turbo, for what wick does not decode itself: only the rectangle that is wanted, at the
/// cheapest scale that covers it, row by row into the resize. It is there where CMake found libjpeg-turbo,
/// or, with the single header, where there is a jpeglib.h of it.
#pragma once

#include <wick/ext/codec.hpp>

namespace wick::inline v0_1::detail {

/// Baseline and progressive JPEG of 8 bits: gray, YCbCr and RGB with any subsampling, CMYK and YCCK (to RGB
/// as Pillow converts them), restart markers, arithmetic coding where the library has it. Upsampling is
/// libjpeg's smooth one, pixels are those of Pillow; gray is the JPEG's own, as Pillow's draft("L") gives it.
/// Color profiles (ICC) are not applied, nor are they by Pillow or torchvision.
///
/// Damage within the pixels is taken as libjpeg-turbo and Pillow take it, with what could not be read in
/// gray; a file that breaks off is an error (see decode_options::allow_truncated).
///
/// Each thread keeps one decompressor with its memory: once it has seen the largest picture it allocates no
/// more. Defined in codec/impl/libjpeg_turbo.ipp, which is compiled once, by CMake or in the
/// one file that defines WICK_IMPLEMENTATION; that program links -ljpeg.
extern const codec libjpeg_turbo_codec;

}  // namespace wick::detail

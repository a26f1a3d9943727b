/// \file
/// JPEG by wick itself: only the rectangle that is wanted, at the cheapest scale that covers it, row by row
/// into the resize, from a crop index where there is one. Nothing has to be installed for it.
#pragma once

#include <wick/ext/codec.hpp>

namespace wick::inline v0_1::detail {

/// Baseline JPEG of 8 bits in one scan: gray, and YCbCr whose colors have all pixels or half of them across,
/// down or both, with restart markers or without. Pixels are those of libjpeg-turbo, to the bit, and of
/// Pillow: the accurate inverse transform, smooth upsampling; gray is the JPEG's own, as Pillow's draft("L")
/// gives it. Color profiles (ICC) are not applied, nor are they by Pillow or torchvision.
///
/// Other kinds, and damage within the pixels, are left to the next decoder: to libjpeg-turbo where wick was
/// built with it, else to stb_image. A file that breaks off is an error (see
/// decode_options::allow_truncated).
///
/// Each thread keeps one decoder with its memory: once it has seen the largest picture it allocates no more.
extern const codec jpeg_codec;

}  // namespace wick::detail

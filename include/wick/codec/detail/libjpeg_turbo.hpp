/// \file
/// JPEG by libjpeg-turbo: only the rectangle that is wanted, at the cheapest scale that covers it, row by row
/// into the resize. It is there where CMake found libjpeg-turbo, or, with the single header, where there is a
/// jpeglib.h of it.
#pragma once

#include <wick/codec/codec.hpp>

namespace wick::detail {

/// Baseline and progressive JPEG of 8 bits: gray, YCbCr and RGB with any subsampling, CMYK and YCCK (to RGB
/// as Pillow converts them), restart markers, arithmetic coding where the library has it. Upsampling is
/// libjpeg's smooth one, pixels are those of Pillow; gray is the JPEG's own, as Pillow's draft("L") gives it.
/// Color profiles (ICC) are not applied, nor are they by Pillow or torchvision.
///
/// Damage within the pixels is taken as libjpeg-turbo and Pillow take it, with what could not be read in
/// gray; a file that breaks off is an error (see decode_options::allow_truncated).
///
/// Each thread keeps one decompressor with its memory: once it has seen the largest picture it allocates no
/// more. Defined in codec/impl/libjpeg_turbo.hpp, which is compiled once, by CMake or in the
/// one file that defines WICK_IMPLEMENTATION; that program links -ljpeg (and -ldl where glibc is older
/// than 2.34).
///
/// The Huffman codes of baseline files are read by wick's own decoder, which is faster than libjpeg's, most
/// of all where a part is wanted; all else is libjpeg's work, and so is every file with something unusual in
/// it. The first picture of a program is preceded by a test of some microseconds, whether the library that
/// was loaded lets itself be helped so; if not, all is libjpeg's work, and the report has a note.
extern const codec libjpeg_turbo_codec;

/// The same pixels and errors, by nothing but what libjpeg's interface says: for a library that is not
/// exactly libjpeg-turbo, and to compare.
extern const codec libjpeg_turbo_api_codec;

}  // namespace wick::detail

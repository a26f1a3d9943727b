// Includes all of wick, with LibTorch.
#pragma once

#include <wick/core.hpp>
#include <wick/torch.hpp>

#ifdef WICK_IMPLEMENTATION
#if __has_include(<jpeglib.h>) && !defined(WICK_JPEG_STB)
#include <cstdio>
#include <jpeglib.h>
#ifdef LIBJPEG_TURBO_VERSION
#define WICK_HAS_LIBJPEG_TURBO
#endif
#endif
#ifdef WICK_PNG_LIBDEFLATE
#define WICK_HAS_LIBDEFLATE
#endif
#include <wick/codec/impl/stb_image.ipp>
#include <wick/implementation.hpp>
#include <wick/torch/impl/all_of_torch.ipp>
#ifdef WICK_HAS_LIBJPEG_TURBO
#include <wick/codec/impl/libjpeg_turbo.ipp>
#endif
#endif

/// \file
/// wick feeds a torch: everything, for users.
#pragma once

#include <wick/core.hpp>
#include <wick/torch/archive.hpp>
#include <wick/torch/batch.hpp>
#include <wick/torch/normalize.hpp>
#include <wick/torch/pin.hpp>
#include <wick/torch/tensor.hpp>
#include <wick/torch/tensors.hpp>
#include <wick/torch/threads.hpp>
#include <wick/torch/transfer.hpp>

#ifdef WICK_IMPLEMENTATION
#include <wick/codec/detail/gif_implementation.hpp>
#include <wick/codec/detail/png_implementation.hpp>
#include <wick/codec/detail/stb_implementation.hpp>
#include <wick/order/detail/grid_rounds_implementation.hpp>
#include <wick/resample/detail/resample_kernels_implementation.hpp>
#if __has_include(<jpeglib.h>) && !defined(WICK_JPEG_STB)
#include <cstdio>
#include <jpeglib.h>
#ifdef LIBJPEG_TURBO_VERSION
#define WICK_HAS_LIBJPEG_TURBO
#include <wick/jpeg/detail/libjpeg_turbo_implementation.hpp>
#endif
#endif
#include <wick/codec/detail/builtin_codecs_implementation.hpp>
#endif

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
#include <wick/resample/detail/resample_kernels_implementation.hpp>
#include <wick/codec/detail/stb_implementation.hpp>
#endif
#ifdef WICK_TURBOJPEG_IMPLEMENTATION
#include <wick/jpeg/detail/turbojpeg_implementation.hpp>
#endif

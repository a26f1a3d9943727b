/// \file
/// All bodies of pixels/, which are compiled once.
#pragma once

#include <wick/pixels/impl/block_cache.hpp>
#include <wick/pixels/impl/geometry.hpp>
#include <wick/pixels/impl/image.hpp>
#include <wick/pixels/impl/pixel_ops.hpp>
#include <wick/pixels/impl/resample_kernels.hpp>
#include <wick/pixels/impl/warp.hpp>

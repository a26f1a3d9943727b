// All implementations in pixels/, which are compiled once.
#pragma once

#include <wick/pixels/impl/block_cache.ipp>
#include <wick/pixels/impl/geometry.ipp>
#include <wick/pixels/impl/image.ipp>
#include <wick/pixels/impl/pixel_ops.ipp>
#include <wick/pixels/impl/resample_kernels.ipp>
#include <wick/pixels/impl/warp.ipp>

// All implementations in transforms/, which are compiled once.
#pragma once

#include <wick/transforms/impl/adjust.ipp>
#include <wick/transforms/impl/affine.ipp>
#include <wick/transforms/impl/augment.ipp>
#include <wick/transforms/impl/blur.ipp>
#include <wick/transforms/impl/crop.ipp>
#include <wick/transforms/impl/distort.ipp>
#include <wick/transforms/impl/erasing.ipp>
#include <wick/transforms/impl/jitter.ipp>
#include <wick/transforms/impl/letterbox.ipp>
#include <wick/transforms/impl/levels.ipp>
#include <wick/transforms/impl/mixing.ipp>
#include <wick/transforms/impl/multi_crop.ipp>
#include <wick/transforms/impl/normalize.ipp>
#include <wick/transforms/impl/pad.ipp>
#include <wick/transforms/impl/random_iou_crop.ipp>
#include <wick/transforms/impl/resize.ipp>
#include <wick/transforms/impl/to_image.ipp>

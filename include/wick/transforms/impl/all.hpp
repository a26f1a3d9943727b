/// \file
/// All bodies of transforms/, which are compiled once.
#pragma once

#include <wick/transforms/impl/adjust.hpp>
#include <wick/transforms/impl/affine.hpp>
#include <wick/transforms/impl/augment.hpp>
#include <wick/transforms/impl/blur.hpp>
#include <wick/transforms/impl/crop.hpp>
#include <wick/transforms/impl/distort.hpp>
#include <wick/transforms/impl/erasing.hpp>
#include <wick/transforms/impl/jitter.hpp>
#include <wick/transforms/impl/letterbox.hpp>
#include <wick/transforms/impl/levels.hpp>
#include <wick/transforms/impl/mixing.hpp>
#include <wick/transforms/impl/multi_crop.hpp>
#include <wick/transforms/impl/normalize.hpp>
#include <wick/transforms/impl/pad.hpp>
#include <wick/transforms/impl/random_iou_crop.hpp>
#include <wick/transforms/impl/resize.hpp>
#include <wick/transforms/impl/to_image.hpp>

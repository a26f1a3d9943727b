/// \file
/// All stages that work on pictures, and what goes along with a picture.
#pragma once

#include <wick/image/boxes.hpp>
#include <wick/image/decode.hpp>
#include <wick/image/keypoints.hpp>
#include <wick/image/mask.hpp>
#include <wick/image/polygons.hpp>
#include <wick/transforms/adjust.hpp>
#include <wick/transforms/affine.hpp>
#include <wick/transforms/augment.hpp>
#include <wick/transforms/blur.hpp>
#include <wick/transforms/crop.hpp>
#include <wick/transforms/distort.hpp>
#include <wick/transforms/erasing.hpp>
#include <wick/transforms/flip.hpp>
#include <wick/transforms/jitter.hpp>
#include <wick/transforms/letterbox.hpp>
#include <wick/transforms/levels.hpp>
#include <wick/transforms/mixing.hpp>
#include <wick/transforms/multi_crop.hpp>
#include <wick/transforms/normalize.hpp>
#include <wick/transforms/pad.hpp>
#include <wick/transforms/random_iou_crop.hpp>
#include <wick/transforms/resize.hpp>
#include <wick/transforms/to_float.hpp>
#include <wick/transforms/to_image.hpp>

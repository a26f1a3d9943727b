/// \file
/// All stages of this room.
#pragma once

#include <wick/geometry/affine.hpp>
#include <wick/geometry/letterbox.hpp>
#include <wick/geometry/multi_crop.hpp>
#include <wick/geometry/random_iou_crop.hpp>

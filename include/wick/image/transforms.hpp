/// \file
/// All stages that work on pictures.
#pragma once

#include <wick/image/boxes.hpp>
#include <wick/image/crop.hpp>
#include <wick/image/decode.hpp>
#include <wick/image/flip.hpp>
#include <wick/image/keypoints.hpp>
#include <wick/image/mask.hpp>
#include <wick/image/normalize.hpp>
#include <wick/image/pad.hpp>
#include <wick/image/polygons.hpp>
#include <wick/image/resize.hpp>
#include <wick/image/to_image.hpp>

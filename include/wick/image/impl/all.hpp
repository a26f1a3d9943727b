/// \file
/// All bodies of image/, which are compiled once.
#pragma once

#include <wick/image/impl/arguments.hpp>
#include <wick/image/impl/boxes.hpp>
#include <wick/image/impl/crop_index_file.hpp>
#include <wick/image/impl/decode.hpp>
#include <wick/image/impl/depth.hpp>
#include <wick/image/impl/keypoints.hpp>
#include <wick/image/impl/lazy_image.hpp>
#include <wick/image/impl/lazy_pixels.hpp>
#include <wick/image/impl/mask.hpp>
#include <wick/image/impl/padding.hpp>
#include <wick/image/impl/parts.hpp>
#include <wick/image/impl/polygons.hpp>
#include <wick/image/impl/read_image.hpp>
#include <wick/image/impl/warp.hpp>

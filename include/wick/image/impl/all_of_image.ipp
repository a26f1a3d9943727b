// All implementations in image/, which are compiled once.
#pragma once

#include <wick/image/impl/arguments.ipp>
#include <wick/image/impl/boxes.ipp>
#include <wick/image/impl/crop_index_file.ipp>
#include <wick/image/impl/decode.ipp>
#include <wick/image/impl/depth.ipp>
#include <wick/image/impl/keypoints.ipp>
#include <wick/image/impl/lazy_pixels.ipp>
#include <wick/image/impl/lazy_warp.ipp>
#include <wick/image/impl/mask.ipp>
#include <wick/image/impl/padding.ipp>
#include <wick/image/impl/parts.ipp>
#include <wick/image/impl/planned_picture.ipp>
#include <wick/image/impl/polygons.ipp>
#include <wick/image/impl/read_image.ipp>

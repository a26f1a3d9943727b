/// \file
/// All bodies of codec/, which are compiled once.
#pragma once

#include <wick/codec/impl/builtin_codecs.hpp>
#include <wick/codec/impl/codec.hpp>
#include <wick/codec/impl/crop_index.hpp>
#include <wick/codec/impl/decoders_seen.hpp>
#include <wick/codec/impl/gif.hpp>
#include <wick/codec/impl/jpeg.hpp>
#include <wick/codec/impl/packed_places.hpp>
#include <wick/codec/impl/plain_bmp.hpp>
#include <wick/codec/impl/png.hpp>

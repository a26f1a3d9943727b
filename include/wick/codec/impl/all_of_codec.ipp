// All implementations in codec/, which are compiled once.
#pragma once

#include <wick/codec/impl/builtin_codecs.ipp>
#include <wick/codec/impl/codec.ipp>
#include <wick/codec/impl/crop_index.ipp>
#include <wick/codec/impl/decoders_seen.ipp>
#include <wick/codec/impl/gif.ipp>
#include <wick/codec/impl/jpeg.ipp>
#include <wick/codec/impl/packed_places.ipp>
#include <wick/codec/impl/plain_bmp.ipp>
#include <wick/codec/impl/png.ipp>

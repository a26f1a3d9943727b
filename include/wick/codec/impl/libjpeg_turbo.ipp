// JPEG by libjpeg-turbo. Included in exactly one file of a program: in CMake's target wick::core or, with
// the single header, in the file that defines WICK_IMPLEMENTATION.
#pragma once

#include <cstddef>
#include <span>

#include <wick/codec/detail/decoder_lease.hpp>
#include <wick/codec/detail/image_sink.hpp>
#include <wick/codec/detail/jpeg_header.hpp>
#include <wick/codec/detail/libjpeg_turbo.hpp>
#include <wick/codec/impl/jpeg_decompressor.ipp>

namespace wick::inline v0_1::detail {

/// Leaves images with a side over libjpeg's limit to the next decoder.
inline bool libjpeg_turbo_probe(std::span<const std::byte> encoded, picture_info& info) {
  return probe_jpeg(encoded, info) && info.width <= JPEG_MAX_DIMENSION && info.height <= JPEG_MAX_DIMENSION;
}

inline void libjpeg_turbo_decode_rows(std::span<const std::byte> encoded, const picture_info& info,
                                      const decode_request& request, row_sink& sink) {
  decoder_lease<jpeg_decompressor> decompressor;
  (*decompressor).decode(encoded, info, request, sink);
}

constinit const codec libjpeg_turbo_codec{"libjpeg-turbo", &libjpeg_turbo_probe, &check_jpeg_ends,
                                          &decode_by_rows<&libjpeg_turbo_decode_rows>,
                                          &libjpeg_turbo_decode_rows};

}  // namespace wick::detail

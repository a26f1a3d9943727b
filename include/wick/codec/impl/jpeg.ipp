// Implements wick's own JPEG decoder, codec/detail/jpeg.hpp. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include <wick/codec/detail/decoder_lease.hpp>
#include <wick/codec/detail/image_sink.hpp>
#include <wick/codec/detail/jpeg.hpp>
#include <wick/codec/detail/jpeg_frame.hpp>
#include <wick/codec/detail/jpeg_header.hpp>
#include <wick/codec/detail/jpeg_place.hpp>
#include <wick/codec/impl/jpeg_decoder.ipp>
#include <wick/codec/impl/jpeg_kernels.ipp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

inline bool jpeg_probe(std::span<const std::byte> encoded, picture_info& info) {
  return probe_jpeg(encoded, info) && jpeg_frame::read(encoded).has_value();
}

/// Decodes with the next built-in decoder that accepts the file.
inline void decode_rows_by_another(std::span<const std::byte> encoded, const picture_info& info,
                                   const decode_request& request, row_sink& sink) {
  const std::span<const codec* const> all = builtin_codecs();
  const codec* other = nullptr;
  for (std::size_t i = all.size(); i-- != 0 && other == nullptr;) {
    picture_info its = info;
    if (all[i] != &jpeg_codec && all[i]->probe(encoded, its)) other = all[i];
  }
  if (other == nullptr)
    throw error("not a JPEG that wick's decoders know; convert it" + std::string(or_leave_it_out));
  if (other->decode_rows != nullptr) return other->decode_rows(encoded, info, request, sink);
  const decoded_picture whole = other->decode(encoded, info, request);
  const image& from = whole.pixels;
  sink.begin({from.width(), from.height(), from.channels(), whole.left, whole.top, whole.scale});
  const std::size_t row = static_cast<std::size_t>(from.width()) * static_cast<std::size_t>(from.channels());
  for (int y = 0; y < from.height();) {
    const std::span<std::uint8_t* const> room = sink.room();
    if (room.empty()) return;
    std::memcpy(room[0], from.row(y++), row);
    sink.written(1);
  }
}

inline void jpeg_decode_rows(std::span<const std::byte> encoded, const picture_info& info,
                             const decode_request& request, row_sink& sink) {
  const std::optional<jpeg_frame> frame = jpeg_frame::read(encoded);
  if (frame && frame->width == info.width && frame->height == info.height) {
    decoder_lease<jpeg_decoder> decoder;
    decode_request with = request;
    for (;;) {
      try {
        if ((*decoder).decode(*frame, encoded, with, sink)) return;
        break;
      } catch (const wrong_jpeg_place&) {
        with.notes = nullptr;
      }
    }
  }
  decode_rows_by_another(encoded, info, request, sink);
}

constinit const codec jpeg_codec{"wick", &jpeg_probe, &check_jpeg_ends, &decode_by_rows<&jpeg_decode_rows>,
                                 &jpeg_decode_rows};

}  // namespace wick::detail

/// \file
/// JPEG by libjpeg-turbo. Included in exactly one file of a program: one of CMake's target wick::core, or,
/// with the single header, the one that defines WICK_IMPLEMENTATION.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include <wick/codec/codec.hpp>
#include <wick/codec/detail/byte_order.hpp>
#include <wick/codec/detail/jpeg_header.hpp>
#include <wick/codec/detail/libjpeg_turbo.hpp>
#include <wick/codec/impl/jpeg_decompressor.hpp>
#include <wick/codec/impl/jpeg_self_test.hpp>

namespace wick::detail {

/// The thread's decompressor, taken while it is used: a sink may decode something in its turn.
class jpeg_lease {
 public:
  jpeg_lease() : mine_(std::move(kept())) {
    if (mine_ == nullptr) mine_ = std::make_unique<jpeg_decompressor>();
  }
  jpeg_lease(const jpeg_lease&) = delete;
  jpeg_lease& operator=(const jpeg_lease&) = delete;
  ~jpeg_lease() { kept() = std::move(mine_); }
  jpeg_decompressor& operator*() noexcept { return *mine_; }

 private:
  [[gnu::noinline]] static std::unique_ptr<jpeg_decompressor>& kept() noexcept {
    static thread_local std::unique_ptr<jpeg_decompressor> mine;
    return mine;
  }
  std::unique_ptr<jpeg_decompressor> mine_;
};

/// The few pixels above libjpeg's limit are left to the next decoder.
inline bool libjpeg_turbo_probe(std::span<const std::byte> encoded, picture_info& info) {
  return probe_jpeg(encoded, info) && info.width <= JPEG_MAX_DIMENSION && info.height <= JPEG_MAX_DIMENSION;
}

/// An end-of-image marker at the end can't be pixels, in which FF is always followed by 0 or a restart
/// marker.
inline void libjpeg_turbo_check_complete(std::span<const std::byte> encoded, const picture_info&) {
  if (encoded.size() >= 2 && big16(encoded, encoded.size() - 2) == 0xFFD9) return;
  check_jpeg_complete(encoded);
}

template <bool OwnScan>
inline void libjpeg_turbo_decode_rows(std::span<const std::byte> encoded, const picture_info& info,
                                      const decode_request& request, row_sink& sink) {
  jpeg_lease decompressor;
  (*decompressor).decode(encoded, info, request, sink, OwnScan && jpeg_self_test::here().passed());
}

template <bool OwnScan>
inline decoded_picture libjpeg_turbo_decode(std::span<const std::byte> encoded, const picture_info& info,
                                            const decode_request& request) {
  image_sink sink;
  libjpeg_turbo_decode_rows<OwnScan>(encoded, info, request, sink);
  return std::move(sink.picture);
}

constinit const codec libjpeg_turbo_codec{"libjpeg-turbo",
                                          &libjpeg_turbo_probe,
                                          &libjpeg_turbo_check_complete,
                                          &libjpeg_turbo_decode<true>,
                                          &libjpeg_turbo_decode_rows<true>,
                                          nullptr,
                                          [] { return jpeg_self_test::here().note(); }};
constinit const codec libjpeg_turbo_api_codec{"libjpeg-turbo, by its interface alone", &libjpeg_turbo_probe,
                                              &libjpeg_turbo_check_complete, &libjpeg_turbo_decode<false>,
                                              &libjpeg_turbo_decode_rows<false>};

}  // namespace wick::detail

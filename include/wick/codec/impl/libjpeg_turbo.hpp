/// \file
/// JPEG by libjpeg-turbo. Included in exactly one file of a program: one of CMake's target wick::core, or,
/// with the single header, the one that defines WICK_IMPLEMENTATION.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include <wick/codec/codec.hpp>
#include <wick/codec/detail/image_sink.hpp>
#include <wick/codec/detail/jpeg_header.hpp>
#include <wick/codec/detail/libjpeg_turbo.hpp>
#include <wick/codec/impl/jpeg_decompressor.hpp>

namespace wick::detail {

/// The thread's decompressor, taken while it is used: a sink may decode something in its turn.
class libjpeg_turbo_lease {
 public:
  libjpeg_turbo_lease() : mine_(std::move(kept())) {
    if (mine_ == nullptr) mine_ = std::make_unique<jpeg_decompressor>();
  }
  libjpeg_turbo_lease(const libjpeg_turbo_lease&) = delete;
  libjpeg_turbo_lease& operator=(const libjpeg_turbo_lease&) = delete;
  ~libjpeg_turbo_lease() { kept() = std::move(mine_); }
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

inline void libjpeg_turbo_decode_rows(std::span<const std::byte> encoded, const picture_info& info,
                                      const decode_request& request, row_sink& sink) {
  libjpeg_turbo_lease decompressor;
  (*decompressor).decode(encoded, info, request, sink);
}

inline decoded_picture libjpeg_turbo_decode(std::span<const std::byte> encoded, const picture_info& info,
                                            const decode_request& request) {
  image_sink sink;
  libjpeg_turbo_decode_rows(encoded, info, request, sink);
  return std::move(sink.picture);
}

constinit const codec libjpeg_turbo_codec{"libjpeg-turbo", &libjpeg_turbo_probe, &check_jpeg_ends,
                                          &libjpeg_turbo_decode, &libjpeg_turbo_decode_rows};

}  // namespace wick::detail

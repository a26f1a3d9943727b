// Collects a decoder's rows in a new image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <wick/ext/codec.hpp>
#include <wick/ext/row_sink.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1::detail {

/// The image is complete when the decoder returns.
class image_sink final : public row_sink {
 public:
  decoded_picture picture;

  void begin(const decoded_rows& what) override {
    picture = {image(what.width, what.height, what.channels), what.left, what.top, what.scale};
    done_ = 0;
  }
  std::span<std::uint8_t* const> room() override {
    if (done_ == picture.pixels.height()) return {};
    row_ = picture.pixels.row(done_);
    return {&row_, 1};
  }
  void written(int count) override { done_ += count; }

 private:
  std::uint8_t* row_ = nullptr;
  int done_ = 0;
};

/// codec::decode for a decoder that delivers rows.
template <auto DecodeRows>
decoded_picture decode_by_rows(std::span<const std::byte> encoded, const picture_info& info,
                               const decode_request& request) {
  image_sink sink;
  DecodeRows(encoded, info, request, sink);
  return std::move(sink.picture);
}

}  // namespace wick::detail

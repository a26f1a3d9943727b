// Implements pixels/image.hpp. Included in exactly one file of a program.
#pragma once

#include <new>
#include <string>
#include <utility>

#include <wick/pipeline/error.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1::detail {

picture_view picture_view::part(int x, int y, int part_width, int part_height) const noexcept {
  return {data + y * stride + std::ptrdiff_t{x} * channels, part_width, part_height, channels, stride};
}

picture_target picture_target::interleaved(void* data, int width, int height, int channels) noexcept {
  return {static_cast<std::uint8_t*>(data), width, height, channels, channels,
          std::ptrdiff_t{width} * channels, 1};
}

picture_target picture_target::planar(void* data, int width, int height, int channels) noexcept {
  return {static_cast<std::uint8_t*>(data), width, height, channels, 1, width,
          std::ptrdiff_t{width} * height};
}

void copy_pixels(const picture_view& from, const picture_target& to) noexcept {
  const auto row_bytes = static_cast<std::size_t>(from.width) * static_cast<std::size_t>(from.channels);
  const bool whole_rows = to.plane == 1 && to.step == from.channels;
  if (whole_rows && from.stride == to.row && from.stride == static_cast<std::ptrdiff_t>(row_bytes)) {
    // In one piece, memcpy writes large blocks without reading their memory first: twice as fast.
    if (from.height > 0) std::memcpy(to.data, from.data, row_bytes * static_cast<std::size_t>(from.height));
    return;
  }
  for (int y = 0; y < from.height; ++y) {
    const std::uint8_t* in = from.data + y * from.stride;
    std::uint8_t* out = to.data + y * to.row;
    if (whole_rows) {
      std::memcpy(out, in, row_bytes);
      continue;
    }
    for (int c = 0; c < from.channels; ++c) {
      for (int x = 0; x < from.width; ++x) out[x * to.step + c * to.plane] = in[x * from.channels + c];
    }
  }
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

image::image(int width, int height, int channels) : image(nullptr, width, height, channels) {
  if (width < 0 || height < 0 || channels < 1 || channels > 4) {
    throw error("image: cannot make " + std::to_string(width) + " x " + std::to_string(height) + " px with " +
                std::to_string(channels) + " channels; sides are at least 0, channels 1 to 4");
  }
  if (size() != 0 && (data_ = static_cast<std::uint8_t*>(detail::allocate_block(size()))) == nullptr) {
    throw std::bad_alloc();
  }
}

image::image(const image& other) : image() {
  if (other.data_ == nullptr) return;
  image copy(other.width_, other.height_, other.channels_);
  std::memcpy(copy.data_, other.data_, other.size());
  swap(copy);
}

image& image::operator=(image other) noexcept {
  swap(other);
  return *this;
}

image image::adopt(std::uint8_t* data, int width, int height, int channels) noexcept {
  return image(data, width, height, channels);
}

void image::save(ext::cache_writer& out) const {
  out.number(detail::kept_extents{width_, height_, channels_});
  out.put(data_, this->size());
}

image image::load(ext::cache_reader& in) {
  const auto size = detail::kept_extents::of(in, 1);
  if (size.channels == 0) return {};
  image out(size.width, size.height, size.channels);
  in.take(out.data(), out.size());
  return out;
}

void image::write_to(ext::slot to) const noexcept {
  detail::copy_pixels(view(), to.planar
                                  ? detail::picture_target::planar(to.data, width_, height_, channels_)
                                  : detail::picture_target::interleaved(to.data, width_, height_, channels_));
}

std::size_t image::size() const noexcept {
  return static_cast<std::size_t>(stride()) * static_cast<std::size_t>(height_);
}

void image::swap(image& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(width_, other.width_);
  std::swap(height_, other.height_);
  std::swap(channels_, other.channels_);
}

}  // namespace wick

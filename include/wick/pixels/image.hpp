// A decoded image: 8-bit pixels in rows, channels interleaved. A user's stage that asks for pixels gets
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <wick/ext/cache_bytes.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/pixels/detail/block_cache.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// Pixels that another object owns, for reading: rows `stride` bytes apart, channels interleaved.
struct picture_view {
  const std::uint8_t* data = nullptr;
  int width = 0, height = 0, channels = 0;
  std::ptrdiff_t stride = 0;

  /// A rectangle of the view; it must be inside.
  picture_view part(int x, int y, int part_width, int part_height) const noexcept;
};

/// Pixels that another object owns, for writing. Channel c of pixel (x, y) is data[y * row + x * step + c
/// * plane]: interleaved with step = channels and plane = 1, planar with step = 1 and plane = width * height.
struct picture_target {
  std::uint8_t* data = nullptr;
  int width = 0, height = 0, channels = 0;
  std::ptrdiff_t step = 0, row = 0, plane = 0;

  static picture_target interleaved(void* data, int width, int height, int channels) noexcept;
  static picture_target planar(void* data, int width, int height, int channels) noexcept;
};

/// Writes the pixels into `to`, which must have the same size and channels.
void copy_pixels(const picture_view& from, const picture_target& to) noexcept;

}  // namespace detail

/// A decoded image, H W C, one byte a channel: 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA. Batches as [H, W,
/// C] or, in a planar slot, [C, H, W].
class image {
 public:
  static constexpr bool is_picture = true;

  image() noexcept = default;
  /// The pixels aren't initialized. \throws wick::error when a side is negative or channels isn't 1 to 4.
  /// \throws std::bad_alloc
  image(int width, int height, int channels);
  image(const image& other);
  image(image&& other) noexcept : image() { swap(other); }
  image& operator=(image other) noexcept;
  ~image() { detail::release_block(data_); }

  /// Takes over pixels from detail::allocate_block: for codecs whose library allocates.
  static image adopt(std::uint8_t* data, int width, int height, int channels) noexcept;

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  int channels() const noexcept { return channels_; }
  bool empty() const noexcept { return size() == 0; }
  std::size_t kept_bytes() const noexcept { return size(); }
  /// For a cache on disk.
  void save(ext::cache_writer& out) const;
  static image load(ext::cache_reader& in);
  static constexpr std::string_view saved_as = "image 1";

  std::uint8_t* data() noexcept { return data_; }
  const std::uint8_t* data() const noexcept { return data_; }
  std::uint8_t* row(int y) noexcept { return data_ + y * stride(); }
  const std::uint8_t* row(int y) const noexcept { return data_ + y * stride(); }
  std::span<std::uint8_t> pixels() noexcept { return {data_, size()}; }
  std::span<const std::uint8_t> pixels() const noexcept { return {data_, size()}; }
  detail::picture_view view() const noexcept { return {data_, width_, height_, channels_, stride()}; }

  /// [H, W, C].
  wick::shape extents() const { return {height_, width_, channels_}; }
  dtype type() const noexcept { return dtype::uint8; }
  void write_to(ext::slot to) const noexcept;

  friend bool operator==(const image& a, const image& b) noexcept {
    return a.width_ == b.width_ && a.height_ == b.height_ && a.channels_ == b.channels_ &&
           (a.size() == 0 || std::memcmp(a.data_, b.data_, a.size()) == 0);
  }

 private:
  image(std::uint8_t* data, int width, int height, int channels) noexcept
      : data_(data), width_(width), height_(height), channels_(channels) {}
  std::ptrdiff_t stride() const noexcept { return std::ptrdiff_t{width_} * channels_; }
  std::size_t size() const noexcept;
  void swap(image& other) noexcept;

  std::uint8_t* data_ = nullptr;
  int width_ = 0, height_ = 0, channels_ = 0;
};

}  // namespace wick

/// \file
/// Color operations on finished pixels, in place: brightness, contrast, saturation, hue, gray; and float32
/// with mean and deviation taken out. The last things done to a picture before it is batched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <wick/pixels/image.hpp>

namespace wick::detail {

/// One color operation, as torchvision.transforms.functional defines it on uint8 tensors. Alpha stays as it
/// is.
struct pixel_op {
  enum class kind : std::uint8_t {
    brightness,  ///< blend with black; value ≥ 0, 1 changes nothing
    contrast,    ///< blend with the mean of the gray picture; value ≥ 0
    saturation,  ///< blend with the gray picture; value ≥ 0
    hue,         ///< turn the color circle; value in [-0.5, 0.5] of a turn
    gray,        ///< all three colors become the gray picture
  };
  kind what = kind::brightness;
  float value = 1;

  /// Whether a pixel's result depends on that pixel alone.
  bool pointwise() const noexcept { return what != kind::contrast; }
};

/// torchvision's rgb_to_grayscale: ITU-R 601-2 luma, cut off, not rounded.
std::uint8_t luma(std::uint8_t r, std::uint8_t g, std::uint8_t b) noexcept;

/// torchvision's _blend: value * a + (1 - value) * b, clamped to [0, 255], cut off.
std::uint8_t blend(float value, std::uint8_t a, float b) noexcept;

template <class F>
inline void for_each_pixel(const picture_target& p, F f) {
  for (int y = 0; y < p.height; ++y) {
    std::uint8_t* pixel = p.data + y * p.row;
    for (int x = 0; x < p.width; ++x, pixel += p.step) f(pixel);
  }
}

void map_levels(const picture_target& p, const std::array<std::uint8_t, 256>& level);

float mean_luma(const picture_target& p);

/// Turns the hue by `turn`, in [-1, 1]: torchvision's _rgb2hsv and _hsv2rgb with their terms gathered, so
/// that one division a pixel is left.
std::array<std::uint8_t, 3> turn_hue(std::uint8_t r8, std::uint8_t g8, std::uint8_t b8, float turn) noexcept;

/// Carries out one operation on the pixels at `p`.
void apply(const pixel_op& op, const picture_target& p);

/// Mean and deviation a channel, for pixels in [0, 1]. One pair serves all channels; count 0 means no
/// normalization.
struct normalization {
  std::array<float, 4> mean{}, deviation{};
  int count = 0;
};

/// \throws wick::error unless there is one mean, or one for each channel
void require_channels(const normalization& by, int channels);

/// Writes (x / 255 - mean) / deviation as float32, planar or interleaved, to `to`. \throws wick::error when
/// the number of channels is another one
void write_normalized(const image& from, const normalization& by, std::byte* to, bool planar);

}  // namespace wick::detail

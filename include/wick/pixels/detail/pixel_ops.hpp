// In-place operations on finished pixels that don't move them: levels, colors, blur, erasing, and
// normalization to float32. The last steps before an image is batched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <wick/pipeline/shape.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1::detail {

/// One operation, as torchvision.transforms.v2.functional defines it for uint8 tensors. It leaves alpha
/// unchanged, unless noted.
struct pixel_op {
  enum class kind : std::uint8_t {
    brightness,    ///< blend with black; value ≥ 0, 1 changes nothing
    contrast,      ///< blend with the mean of the gray picture; value ≥ 0
    saturation,    ///< blend with the gray picture; value ≥ 0
    hue,           ///< turn the color circle; value in [-0.5, 0.5] of a turn
    gray,          ///< all three colors become the gray picture
    invert,        ///< 255 - level
    posterize,     ///< keeps the upper bits; value is how many, 0 to 8
    solarize,      ///< inverts levels from value on
    autocontrast,  ///< stretches each channel to the range 0 to 255
    equalize,      ///< makes all levels of each channel about equally frequent
    sharpness,     ///< blend with the image smoothed by 3 x 3; value ≥ 0, 1 changes nothing
    blur,          ///< Gaussian of deviation value over box.width x box.height px, both odd; also alpha
    permute,       ///< color c becomes what color levels[c] was
    erase,         ///< `box` gets `levels`; also alpha
  };
  kind what = kind::brightness;
  double value = 1;
  std::array<std::uint8_t, 4> levels{};
  rect box{};

  /// Whether each result depends only on its own pixel and its position.
  bool pointwise() const noexcept;
  /// Adjusts the box when the image is cropped or mirrored after the operation.
  void crop(const rect& part) noexcept {
    box.x -= part.x;
    box.y -= part.y;
  }
  void mirror_x(int width) noexcept { box.x = width - box.x - box.width; }
  void mirror_y(int height) noexcept { box.y = height - box.y - box.height; }
};

/// torchvision's _blend: value * a + (1 - value) * b, clamped to [0, 255], truncated; with Torch's rounding.
std::uint8_t blend(double value, std::uint8_t a, float b) noexcept;

template <class F>
inline void for_each_pixel(const picture_target& p, F f) {
  for (int y = 0; y < p.height; ++y) {
    std::uint8_t* pixel = p.data + y * p.row;
    for (int x = 0; x < p.width; ++x, pixel += p.step) f(pixel);
  }
}

/// A table from color levels to color levels: combines per-level operations until pixels are needed.
struct level_map {
  std::array<std::uint8_t, 256> to{};
  bool changes = false;

  level_map() noexcept {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::uint8_t>(i);
  }
};

void map_levels(const picture_target& p, const level_map& by);

/// The mean of the image after `first` is applied to its levels.
float mean_luma(const picture_target& p, const level_map& first = {});

/// Shifts the hue by `turn`, in [-1, 1]: torchvision's _rgb2hsv and _hsv2rgb, combined so that only one
/// division a pixel remains.
std::array<std::uint8_t, 3> turn_hue(std::uint8_t r8, std::uint8_t g8, std::uint8_t b8, float turn) noexcept;

/// Applies one operation to the pixels at `p`.
void apply(const pixel_op& op, const picture_target& p);

/// Applies the operations in order. With `rest`, the final per-level ones are left to the caller, which reads
/// all levels anyway.
void apply(std::span<const pixel_op> ops, const picture_target& p, level_map* rest = nullptr);

/// The intersection of `part` and `other`, relative to part's corner; empty if they don't overlap.
rect shared_part(const rect& part, const rect& other) noexcept;

/// A box of float32 values that are overwritten after everything else. It may extend past the image.
struct erased_numbers {
  rect box;
  std::array<float, 4> values{};  ///< for each channel
  bool noise = false;             ///< normally distributed values instead, generated from `key`
  std::uint64_t key = 0;
  bool mirrored_x = false, mirrored_y = false;  ///< since the box was chosen; also mirrors the noise

  void crop(const rect& part) noexcept {
    box.x -= part.x;
    box.y -= part.y;
  }
  void mirror_x(int width) noexcept {
    box.x = width - box.x - box.width;
    mirrored_x = !mirrored_x;
  }
  void mirror_y(int height) noexcept {
    box.y = height - box.y - box.height;
    mirrored_y = !mirrored_y;
  }
};

/// Erases in an image of shape `of` [H, W, C], stored in `to`.
void erase(const erased_numbers& what, const shape& of, const slot& to);

/// Mean and deviation for each channel, for pixels in [0, 1]. One pair serves all channels; count 0 means no
/// normalization.
struct normalization {
  std::array<float, 4> mean{}, deviation{};
  int count = 0;
};

/// \throws wick::error unless there is one mean, or one for each channel
void require_channels(const normalization& by, int channels);

/// Writes (x / 255 - mean) / deviation to `to` as float32, planar or interleaved, where x is a level mapped
/// by `first`. \throws wick::error when the number of channels doesn't match
void write_normalized(const image& from, const level_map& first, const normalization& by, std::byte* to,
                      bool planar);

}  // namespace wick::detail

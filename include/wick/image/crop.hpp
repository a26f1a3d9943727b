/// \file
/// Cropping stages: center_crop, random_crop, random_resized_crop. They decide on a rectangle; no pixel moves
/// yet.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <wick/image/detail/arguments.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/image/pad.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/sample/stage.hpp>

namespace wick {

// ---- center_crop ----

namespace detail {

class center_crop_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "center_crop";

  center_crop_stage(int height, int width) : height_(height), width_(width) {
    detail::require_size(name, height, width);
  }
  /// \throws wick::error when the picture is smaller than the crop
  lazy_image operator()(lazy_image picture, context&) const {
    picture.crop({half(picture.width() - width_), half(picture.height() - height_), width_, height_});
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(height_, width_); }

 private:
  /// Half of n as torchvision rounds it: ties to even, Python's round().
  static int half(int n) noexcept { return n / 2 + (n % 2 != 0 ? (n / 2) & 1 : 0); }
  int height_, width_;
};

}  // namespace detail

/// The middle, height x width px. Unlike torchvision's, it does not pad a smaller picture: that is an error.
inline detail::center_crop_stage center_crop(int height, int width) { return {height, width}; }
inline detail::center_crop_stage center_crop(int size) { return {size, size}; }

// ---- random_crop ----

namespace detail {

struct random_crop_options {
  edges padding{};             ///< added before the crop: `.padding = 4`
  bool pad_if_needed = false;  ///< widen a picture that is smaller than the crop, on both sides
  fill_color fill{};           ///< the border's color where the mode is constant
  wick::padding_mode padding_mode = wick::padding_mode::constant;  ///< what stands in the border
};

class random_crop_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "random_crop";

  random_crop_stage(int height, int width, const random_crop_options& options)
      : height_(height), width_(width), options_(options) {
    detail::require_size(name, height, width);
    detail::require_edges(name, options.padding);
  }
  /// \throws wick::error when the picture (padded) is smaller than the crop
  lazy_image operator()(lazy_image picture, context& ctx) const {
    const edges& p = options_.padding;
    edges around = p;
    if (options_.pad_if_needed) {
      const int across = width_ - (picture.width() + p.left + p.right);
      const int down = height_ - (picture.height() + p.top + p.bottom);
      if (across > 0) around.left += across, around.right += across;
      if (down > 0) around.top += down, around.bottom += down;
    }
    if (!around.empty())
      // NOLINTNEXTLINE(bugprone-use-after-move): what was moved out is replaced
      picture.replace_pixels(
          pad_picture(std::move(picture).pixels(), around, options_.fill, options_.padding_mode));
    rect part{0, 0, width_, height_};
    if (picture.height() > height_) part.y = below(ctx, picture.height() - height_ + 1);
    if (picture.width() > width_) part.x = below(ctx, picture.width() - width_ + 1);
    picture.crop(part);
    return picture;
  }
  std::uint64_t fingerprint() const noexcept {
    const auto& [padding, pad_if_needed, fill, mode] = options_;
    return fingerprint_hash::of(height_, width_, padding.each(), pad_if_needed, fill.levels, mode);
  }

 private:
  static int below(context& ctx, int bound) noexcept {
    return static_cast<int>(ctx.random().below(static_cast<std::uint64_t>(bound)));
  }
  int height_, width_;
  random_crop_options options_;
};

}  // namespace detail

/// A rectangle of height x width px, every position equally likely. torchvision.transforms.RandomCrop.
inline detail::random_crop_stage random_crop(int height, int width,
                                             const detail::random_crop_options& options = {}) {
  return {height, width, options};
}
inline detail::random_crop_stage random_crop(int size, const detail::random_crop_options& options = {}) {
  return {size, size, options};
}

// ---- random_resized_crop ----

namespace detail {

struct random_resized_crop_options {
  std::array<double, 2> scale{0.08, 1.0};  ///< least and greatest share of the picture's area
  std::array<double, 2> ratio{3.0 / 4.0,
                              4.0 / 3.0};  ///< least and greatest width / height, before the resize
  wick::interpolation interpolation = wick::interpolation::bilinear;  ///< the filter of the resize
};

class random_resized_crop_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "random_resized_crop";

  random_resized_crop_stage(int height, int width, const random_resized_crop_options& options)
      : height_(height), width_(width), options_(options) {
    detail::require_size(name, height, width);
    const auto& [least, greatest] = options.scale;
    if (!(least > 0 && least <= greatest && std::isfinite(greatest))) {
      throw error("random_resized_crop: scale {" + std::to_string(least) + ", " + std::to_string(greatest) +
                  "}; give two shares of the area, the smaller first, such as {0.08, 1}");
    }
    const auto& [narrow, wide] = options.ratio;
    if (!(narrow > 0 && narrow <= wide && std::isfinite(wide))) {
      throw error("random_resized_crop: ratio {" + std::to_string(narrow) + ", " + std::to_string(wide) +
                  "}; give two ratios of width to height, the smaller first, such as {3. / 4, 4. / 3}");
    }
  }
  lazy_image operator()(lazy_image picture, context& ctx) const {
    picture.crop(choose(picture.width(), picture.height(), ctx.random()));
    picture.resize(width_, height_, options_.interpolation);
    return picture;
  }

  /// The rectangle for a picture of this size: torchvision's RandomResizedCrop.get_params.
  rect choose(int width, int height, random_stream& random) const noexcept {
    const double area = static_cast<double>(width) * height;
    const double low = std::log(options_.ratio[0]), high = std::log(options_.ratio[1]);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double wanted = area * random.uniform(options_.scale[0], options_.scale[1]);
      const double ratio = std::exp(random.uniform(low, high));
      const double w = std::nearbyint(std::sqrt(wanted * ratio)),
                   h = std::nearbyint(std::sqrt(wanted / ratio));
      if (!(w >= 1 && w <= width && h >= 1 && h <= height)) continue;
      const int wide = static_cast<int>(w), tall = static_cast<int>(h);
      const auto y = static_cast<int>(random.below(static_cast<std::uint64_t>(height - tall) + 1));
      const auto x = static_cast<int>(random.below(static_cast<std::uint64_t>(width - wide) + 1));
      return {x, y, wide, tall};
    }
    // None fitted: the middle, as large as the ratio allows.
    const double ratio = static_cast<double>(width) / height;
    int w = width, h = height;
    if (ratio < options_.ratio[0])
      h = at_least_one(width / options_.ratio[0], height);
    else if (ratio > options_.ratio[1])
      w = at_least_one(height * options_.ratio[1], width);
    return {(width - w) / 2, (height - h) / 2, w, h};
  }
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash::of(height_, width_, options_.scale, options_.ratio, options_.interpolation);
  }

 private:
  static int at_least_one(double side, int most) noexcept {
    return static_cast<int>(std::clamp(std::nearbyint(side), 1.0, static_cast<double>(most)));
  }
  int height_, width_;
  random_resized_crop_options options_;
};

}  // namespace detail

/// A rectangle of random area and shape, resized to height x width px: the usual augmentation of ImageNet
/// training (Szegedy et al., "Going deeper with convolutions", 2015).
/// torchvision.transforms.RandomResizedCrop.
inline detail::random_resized_crop_stage random_resized_crop(
    int height, int width, const detail::random_resized_crop_options& options = {}) {
  return {height, width, options};
}
inline detail::random_resized_crop_stage random_resized_crop(
    int size, const detail::random_resized_crop_options& options = {}) {
  return {size, size, options};
}

}  // namespace wick

// The resize stage: to a size, or by the shorter or longer edge. It records the size; the filtering happens
// in the batch's slot.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <wick/ext/stage.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1 {

/// Options of resize().
struct resize_options {
  /// The limit of the longer edge when resizing by the shorter one (none by default), or the size of the
  /// longer edge.
  std::optional<int> max_size = {};
  wick::interpolation interpolation = wick::interpolation::bilinear;  ///< the filter
};

namespace detail {

class resize_stage : public geometry_stage<resize_stage> {
 public:
  static constexpr stage_traits traits{
      .name = "resize", .has_fingerprint = true, .in_slot = slot_phase::resize};

  resize_stage(int height, int width, const resize_options& options);
  resize_stage(int shorter_edge, const resize_options& options);
  explicit resize_stage(const resize_options& options);
  geometry_steps decide(frame size, context&) const noexcept;

  /// Width and height for an image of this size. When resizing by one edge, the other one is truncated to a
  /// whole number, as torchvision's int() does.
  std::pair<int, int> size_for(int width, int height) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  int shorter_ = 0, height_ = 0, width_ = 0;  // all 0: by the longer edge
  resize_options options_;
};

}  // namespace detail

/// Resizes to height x width px, antialiased: torchvision.transforms.Resize((height, width)). cv::resize(),
/// except with INTER_AREA, and torch::nn::functional::interpolate() don't antialias, and give other pixels
/// when an image shrinks.
detail::resize_stage resize(int height, int width, const resize_options& options = {});
/// Resizes the shorter edge to that many pixels, in the same proportions.
/// torchvision.transforms.Resize(size).
detail::resize_stage resize(int shorter_edge, const resize_options& options = {});
/// Resizes the longer edge to that many pixels, in the same proportions: `resize({.max_size = 640})`.
/// torchvision.transforms.v2.Resize(None, max_size=640).
detail::resize_stage resize(const resize_options& options);

}  // namespace wick

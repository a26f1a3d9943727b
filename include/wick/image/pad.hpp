/// \file
/// The pad stage: a border around the picture. It needs the pixels, so what was planned before it is carried
/// out first.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <wick/image/lazy_image.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/stage.hpp>

namespace wick {

namespace detail {

/// Pixels on each side: one number for all, two for left and right, top and bottom, or four.
struct edges {
  int left = 0, top = 0, right = 0, bottom = 0;

  constexpr edges() noexcept = default;
  constexpr edges(int all) noexcept : edges(all, all, all, all) {}  // NOLINT: implicit on purpose
  constexpr edges(int across, int down) noexcept : edges(across, down, across, down) {}
  constexpr edges(int l, int t, int r, int b) noexcept : left(l), top(t), right(r), bottom(b) {}
  constexpr std::array<int, 4> each() const noexcept { return {left, top, right, bottom}; }
  constexpr bool empty() const noexcept { return left == 0 && top == 0 && right == 0 && bottom == 0; }
};

/// One level for all channels, or one each: `128`, `{124, 116, 104}`; cut to [0, 255].
struct fill_color {
  std::array<std::uint8_t, 4> levels{};

  constexpr fill_color() noexcept = default;
  constexpr fill_color(int all) noexcept : fill_color(all, all, all, all) {}  // NOLINT: implicit on purpose
  constexpr fill_color(int r, int g, int b, int a = 255) noexcept
      : levels{level(r), level(g), level(b), level(a)} {}

 private:
  static constexpr std::uint8_t level(int v) noexcept {
    return static_cast<std::uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v);
  }
};

}  // namespace detail

/// What stands in the border that pad() makes.
enum class padding_mode : std::uint8_t {
  constant,   ///< the fill color
  edge,       ///< the outermost pixel again and again
  reflect,    ///< mirrored about the outermost pixel, which is not repeated
  symmetric,  ///< mirrored about the edge
};

namespace detail {

struct pad_options {
  fill_color fill{};  ///< the border's color where the mode is constant
  wick::padding_mode padding_mode = wick::padding_mode::constant;  ///< what stands in the border
};

void require_edges(std::string_view stage, const edges& e);

/// The source coordinate for each padded one; -1 where the fill goes.
std::vector<int> padded_axis(int size, int before, int after, padding_mode mode);

/// `picture` with a border. \throws wick::error when it is mirrored by more than it has
image pad_picture(const image& picture, const edges& by, const fill_color& fill, padding_mode mode);

class pad_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "pad";

  pad_stage(const edges& by, const pad_options& options);
  lazy_image operator()(lazy_image picture, context&) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  edges by_;
  pad_options options_;
};

}  // namespace detail

/// A border of `by` pixels: `pad(4)`, `pad({8, 4})` for left and right, top and bottom.
/// torchvision.transforms.Pad.
detail::pad_stage pad(const detail::edges& by, const detail::pad_options& options = {});
detail::pad_stage pad(int left, int top, int right, int bottom, const detail::pad_options& options = {});

}  // namespace wick

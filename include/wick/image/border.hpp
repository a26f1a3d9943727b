// The border around an image: its width and its fill.
#pragma once

#include <array>
#include <cstdint>

namespace wick::inline v0_1 {

/// Pixels on each side: one number for all sides, two (left and right, top and bottom), or four.
struct edges {
  int left = 0, top = 0, right = 0, bottom = 0;

  constexpr edges() noexcept = default;
  constexpr edges(int all) noexcept : edges(all, all, all, all) {}  // NOLINT: implicit on purpose
  constexpr edges(int across, int down) noexcept : edges(across, down, across, down) {}
  constexpr edges(int l, int t, int r, int b) noexcept : left(l), top(t), right(r), bottom(b) {}
  constexpr std::array<int, 4> each() const noexcept { return {left, top, right, bottom}; }
  constexpr bool empty() const noexcept { return left == 0 && top == 0 && right == 0 && bottom == 0; }
};

/// One level for all channels, or one for each: `128`, `{124, 116, 104}`. Levels are clamped to [0, 255].
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

/// How pad() fills the border.
enum class padding_mode : std::uint8_t {
  constant,   ///< the fill color
  edge,       ///< the outermost pixel, repeated
  reflect,    ///< mirrored about the outermost pixel, which is not repeated
  symmetric,  ///< mirrored about the edge
};

}  // namespace wick

// Maps the numbers of a palette, or of gray levels with few bits, to colors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wick::inline v0_1::detail {

/// Pillow's convert("L"): ITU-R 601-2 luma, rounded. Also for 16 bits.
constexpr std::uint32_t rounded_luma(std::uint32_t r, std::uint32_t g, std::uint32_t b) noexcept {
  return (r * 19595u + g * 38470u + b * 7471u + 0x8000u) >> 16;
}

struct palette_table {
  /// Unset colors are black.
  std::array<std::array<std::uint8_t, 4>, 256> rgba{};

  palette_table() noexcept {
    for (auto& c : rgba) c[3] = 255;
  }
  void set(std::size_t i, int r, int g, int b, int a) noexcept {
    rgba[i] = {static_cast<std::uint8_t>(r), static_cast<std::uint8_t>(g), static_cast<std::uint8_t>(b),
               static_cast<std::uint8_t>(a)};
  }
};

/// The levels that each number becomes in an image of 1 to 4 channels: its color's channels, or the number
/// itself.
class picked_levels {
 public:
  picked_levels(const palette_table& colors, int channels, bool indexes) noexcept
      : channels_(channels), numbers_(indexes && channels == 1) {
    for (std::size_t i = 0; i < 256; ++i) {
      const auto& [r, g, b, a] = colors.rgba[i];
      const auto gray = static_cast<std::uint8_t>(rounded_luma(r, g, b));
      if (indexes)
        levels_[i] = {static_cast<std::uint8_t>(i), 0, 0, 0};
      else if (channels >= 3)
        levels_[i] = {r, g, b, a};
      else
        levels_[i] = {gray, a, 0, 0};
    }
  }

  void write(const std::uint8_t* numbers, std::size_t count, std::uint8_t* out) const noexcept {
    if (numbers_) {
      if (count != 0) std::memcpy(out, numbers, count);
      return;
    }
    switch (channels_) {
      case 1:
        return write_each<1>(numbers, count, out);
      case 2:
        return write_each<2>(numbers, count, out);
      case 3:
        return write_each<3>(numbers, count, out);
      default:
        return write_each<4>(numbers, count, out);
    }
  }

 private:
  template <std::size_t Channels>
  void write_each(const std::uint8_t* numbers, std::size_t count, std::uint8_t* out) const noexcept {
    for (std::size_t i = 0; i < count; ++i, out += Channels) {
      const auto& color = levels_[numbers[i]];
      for (std::size_t c = 0; c < Channels; ++c) out[c] = color[c];
    }
  }

  int channels_;
  bool numbers_;  // kept unchanged
  std::array<std::array<std::uint8_t, 4>, 256> levels_{};
};

}  // namespace wick::detail

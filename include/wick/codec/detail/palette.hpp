/// \file
/// Numbers that stand for colors: what a palette, or a scale of gray of few bits, gives for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace wick::detail {

/// Pillow's convert("L"): ITU-R 601-2 luma, rounded. Of 16 bits as well.
constexpr std::uint32_t rounded_luma(std::uint32_t r, std::uint32_t g, std::uint32_t b) noexcept {
  return (r * 19595u + g * 38470u + b * 7471u + 0x8000u) >> 16;
}

struct palette_table {
  /// Those that are not set are black.
  std::array<std::array<std::uint8_t, 4>, 256> rgba{};

  palette_table() noexcept;
  void set(std::size_t i, int r, int g, int b, int a) noexcept;
};

/// What each number becomes in a picture of 1 to 4 channels: the channels of its color, or the number itself.
class picked_levels {
 public:
  picked_levels(const palette_table& colors, int channels, bool indexes) noexcept;

  void write(const std::uint8_t* numbers, std::size_t count, std::uint8_t* out) const noexcept;

 private:
  template <std::size_t Channels>
  void write_each(const std::uint8_t* numbers, std::size_t count, std::uint8_t* out) const noexcept {
    for (std::size_t i = 0; i < count; ++i, out += Channels) {
      const auto& color = levels_[numbers[i]];
      for (std::size_t c = 0; c < Channels; ++c) out[c] = color[c];
    }
  }

  int channels_;
  std::array<std::array<std::uint8_t, 4>, 256> levels_{};
};

}  // namespace wick::detail

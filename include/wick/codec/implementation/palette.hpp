/// \file
/// The bodies of what codec/detail/palette.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstdint>

#include <wick/codec/detail/palette.hpp>

namespace wick::detail {

palette_table::palette_table() noexcept {
  for (auto& c : rgba) c[3] = 255;
}

void palette_table::set(std::size_t i, int r, int g, int b, int a) noexcept {
  rgba[i] = {static_cast<std::uint8_t>(r), static_cast<std::uint8_t>(g), static_cast<std::uint8_t>(b),
             static_cast<std::uint8_t>(a)};
}

picked_levels::picked_levels(const palette_table& colors, int channels, bool indexes) noexcept
    : channels_(channels) {
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

void picked_levels::write(const std::uint8_t* numbers, std::size_t count, std::uint8_t* out) const noexcept {
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

}  // namespace wick::detail

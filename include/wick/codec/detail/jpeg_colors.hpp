// The color model of a JPEG, by libjpeg's rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <wick/codec/detail/byte_order.hpp>
#include <wick/codec/detail/signature.hpp>

namespace wick::inline v0_1::detail {

/// CMYK components are stored inverted, as Adobe does.
enum class jpeg_color_model : std::uint8_t { gray, ycc, rgb, cmyk, ycck };

/// The application segments that determine the color model: JFIF's and Adobe's.
class jpeg_color_marks {
 public:
  /// Reads a segment before the first scan, `size` bytes at `at`.
  void see(std::span<const std::byte> file, unsigned marker, std::size_t at, std::size_t size) noexcept {
    if (marker == 0xE0 && size >= 14 && starts_with(file, std::string_view("JFIF\0", 5), at)) jfif_ = true;
    if (marker == 0xEE && size >= 12 && starts_with(file, "Adobe", at)) {
      adobe_ = true;
      transform_ = byte_at(file, at + 11);
    }
  }
  /// The same as libjpeg's default_decompress_parms (jdapimin.c). `ids` are those of the first three
  /// components.
  jpeg_color_model model(std::size_t components, const std::array<std::uint32_t, 3>& ids) const noexcept {
    if (components == 1) return jpeg_color_model::gray;
    if (components == 4) return adobe_ && transform_ != 0 ? jpeg_color_model::ycck : jpeg_color_model::cmyk;
    if (jfif_) return jpeg_color_model::ycc;
    if (adobe_) return transform_ == 0 ? jpeg_color_model::rgb : jpeg_color_model::ycc;
    return ids == std::array<std::uint32_t, 3>{'R', 'G', 'B'} ? jpeg_color_model::rgb : jpeg_color_model::ycc;
  }

 private:
  std::uint32_t transform_ = 0;
  bool jfif_ = false, adobe_ = false;
};

}  // namespace wick::detail

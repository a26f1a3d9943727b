// The second half of decoding a JPEG with stb_image. stb_image decodes the components; this file upsamples
// them and converts their colors, by libjpeg-turbo's rules. Included only by stb_image.ipp, after
// stb_image's code.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <wick/codec/detail/jpeg_layout.hpp>
#include <wick/codec/detail/palette.hpp>

namespace wick::inline v0_1::detail {

/// A component's samples; each becomes `across` x `down` pixels.
class jpeg_plane {
 public:
  jpeg_plane(const stbi__jpeg& from, int component, std::uint8_t* line) noexcept
      : data_(from.img_comp[component].data),
        stride_(from.img_comp[component].w2),
        height_(from.img_comp[component].y),
        across_(from.img_h_max / from.img_comp[component].h),
        down_(from.img_v_max / from.img_comp[component].v),
        line_(line) {
    const int width = static_cast<int>(from.s->img_x);
    width_ = (width + across_ - 1) / across_;
    both_ = from.resample_row_hv_2_kernel;
  }

  /// Row y of the image. A factor of two is upsampled smoothly, with weights 3 and 1, but not horizontally
  /// for two samples or fewer; all else is repeated. See jdsample.c.
  const std::uint8_t* row(int y) const noexcept {
    const int near = y / down_;
    std::uint8_t* const in = at(near);
    const bool smooth_across = across_ == 2 && width_ > 2;
    if (down_ == 2 && (smooth_across || across_ == 1)) {
      const bool upper = y % 2 == 0;
      std::uint8_t* const far = at(upper ? std::max(near - 1, 0) : std::min(near + 1, height_ - 1));
      if (smooth_across) return both_(line_, in, far, width_, 2);
      for (int x = 0; x < width_; ++x)
        line_[x] = static_cast<std::uint8_t>((3 * in[x] + far[x] + (upper ? 1 : 2)) >> 2);
      return line_;
    }
    if (across_ == 1) return in;
    if (smooth_across && down_ == 1) return widened(in);
    std::uint8_t* out = line_;
    for (int x = 0; x < width_; ++x) {
      for (int k = 0; k < across_; ++k) *out++ = in[x];
    }
    return line_;
  }
  /// The size of a line buffer.
  static std::size_t line_size(const stbi__jpeg& from) noexcept { return std::size_t{from.s->img_x} + 64; }

 private:
  std::uint8_t* at(int y) const noexcept { return data_ + std::ptrdiff_t{y} * stride_; }
  const std::uint8_t* widened(const std::uint8_t* in) const noexcept {
    const int last = width_ - 1;
    line_[0] = in[0];
    line_[1] = static_cast<std::uint8_t>((3 * in[0] + in[1] + 2) >> 2);
    for (int x = 1; x < last; ++x) {
      line_[2 * x] = static_cast<std::uint8_t>((3 * in[x] + in[x - 1] + 1) >> 2);
      line_[2 * x + 1] = static_cast<std::uint8_t>((3 * in[x] + in[x + 1] + 2) >> 2);
    }
    line_[2 * last] = static_cast<std::uint8_t>((3 * in[last] + in[last - 1] + 1) >> 2);
    line_[2 * last + 1] = in[last];
    return line_;
  }

  std::uint8_t* data_;
  std::ptrdiff_t stride_;
  int width_ = 0, height_, across_, down_;
  std::uint8_t* line_;
  std::uint8_t* (*both_)(std::uint8_t*, std::uint8_t*, std::uint8_t*, int, int);
};

/// Writes one row of pixels from the components' rows; `line` has room for three levels a pixel.
inline void jpeg_row(const stbi__jpeg& from, jpeg_color_model colors, const std::uint8_t* const* in,
                     std::uint8_t* out, int channels, std::uint8_t* line) noexcept {
  const int width = static_cast<int>(from.s->img_x);
  const bool alpha = channels == 2 || channels == 4;
  const auto ycc = [&](std::uint8_t* to, int step) {
    from.YCbCr_to_RGB_kernel(to, in[0], in[1], in[2], width, step);
  };
  if (colors == jpeg_color_model::gray || (colors == jpeg_color_model::ycc && channels <= 2)) {
    if (channels == 1) {
      std::memcpy(out, in[0], static_cast<std::size_t>(width));
      return;
    }
    for (int x = 0; x < width; ++x, out += channels) {
      for (int c = 0; c < channels; ++c) out[c] = alpha && c == channels - 1 ? std::uint8_t{255} : in[0][x];
    }
    return;
  }
  if (colors == jpeg_color_model::ycc) return ycc(out, channels);
  if (colors == jpeg_color_model::ycck) ycc(line, 3);  // the complement of Adobe's stored values
  for (int x = 0; x < width; ++x, out += channels) {
    unsigned rgb[3];
    for (int c = 0; c < 3; ++c) {
      rgb[c] = colors == jpeg_color_model::ycck ? 255u - line[3 * x + c] : in[c][x];
      if (colors == jpeg_color_model::rgb) continue;
      const unsigned key = in[3][x], product = (255u - rgb[c]) * key + 128u,
                     ink = ((product >> 8) + product) >> 8;
      rgb[c] = key > ink ? key - ink : 0u;  // like Pillow's CMYK conversion
    }
    if (channels >= 3) {
      for (int c = 0; c < 3; ++c) out[c] = static_cast<std::uint8_t>(rgb[c]);
    } else {
      out[0] = static_cast<std::uint8_t>(rounded_luma(rgb[0], rgb[1], rgb[2]));
    }
    if (alpha) out[channels - 1] = 255;
  }
}

/// Pixels from allocate_block; null on failure, with the reason in `why`.
inline std::uint8_t* stb_jpeg_pixels(stbi__jpeg& from, jpeg_color_model colors, int channels,
                                     const char*& why) noexcept {
  const auto failed = [&why](const char* reason) -> std::uint8_t* {
    why = reason;
    return nullptr;
  };
  if (!stbi__decode_jpeg_image(&from)) return failed(stbi__g_failure_reason);
  const int components = from.s->img_n;
  const int wanted = colors == jpeg_color_model::gray                                     ? 1
                     : colors == jpeg_color_model::ycc || colors == jpeg_color_model::rgb ? 3
                                                                                          : 4;
  if (components != wanted) return failed("two frame headers");
  const std::size_t width = from.s->img_x, height = from.s->img_y, line = jpeg_plane::line_size(from);
  auto* const out = static_cast<std::uint8_t*>(stbi__malloc_mad3(channels, from.s->img_x, from.s->img_y, 1));
  auto* const lines = static_cast<std::uint8_t*>(stb_memory(line * 7));
  if (out == nullptr || lines == nullptr) {
    release_block(out);
    release_block(lines);
    return failed("outofmem");
  }
  const jpeg_plane planes[4] = {{from, 0, lines},
                                {from, components > 1 ? 1 : 0, lines + line},
                                {from, components > 1 ? 2 : 0, lines + 2 * line},
                                {from, components > 3 ? 3 : 0, lines + 3 * line}};
  const int needed = colors == jpeg_color_model::ycc && channels <= 2 ? 1 : components;
  for (std::size_t y = 0; y < height; ++y) {
    const std::uint8_t* rows[4] = {};
    for (int c = 0; c < needed; ++c) rows[c] = planes[c].row(static_cast<int>(y));
    jpeg_row(from, colors, rows, out + y * width * static_cast<std::size_t>(channels), channels,
             lines + 4 * line);
  }
  release_block(lines);
  return out;
}

}  // namespace wick::detail

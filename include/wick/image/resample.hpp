/// \file
/// The resize itself: antialiased, separable, in integers, one output row at a time, from decoded pixels
/// straight into the place where they will stay.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <wick/image/detail/axis.hpp>
#include <wick/image/geometry.hpp>
#include <wick/image/image.hpp>

namespace wick {

namespace detail {

// A row between the two passes holds 16-bit values with six bits behind the point: bicubic's overshoot fits.
inline constexpr int row_bits = 6;
inline constexpr int row_block = 64;

/// `row_block` values of a blend of `taps` source rows. Fixed trip counts, so that -O2 vectorises it.
inline void blend_block(const std::uint8_t* in, std::ptrdiff_t stride, const std::int16_t* weights, int taps,
                        std::int16_t* out) noexcept {
  std::int32_t sum[row_block];
  for (int j = 0; j < row_block; ++j) sum[j] = 1 << (weight_bits - row_bits - 1);
  int k = 0;
  for (; k + 2 <= taps; k += 2) {
    const std::uint8_t* const a = in + k * stride;
    const std::uint8_t* const b = a + stride;
    const std::int16_t u = weights[k], v = weights[k + 1];
    for (int j = 0; j < row_block; ++j) sum[j] += std::int16_t{a[j]} * u + std::int16_t{b[j]} * v;
  }
  if (k < taps) {
    const std::uint8_t* const a = in + k * stride;
    const std::int16_t u = weights[k];
    for (int j = 0; j < row_block; ++j) sum[j] += std::int16_t{a[j]} * u;
  }
  for (int j = 0; j < row_block; ++j) out[j] = static_cast<std::int16_t>(sum[j] >> (weight_bits - row_bits));
}

/// Blends `taps` source rows of `n` values into one.
inline void blend_rows(const std::uint8_t* in, std::ptrdiff_t stride, const std::int16_t* weights, int taps,
                       std::int16_t* out, std::ptrdiff_t n) noexcept {
  std::ptrdiff_t i = 0;
  for (; i + row_block <= n; i += row_block) blend_block(in + i, stride, weights, taps, out + i);
  if (i == n) return;
  if (n >= row_block) {  // the last block overlaps the one before
    i = n - row_block;
    blend_block(in + i, stride, weights, taps, out + i);
    return;
  }
  for (; i < n; ++i) {
    std::int32_t sum = 1 << (weight_bits - row_bits - 1);
    for (int k = 0; k < taps; ++k) sum += in[i + k * stride] * weights[k];
    out[i] = static_cast<std::int16_t>(sum >> (weight_bits - row_bits));
  }
}

/// Blends the pixels of a row into output pixels. `row` starts at source pixel `offset`.
template <int Channels>
void blend_columns(const std::int16_t* row, int offset, const axis& columns, std::uint8_t* out,
                   std::ptrdiff_t step, std::ptrdiff_t plane) noexcept {
  constexpr int shift = weight_bits + row_bits;
  const auto level = [](std::int32_t sum) {
    return static_cast<std::uint8_t>(std::clamp(sum >> shift, 0, 255));
  };
  const int n = columns.size();
  for (int x = 0; x < n; ++x, out += step) {
    const std::int16_t* const weights = columns.weights(x);
    const std::int16_t* in = row + std::ptrdiff_t{columns.first(x) - offset} * Channels;
    const int taps = columns.count(x);
    std::int32_t s0 = 1 << (shift - 1), s1 = s0, s2 = s0,
                 s3 = s0;  // named, so that -O2 keeps them in registers
    for (int k = 0; k < taps; ++k, in += Channels) {
      const std::int32_t w = weights[k];
      s0 += in[0] * w;
      if constexpr (Channels > 1) s1 += in[1] * w;
      if constexpr (Channels > 2) s2 += in[2] * w;
      if constexpr (Channels > 3) s3 += in[3] * w;
    }
    out[0] = level(s0);
    if constexpr (Channels > 1) out[plane] = level(s1);
    if constexpr (Channels > 2) out[2 * plane] = level(s2);
    if constexpr (Channels > 3) out[3 * plane] = level(s3);
  }
}

/// What a thread keeps between pictures.
struct resample_scratch {
  axis columns, rows;
  std::vector<std::int16_t> row;
};

[[gnu::noinline]] inline resample_scratch& this_thread_resample_scratch() noexcept {
  static thread_local resample_scratch scratch;
  return scratch;
}

/// The thread's scratch, taken while it is used, so that a decoder called meanwhile may resample too.
class resample_lease {
 public:
  resample_lease() noexcept : scratch_(std::move(this_thread_resample_scratch())) {}
  resample_lease(const resample_lease&) = delete;
  resample_lease& operator=(const resample_lease&) = delete;
  ~resample_lease() { this_thread_resample_scratch() = std::move(scratch_); }
  resample_scratch& operator*() noexcept { return scratch_; }

 private:
  resample_scratch scratch_;
};

/// Carries out two axis tables. `from` shows the source from pixel (left, top) on.
inline void resample(const picture_view& from, int left, int top, resample_scratch& scratch,
                     const picture_target& to) {
  const axis& columns = scratch.columns;
  const axis& rows = scratch.rows;
  const int channels = from.channels;
  if (columns.copies() && rows.copies()) {
    const int n = columns.size();
    bool run = to.plane == 1 && to.step == channels;  // whole rows at once?
    if (run)
      run = columns.first(n - 1) - columns.first(0) == n - 1 &&
            (n < 3 || columns.first(1) - columns.first(0) == 1);
    for (int y = 0; y < rows.size(); ++y) {
      const std::uint8_t* const in =
          from.data + (rows.first(y) - top) * from.stride - std::ptrdiff_t{left} * channels;
      std::uint8_t* out = to.data + y * to.row;
      if (run) {
        std::copy_n(in + std::ptrdiff_t{columns.first(0)} * channels, std::ptrdiff_t{n} * channels, out);
        continue;
      }
      for (int x = 0; x < n; ++x, out += to.step) {
        const std::uint8_t* const pixel = in + std::ptrdiff_t{columns.first(x)} * channels;
        for (int c = 0; c < channels; ++c) out[c * to.plane] = pixel[c];
      }
    }
    return;
  }
  const int low = columns.low();
  const std::ptrdiff_t n = std::ptrdiff_t{columns.high() - low} * channels;
  scratch.row.resize(static_cast<std::size_t>(n));
  std::int16_t* const row = scratch.row.data();
  for (int y = 0; y < rows.size(); ++y) {
    blend_rows(from.data + (rows.first(y) - top) * from.stride + std::ptrdiff_t{low - left} * channels,
               from.stride, rows.weights(y), rows.count(y), row, n);
    std::uint8_t* const out = to.data + y * to.row;
    switch (channels) {
      case 1:
        blend_columns<1>(row, low, columns, out, to.step, to.plane);
        break;
      case 2:
        blend_columns<2>(row, low, columns, out, to.step, to.plane);
        break;
      case 3:
        blend_columns<3>(row, low, columns, out, to.step, to.plane);
        break;
      default:
        blend_columns<4>(row, low, columns, out, to.step, to.plane);
        break;
    }
  }
}

/// The axis tables of a plan over a picture of which `scale` pixels stand for one of the plan's source, with
/// pixel 0 at source column `left` and row `top`.
inline void build_axes(const plan& p, double scale, int left, int top, resample_scratch& scratch) {
  scratch.columns.build({(p.source.x - left) * scale, (p.source.x + p.source.width - left) * scale, p.width,
                         p.window.x, p.window.width, p.mirror_x, p.filter});
  scratch.rows.build({(p.source.y - top) * scale, (p.source.y + p.source.height - top) * scale, p.height,
                      p.window.y, p.window.height, p.mirror_y, p.filter});
}

}  // namespace detail

/// Carries out a plan over decoded pixels into `to`, which has the plan's output size and the picture's
/// channels. Within one level of Pillow's resize for `bilinear` and `bicubic`; the same integers on every
/// machine.
inline void resample(const picture_view& from, const plan& p, const picture_target& to) {
  detail::resample_lease scratch;
  detail::build_axes(p, 1.0, 0, 0, *scratch);
  detail::resample(from, 0, 0, *scratch, to);
}

/// The same into a picture of its own.
inline image resample(const picture_view& from, const plan& p) {
  image out(p.output_width(), p.output_height(), from.channels);
  resample(from, p, picture_target::interleaved(out.data(), out.width(), out.height(), out.channels()));
  return out;
}

}  // namespace wick

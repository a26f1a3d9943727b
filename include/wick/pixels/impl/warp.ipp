// Implements pixels/detail/warp.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include <wick/pixels/detail/warp.hpp>

namespace wick::inline v0_1::detail {

point projection::operator()(const point& p) const noexcept {
  const double d = m[6] * p.x + m[7] * p.y + m[8];
  return {(m[0] * p.x + m[1] * p.y + m[2]) / d, (m[3] * p.x + m[4] * p.y + m[5]) / d};
}

projection projection::operator*(const projection& after) const noexcept {
  projection out;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      out.m[3 * i + j] =
          m[3 * i] * after.m[j] + m[3 * i + 1] * after.m[3 + j] + m[3 * i + 2] * after.m[6 + j];
    }
  }
  return out;
}

projection projection::inverse() const noexcept {
  const auto cofactor = [this](std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
    return m[a] * m[d] - m[b] * m[c];
  };
  projection out{{cofactor(4, 5, 7, 8), cofactor(2, 1, 8, 7), cofactor(1, 2, 4, 5), cofactor(5, 3, 8, 6),
                  cofactor(0, 2, 6, 8), cofactor(2, 0, 5, 3), cofactor(3, 4, 6, 7), cofactor(1, 0, 7, 6),
                  cofactor(0, 1, 3, 4)}};
  const double determinant = m[0] * out.m[0] + m[1] * out.m[3] + m[2] * out.m[6];
  for (double& v : out.m) v /= determinant;
  return out;
}

projection warp::to_source_of(int source_width, int source_height) const noexcept {
  const auto& t = to_source;
  const projection map{{t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], 1}};
  if (!centered) return map;
  const projection to_middle{{1, 0, -width * 0.5, 0, 1, -height * 0.5, 0, 0, 1}};
  const projection to_corner{{1, 0, source_width * 0.5, 0, 1, source_height * 0.5, 0, 0, 1}};
  return to_corner * map * to_middle;
}

std::array<double, 8> inverse_affine(const point& center, double angle, const point& translate, double scale,
                                     const point& shear) noexcept {
  constexpr double degree = std::numbers::pi / 180;
  const double turn = angle * degree, sx = shear.x * degree, sy = shear.y * degree;
  const double a = std::cos(turn - sy) / std::cos(sy), b = -(a * std::tan(sx) + std::sin(turn));
  const double c = std::sin(turn - sy) / std::cos(sy), d = std::cos(turn) - c * std::tan(sx);
  const double x = center.x + translate.x, y = center.y + translate.y;
  const double xx = d / scale, xy = -b / scale, yx = -c / scale, yy = a / scale;
  return {xx, xy, center.x - xx * x - xy * y, yx, yy, center.y - yx * x - yy * y, 0, 0};
}

bool inverse_perspective(const std::array<point, 4>& from, const std::array<point, 4>& to,
                         std::array<double, 8>& to_source) noexcept {
  // Solves eight linear equations for a to h, by Gaussian elimination with partial pivoting.
  std::array<std::array<double, 9>, 8> rows;
  for (std::size_t i = 0; i < 4; ++i) {
    const point &p = to[i], &q = from[i];
    rows[2 * i] = {p.x, p.y, 1, 0, 0, 0, -q.x * p.x, -q.x * p.y, q.x};
    rows[2 * i + 1] = {0, 0, 0, p.x, p.y, 1, -q.y * p.x, -q.y * p.y, q.y};
  }
  for (std::size_t k = 0; k < 8; ++k) {
    std::size_t best = k;
    for (std::size_t i = k + 1; i < 8; ++i) {
      if (std::abs(rows[i][k]) > std::abs(rows[best][k])) best = i;
    }
    if (!(std::abs(rows[best][k]) > 1e-9)) return false;
    std::swap(rows[k], rows[best]);
    for (std::size_t i = 0; i < 8; ++i) {
      if (i == k) continue;
      const double factor = rows[i][k] / rows[k][k];
      for (std::size_t j = k; j < 9; ++j) rows[i][j] -= factor * rows[k][j];
    }
  }
  for (std::size_t k = 0; k < 8; ++k) to_source[k] = rows[k][8] / rows[k][k];
  return true;
}

void expand(warp& by, int width, int height) noexcept {
  const auto& t = by.to_source;
  const float half_width = 0.5f * static_cast<float>(width), half_height = 0.5f * static_cast<float>(height);
  const auto extent = [&](std::size_t row, float half) {
    float least = HUGE_VALF, most = -HUGE_VALF;
    for (const float x : {-half_width, half_width}) {
      for (const float y : {-half_height, half_height}) {
        const float at = x * static_cast<float>(t[row]) + y * static_cast<float>(t[row + 1]) +
                         static_cast<float>(t[row + 2]);
        least = std::min(least, at);
        most = std::max(most, at);
      }
    }
    const auto cut = [half](float v) { return std::trunc((v + half) * 10000.0f) * 1e-4f; };
    return std::max(1, static_cast<int>(std::ceil(cut(most)) - std::floor(cut(least))));
  };
  by.width = extent(0, half_width);
  by.height = extent(3, half_height);
}

// ---- the pass over the result ----

/// The source positions of one row's pixels, a block at a time, in source pixels; clamped to just outside.
class warp_positions {
 public:
  static constexpr int block = 64;

  warp_positions(const warp& by, int width, int height) : perspective_(!by.centered), by_(by) {
    for (std::size_t i = 0; i < 8; ++i) m_[i] = static_cast<float>(by.to_source[i]);
    const float half_width = 0.5f * static_cast<float>(perspective_ ? by.width : width),
                half_height = 0.5f * static_cast<float>(perspective_ ? by.height : height);
    for (std::size_t i = 0; i < 3; ++i) {
      m_[i] /= half_width;
      m_[3 + i] /= half_height;
    }
    half_width_ = static_cast<float>(width) / 2;
    half_height_ = static_cast<float>(height) / 2;
    right_ = static_cast<float>(width) + 1;
    bottom_ = static_cast<float>(height) + 1;
  }

  /// Finds those of pixels first to first + block - 1 in row y. The same operations in the same order as
  /// Torch's.
  void find(int first, int y, float* x_to, float* y_to) const noexcept {
    if (perspective_) {
      const float v = static_cast<float>(y) + 0.5f;
      for (int i = 0; i < block; ++i) {
        const float u = static_cast<float>(first + i) + 0.5f;
        const float d = u * m_[6] + v * m_[7] + 1.0f;
        x_to[i] = placed((u * m_[0] + v * m_[1] + m_[2]) / d - 1.0f, half_width_, right_);
        y_to[i] = placed((u * m_[3] + v * m_[4] + m_[5]) / d - 1.0f, half_height_, bottom_);
      }
      return;
    }
    const float left = static_cast<float>(1 - by_.width) * 0.5f;
    const float v = static_cast<float>(y) + static_cast<float>(1 - by_.height) * 0.5f;
    for (int i = 0; i < block; ++i) {
      const float u = static_cast<float>(first + i) + left;
      x_to[i] = placed(u * m_[0] + v * m_[1] + m_[2], half_width_, right_);
      y_to[i] = placed(u * m_[3] + v * m_[4] + m_[5], half_height_, bottom_);
    }
  }

 private:
  static float placed(float at, float half, float end) noexcept {
    const float place = (at + 1.0f) * half - 0.5f;
    const float low = place > -2.0f ? place : -2.0f;  // also for NaN
    return low < end ? low : end;
  }

  bool perspective_;
  const warp& by_;
  std::array<float, 8> m_;
  float half_width_, half_height_, right_, bottom_;
};

/// Rounds to an integer, ties to even: at 1.5 * 2^23, a float has no fraction bits.
inline float rounded(float v) noexcept {
  constexpr float large = 12582912.0f;
  return (v + large) - large;
}

template <int Channels>
inline void nearest_block(const picture_view& from, const warp& by, const float* xs, const float* ys,
                          int count, std::uint8_t* out) noexcept {
  std::int32_t columns[warp_positions::block], rows[warp_positions::block];
  for (int i = 0; i < warp_positions::block; ++i) {
    columns[i] = static_cast<std::int32_t>(rounded(xs[i]));
    rows[i] = static_cast<std::int32_t>(rounded(ys[i]));
  }
  const auto width = static_cast<std::uint32_t>(from.width), height = static_cast<std::uint32_t>(from.height);
  for (int i = 0; i < count; ++i, out += Channels) {
    const auto x = static_cast<std::uint32_t>(columns[i]), y = static_cast<std::uint32_t>(rows[i]);
    const std::uint8_t* const in =
        x < width && y < height ? from.data + std::ptrdiff_t{rows[i]} * from.stride + columns[i] * Channels
                                : by.fill.data();
    for (int c = 0; c < Channels; ++c) out[c] = in[c];
  }
}

/// For a pixel with outside neighbors: torchvision fades the image to black there, and then blends that with
/// the fill.
template <int Channels>
inline void bilinear_at_edge(const picture_view& from, const warp& by, int x, int y, float wx, float wy,
                             std::uint8_t* out) noexcept {
  float sum[Channels] = {}, inside = 0;
  for (int k = 0; k < 4; ++k) {
    const int column = x + k % 2, row = y + k / 2;
    if (column < 0 || column >= from.width || row < 0 || row >= from.height) continue;
    const float weight = (k % 2 != 0 ? wx : 1 - wx) * (k / 2 != 0 ? wy : 1 - wy);
    inside += weight;
    const std::uint8_t* const in = from.data + row * from.stride + std::ptrdiff_t{column} * Channels;
    for (int c = 0; c < Channels; ++c) sum[c] += weight * static_cast<float>(in[c]);
  }
  for (int c = 0; c < Channels; ++c) {
    const float fill = by.fill[static_cast<std::size_t>(c)];
    const float level = (sum[c] - fill) * inside + fill;
    out[c] = static_cast<std::uint8_t>(rounded(std::clamp(level, 0.0f, 255.0f)));
  }
}

template <int Channels>
inline void bilinear_block(const picture_view& from, const warp& by, const float* xs, const float* ys,
                           int count, std::uint8_t* out) noexcept {
  constexpr int bits = 11, one = 1 << bits;
  std::int32_t columns[warp_positions::block], rows[warp_positions::block];
  std::int32_t wx[warp_positions::block], wy[warp_positions::block];
  for (int i = 0; i < warp_positions::block; ++i) {
    columns[i] = static_cast<std::int32_t>(xs[i] + 4.0f) - 4;  // rounds down for values above -4
    rows[i] = static_cast<std::int32_t>(ys[i] + 4.0f) - 4;
    wx[i] = static_cast<std::int32_t>((xs[i] - static_cast<float>(columns[i])) * one + 0.5f);
    wy[i] = static_cast<std::int32_t>((ys[i] - static_cast<float>(rows[i])) * one + 0.5f);
  }
  const auto width = static_cast<std::uint32_t>(from.width - 1),
             height = static_cast<std::uint32_t>(from.height - 1);
  for (int i = 0; i < count; ++i, out += Channels) {
    const std::int32_t x = columns[i], y = rows[i];
    if (static_cast<std::uint32_t>(x) >= width || static_cast<std::uint32_t>(y) >= height) {
      bilinear_at_edge<Channels>(from, by, x, y, xs[i] - static_cast<float>(x), ys[i] - static_cast<float>(y),
                                 out);
      continue;
    }
    const std::uint8_t* const upper =
        from.data + std::ptrdiff_t{y} * from.stride + std::ptrdiff_t{x} * Channels;
    const std::uint8_t* const lower = upper + from.stride;
    const std::int32_t right = wx[i], left = one - right, down = wy[i], up = one - down;
    for (int c = 0; c < Channels; ++c) {
      const std::int32_t above = upper[c] * left + upper[c + Channels] * right,
                         below = lower[c] * left + lower[c + Channels] * right;
      const std::int32_t sum = above * up + below * down;  // ties go to even, as in Torch
      out[c] = static_cast<std::uint8_t>((sum + (1 << (2 * bits - 1)) - 1 + ((sum >> (2 * bits)) & 1)) >>
                                         (2 * bits));
    }
  }
}

template <int Channels>
inline void warp_rows(const picture_view& from, const warp& by, image& out) {
  const warp_positions positions(by, from.width, from.height);
  float xs[warp_positions::block], ys[warp_positions::block];
  for (int y = 0; y < by.height; ++y) {
    for (int x = 0; x < by.width; x += warp_positions::block) {
      positions.find(x, y, xs, ys);
      const int count = std::min(warp_positions::block, by.width - x);
      std::uint8_t* const to = out.row(y) + std::ptrdiff_t{x} * Channels;
      if (by.filter == interpolation::nearest) {
        nearest_block<Channels>(from, by, xs, ys, count, to);
      } else {
        bilinear_block<Channels>(from, by, xs, ys, count, to);
      }
    }
  }
}

image warped(const picture_view& from, const warp& by) {
  image out(by.width, by.height, from.channels);
  switch (from.channels) {
    case 1:
      warp_rows<1>(from, by, out);
      break;
    case 2:
      warp_rows<2>(from, by, out);
      break;
    case 3:
      warp_rows<3>(from, by, out);
      break;
    default:
      warp_rows<4>(from, by, out);
  }
  return out;
}

}  // namespace wick::detail

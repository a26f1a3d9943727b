/// \file
/// The bodies of what pixels/pixel_ops.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <wick/pixels/image.hpp>
#include <wick/pixels/pixel_ops.hpp>
#include <wick/sample/error.hpp>

namespace wick::detail {

std::uint8_t luma(std::uint8_t r, std::uint8_t g, std::uint8_t b) noexcept {
  return static_cast<std::uint8_t>(0.2989f * static_cast<float>(r) + 0.587f * static_cast<float>(g) +
                                   0.114f * static_cast<float>(b));
}

std::uint8_t blend(float value, std::uint8_t a, float b) noexcept {
  return static_cast<std::uint8_t>(
      std::clamp(value * static_cast<float>(a) + (1.0f - value) * b, 0.0f, 255.0f));
}

void map_levels(const picture_target& p, const std::array<std::uint8_t, 256>& level) {
  if (p.channels >= 3) {
    for_each_pixel(p, [&](std::uint8_t* v) {
      v[0] = level[v[0]];
      v[p.plane] = level[v[p.plane]];
      v[2 * p.plane] = level[v[2 * p.plane]];
    });
  } else {
    for_each_pixel(p, [&](std::uint8_t* v) { v[0] = level[v[0]]; });
  }
}

float mean_luma(const picture_target& p) {
  std::uint64_t sum = 0;
  if (p.channels >= 3) {
    for_each_pixel(p, [&](const std::uint8_t* v) { sum += luma(v[0], v[p.plane], v[2 * p.plane]); });
  } else {
    for_each_pixel(p, [&](const std::uint8_t* v) { sum += v[0]; });
  }
  return static_cast<float>(static_cast<double>(sum) / (static_cast<double>(p.width) * p.height));
}

std::array<std::uint8_t, 3> turn_hue(std::uint8_t r8, std::uint8_t g8, std::uint8_t b8, float turn) noexcept {
  const int high8 = std::max({r8, g8, b8}), low8 = std::min({r8, g8, b8});
  if (high8 == low8) return {r8, g8, b8};
  const auto high = static_cast<float>(high8), range = static_cast<float>(high8 - low8);
  const float sextant = high8 == r8   ? static_cast<float>(g8 - b8) / range
                        : high8 == g8 ? static_cast<float>(b8 - r8) / range + 2.0f
                                      : static_cast<float>(r8 - g8) / range + 4.0f;
  const float hue = sextant + 6.0f * turn + 12.0f;  // above 0, so that a cast cuts off downwards
  const int whole = static_cast<int>(hue);
  const float part = hue - static_cast<float>(whole);
  constexpr float to_level =
      (255.0f + 1.0f - 1e-3f) / 255.0f;  // convert_image_dtype's rule for whole numbers
  const auto top = static_cast<std::uint8_t>(high * to_level),
             bottom = static_cast<std::uint8_t>(static_cast<float>(low8) * to_level);
  const auto falling = static_cast<std::uint8_t>((high - range * part) * to_level);
  const auto rising = static_cast<std::uint8_t>((high - range * (1.0f - part)) * to_level);
  switch (whole % 6) {
    case 0:
      return {top, rising, bottom};
    case 1:
      return {falling, top, bottom};
    case 2:
      return {bottom, top, rising};
    case 3:
      return {bottom, falling, top};
    case 4:
      return {rising, bottom, top};
    default:
      return {top, bottom, falling};
  }
}

void apply(const pixel_op& op, const picture_target& p) {
  using kind = pixel_op::kind;
  const float value = op.value;
  const std::ptrdiff_t plane = p.plane;
  if (op.what == kind::brightness || op.what == kind::contrast) {
    const float other = op.what == kind::contrast ? detail::mean_luma(p) : 0.0f;
    std::array<std::uint8_t, 256> level;
    for (std::size_t i = 0; i < level.size(); ++i)
      level[i] = detail::blend(value, static_cast<std::uint8_t>(i), other);
    return detail::map_levels(p, level);
  }
  if (p.channels < 3) return;  // gray has neither saturation nor hue
  if (op.what == kind::hue) {
    detail::for_each_pixel(p, [&](std::uint8_t* v) {
      const auto turned = detail::turn_hue(v[0], v[plane], v[2 * plane], value);
      v[0] = turned[0];
      v[plane] = turned[1];
      v[2 * plane] = turned[2];
    });
  } else if (op.what == kind::saturation) {
    detail::for_each_pixel(p, [&](std::uint8_t* v) {
      const float gray = detail::luma(v[0], v[plane], v[2 * plane]);
      v[0] = detail::blend(value, v[0], gray);
      v[plane] = detail::blend(value, v[plane], gray);
      v[2 * plane] = detail::blend(value, v[2 * plane], gray);
    });
  } else {
    detail::for_each_pixel(p, [&](std::uint8_t* v) {
      v[0] = v[plane] = v[2 * plane] = detail::luma(v[0], v[plane], v[2 * plane]);
    });
  }
}

void require_channels(const normalization& by, int channels) {
  if (by.count == 1 || by.count == channels) return;
  throw error("normalize has " + std::to_string(by.count) + " means, the picture has " +
              std::to_string(channels) +
              " channels; give one mean and deviation for each channel, or one for all");
}

void write_normalized(const image& from, const normalization& by, std::byte* to, bool planar) {
  const int channels = from.channels();
  detail::require_channels(by, channels);
  std::array<std::array<float, 256>, 4> level;  // exactly what float arithmetic would give, looked up
  for (int c = 0; c < channels; ++c) {
    const auto k = static_cast<std::size_t>(by.count == 1 ? 0 : c);
    for (std::size_t i = 0; i < 256; ++i) {
      level[static_cast<std::size_t>(c)][i] = (static_cast<float>(i) / 255.0f - by.mean[k]) / by.deviation[k];
    }
  }
  float* const out = reinterpret_cast<float*>(to);
  const std::span<const std::uint8_t> in = from.pixels();
  const std::size_t n = static_cast<std::size_t>(channels), pixels = in.size() / n;
  for (std::size_t c = 0; c < n; ++c) {
    const auto& table = level[c];
    if (planar) {
      for (std::size_t i = 0; i < pixels; ++i) out[c * pixels + i] = table[in[i * n + c]];
    } else {
      for (std::size_t i = 0; i < pixels; ++i) out[i * n + c] = table[in[i * n + c]];
    }
  }
}

}  // namespace wick::detail

// Implements pixels/detail/pixel_ops.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <wick/pipeline/error.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/pixels/detail/pixel_ops.hpp>
#include <wick/pixels/impl/level_ops.ipp>
#include <wick/pixels/impl/pixel_filters.ipp>

namespace wick::inline v0_1::detail {

std::uint8_t blend(double value, std::uint8_t a, float b) noexcept {
  const float first = static_cast<float>(value) * static_cast<float>(a),
              share = static_cast<float>(1.0 - value);
  // Torch uses a fused multiply-add; the product of two floats is exact in double.
  const auto sum = static_cast<float>(static_cast<double>(first) + static_cast<double>(share) * b);
  return static_cast<std::uint8_t>(std::clamp(sum, 0.0f, 255.0f));
}

/// Eight levels at a time: if bytes were written one by one, they might alias the table, which would have to
/// be read again each time.
inline void map_run(std::uint8_t* v, std::size_t count, const std::array<std::uint8_t, 256>& to) noexcept {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t in, out = 0;
    std::memcpy(&in, v + i, 8);
    for (unsigned bit = 0; bit < 64; bit += 8) out |= std::uint64_t{to[in >> bit & 0xFF]} << bit;
    std::memcpy(v + i, &out, 8);
  }
  for (; i < count; ++i) v[i] = to[v[i]];
}

void map_levels(const picture_target& p, const level_map& by) {
  if (is_interleaved(p) && has_alpha(p.channels)) {
    const int count = colors(p.channels);
    for_each_pixel(p, [&](std::uint8_t* v) {
      for (int c = 0; c < count; ++c) v[c] = by.to[v[c]];
    });
  } else {
    for_each_run(p, [&](std::uint8_t* v, std::size_t n) { map_run(v, n, by.to); });
  }
}

/// torchvision's rgb_to_grayscale: ITU-R 601-2 luma, truncated, as a sum of three looked-up products.
struct luma_tables {
  explicit luma_tables(const level_map& first = {}) noexcept {
    for (std::size_t i = 0; i < 256; ++i) {
      const auto level = static_cast<float>(first.to[i]);
      r[i] = 0.2989f * level;
      g[i] = 0.587f * level;
      b[i] = 0.114f * level;
    }
  }
  std::uint8_t operator()(std::uint8_t red, std::uint8_t green, std::uint8_t blue) const noexcept {
    return static_cast<std::uint8_t>(static_cast<int>(r[red] + g[green] + b[blue]));
  }
  std::array<float, 256> r, g, b;
};

float mean_luma(const picture_target& p, const level_map& first) {
  std::uint64_t sum = 0;
  if (p.channels >= 3) {
    const luma_tables luma_of(first);
    for_each_pixel(p, [&](const std::uint8_t* v) { sum += luma_of(v[0], v[p.plane], v[2 * p.plane]); });
  } else {
    for_each_pixel(p, [&](const std::uint8_t* v) { sum += first.to[v[0]]; });
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
  const float hue = sextant + 6.0f * turn + 12.0f;  // above 0, so that the cast rounds down
  const int whole = static_cast<int>(hue);
  const float part = hue - static_cast<float>(whole);
  constexpr float to_level = (255.0f + 1.0f - 1e-3f) / 255.0f;  // convert_image_dtype's rule for integers
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

rect shared_part(const rect& part, const rect& other) noexcept {
  const int x = std::max(part.x, other.x), y = std::max(part.y, other.y);
  const int right = std::min(part.x + part.width, other.x + other.width),
            bottom = std::min(part.y + part.height, other.y + other.height);
  if (right <= x || bottom <= y) return {};
  return {x - part.x, y - part.y, right - x, bottom - y};
}

bool pixel_op::pointwise() const noexcept {
  switch (what) {
    case kind::contrast:
    case kind::autocontrast:
    case kind::equalize:
    case kind::sharpness:
    case kind::blur:
      return false;
    default:
      return true;
  }
}

/// Replaces each color by `color(r, g, b)`.
template <class F>
inline void map_colors(const picture_target& p, F color) {
  const std::ptrdiff_t plane = p.plane;
  detail::for_each_pixel(p, [&](std::uint8_t* v) {
    const std::array<std::uint8_t, 3> to = color(v[0], v[plane], v[2 * plane]);
    v[0] = to[0];
    v[plane] = to[1];
    v[2 * plane] = to[2];
  });
}

/// Applies operations that don't affect a gray image, which has neither saturation nor hue.
inline void apply_to_colors(const pixel_op& op, const picture_target& p) {
  using kind = pixel_op::kind;
  using level = std::uint8_t;
  if (p.channels < 3) return;
  const double value = op.value;
  if (op.what == kind::hue) {
    map_colors(p, [value = static_cast<float>(value)](level r, level g, level b) {
      return detail::turn_hue(r, g, b, value);
    });
  } else if (op.what == kind::saturation) {
    // The same as blend(), with looked-up products.
    const luma_tables luma_of;
    std::array<double, 256> own, gray;
    const float share = static_cast<float>(1.0 - value);
    for (std::size_t i = 0; i < 256; ++i) {
      const auto x = static_cast<float>(i);
      own[i] = static_cast<float>(value) * x;
      gray[i] = static_cast<double>(share) * x;
    }
    map_colors(p, [&](level r, level g, level b) {
      const double other = gray[luma_of(r, g, b)];
      const auto blended = [&](level x) {
        const auto sum = static_cast<float>(own[x] + other);
        return static_cast<level>(static_cast<int>(std::clamp(sum, 0.0f, 255.0f)));
      };
      return std::array{blended(r), blended(g), blended(b)};
    });
  } else if (op.what == kind::gray) {
    map_colors(p, [luma_of = luma_tables()](level r, level g, level b) {
      const level gray = luma_of(r, g, b);
      return std::array{gray, gray, gray};
    });
  } else {
    map_colors(p, [&op](level r, level g, level b) {
      const std::array from{r, g, b};
      return std::array{from[op.levels[0]], from[op.levels[1]], from[op.levels[2]]};
    });
  }
}

/// Appends an operation to `map`. False if it doesn't work on each level alone.
inline bool gather(const pixel_op& op, const picture_target& p, level_map& map) {
  using kind = pixel_op::kind;
  const auto then = [&](auto f) {
    for (std::uint8_t& x : map.to) x = f(x);
    map.changes = true;
    return true;
  };
  switch (op.what) {
    case kind::brightness:
      return then([&](std::uint8_t x) { return detail::blend(op.value, x, 0); });
    case kind::contrast: {
      const float mean = detail::mean_luma(p, map);
      return then([&](std::uint8_t x) { return detail::blend(op.value, x, mean); });
    }
    case kind::invert:
    case kind::posterize:
    case kind::solarize:
      return then([by = changed_level(op)](std::uint8_t x) { return by(x); });
    default:
      return false;
  }
}

void apply(std::span<const pixel_op> ops, const picture_target& p, level_map* rest) {
  level_map map;
  for (const pixel_op& op : ops) {
    if (gather(op, p, map)) continue;
    if (std::exchange(map.changes, false)) {
      detail::map_levels(p, map);
      map = {};
    }
    detail::apply(op, p);
  }
  if (rest != nullptr)
    *rest = map;
  else if (map.changes)
    detail::map_levels(p, map);
}

void apply(const pixel_op& op, const picture_target& p) {
  using kind = pixel_op::kind;
  switch (op.what) {
    case kind::brightness:
    case kind::contrast:
    case kind::invert:
    case kind::posterize:
    case kind::solarize: {
      level_map map;
      gather(op, p, map);
      return detail::map_levels(p, map);
    }
    case kind::autocontrast:
    case kind::equalize:
      return detail::stretch_levels(op, p);
    case kind::sharpness:
      return detail::sharpen(p, op.value);
    case kind::blur:
      return detail::gaussian_blur(p, op.box.width, op.box.height, op.value);
    case kind::erase:
      return detail::fill_box(p, op.box, op.levels);
    case kind::saturation:
    case kind::hue:
    case kind::gray:
    case kind::permute:
      return apply_to_colors(op, p);
  }
}

void erase(const erased_numbers& what, const shape& of, const slot& to) {
  const auto height = static_cast<int>(of[0]), width = static_cast<int>(of[1]),
             channels = static_cast<int>(of[2]);
  float* const out = reinterpret_cast<float*>(to.data);
  const std::ptrdiff_t step = to.planar ? 1 : channels, row = step * width,
                       plane = to.planar ? row * height : 1;
  random_stream noise(what.key, 0, 0, 0);
  for (int j = 0; j < what.box.height; ++j) {
    const int y = what.box.y + (what.mirrored_y ? what.box.height - 1 - j : j);
    for (int i = 0; i < what.box.width; ++i) {
      const int x = what.box.x + (what.mirrored_x ? what.box.width - 1 - i : i);
      const bool seen = x >= 0 && x < width && y >= 0 && y < height;
      for (int c = 0; c < channels; ++c) {
        const float value =
            what.noise ? static_cast<float>(noise.normal()) : what.values[static_cast<std::size_t>(c)];
        if (seen) out[y * row + x * step + c * plane] = value;
      }
    }
  }
}

void require_channels(const normalization& by, int channels) {
  if (by.count == 1 || by.count == channels) return;
  throw error("normalize has " + std::to_string(by.count) + " means, the picture has " +
              std::to_string(channels) +
              " channels; give one mean and deviation for each channel, or one for all");
}

void write_normalized(const image& from, const level_map& first, const normalization& by, std::byte* to,
                      bool planar) {
  const int channels = from.channels();
  detail::require_channels(by, channels);
  std::array<std::array<float, 256>, 4> level;  // exactly the results of float arithmetic, looked up
  for (int c = 0; c < channels; ++c) {
    const auto k = static_cast<std::size_t>(by.count == 1 ? 0 : c);
    for (std::size_t i = 0; i < 256; ++i) {
      const auto x = static_cast<float>(c < colors(channels) ? first.to[i] : i);
      level[static_cast<std::size_t>(c)][i] = (x / 255.0f - by.mean[k]) / by.deviation[k];
    }
  }
  float* const out = reinterpret_cast<float*>(to);
  const std::span<const std::uint8_t> in = from.pixels();
  const std::size_t n = static_cast<std::size_t>(channels), pixels = in.size() / n;
  if (planar && n == 3) {
    const std::uint8_t* v = in.data();
    for (std::size_t i = 0; i < pixels; ++i, v += 3) {
      out[i] = level[0][v[0]];
      out[pixels + i] = level[1][v[1]];
      out[2 * pixels + i] = level[2][v[2]];
    }
    return;
  }
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

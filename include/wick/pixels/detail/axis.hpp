// Which source pixels contribute to each output pixel along one axis, and with what weights. Computed once
// an image, and used by all of its rows and columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wick/pixels/detail/resample_kernels.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1::detail {

/// The axis table to build: resizes the source interval [low, high) to `size` pixels, and keeps window_size
/// of them from window_first, in reverse order if mirrored. Decoders that scale give ends that aren't whole
/// pixels.
struct axis_request {
  double low = 0, high = 0;
  int size = 0;
  int window_first = 0, window_size = 0;
  bool mirrored = false;
  interpolation filter = interpolation::bilinear;
  bool small = false;  ///< the whole result's width and height add up to at most 128 px

  bool operator==(const axis_request&) const = default;
};

/// Output i is the sum over k < count[i] of weight(i)[k] * source[first[i] + k].
class axis {
 public:
  /// Does nothing if the table already matches, as for same-size images in validation.
  void build(const axis_request& wanted);

  int size() const noexcept { return static_cast<int>(first_.size()); }
  /// The most source pixels that an output uses.
  int most_taps() const noexcept { return most_taps_; }
  int first(int i) const noexcept { return first_[static_cast<std::size_t>(i)]; }
  const std::int32_t* firsts() const noexcept { return first_.data(); }
  int count(int i) const noexcept { return count_[static_cast<std::size_t>(i)]; }
  const std::int16_t* weights(int i) const noexcept {
    return weights_.data() + static_cast<std::size_t>(i) * taps_;
  }
  /// The range of source pixels that are needed: [low, high).
  int low() const noexcept { return low_; }
  int high() const noexcept { return high_; }
  /// Whether each output is an unchanged source pixel.
  bool copies() const noexcept { return copies_; }

 private:
  static double weight_at(double x, interpolation filter) noexcept {
    x = std::abs(x);
    if (filter == interpolation::bilinear) return x < 1 ? 1 - x : 0;
    // Keys, "Cubic convolution interpolation for digital image processing", 1981, a = -0.5
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
    return 0;
  }
  static int fixed(double w) noexcept {
    return static_cast<int>(w * weight_one + 4.0 * weight_one + 0.5) - 4 * weight_one;
  }
  static int nearest(const axis_request& wanted, int out, int length) noexcept;
  void make(const axis_request& wanted);
  void fill(int i, const axis_request& wanted, int left, int length);
  void copy(const axis_request& wanted);

  axis_request of_;
  std::vector<std::int32_t> first_, count_;
  std::vector<std::int16_t> weights_;
  std::vector<double> exact_;
  double scale_ = 1, narrowed_ = 1;  // source pixels per output; 1 / scale_, at most 1
  std::size_t taps_ = 0;
  int low_ = 0, high_ = 0, most_taps_ = 0;
  bool copies_ = false;
};

inline void axis::build(const axis_request& wanted) {
  if (of_ == wanted && !first_.empty()) return;  // a moved-from table is empty
  of_ = {};                                      // until it's built: an allocation may fail
  make(wanted);
  of_ = wanted;
}

inline void axis::make(const axis_request& wanted) {
  if (wanted.high - wanted.low == wanted.size && wanted.low == std::floor(wanted.low)) return copy(wanted);
  scale_ = (wanted.high - wanted.low) / wanted.size;
  narrowed_ = 1 / std::max(scale_, 1.0);
  const double reach = (wanted.filter == interpolation::bicubic ? 2.0 : 1.0) * std::max(scale_, 1.0);
  const auto n = static_cast<std::size_t>(wanted.window_size);
  taps_ = is_nearest(wanted.filter) ? 1 : static_cast<std::size_t>(std::ceil(reach)) * 2 + 1;
  first_.resize(n);
  count_.resize(n);
  weights_.resize(n * taps_);
  exact_.resize(taps_);
  copies_ = true;
  // Counted from the first whole pixel, so that a crop has the same weights wherever it was cut.
  const int left = static_cast<int>(std::floor(wanted.low)),
            length = static_cast<int>(std::ceil(wanted.high)) - left;
  for (int i = 0; i < wanted.window_size; ++i) fill(i, wanted, left, length);
  low_ = *std::min_element(first_.begin(), first_.end());
  high_ = 0;
  most_taps_ = *std::max_element(count_.begin(), count_.end());
  for (std::size_t i = 0; i < n; ++i) high_ = std::max(high_, first_[i] + count_[i]);
}

/// Without a resize, each output is a source pixel, whatever the filter.
inline void axis::copy(const axis_request& wanted) {
  const int n = wanted.window_size;
  taps_ = 1;
  first_.resize(static_cast<std::size_t>(n));
  count_.assign(static_cast<std::size_t>(n), 1);
  weights_.assign(static_cast<std::size_t>(n), static_cast<std::int16_t>(weight_one));
  low_ = static_cast<int>(wanted.low) + wanted.window_first;
  high_ = low_ + n;
  for (int i = 0; i < n; ++i)
    first_[static_cast<std::size_t>(i)] = wanted.mirrored ? high_ - 1 - i : low_ + i;
  most_taps_ = 1;
  copies_ = true;
}

/// Torch's nearest-exact, with its rounding to float, which picks the pixel when a center falls between two.
/// Torch has two code paths, by the size of the result; the path for large results uses a fused multiply-add.
inline int axis::nearest(const axis_request& wanted, int out, int length) noexcept {
  const double scale = static_cast<float>(wanted.high - wanted.low) / static_cast<float>(wanted.size);
  const double exact = (out + 0.5) * scale;  // a product of two floats is exact in double
  float at = wanted.small ? static_cast<float>(exact) : static_cast<float>(exact - 0.5);
  if (!wanted.small) at += 0.5f;
  return std::min(static_cast<int>(at), length - 1);
}

/// The interval has `length` source pixels from `left`.
inline void axis::fill(int i, const axis_request& wanted, int left, int length) {
  const double low = wanted.low - left, scale = scale_;
  const int out = wanted.window_first + (wanted.mirrored ? wanted.window_size - 1 - i : i);
  std::int32_t& first = first_[static_cast<std::size_t>(i)];
  std::int32_t& count = count_[static_cast<std::size_t>(i)];
  std::int16_t* const weights = weights_.data() + static_cast<std::size_t>(i) * taps_;
  if (is_nearest(wanted.filter)) {
    if (wanted.filter == interpolation::nearest && low == 0) {
      first = left + nearest(wanted, out, length);
    } else {
      // Torch computes corners in single precision.
      const double at = wanted.filter == interpolation::nearest ? low + (out + 0.5) * scale
                        : low == 0 ? static_cast<double>(static_cast<float>(out) * static_cast<float>(scale))
                                   : low + out * scale;
      first = left + std::clamp(static_cast<int>(std::floor(at)), 0, length - 1);
    }
    count = 1;
    weights[0] = static_cast<std::int16_t>(weight_one);
    return;
  }
  // Computes the right half as an exact reflection of the left half, so that a mirror commutes with a resize.
  const int reflected = wanted.size - 1 - out;
  const bool symmetric = low == 0 && left + length == wanted.high;
  const bool reverse = symmetric && reflected < out, middle = symmetric && reflected == out;
  const double center = low + ((reverse ? reflected : out) + 0.5) * scale;
  const double reach = (wanted.filter == interpolation::bicubic ? 2.0 : 1.0) * std::max(scale, 1.0);
  // A cast rounds toward 0, not down; that's the same from 0 up, where it matters.
  int begin = std::max(0, static_cast<int>(center - reach + 0.5));
  int end = std::min(length, static_cast<int>(center + reach + 0.5));
  begin = std::min(begin, length - 1);
  end = std::clamp(end, begin + 1, begin + static_cast<int>(taps_));
  if (middle) begin = std::max(begin, length - end), end = length - begin;

  double sum = 0;
  for (int k = begin; k < end; ++k) {
    const double w = weight_at((k - center + 0.5) * narrowed_, wanted.filter);
    exact_[static_cast<std::size_t>(k - begin)] = w;
    sum += w;
  }
  // Rounding the running sum instead of each weight keeps the total exact for any number of taps.
  const int taps = end - begin;
  const int computed = middle ? taps / 2 : taps;
  const double share = 1 / sum;
  double running = 0;
  int given = 0;
  for (int k = 0; k < computed; ++k) {
    running += exact_[static_cast<std::size_t>(k)];
    const int up_to = !middle && k + 1 == taps ? weight_one : fixed(running * share);
    weights[k] = static_cast<std::int16_t>(up_to - given);
    given = up_to;
  }
  if (middle) {
    for (int k = 0; k < computed; ++k) weights[taps - 1 - k] = weights[k];
    if (taps % 2 != 0) {
      weights[computed] = static_cast<std::int16_t>(weight_one - 2 * given);
    } else {
      weights[computed] = weights[computed - 1] =
          static_cast<std::int16_t>(weights[computed - 1] + weight_one / 2 - given);
    }
  }
  int skip = 0, used = taps;
  while (used > 1 && weights[used - 1] == 0) --used;
  while (skip + 1 < used && weights[skip] == 0) ++skip;
  std::copy(weights + skip, weights + used, weights);
  count = used - skip;
  first = left + begin + skip;
  if (reverse) {
    first = left + length - (begin + skip) - count;
    std::reverse(weights, weights + count);
  }
  if (count != 1) copies_ = false;
}

}  // namespace wick::detail

/// \file
/// Which source pixels make up each output pixel along one axis, and with what weight: computed once a
/// picture, used by every row and column of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <wick/pixels/geometry.hpp>

namespace wick::detail {

/// What an axis table is to describe: the source interval [low, high) resized to `size` pixels, of which
/// those from window_first on are wanted, window_size many, backwards when mirrored. Ends that are no whole
/// pixels come from decoders that scale.
struct axis_request {
  double low = 0, high = 0;
  int size = 0;
  int window_first = 0, window_size = 0;
  bool mirrored = false;
  interpolation filter = interpolation::bilinear;
};

/// Output i is the sum over k < count[i] of weight(i)[k] * source[first[i] + k].
class axis {
 public:
  void build(const axis_request& wanted);

  int size() const noexcept { return static_cast<int>(first_.size()); }
  /// The most source pixels that one output has.
  int most_taps() const noexcept { return most_taps_; }
  int first(int i) const noexcept { return first_[static_cast<std::size_t>(i)]; }
  int count(int i) const noexcept { return count_[static_cast<std::size_t>(i)]; }
  const std::int16_t* weights(int i) const noexcept;
  /// The source pixels that are needed at all: [low, high).
  int low() const noexcept { return low_; }
  int high() const noexcept { return high_; }
  /// Each output is one source pixel as it is.
  bool copies() const noexcept { return copies_; }

 private:
  static double weight_at(double x, interpolation filter) noexcept;
  static int fixed(double w) noexcept;
  void fill(int i, const axis_request& wanted, int left, int length);
  void copy(const axis_request& wanted);

  std::vector<std::int32_t> first_, count_;
  std::vector<std::int16_t> weights_;
  std::vector<double> exact_;
  std::size_t taps_ = 0;
  int low_ = 0, high_ = 0, most_taps_ = 0;
  bool copies_ = false;
};

/// Nothing is resized: each output is a source pixel, whatever the filter.

/// `length` source pixels from `left` on are the interval's.

}  // namespace wick::detail

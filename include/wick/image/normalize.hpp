/// \file
/// The normalize stage on single pictures: bytes become float32 with mean 0 and deviation 1, written straight
/// into the batch's slot. (After transfer() the same stage works on whole batches, on the device: see
/// torch/.)
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <wick/image/lazy_image.hpp>
#include <wick/pixels/pixel_ops.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/sample/stage.hpp>

namespace wick {

namespace detail {

/// A number for each channel, or one for all: `0.5`, `{0.485, 0.456, 0.406}`.
struct channel_values {
  std::array<float, 4> values{};
  int count = 0;

  channel_values(double all) noexcept
      : values{static_cast<float>(all)}, count(1) {}  // NOLINT: implicit on purpose
  /// \throws wick::error unless there are one to four
  channel_values(std::initializer_list<double> each) : count(static_cast<int>(each.size())) {
    if (each.size() < 1 || each.size() > values.size()) {
      throw error("normalize: " + std::to_string(each.size()) +
                  " values; give one for each channel, or one for all");
    }
    std::size_t i = 0;
    for (const double v : each) values[i++] = static_cast<float>(v);
  }
};

class normalize_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "normalize";

  normalize_stage(const channel_values& mean, const channel_values& deviation)
      : by_{mean.values, deviation.values, std::max(mean.count, deviation.count)} {
    if (mean.count != deviation.count && mean.count != 1 && deviation.count != 1) {
      throw error("normalize: " + std::to_string(mean.count) + " means and " +
                  std::to_string(deviation.count) + " deviations; give as many of each");
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(by_.count); ++i) {
      if (mean.count == 1) by_.mean[i] = mean.values[0];
      if (deviation.count == 1) by_.deviation[i] = deviation.values[0];
      if (!std::isfinite(by_.mean[i]) || !std::isfinite(by_.deviation[i]) || !(by_.deviation[i] > 0)) {
        throw error("normalize: mean " + std::to_string(by_.mean[i]) + ", deviation " +
                    std::to_string(by_.deviation[i]) +
                    "; give finite means, and deviations above 0, for pixels in [0, 1]");
      }
    }
  }

  lazy_image operator()(lazy_image picture, context&) const {
    picture.normalize(by_);
    return picture;
  }

  /// The first count() are meant; with a count of 1 they hold for every channel.
  const std::array<float, 4>& mean() const noexcept { return by_.mean; }
  const std::array<float, 4>& std() const noexcept { return by_.deviation; }
  int count() const noexcept { return by_.count; }
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash::of(by_.mean, by_.deviation, by_.count);
  }

 private:
  normalization by_;
};

}  // namespace detail

/// (x / 255 - mean) / std as float32, per channel; mean and std are for pixels in [0, 1], as torchvision's
/// Normalize after ToTensor. The last picture stage.
inline detail::normalize_stage normalize(const detail::channel_values& mean,
                                         const detail::channel_values& std) {
  return {mean, std};
}

}  // namespace wick

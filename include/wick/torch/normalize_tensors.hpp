// normalize() after batch(): on whole tensors, and after transfer(), on the device.
#pragma once

#include <cstdint>
#include <string_view>

#include <ATen/core/Tensor.h>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/transforms/normalize.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// uint8 [N, C, H, W] (any memory layout), [N, H, W, C], or, with one mean for all, any shape → `type` in the
/// same shape and strides, (x / 255 - mean) / std. On a device, it is one kernel that computes in float32;
/// means and deviations are copied there once. It is faster to move uint8 and then normalize on the device: a
/// quarter of the bytes move. \throws wick::error when no dimension has as many channels as there are means
at::Tensor normalized(const normalize_stage& by, const at::Tensor& t, at::ScalarType type);

at::Tensor apply_stage(const normalize_stage& by, const at::Tensor& t, context&);

/// normalize() that returns tensors of a type that the caller chooses.
class normalize_as_stage : public normalizes {
 public:
  static constexpr stage_traits traits{
      .name = "normalize", .kind = stage_kind::data, .has_fingerprint = true, .has_check = true};

  normalize_as_stage(normalize_stage by, at::ScalarType type);

  at::Tensor operator()(const at::Tensor& t) const { return normalized(by_, t, type_); }
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash::of(by_.fingerprint(), static_cast<int>(type_));
  }

  template <class Item, class... Before>
  static consteval bool check() {
    return normalize_stage::check<Item, Before...>();
  }

 private:
  normalize_stage by_;
  at::ScalarType type_;
};

}  // namespace detail

/// After batch(): the result of normalize(mean, std) as tensors of `type`, for a half-precision model:
/// `transfer(torch::kCUDA) | normalize(mean, std, torch::kBFloat16)`. From bytes to that type is one pass on
/// the device. It is also a function of tensors, for a batch that is a struct:
/// `[f = normalize(mean, std, type)](T b) { b.picture = f(b.picture); return b; }`.
/// \throws wick::error when `type` isn't a floating-point type
inline detail::normalize_as_stage normalize(const channel_values& mean, const channel_values& std,
                                            at::ScalarType type) {
  return {normalize(mean, std), type};
}

}  // namespace wick

// Stages that apply one operation on levels, the same for each image: always, or with probability p.
#pragma once

#include <cstdint>
#include <string_view>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/detail/arguments.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pixels/detail/pixel_ops.hpp>

namespace wick::inline v0_1::detail {

/// `Named` provides the stage's name.
template <class Named>
class op_stage : public color_stage<op_stage<Named>> {
 public:
  static constexpr stage_traits traits{
      .name = Named::name, .has_fingerprint = true, .in_slot = slot_phase::color};

  explicit op_stage(const pixel_op& op) noexcept : op_(op) {}
  const pixel_op& draw(context&) const noexcept { return op_; }
  void apply(lazy_image& picture, const pixel_op& op) const { picture.apply(op); }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(op_.what, op_.value); }

 private:
  pixel_op op_;
};

/// The same with probability p.
template <class Named>
class random_op_stage : public color_stage<random_op_stage<Named>> {
 public:
  static constexpr stage_traits traits{
      .name = Named::name, .has_fingerprint = true, .in_slot = slot_phase::color};

  random_op_stage(const pixel_op& op, double p) : op_(op), p_(p) {
    detail::require_probability(traits.name, p);
  }
  bool draw(context& ctx) const noexcept { return ctx.random().bernoulli(p_); }
  void apply(lazy_image& picture, bool chosen) const {
    if (chosen) picture.apply(op_);
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(op_.what, op_.value, p_); }

 private:
  pixel_op op_;
  double p_;
};

}  // namespace wick::detail

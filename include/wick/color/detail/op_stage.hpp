/// \file
/// Stages of one operation on levels that is the same for each picture: done to all of them, or to some by
/// chance.
#pragma once

#include <cstdint>
#include <string_view>

#include <wick/image/detail/arguments.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pixels/pixel_ops.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/sample/stage.hpp>

namespace wick::detail {

/// `Named` has the stage's name.
template <class Named>
class op_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = Named::name;

  explicit op_stage(const pixel_op& op) noexcept : op_(op) {}
  lazy_image operator()(lazy_image picture, context&) const {
    picture.apply(op_);
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(op_.what, op_.value); }

 private:
  pixel_op op_;
};

/// The same with probability p.
template <class Named>
class random_op_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = Named::name;

  random_op_stage(const pixel_op& op, double p) : op_(op), p_(p) { detail::require_probability(name, p); }
  lazy_image operator()(lazy_image picture, context& ctx) const {
    if (ctx.random().bernoulli(p_)) picture.apply(op_);
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(op_.what, op_.value, p_); }

 private:
  pixel_op op_;
  double p_;
};

}  // namespace wick::detail

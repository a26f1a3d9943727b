// Implements transforms/pad.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/ext/fingerprint.hpp>
#include <wick/image/detail/padding.hpp>
#include <wick/transforms/pad.hpp>

namespace wick::inline v0_1::detail {

pad_stage::pad_stage(const edges& by, const pad_options& options) : by_(by), options_(options) {
  detail::require_edges(traits.name, by);
}

geometry_steps pad_stage::decide(frame, context&) const noexcept {
  if (by_.empty()) return {};
  return geometry_step::pad({by_, options_.fill, options_.padding_mode, options_.mask_fill});
}

std::uint64_t pad_stage::fingerprint() const noexcept {
  const std::uint64_t all = fingerprint_hash::of(by_.each(), options_.fill.levels, options_.padding_mode);
  return options_.mask_fill == 0 ? all : fingerprint_hash::of(all, options_.mask_fill);
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::pad_stage pad(const edges& by, const pad_options& options) { return {by, options}; }

detail::pad_stage pad(int left, int top, int right, int bottom, const pad_options& options) {
  return {{left, top, right, bottom}, options};
}

}  // namespace wick

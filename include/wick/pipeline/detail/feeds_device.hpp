// Whether a pipeline takes batches to a device, where the training loop launches operations.
#pragma once

#include <tuple>

#include <wick/ext/stage.hpp>

namespace wick::inline v0_1::detail {

/// A stage says so with a member function of this name, which its traits announce.
template <class Stage>
bool feeds_device(const Stage& s) noexcept {
  if constexpr (traits_of<Stage>.has_feeds_device)
    return s.feeds_device();
  else
    return false;
}
template <class... Stage>
bool feeds_device(const std::tuple<Stage...>& stages) noexcept {
  return std::apply([](const auto&... s) { return (feeds_device(s) || ...); }, stages);
}

}  // namespace wick::detail

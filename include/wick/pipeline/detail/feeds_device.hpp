// Whether a pipeline takes batches to a device, where the training loop launches operations.
#pragma once

#include <cstddef>
#include <utility>

#include <wick/ext/stage.hpp>
#include <wick/pipeline/detail/stage_list.hpp>

namespace wick::inline v0_1::detail {

/// A stage says so with a member function of this name, which its traits announce.
template <class Stage>
bool feeds_device(const Stage& s) noexcept {
  if constexpr (traits_of<Stage>.has_feeds_device)
    return s.feeds_device();
  else
    return false;
}
template <std::size_t... I, class... Stages>
bool feeds_device(const numbered_stages<std::index_sequence<I...>, Stages...>& list) noexcept {
  if constexpr ((traits_of<Stages>.has_feeds_device || ...))
    return (feeds_device(get_stage<I>(list)) || ...);
  else
    return false;
}

}  // namespace wick::detail

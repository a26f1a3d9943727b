// The stages of a pipeline, in order, or their functions for an epoch: a tuple that compiles faster than
// std::tuple.
#pragma once

#include <cstddef>
#include <utility>

namespace wick::inline v0_1::detail {

template <std::size_t I, class Stage>
struct stage_cell {
  Stage stage;
};

template <class Numbers, class... Stages>
struct numbered_stages;
template <std::size_t... I, class... Stages>
struct numbered_stages<std::index_sequence<I...>, Stages...> : stage_cell<I, Stages>... {};

template <class... Stages>
using stage_list = numbered_stages<std::index_sequence_for<Stages...>, Stages...>;

/// Stage I of a list.
template <std::size_t I, class Stage>
constexpr Stage& get_stage(stage_cell<I, Stage>& list) noexcept {
  return list.stage;
}
template <std::size_t I, class Stage>
constexpr const Stage& get_stage(const stage_cell<I, Stage>& list) noexcept {
  return list.stage;
}

/// The stages of both lists.
template <std::size_t... I, class... A, std::size_t... J, class... B>
constexpr stage_list<A..., B...> joined(numbered_stages<std::index_sequence<I...>, A...>&& a,
                                        numbered_stages<std::index_sequence<J...>, B...>&& b) {
  return {{std::move(static_cast<stage_cell<I, A>&>(a).stage)}...,
          {std::move(static_cast<stage_cell<J, B>&>(b).stage)}...};
}

/// Calls f for each stage, in order.
template <class F, std::size_t... I, class... Stages>
constexpr void for_each_stage(numbered_stages<std::index_sequence<I...>, Stages...>& list, F&& f) {
  (f(static_cast<stage_cell<I, Stages>&>(list).stage), ...);
}
template <class F, std::size_t... I, class... Stages>
constexpr void for_each_stage(const numbered_stages<std::index_sequence<I...>, Stages...>& list, F&& f) {
  (f(static_cast<const stage_cell<I, Stages>&>(list).stage), ...);
}

}  // namespace wick::detail

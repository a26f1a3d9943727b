/// \file
/// What makes a type a stage, and of which kind.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

namespace wick {

// A stage type names its kind: `using stage_kind = wick::on_data;`. A user's callable needs none of this.
struct on_order {};   ///< maps positions to indexes of the source; runs before anything is read
struct on_sample {};  ///< takes the whole item: `operator()(item)` or `operator()(item, context&)`
struct on_data {};    ///< takes the item's `data` (or the item itself, when it is no sample<>)
struct on_sample_or_data {};  ///< the item or its data, whichever it takes: what a callable becomes
struct on_batching {};  ///< makes batches of samples
struct on_batch {};   ///< takes a whole batch

template <class S>
concept stage = requires {
  typename std::remove_cvref_t<S>::stage_kind;
  { std::remove_cvref_t<S>::name } -> std::convertible_to<std::string_view>;
};

template <class S, class Kind>
concept stage_of = stage<S> && std::same_as<typename std::remove_cvref_t<S>::stage_kind, Kind>;

}  // namespace wick

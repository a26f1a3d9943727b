/// \file
/// What makes a type a stage, and of which kind.
#pragma once

#include <concepts>
#include <cstdint>
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

/// An order stage says how many positions it leaves of n, and gives for one epoch a function from its positions to
/// those before it. The function is copied into each batch and called by all workers. One that is faster for many
/// positions has `map(std::uint64_t* positions, std::size_t count)` too, which does them in place. Parameters that
/// decide what stands where are told by `std::uint64_t fingerprint() const`, so that a resume with others is refused.
template <class S>
concept order_stage = stage_of<S, on_order> && requires(const S& s, std::uint64_t n) {
  { s.size(n) } -> std::convertible_to<std::uint64_t>;
  { s.prepare(n, n, n, std::uint32_t{})(n) } -> std::convertible_to<std::uint64_t>;
  requires std::default_initializable<decltype(s.prepare(n, n, n, std::uint32_t{}))>;
};

}  // namespace wick

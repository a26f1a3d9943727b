// The types of a pipeline, computed once: where the order stages end, where batches begin, and the types
// between stages.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/detail/column.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

/// The column of a pipeline without batch(): single samples, in groups that only the loader sees.
template <class Item>
class single_column : public fitting_column {
 public:
  using output = std::vector<std::optional<Item>>;
  void begin(std::size_t n, layout, const std::shared_ptr<slab_pool>&) {
    slots_.clear();
    slots_.resize(n);
  }
  void put(std::size_t i, Item&& value) { slots_[i].emplace(std::move(value)); }
  output finish(std::size_t) { return std::move(slots_); }
  void drop() noexcept { slots_.clear(); }
  /// Takes back memory that finish() gave away, for the next batch.
  void reuse(output&& used) noexcept {
    if (slots_.capacity() == 0) slots_ = std::move(used);
  }

 private:
  output slots_;
};

template <class Source, class... S>
struct pipeline_types {
  static constexpr std::size_t size = sizeof...(S);
  template <std::size_t I>
  using stage_at = std::tuple_element_t<I, std::tuple<S...>>;

  static constexpr std::size_t order_end = [] {
    std::size_t n = 0;
    ((stage_of<S, stage_kind::order> ? ++n : n), ...);
    return n;
  }();
  static constexpr std::size_t batching = [] {  // size when there is none
    constexpr bool is[] = {stage_of<S, stage_kind::batching>..., true};
    std::size_t n = 0;
    while (!is[n]) ++n;
    return n;
  }();
  static constexpr bool batched = batching < size;
  /// Whether a stage leaves out samples.
  static constexpr bool filters = (traits_of<S>.drops_samples || ...);

  template <std::size_t I>
  static consteval auto item_before() {
    return []<std::size_t... J>(std::index_sequence<J...>) {
      return std::type_identity<typename items_after<source_item<Source>, stage_at<J>...>::type>{};
    }(std::make_index_sequence<I>{});
  }
  /// The input of stage I; for I == size, the pipeline's output.
  template <std::size_t I>
  using item = typename decltype(item_before<I>())::type;

  using last_sample = item<batching>;

  template <bool Batched, class Dummy = void>
  struct collation {
    using columns = single_column<materialized_t<last_sample>>;
    using value = typename columns::output;
    using delivered = materialized_t<last_sample>;
    static constexpr bool objects = true;
  };
  template <class Dummy>
  struct collation<true, Dummy> {
    using stage = stage_at<batching>;
    using columns = typename stage::template collator<last_sample>;
    using value = item<size>;
    using delivered = value;
    static constexpr bool objects = false;
  };
  using columns = typename collation<batched>::columns;
  using value = typename collation<batched>::value;
  /// The type that the training loop gets.
  using delivered = typename collation<batched>::delivered;
  static constexpr bool materialize_last = collation<batched>::objects;

  /// The first of the stages [I, End) that suspends; End when none does.
  template <std::size_t I, std::size_t End>
  static consteval std::size_t next_async() {
    if constexpr (I >= End)
      return End;
    else if constexpr (is_async<stage_at<I>, item<I>>)
      return I;
    else
      return next_async<I + 1, End>();
  }
  static constexpr bool samples_suspend = next_async<order_end, batching>() < batching;
  static constexpr bool batches_suspend = batched && next_async<batching + 1, size>() < size;

  /// The stage that keeps samples for later epochs; batching when there is none.
  static constexpr std::size_t cache = [] {
    constexpr bool is[] = {traits_of<S>.caches..., true};
    std::size_t n = 0;
    while (!is[n]) ++n;
    return n < batching ? n : batching;
  }();

  static constexpr bool cached_elsewhere = [] {
    if constexpr (cache < batching)
      return traits_of<stage_at<cache>>.lookup_suspends;
    else
      return false;
  }();
  static constexpr bool cached_here = cache < batching && !cached_elsewhere;
  using kept_item = item < cache<batching ? cache + 1 : 0>;
};

/// The type that a loader of a source without stages gives. Empty for anything that isn't a source.
template <class Source>
struct delivered_by {};
template <source Source>
struct delivered_by<Source> {
  using type = typename pipeline_types<Source>::delivered;
};

}  // namespace wick::detail

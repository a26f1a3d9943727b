/// \file
/// `source | stage | stage`: a pipeline is a value that says what is to be done with each sample; a loader
/// does it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <wick/pipeline/detail/apply.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/sample/source.hpp>
#include <wick/sample/stage.hpp>

namespace wick {

namespace detail {

/// A user's callable as a stage.
template <class F>
class map_stage {
 public:
  using stage_kind = on_sample_or_data;
  using stage_hooks = hooks<hook::label, hook::fingerprint>;
  static constexpr std::string_view name = "map";
  explicit map_stage(F f, std::string label = "map") : f_(std::move(f)), label_(std::move(label)) {}
  std::string_view label() const noexcept { return label_; }
  template <class... Args>
    requires std::is_invocable_v<F&, Args...>
  decltype(auto) operator()(Args&&... args) {
    return f_(std::forward<Args>(args)...);
  }
  /// A callable that has parameters may have a fingerprint of them, as any stage.
  std::uint64_t fingerprint() const {
    if constexpr (detail::has_parameters<F>)
      return f_.fingerprint();
    else
      return 0;
  }

 private:
  F f_;
  std::string label_;
};

/// Some stages without a source: a value that can be named, kept and put into several pipelines.
template <stage... Stages>
struct chain {
  std::tuple<Stages...> stages;
};

}  // namespace detail

/// A source and what is done with its samples.
template <source Source, stage... Stages>
struct pipeline {
  Source origin;                 ///< as it was given
  std::tuple<Stages...> stages;  ///< in their order
};

namespace detail {

template <class T>
inline constexpr bool is_chain = false;
template <class... S>
inline constexpr bool is_chain<chain<S...>> = true;
template <class T>
inline constexpr bool is_pipeline = false;
template <class Src, class... S>
inline constexpr bool is_pipeline<pipeline<Src, S...>> = true;

}  // namespace detail

/// A callable as a stage, with a name for errors and the report: `map(f)`, `map("tokenize", f)`. f takes the
/// item, or the data of a `sample<>`, and a `context&` if it wants; it returns the next item, or a task of
/// it. It is called by all workers at once: what it changes must be safe for that (see per_worker).
template <class F>
detail::map_stage<std::decay_t<F>> map(F&& f) {
  return detail::map_stage<std::decay_t<F>>(std::forward<F>(f));
}
template <class F>
detail::map_stage<std::decay_t<F>> map(std::string name, F&& f) {
  return detail::map_stage<std::decay_t<F>>(std::forward<F>(f), std::move(name));
}

// ---- what fits after what ----

namespace detail {

template <class... S>
inline constexpr bool has_batching = (stage_of<S, on_batching> || ...);

/// The item that the stages make of Item, before batching and after it.
template <class Item, class... S>
struct items_after {
  using type = Item;
};
template <class Item, class First, class... Rest>
struct items_after<Item, First, Rest...> {
  template <class I>
  static consteval auto next() {
    if constexpr (stage_of<First, on_order>)
      return std::type_identity<I>{};
    else if constexpr (stage_of<First, on_batching>)
      return std::type_identity<typename First::template batch_of<I>>{};
    else
      return std::type_identity<next_item<First, I>>{};
  }
  using type = typename items_after<typename decltype(next<Item>())::type, Rest...>::type;
};

template <class Source>
using source_item = std::remove_cvref_t<decltype(std::declval<const Source&>().at(0))>;

template <class... S>
inline constexpr bool only_order_stages = (stage_of<S, on_order> && ...);

/// What a pipeline becomes when a stage did not fit, which the compiler has said by then: it takes all that
/// follows, so that one mistake is one message.
struct anything_else {
  template <class T>
  operator T&() const;
};
struct misfit_source {
  struct item {
    anything_else data, target;
  };
  std::uint64_t size() const { return 0; }
  item at(std::uint64_t) const { return {}; }
};
using misfit_pipeline = pipeline<misfit_source>;
template <class...>
struct misfit_pipeline_for {
  using type = misfit_pipeline;
};
/// The same, named so that nothing is instantiated where nothing is wrong.
template <class... S>
using misfit_pipeline_of = typename misfit_pipeline_for<S...>::type;

template <class Came, class Stage, class... Before>
consteval bool check_fit() {
  if constexpr (!check_hooks<Stage>()) {
    return false;
  } else if constexpr (stage_of<Stage, on_order>) {
    static_assert(
        only_order_stages<Before...>,
        "wick: an order stage (shuffle, shard, take, …) works on positions, before anything is read; "
        "it came after a stage that works on samples; write it directly behind the source");
    if constexpr (!only_order_stages<Before...>) {
      return false;
    } else if constexpr (has_hook<Stage, hook::check>) {
      return Stage::template check<Came, Before...>();
    } else {
      return true;
    }
  } else if constexpr (stage_of<Stage, on_batching>) {
    static_assert(!has_batching<Before...>,
                  "wick: this pipeline is batched already; a second batch() was found; write one of the two");
    if constexpr (has_batching<Before...>)
      return false;
    else
      return Stage::template check<Came>();
  } else if constexpr (stage_of<Stage, on_batch> && !has_batching<Before...>) {
    static_assert(
        has_batching<Before...>,
        "wick: this stage works on batches, and what came is a single sample; write batch(n) before it");
    return false;
  } else if constexpr (has_hook<Stage, hook::check>) {
    return Stage::template check<Came, Before...>();
  } else {
    constexpr bool fits = way_of<Stage, Came>() != way::none;
    static_assert(
        fits,
        "wick: this stage does not take what the stage before it gives. See 'Came' and 'Stage' in the "
        "compiler's note: wanted is a callable with Came, or with the data of it, and perhaps a "
        "wick::context&; what gives nothing back must take its item by reference or as a copy. A picture "
        "must be read() and decode()d before it is cropped or resized; "
        "else write a stage of your own between the two that converts, | [](Came item) { return …; }");
    return fits;
  }
}

template <class T>
auto as_stages(T&& t) {
  using type = std::remove_cvref_t<T>;
  if constexpr (is_chain<type>)
    return std::forward<T>(t).stages;
  else if constexpr (stage<type>)
    return std::tuple<type>(std::forward<T>(t));
  else
    return std::tuple<map_stage<std::decay_t<T>>>(map_stage<std::decay_t<T>>(std::forward<T>(t)));
}

template <class Src, class... Before, class Stage>
constexpr auto append_one(pipeline<Src, Before...>&& p, Stage&& s) {
  // NOLINTNEXTLINE(bugprone-branch-clone): check_fit is of no misfit
  if constexpr (std::is_same_v<Src, misfit_source>) {
    return misfit_pipeline{};
  } else if constexpr (check_fit<typename items_after<source_item<Src>, Before...>::type, Stage,
                                 Before...>()) {
    return pipeline<Src, Before..., Stage>{
        std::move(p.origin), std::tuple_cat(std::move(p.stages), std::tuple<Stage>(std::forward<Stage>(s)))};
  } else {
    return misfit_pipeline{};
  }
}

/// The stages of a tuple from the I-th on, without std::apply: the compiler shows the way back to the user's
/// line.
template <std::size_t I, class P, class... Stages>
constexpr auto append(P&& p, std::tuple<Stages...>&& stages) {
  if constexpr (I == sizeof...(Stages))
    return std::move(p);
  else
    return append<I + 1>(append_one(std::move(p), std::move(std::get<I>(stages))), std::move(stages));
}

template <class T>
concept wickish = stage<T> || is_chain<std::remove_cvref_t<T>>;

/// A container is a source too, and `container | std::views::…` is not ours: it takes a stage, or
/// from(container).
template <class L, class R>
concept pipeable = wickish<L> || is_pipeline<std::remove_cvref_t<L>> ||
                   (source<std::remove_cvref_t<L>> && (wickish<R> || !requires(L&& l) { l.begin(); }));

/// Puts a stage (or a chain of them, or any callable) behind a source, a pipeline or a chain. It is found by
/// its operands, most of which are of wick::detail; those of wick find it by the using below.
template <class L, class R>
  requires(pipeable<L, R> && !source<std::remove_cvref_t<R>> && !is_pipeline<std::remove_cvref_t<R>>)
constexpr auto operator|(L&& left, R&& right) {
  using left_type = std::remove_cvref_t<L>;
  if constexpr (wickish<left_type>) {
    return std::apply(
        [](auto&&... s) { return chain<std::remove_cvref_t<decltype(s)>...>{{std::move(s)...}}; },
        std::tuple_cat(as_stages(std::forward<L>(left)), as_stages(std::forward<R>(right))));
  } else {
    auto start = [&] {
      if constexpr (is_pipeline<left_type>)
        return left_type(std::forward<L>(left));
      else
        return pipeline<left_type>{std::forward<L>(left), {}};
    }();
    return append<0>(std::move(start), as_stages(std::forward<R>(right)));
  }
}

}  // namespace detail

using detail::operator|;

/// A pipeline of a source of the user's own, so that a callable may follow it: `from(my_source) |
/// my_callable`.
template <class S>
  requires source<std::remove_cvref_t<S>>
auto from(S&& s) {
  return pipeline<std::remove_cvref_t<S>>{std::forward<S>(s), {}};
}

}  // namespace wick

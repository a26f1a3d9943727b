// `source | stage | stage`: a pipeline is a value that describes the work on each sample; a loader executes
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/source.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/detail/stage_list.hpp>
#include <wick/pipeline/detail/why_not.hpp>
#include <wick/pipeline/detail/written_at.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// A user's callable as a stage.
template <class F>
class map_stage {
 public:
  static constexpr stage_traits traits{.has_label = true, .has_fingerprint = true, .has_callable = true};
  map_stage(F f, std::string label, written_at at) : f_(std::move(f)), label_(std::move(label)), at_(at) {}
  std::string_view label() const noexcept { return label_; }
  const written_at& written() const noexcept { return at_; }
  /// The callable that is called in place of this stage.
  using callable_type = F;
  F& callable() noexcept { return f_; }
  /// A callable with parameters may have a fingerprint of them, like any stage.
  std::uint64_t fingerprint() const {
    if constexpr (traits_of<F>.has_fingerprint)
      return f_.fingerprint();
    else
      return 0;
  }

 private:
  F f_;
  std::string label_;
  written_at at_;
};

/// Stages without a source: a value that you can name, keep, and put into several pipelines.
template <stage... Stages>
struct chain {
  stage_list<Stages...> stages;
};

template <class Source, class... Stages>
struct pipeline_parts {
  Source origin;  // as given
  stage_list<Stages...> stages;
};

/// The type that begin() and end() of a pipeline return. It has all that a loop needs, so that the compiler
/// complains only about begin(). It isn't an iterator, and a pipeline isn't a range.
template <class Pipeline>
struct looped_over;

}  // namespace detail

/// A source and the stages for its samples.
template <ext::source Source, ext::stage... Stages>
struct pipeline : detail::pipeline_parts<Source, Stages...> {
  /// Doesn't compile: loop over a loader of this pipeline instead.
  template <class Self = pipeline>
  detail::looped_over<Self> begin() const {
    static_assert(!std::is_same_v<Self, pipeline>,
                  "wick: a pipeline only describes what to do; make a loader of it, wick::loader "
                  "train(pipeline), and loop over that: for (auto& batch : train)");
    return {};
  }
  template <class Self = pipeline>
  detail::looped_over<Self> end() const {
    return {};
  }
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
/// item, or the data of a `sample<>`, and optionally a `context&`; it returns the next item, or a task of it.
/// All workers call f at once, so all that it changes must be safe for that (see per_worker). f lives in the
/// loader, and may outlive the function that wrote it. Capture by value, or by reference only objects that
/// outlive the loader: no compiler and none of wick's tests detect a reference to a local that is gone. A
/// lambda with `auto` gets the whole item, not the data of a sample. Without a name it is "map" to policies,
/// reports, and states, and errors say where it was written: "map at train.cpp:42".
template <class F>
detail::map_stage<std::decay_t<F>> map(F&& f, detail::written_at at = detail::written_at::here()) {
  return {std::forward<F>(f), "map", at};
}
template <class F>
detail::map_stage<std::decay_t<F>> map(std::string name, F&& f) {
  return {std::forward<F>(f), std::move(name), {}};
}

// ---- which stage fits after which ----

namespace detail {

template <class... S>
inline constexpr bool has_batching = (stage_of<S, stage_kind::batching> || ...);

/// The item that the stages make of Item, before batching and after it.
template <class Item, class... S>
struct items_after {
  using type = Item;
};
template <class Item, class First, class... Rest>
struct items_after<Item, First, Rest...> {
  template <class I>
  static consteval auto next() {
    if constexpr (stage_of<First, stage_kind::order>)
      return std::type_identity<I>{};
    else if constexpr (stage_of<First, stage_kind::batching>)
      return std::type_identity<typename First::template batch_of<I>>{};
    else
      return std::type_identity<next_item<First, I>>{};
  }
  using type = typename items_after<typename decltype(next<Item>())::type, Rest...>::type;
};

template <class Source>
using source_item = std::remove_cvref_t<decltype(std::declval<const Source&>().at(0))>;

template <class Source, class... Stages>
struct looped_over<pipeline<Source, Stages...>> {
  typename items_after<source_item<Source>, Stages...>::type& operator*() const;
  looped_over& operator++();
  bool operator!=(const looped_over&) const;
};

template <class... S>
inline constexpr bool only_order_stages = (stage_of<S, stage_kind::order> && ...);

/// A pipeline becomes this after a stage that doesn't fit, which the compiler has reported by then. It
/// accepts all that follows, so that one mistake gives one message.
struct convertible_to_anything {
  template <class T>
  operator T&() const;
};
struct misfit_source {
  struct item {
    convertible_to_anything data, target;
  };
  std::uint64_t size() const { return 0; }
  item at(std::uint64_t) const { return {}; }
};
template <class Source>
inline constexpr bool is_misfit = std::is_same_v<Source, misfit_source>;
using misfit_pipeline = pipeline<misfit_source>;
template <class...>
struct misfit_pipeline_for {
  using type = misfit_pipeline;
};
/// The same, with a dependent name, so that nothing is instantiated if nothing is wrong.
template <class... S>
using misfit_pipeline_of = typename misfit_pipeline_for<S...>::type;

enum class fit { yes, no, broken };

/// The result of the stage's own check(), if it has one.
template <class Came, class Stage, class... Before>
consteval bool check_own() {
  if constexpr (traits_of<Stage>.has_check)
    return Stage::template check<Came, Before...>();
  else
    return true;
}

template <class Came, class Stage, class... Before>
consteval fit check_fit() {
  if constexpr (!check_traits<Stage>()) {
    return fit::no;
  } else if constexpr (stage_of<Stage, stage_kind::order> && !only_order_stages<Before...>) {
    static_assert(
        only_order_stages<Before...>,
        "wick: an order stage (shuffle, shard, take, …) works on positions, before anything is read; "
        "it came after a stage that works on samples; write it directly after the source");
    return fit::no;
  } else if constexpr (stage_of<Stage, stage_kind::batching> && has_batching<Before...>) {
    static_assert(!has_batching<Before...>,
                  "wick: this pipeline is batched already; a second batch() was found; write one of the two");
    return fit::no;
  } else if constexpr (stage_of<Stage, stage_kind::batch> && !has_batching<Before...>) {
    static_assert(
        has_batching<Before...>,
        "wick: this stage works on batches, and the item is a single sample; write batch(n) before it");
    return fit::no;
  } else if constexpr (stage_of<Stage, stage_kind::batching>) {
    return Stage::template check<Came>() ? fit::yes : fit::no;
  } else if constexpr (!check_own<Came, Stage, Before...>()) {
    return fit::no;
  } else if constexpr (stage_of<Stage, stage_kind::order> ||
                       (stage_of<Stage, stage_kind::batch> && traits_of<Stage>.has_check)) {
    return fit::yes;
  } else {
    constexpr way by = way_of<Stage, Came>();
    if constexpr (by == way::none) {
      constexpr reason why = why_not<Stage, Came, has_batching<Before...>>();
      constexpr bool is_read = why != reason::not_read, is_decoded = why != reason::not_decoded;
      constexpr bool is_read_and_decoded = why != reason::not_read_and_decoded;
      constexpr bool is_picture = why != reason::not_a_picture;
      constexpr bool is_tensor = why != reason::batch_is_struct;
      constexpr bool is_batched = why != reason::not_batched, is_single = why != reason::batched;
      constexpr bool gives_something = why != reason::gives_nothing,
                     can_be_called = why != reason::no_callable;
      constexpr bool takes_it = why != reason::another_type;
      static_assert(is_read,
                    "wick: this stage takes bytes, and the item says only where they lie; write read() "
                    "before it");
      static_assert(is_read_and_decoded,
                    "wick: this stage takes a picture, and the item says only where its bytes lie; write "
                    "read() | decode() before it");
      static_assert(is_decoded,
                    "wick: this stage takes a picture, and the item is bytes as they were read; write "
                    "decode() before it");
      static_assert(is_picture,
                    "wick: this stage takes a picture, and the item is an array in memory (of "
                    "tensor_dataset(), idx(), decode_raw()); write to_image() before it");
      static_assert(is_single,
                    "wick: this stage takes a single picture, and the item is a batch; write it before "
                    "batch(n)");
      static_assert(is_tensor,
                    "wick: normalize() takes a tensor, and this batch is a struct ('Came'); write "
                    "| [f = normalize(mean, std, torch::kFloat32)](Came b) { b.image = f(b.image); return "
                    "b; } with your type and field");
      static_assert(is_batched,
                    "wick: this stage takes tensors or arrays, and the item is a single sample without any; "
                    "write batch(n) before it");
      static_assert(
          gives_something,
          "wick: this stage takes its item over and gives nothing back, so that the next stage gets nothing; "
          "return the item, or take it by reference");
      static_assert(can_be_called,
                    "wick: the right side of | is neither a stage nor callable; write a stage, or a callable "
                    "that takes "
                    "the item ('Came')");
      static_assert(
          takes_it,
          "wick: this stage does not take what the stage before it gives ('Stage' and 'Came' above); "
          "write a stage between the two that converts: | [](Came item) { return …; }");
      return fit::no;
    } else {
      using argument = typename argument_by<Came, by>::type;
      return form_of<typename callee<Stage>::type, argument>() == form::broken ? fit::broken : fit::yes;
    }
  }
}

/// Makes the compiler say why the stage doesn't compile, if it hasn't said so yet.
template <class Stage, class Came>
void say_broken() {
  using callable = typename callee<Stage>::type;
  constexpr bool takes_data = !is_sample<Came> || !generic_callable<callable>;
  static_assert(takes_data,
                "wick: a lambda of auto is given the whole sample<> ('Came'), not its data; if the error "
                "above is about that, write the type, [](wick::image picture), or use sample.data");
  using argument = typename argument_by<Came, way_of<Stage, Came>()>::type;
  static_cast<void>(&call_broken<callable, argument>);
}

template <class T>
auto as_stage(T&& t) {
  if constexpr (stage<T>)
    return std::remove_cvref_t<T>(std::forward<T>(t));
  else
    return map_stage<std::decay_t<T>>(std::forward<T>(t), "map", written_at::of<std::decay_t<T>>());
}
template <class T>
auto as_chain(T&& t) {
  if constexpr (is_chain<std::remove_cvref_t<T>>)
    return std::remove_cvref_t<T>(std::forward<T>(t));
  else
    return chain<decltype(as_stage(std::forward<T>(t)))>{{{as_stage(std::forward<T>(t))}}};
}
template <class... A, class... B>
chain<A..., B...> joined(chain<A...>&& a, chain<B...>&& b) {
  return {joined(std::move(a.stages), std::move(b.stages))};
}

template <class Src, class... Before, class Stage>
constexpr auto append_one(pipeline<Src, Before...>&& p, Stage&& s) {
  // NOLINTNEXTLINE(bugprone-branch-clone): check_fit is of no misfit
  if constexpr (std::is_same_v<Src, misfit_source>) {
    return misfit_pipeline{};
  } else {
    using came = typename items_after<source_item<Src>, Before...>::type;
    constexpr fit found = check_fit<came, Stage, Before...>();
    if constexpr (found == fit::yes) {
      return pipeline<Src, Before..., Stage>{
          {std::move(p.origin), detail::joined(std::move(p.stages), stage_list<Stage>{{std::move(s)}})}};
    } else {
      if constexpr (found == fit::broken) say_broken<Stage, came>();
      return misfit_pipeline{};
    }
  }
}

/// Appends the stages of a chain from number I on, one at a time, so that compiler messages lead back to the
/// user's line.
template <std::size_t I, class P, class... Stages>
constexpr auto append(P&& p, chain<Stages...>&& after) {
  if constexpr (I == sizeof...(Stages))
    return std::move(p);
  else
    return append<I + 1>(append_one(std::move(p), std::move(get_stage<I>(after.stages))), std::move(after));
}

template <class T>
concept stage_or_chain = stage<T> || is_chain<std::remove_cvref_t<T>>;

/// A container is a source, too, but `container | std::views::…` isn't wick's. A container needs a stage on
/// the right, or from(container).
template <class L, class R>
concept pipeable =
    stage_or_chain<L> || is_pipeline<std::remove_cvref_t<L>> ||
    (source<std::remove_cvref_t<L>> && (stage_or_chain<R> || !requires(L&& l) { l.begin(); })) ||
    (almost_source<std::remove_cvref_t<L>> && stage_or_chain<R>);

/// A type that looks like a source and can't be called. A vocabulary that has size(), at(), and a call
/// operator is a callable.
template <class R>
concept only_source = source<R> && !generic_callable<R> && !requires { &R::operator(); };

/// Puts a stage (or a chain of them, or any callable) after a source, a pipeline, or a chain. The compiler
/// finds it through its operands, most of which are in wick::detail; those in wick find it through the using
/// below.
template <class L, class R>
  requires(pipeable<L, R> && !only_source<std::remove_cvref_t<R>> && !is_pipeline<std::remove_cvref_t<R>>)
constexpr auto operator|(L&& left, R&& right) {
  using left_type = std::remove_cvref_t<L>;
  if constexpr (stage_or_chain<left_type>) {
    return joined(detail::as_chain(std::forward<L>(left)), detail::as_chain(std::forward<R>(right)));
  } else if constexpr (almost_source<left_type>) {
    check_source<left_type>();
    return misfit_pipeline_of<left_type>{};
  } else {
    auto start = [&] {
      if constexpr (is_pipeline<left_type>)
        return left_type(std::forward<L>(left));
      else
        return pipeline<left_type>{{std::forward<L>(left), {}}};
    }();
    if constexpr (is_chain<std::remove_cvref_t<R>>)
      return append<0>(std::move(start), std::remove_cvref_t<R>(std::forward<R>(right)));
    else
      return detail::append_one(std::move(start), detail::as_stage(std::forward<R>(right)));
  }
}

}  // namespace detail

using detail::operator|;

/// Makes a pipeline of your own source, so that a callable can follow it: `from(my_source) | my_callable`.
template <class S>
auto from(S&& s) {
  using type = std::remove_cvref_t<S>;
  if constexpr (detail::check_source<type>())
    return pipeline<type>{{std::forward<S>(s), {}}};
  else
    return detail::misfit_pipeline_of<type>{};
}

}  // namespace wick

// filter(predicate): leaves out samples by their content.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/detail/dropped.hpp>
#include <wick/pipeline/detail/written_at.hpp>

namespace wick::inline v0_1 {

namespace detail {

template <class P>
class filter_stage {
 public:
  static constexpr stage_traits traits{
      .name = "filter", .has_label = true, .has_fingerprint = true, .drops_samples = true};

  filter_stage(std::string label, P keep, written_at at)
      : label_(std::move(label)), keep_(std::move(keep)), at_(at) {}
  std::string_view label() const noexcept { return label_; }
  const written_at& written() const noexcept { return at_; }
  std::uint64_t fingerprint() const {
    if constexpr (traits_of<P>.has_fingerprint)
      return keep_.fingerprint();
    else
      return 0;
  }

  template <class X>
    requires accepts<P, const X&, context&>
  void operator()(X& x, context& c) {
    if (!says<const X&, context&>(x, c)) drop();
  }
  template <class X>
    requires accepts<P, const X&>
  void operator()(X& x) {
    if (!says<const X&>(x)) drop();
  }

 private:
  template <class... A>
  bool says(A... with) {
    constexpr bool is_answer = requires(P& p) { static_cast<bool>(p(std::declval<A>()...)); };
    static_assert(
        is_answer,
        "wick: filter() takes a predicate, and what this callable returns isn't a bool; return true "
        "for samples that are to be kept");
    return static_cast<bool>(keep_(with...));
  }
  std::string label_;
  P keep_;
  written_at at_;
};

}  // namespace detail

/// Leaves out the samples for which `keep` returns false:
/// `filter([](const record& r) { return r.score > 4; })`. `keep` takes the item, or the data of a sample<>,
/// as const&, and optionally a `context&`. All workers call it at once. Write filter() after the stages that
/// it depends on: after read() or decode() if it looks at bytes or images. For facts that the source knows
/// without reading, subset(predicate) keeps batches full and costs nothing in the epoch.
///
/// Every other sample keeps its place: a batch is shorter by the samples left out of it, and may be empty.
/// Each rank has as many batches as without filter(), and the slices of all ranks together are the batches of
/// a single rank. A sample left out isn't a failure, and on_error doesn't apply; loader.filtered() and the
/// report count it. On one rank, an epoch that keeps no sample ends with a wick::error. On several ranks,
/// where no rank knows which samples the others keep, its batches are empty. Leaving a sample out takes 1 to
/// 2 µs.
template <class P>
detail::filter_stage<std::decay_t<P>> filter(P&& keep, detail::written_at at = detail::written_at::here()) {
  return {"filter", std::forward<P>(keep), at};
}
/// The same with a name for errors and the report.
template <class P>
detail::filter_stage<std::decay_t<P>> filter(std::string name, P&& keep) {
  return {std::move(name), std::forward<P>(keep), {}};
}

}  // namespace wick

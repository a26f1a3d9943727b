// per_worker(make, f): a stage with one state per worker, for objects that are costly to make and not
// thread-safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wick/async/detail/worker_local.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/detail/written_at.hpp>

namespace wick::inline v0_1 {

namespace detail {

template <class Make, class F>
class per_worker_stage {
  using state = std::remove_cvref_t<std::invoke_result_t<Make&>>;

 public:
  static constexpr stage_traits traits{
      .name = "per_worker", .has_label = true, .has_fingerprint = true, .has_attach = true};

  per_worker_stage(std::string label, Make make, F f, written_at at)
      : label_(std::move(label)), make_(std::move(make)), f_(std::move(f)), at_(at) {}
  /// A copy has its own states, so a chain with this stage can be part of several pipelines.
  per_worker_stage(const per_worker_stage& other)
    requires(std::copy_constructible<Make> && std::copy_constructible<F>)
      : label_(other.label_), make_(other.make_), f_(other.f_), at_(other.at_) {}
  // NOLINTNEXTLINE(performance-noexcept-move-constructor): as Make and F are
  per_worker_stage(per_worker_stage&&) = default;
  std::string_view label() const noexcept { return label_; }
  const written_at& written() const noexcept { return at_; }
  std::uint64_t fingerprint() const {
    if constexpr (traits_of<F>.has_fingerprint)
      return f_.fingerprint();
    else
      return 0;
  }

  /// The loader passes the executor that it runs on.
  void attach(executor& on) { states_ = std::make_unique<worker_local<state>>(on); }

  template <class X>
    requires accepts<F, state&, X, context&>
  decltype(auto) operator()(X&& x, context& c) {
    refuse_waiting<X, context&>();
    return f_(states_->get(make_), std::forward<X>(x), c);
  }
  template <class X>
    requires accepts<F, state&, X>
  decltype(auto) operator()(X&& x) {
    refuse_waiting<X>();
    return f_(states_->get(make_), std::forward<X>(x));
  }

 private:
  template <class... Args>
  static consteval void refuse_waiting() {
    constexpr bool waits = requires(F& f, state& s) {
      { f(s, std::declval<Args>()...) } -> awaitable;
    };
    static_assert(
        !waits,
        "wick: a per_worker stage can't suspend: it may wake up on another worker, whose state is another; "
        "do what needs the state in a plain callable, and the waiting in a stage of its own");
  }
  std::string label_;
  Make make_;
  F f_;
  written_at at_;
  std::unique_ptr<worker_local<state>> states_;
};

}  // namespace detail

/// A stage with one state per worker, for objects that are costly to make and not thread-safe:
/// `per_worker([] { return tokenizer(); }, [](tokenizer& t, wick::bytes text) { return t(text); })`. Each
/// worker calls `make` once, when it first needs a state. The states live as long as the loader. `f` takes
/// the state, and then the arguments of any stage. It must not suspend.
template <class Make, class F>
auto per_worker(Make&& make, F&& f, detail::written_at at = detail::written_at::here()) {
  return detail::per_worker_stage<std::decay_t<Make>, std::decay_t<F>>("per_worker", std::forward<Make>(make),
                                                                       std::forward<F>(f), at);
}
/// The same with a name for errors and the report.
template <class Make, class F>
auto per_worker(std::string name, Make&& make, F&& f) {
  return detail::per_worker_stage<std::decay_t<Make>, std::decay_t<F>>(
      std::move(name), std::forward<Make>(make), std::forward<F>(f), detail::written_at());
}

}  // namespace wick

// Awaits and records times: how long a stage worked before it suspended, and how long it then waited.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <variant>

#include <wick/async/detail/activity.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/detail/trace_lane.hpp>

namespace wick::inline v0_1::detail {

template <class A>
decltype(auto) awaiter_in(A& a) {
  if constexpr (has_member_co_await<A> || has_free_co_await<A>)
    return detail::awaiter_of(std::move(a));
  else
    return (a);
}
/// An awaiter's result, as a value that can be stored.
template <class A>
auto resumed(A& a) {
  if constexpr (std::is_void_v<decltype(a.await_resume())>) {
    a.await_resume();
    return std::monostate{};
  } else {
    return a.await_resume();
  }
}

/// `Clocks` is like stage_clocks, and outlives the coroutine. `NotePhases(clocks, index)` charges decoding
/// that earlier stages deferred, up to the first wait, to those stages, and returns its ticks.
template <class Inner, class Clocks, auto NotePhases>
class timed_await {
 public:
  timed_await(Inner&& inner, Clocks* clocks, std::uint32_t stage, std::uint64_t begun, context* of) noexcept
      : inner_(static_cast<Inner&&>(inner)), clocks_(clocks), stage_(stage), begun_(begun), of_(of) {
    if (activity* const doing = of->doing()) doing->begin();
  }

  timed_await(const timed_await&) = delete;
  timed_await& operator=(const timed_await&) = delete;
  /// An await that has thrown took time, too.
  ~timed_await() {
    if (!settled_ && ended_ != 0 && clocks_->has_this_thread()) settle();
  }

  bool await_ready() { return inner_.await_ready(); }

  template <class Promise>
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> handle) {
    // Once the inner awaiter has let the coroutine go, another worker may run and end it: after that, only
    // copies are used.
    Clocks* const clocks = clocks_;
    const std::uint32_t stage = stage_;
    const std::uint64_t begun = begun_, index = of_->index();
    const bool followed = of_->followed();
    trace_span span;
    if (followed) span = begin_span();
    suspended_ = true;
    bool suspends = true;
    if constexpr (std::is_void_v<decltype(inner_.await_suspend(handle))>) {
      inner_.await_suspend(handle);
    } else if constexpr (std::is_same_v<decltype(inner_.await_suspend(handle)), bool>) {
      suspends = inner_.await_suspend(handle);
    } else {
      inner_.await_suspend(handle).resume();
    }
    if (suspends) {
      const std::uint64_t worked = now_ticks() - begun;
      clocks->worked_before_suspending(stage, worked, NotePhases(*clocks, index));
      span.ended = begun + worked;
      if (followed) clocks->lane().write(span);
    } else {
      suspended_ = false;
    }
    return suspends;
  }

  /// The inner awaiter's own work counts for the stage, too.
  auto await_resume() {
    struct at_end {
      std::uint64_t& to;
      ~at_end() { to = now_ticks(); }
    } const note{ended_};
    return detail::resumed(inner_);
  }

  /// Records what the await took. On a worker, after the await.
  void settle() noexcept {
    settled_ = true;
    if (const std::size_t bytes = of_->take_reserved(); bytes != 0) clocks_->reserved(stage_, bytes);
    activity::times spent{};
    if (suspended_)
      settle_wait(spent);
    else
      settle_work();
    if (!of_->followed()) return;
    trace_span span = begin_span();
    span.kind = suspended_ ? span_kind::wait : span_kind::work;
    span.ended = ended_;
    clocks_->awaited(span, of_->doing(), spent);
  }

 private:
  void settle_work() noexcept {
    const std::uint64_t worked = ended_ - begun_;
    clocks_->worked(stage_, worked - std::min(worked, NotePhases(*clocks_, of_->index())), of_->index());
  }
  void settle_wait(activity::times& spent) noexcept {
    std::uint64_t ran = 0;
    if (activity* const doing = of_->doing()) {
      doing->enter();  // an awaiter that isn't wick's may have resumed it
      spent = doing->spent();
      const std::uint64_t all = std::accumulate(spent.begin() + 1, spent.end(), std::uint64_t{0});
      // Without a wait of wick's, all of the time is a wait for something outside wick.
      if (all != 0) ran = std::min(spent[0] - doing->ran_at_first(), ended_ - begun_);
      clocks_->waited_for(stage_, spent);
    }
    clocks_->waited(stage_, ended_ - begun_, ran, of_->index());
  }
  trace_span begin_span() const noexcept {
    trace_span out;
    out.begun = begun_;
    out.position = of_->position();
    out.index = of_->index();
    out.epoch = of_->epoch();
    out.row = static_cast<std::uint16_t>(stage_);
    return out;
  }

  Inner inner_;
  Clocks* clocks_;
  std::uint32_t stage_;
  std::uint64_t begun_, ended_ = 0;
  context* of_;
  bool suspended_ = false, settled_ = false;
};

}  // namespace wick::detail

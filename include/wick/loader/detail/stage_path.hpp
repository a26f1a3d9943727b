/// \file
/// The way of a sample through the stages, and of a batch through those behind it, with a clock at each.
/// It does not know what starts them, and when.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/batch/detail/cloning.hpp>
#include <wick/ext/stage.hpp>
#include <wick/loader/detail/asking_cache.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/loader/detail/pipeline_types.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/gathering.hpp>
#include <wick/pipeline/detail/phases.hpp>
#include <wick/pipeline/detail/timed_await.hpp>
#include <wick/pipeline/detail/trace_lane.hpp>
#include <wick/pipeline/with_others.hpp>
#include <wick/profile/detail/stage_clocks.hpp>
#include <wick/sampling/detail/epoch_plan.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1::detail {

/// A batch with its columns.
template <class Types>
struct typed_batch : batch_job {
  typed_batch() noexcept { bytes = sizeof(typed_batch); }
  typename Types::columns columns;
  std::optional<typename Types::value> value;
};

template <class Pipeline>
class stage_path;

/// Owns the source and the stages. All workers call it at once. Which clocks are read, by which plan others
/// are drawn and whether it is noted what stages draw is up to the pipeline_run of the batch.
template <class Source, class... S>
class stage_path<pipeline<Source, S...>> {
 public:
  using types = pipeline_types<Source, S...>;
  using plan_type = epoch_plan<stage_path>;
  using batch_type = typed_batch<types>;
  using value = typename types::value;
  static constexpr std::size_t stages = sizeof...(S);
  static constexpr std::size_t order_row = stages, phase_row = stages + 1, rows = phase_row + phase_count;
  /// The first stage that was written for what a phase does; where there is none, batch().
  static constexpr std::size_t carries_out(slot_phase p) noexcept {
    constexpr std::array<slot_phase, stages> phases{traits_of<S>.in_slot...};
    const auto found = std::find(phases.begin(), phases.begin() + types::batching, p);
    return static_cast<std::size_t>(found - phases.begin());
  }

  stage_path(pipeline<Source, S...> what, executor& on)
      : source_(std::move(what.origin)), stages_(std::move(what.stages)), on_(on) {
    static_assert(types::batching >= types::order_end);
    for_each_stage([&](auto& s) {
      if constexpr (traits_of<decltype(s)>.has_attach) s.attach(on_);
    });
    refresh();
  }
  stage_path(const stage_path&) = delete;
  stage_path& operator=(const stage_path&) = delete;

  /// The source, then the order stages read again what changes. No worker is here.
  void refresh() {
    const auto rest = [&] {
      for_each_stage([&](auto& s) {
        if constexpr (traits_of<decltype(s)>.lookup_suspends)
          asking_cache<stage_path>::open(*this, s);
        else if constexpr (traits_of<decltype(s)>.has_refresh)
          refresh_stage(s);
        else if constexpr (traits_of<decltype(s)>.mixes)
          s.follow(source_);  // mix()
      });
    };
    if constexpr (!refreshed_source<Source>) {
      rest();
    } else if constexpr (std::is_void_v<decltype(source_.refresh())>) {
      source_.refresh();
      rest();
    } else {
      [[maybe_unused]] const auto hold = source_.refresh();
      rest();
    }
  }

  template <class Stage>
  void refresh_stage(Stage& stage) {
    if constexpr (requires { stage.refresh(std::as_const(source_)); })
      stage.refresh(std::as_const(source_));
    else
      stage.refresh();
  }

  const Source& source() const noexcept { return source_; }
  template <std::size_t I>
  auto& stage() noexcept {
    return std::get<I>(stages_);
  }
  template <std::size_t I>
  const auto& stage() const noexcept {
    return std::get<I>(stages_);
  }
  template <class F>
  void for_each_stage(F&& f) {
    std::apply([&](auto&... s) { (f(s), ...); }, stages_);
  }
  template <class F>
  void for_each_stage(F&& f) const {
    std::apply([&](const auto&... s) { (f(s), ...); }, stages_);
  }
  template <class F>
  void for_each_batch_stage(F&& f) {
    if constexpr (types::batched) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (f(std::get<types::batching + 1 + I>(stages_)), ...);
      }(std::make_index_sequence<stages - types::batching - 1>{});
    }
  }

  // ---- samples ----

  /// A sample that a cache in memory keeps, as it leaves that stage; null where it has to be made.
  const auto* kept(const context& c) const noexcept
    requires(types::cached_here)
  {
    return stage<types::cache>().template find<typename types::template item<types::cache + 1>>(c);
  }
  /// Before a sample is made that a cache may keep.
  void freeze_for_cache(context& c) const noexcept {
    if constexpr (types::cache < types::batching) c.freeze(stage<types::cache>().frozen());
  }
  template <class Item>
  static Item again(const Item& kept) {
    return cloning<Item>::of(kept);
  }
  /// From the source, or from the cache, through all stages, which don't suspend, into the slot.
  template <bool Timed>
  void run(context& c, batch_type& j, std::uint64_t slot, stopwatch* clock) {
    if constexpr (types::cached_here) {
      if (const auto* const item = kept(c)) {
        c.enter(static_cast<std::uint32_t>(types::cache));
        auto copy = again(*item);
        if constexpr (Timed) clock->mark(types::cache);
        return pass<types::cache + 1, Timed>(std::move(copy), c, j, slot, clock);
      }
    }
    freeze_for_cache(c);
    pass<types::order_end, Timed>(source_.at(c.index()), c, j, slot, clock);
  }
  /// The same where a stage may suspend.
  static task<void> run_async(stage_path* self, context* c, batch_type* j, std::uint64_t slot) {
    if constexpr (types::cached_elsewhere) {
      return asking_cache<stage_path>::run(self, c, j, slot);
    } else if constexpr (types::cached_here) {
      if (const auto* const item = self->kept(*c)) {
        using kept_type = std::remove_cvref_t<decltype(*item)>;
        c->enter(static_cast<std::uint32_t>(types::cache));
        return pass_kept<kept_type>(self, again(*item), c, j, slot);
      }
    }
    self->freeze_for_cache(*c);
    auto item = to_rvalue(self->source_.at(c->index()));
    return pass_async<types::order_end, decltype(item)>(self, std::move(item), c, j, slot);
  }
  /// A sample that a cache elsewhere keeps; none where it has to be made.
  template <class Job>
  static auto ask_cache(stage_path* self, context* c, Job* j) {
    return asking_cache<stage_path>::ask(self, c, j);
  }
  template <class Item>
  static task<void> pass_kept(stage_path* self, Item item, context* c, batch_type* j, std::uint64_t slot) {
    constexpr std::size_t next = types::cache + 1;
    if constexpr (types::template next_async<next, types::batching>() < types::batching) {
      task<void> rest = pass_async<next, Item>(self, std::move(item), c, j, slot);
      co_await rest;
    } else {
      self->template pass_rest<next>(std::move(item), *c, *j, slot);
      co_return;
    }
  }

  /// Through the stages from I on, which don't suspend, into the slot.
  template <std::size_t I, bool Timed, class Item>
  void pass(Item&& item, context& c, batch_type& j, std::uint64_t slot, stopwatch* clock) {
    if constexpr (Timed)
      c.enter_watched(static_cast<std::uint32_t>(I));
    else
      c.enter(static_cast<std::uint32_t>(I));
    if constexpr (I == types::batching) {
      if constexpr (Timed) phase_ticks::take();
      if constexpr (types::materialize_last) {
        j.columns.put(slot,
                      materialized<std::remove_cvref_t<Item>>::make(to_rvalue(std::forward<Item>(item))));
      } else {
        j.columns.put(slot, to_rvalue(std::forward<Item>(item)));
      }
      if constexpr (Timed) clock->mark(I, phase_ticks::take(), phase_row);
    } else {
      if constexpr (Timed) forget_phases<I>();
      auto&& next = apply(std::get<I>(stages_), to_rvalue(std::forward<Item>(item)), c);
      if constexpr (Timed) {
        mark<I>(*clock);
      }
      pass<I + 1, Timed>(std::move(next), c, j, slot, clock);
    }
  }
  /// A source may give references to what it owns: those are copied, what it gives by value moves on.
  template <class Item>
  static decltype(auto) to_rvalue(Item&& item) {
    if constexpr (std::is_lvalue_reference_v<Item&&>)
      return std::remove_cvref_t<Item>(item);
    else
      return std::move(item);
  }

  /// The same through stages that suspend: from one to the next, as a coroutine.
  template <std::size_t I, class Item>
  static task<void> pass_async(stage_path* self, Item item, context* c, batch_type* j, std::uint64_t slot) {
    constexpr std::size_t stage = types::template next_async<I, types::batching>();
    using stage_type = typename types::template stage_at<stage>;
    using given = typename types::template item<stage>;
    using next_type = typename types::template item<stage + 1>;
    using how = application<stage_type, given>;

    auto came = self->template pass_until<I, stage>(std::move(item), *c, *j);
    c->enter_watched(static_cast<std::uint32_t>(stage));
    forget_phases<stage>();
    std::uint64_t begun = now_ticks();
    auto prepared = how::prepare(std::move(came));
    auto operation = self->template start<stage>(how::argument(prepared), *c, *j);
    begun += note_phases<stage>(j->of->clocks, c->index());
    decltype(auto) inner = awaiter_in(operation);
    using inner_type = decltype(inner);
    timed_await<inner_type, stage_clocks, &note_phases<stage>> timed(
        static_cast<inner_type&&>(inner), &j->of->clocks, static_cast<std::uint32_t>(stage), begun, c);
    if constexpr (std::is_void_v<value_once_awaited_t<typename how::raw>>) {
      co_await timed;
      if (self->on_.this_slot() == executor::none)
        co_await self->on_.schedule();  // a thread of the user's resumed it
      timed.settle();
      if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
      next_type next(std::move(prepared));
      if constexpr (types::template next_async<stage + 1, types::batching>() < types::batching) {
        task<void> rest = pass_async<stage + 1, next_type>(self, std::move(next), c, j, slot);
        co_await rest;
      } else {
        self->template pass_rest<stage + 1>(std::move(next), *c, *j, slot);
      }
    } else {
      auto result = co_await timed;
      if (self->on_.this_slot() == executor::none)
        co_await self->on_.schedule();  // a thread of the user's resumed it
      timed.settle();
      if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
      next_type next = rebuild<next_type>(std::move(prepared), std::move(result));
      if constexpr (types::template next_async<stage + 1, types::batching>() < types::batching) {
        task<void> rest = pass_async<stage + 1, next_type>(self, std::move(next), c, j, slot);
        co_await rest;
      } else {
        self->template pass_rest<stage + 1>(std::move(next), *c, *j, slot);
      }
    }
  }

  /// Begins a stage that suspends.
  template <std::size_t I, class X>
  auto start(X& item, context& c, batch_type& j) {
    if constexpr (traits_of<typename types::template stage_at<I>>.gathers_others) {
      static_assert(!plan_type::grouped,
                    "wick: with_others() (mixup, cutmix, mosaic) in a pipeline with bucket() or pack(), "
                    "which plan by the lengths of single samples; leave one of the two out");
      return gathering<stage_path>::template gather<I>(this, &item, &c, &j);
    } else {
      return call(std::get<I>(stages_), item, c);
    }
  }

  /// Whether stage I may carry out what earlier stages deferred.
  template <std::size_t I>
  static constexpr bool carries_out_others() noexcept {
    for (std::size_t p = 0; p < phase_count; ++p)
      if (carries_out(static_cast<slot_phase>(p)) < I) return true;
    return false;
  }
  template <std::size_t I>
  static void forget_phases() noexcept {
    if constexpr (carries_out_others<I>()) phase_ticks::take();
  }
  /// Stage I is over. What it carried out for earlier stages is charged to them.
  template <std::size_t I>
  static void mark(stopwatch& clock) noexcept {
    if constexpr (carries_out_others<I>()) {
      phase_ticks::values of_others = phase_ticks::take();
      for (std::size_t p = 0; p < phase_count; ++p)
        if (carries_out(static_cast<slot_phase>(p)) >= I) of_others[p] = 0;
      clock.mark(I, of_others, phase_row);
    } else {
      clock.mark(I);
    }
  }
  /// The same up to the first wait of a call that may suspend. Returns the ticks that were charged to others.
  template <std::size_t I>
  static std::uint64_t note_phases([[maybe_unused]] stage_clocks& clocks,
                                   [[maybe_unused]] std::uint64_t index) noexcept {
    std::uint64_t all = 0;
    if constexpr (carries_out_others<I>()) {
      stage_clocks::worker& mine = clocks.mine();
      const phase_ticks::values of_others = phase_ticks::take();
      for (std::size_t p = 0; p < phase_count; ++p) {
        if (of_others[p] == 0 || carries_out(static_cast<slot_phase>(p)) >= I) continue;
        mine.clocks[phase_row + p].worked(0, of_others[p]);
        mine.records[phase_row + p].took(of_others[p], index);
        all += of_others[p];
      }
    }
    return all;
  }

  template <std::size_t I, std::size_t End, class Item>
  auto pass_until(Item&& item, context& c, batch_type& j) {
    if constexpr (I == End) {
      return std::remove_cvref_t<Item>(std::move(item));
    } else {
      c.enter_watched(static_cast<std::uint32_t>(I));
      stage_clocks::worker& mine = j.of->clocks.mine();
      stopwatch clock(mine, true);
      clock.begin(c, order_row);
      forget_phases<I>();
      auto next = apply(std::get<I>(stages_), std::move(item), c);
      mark<I>(clock);
      mine.clocks[I].ran(1);
      mine.clocks[I].worked(1, 0);
      if (const std::size_t bytes = c.take_reserved(); bytes != 0)
        j.of->clocks.reserved(static_cast<std::uint32_t>(I), bytes);
      return pass_until<I + 1, End>(std::move(next), c, j);
    }
  }
  template <std::size_t I, class Item>
  void pass_rest(Item&& item, context& c, batch_type& j, std::uint64_t slot) {
    stage_clocks::worker& mine = j.of->clocks.mine();
    stopwatch clock(mine, true);
    clock.begin(c, order_row);
    pass<I, true>(std::move(item), c, j, slot, &clock);
    j.of->count(mine.clocks, I, 1, 1);
  }

  // ---- batches ----

  /// Through the batch stages from I on, which don't suspend.
  template <std::size_t I, class Batch>
  auto pass_batch(Batch&& batch, context& c, pipeline_run& of) {
    if constexpr (I == stages) {
      return std::remove_cvref_t<Batch>(std::move(batch));
    } else {
      c.enter_watched(static_cast<std::uint32_t>(I));
      const std::uint64_t begun = now_ticks();
      auto rest = [&](auto next) {
        of.count_batch(I, begun, c, span_kind::batch);
        return pass_batch<I + 1>(std::move(next), c, of);
      };
      auto& stage = std::get<I>(stages_);
      // A stage that wraps those behind it (to set their stream) calls them itself.
      if constexpr (traits_of<decltype(stage)>.has_around)
        return stage.around(std::move(batch), rest);
      else
        return rest(apply(stage, std::move(batch), c));
    }
  }
  /// The same through stages that suspend.
  template <std::size_t I, class Batch>
  static task<value> pass_batch_async(stage_path* self, Batch batch, context* c, pipeline_run* of) {
    if constexpr (I == stages) {
      co_return std::move(batch);
    } else {
      c->enter_watched(static_cast<std::uint32_t>(I));
      const std::uint64_t begun = now_ticks();
      using stage_type = typename types::template stage_at<I>;
      if constexpr (is_async<stage_type, Batch>) {
        task<next_item<stage_type, Batch>> one =
            apply_async(&std::get<I>(self->stages_), std::move(batch), c);
        auto next = co_await one;
        of->count_batch(I, begun, *c, span_kind::batch_wait);
        task<value> rest = pass_batch_async<I + 1, decltype(next)>(self, std::move(next), c, of);
        value v = co_await rest;
        co_return std::move(v);
      } else {
        static_assert(
            !traits_of<stage_type>.has_around,
            "wick: a batch stage that suspends can't be in a pipeline with transfer(); write it as a stage "
            "of samples, or as a plain callable");
        auto next = apply(std::get<I>(self->stages_), std::move(batch), *c);
        of->count_batch(I, begun, *c, span_kind::batch);
        task<value> rest = pass_batch_async<I + 1, decltype(next)>(self, std::move(next), c, of);
        value v = co_await rest;
        co_return std::move(v);
      }
    }
  }

 private:
  friend struct gathering<stage_path>;
  friend struct asking_cache<stage_path>;
  Source source_;
  std::tuple<S...> stages_;
  executor& on_;
};

}  // namespace wick::detail

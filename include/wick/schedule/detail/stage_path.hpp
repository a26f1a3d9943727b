/// \file
/// The way of a sample through the stages, and of a batch through those behind it, with a clock at each.
/// Knows nothing of who starts them and when.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/detail/slab.hpp>
#include <wick/failure/detail/failed_sample.hpp>
#include <wick/failure/quarantine.hpp>
#include <wick/observe/clock.hpp>
#include <wick/observe/detail/stage_clocks.hpp>
#include <wick/observe/phases.hpp>
#include <wick/order/detail/epoch_plan.hpp>
#include <wick/order/order.hpp>
#include <wick/pipeline/detail/gathering.hpp>
#include <wick/pipeline/detail/timed_await.hpp>
#include <wick/pipeline/with_others.hpp>
#include <wick/receipt/detail/draw_notes.hpp>
#include <wick/resume/state.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/stop_token.hpp>
#include <wick/run/task.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/stage.hpp>
#include <wick/schedule/detail/pipeline_types.hpp>
#include <wick/trace/detail/trace_lane.hpp>

namespace wick::detail {

template <class Pipeline, bool Again = false>
class stage_path;

/// Owns the source and the stages. All workers call it at once.
///
/// `Again`: a batch is made again, on the source and the stages of the path that owns them. It has clocks of
/// its own, which nobody reads, and notes what stages draw. It is a type of its own, so that the run pays
/// nothing for that.
template <class Source, class... S, bool Again>
class stage_path<pipeline<Source, S...>, Again> : public path_notes<Again> {
 public:
  static constexpr bool again = Again;
  using path_of_run = stage_path<pipeline<Source, S...>>;
  using plan_type = epoch_plan<path_of_run>;
  using types = pipeline_types<Source, S...>;
  using value = typename types::value;
  static constexpr std::size_t stages = sizeof...(S);
  /// Clocks: one a stage, one for order and source, one a phase inside the slot.
  static constexpr std::size_t order_row = stages, phase_row = stages + 1, rows = phase_row + phase_count;
  /// The first stage that was written for what a phase does; where there is none, batch().
  static constexpr std::size_t carries_out(phase p) noexcept {
    constexpr std::array<phase, stages> phases{phase_of<S>...};
    const auto found = std::find(phases.begin(), phases.begin() + types::batching, p);
    return static_cast<std::size_t>(found - phases.begin());
  }

  stage_path(pipeline<Source, S...> what, executor& on)
      : source_(std::move(what.origin)),
        stages_(std::move(what.stages)),
        on_(on),
        clocks_(on, rows, types::batching, stages, types::samples_suspend) {
    static_assert(types::batching >= types::order_end);
    const auto attach = [&](auto& s) {
      if constexpr (has_hook<decltype(s), hook::attach>) s.attach(on_);
    };
    std::apply([&](auto&... s) { (attach(s), ...); }, stages_);
    refresh();
  }
  /// \param notes may be null
  stage_path(path_of_run& of, draw_notes* notes)
    requires Again
      : path_notes<true>{notes},
        source_(of.source_),
        stages_(of.stages_),
        on_(of.on_),
        clocks_(of.on_, rows, types::batching, stages, types::samples_suspend, false) {}

  /// The source, then the order stages take anew what changes. No worker is here.
  void refresh() {
    const auto rest = [&] {
      const auto ask = [&](auto& s) {
        if constexpr (requires { s.refresh(std::as_const(source_)); })
          s.refresh(std::as_const(source_));
        else if constexpr (has_hook<decltype(s), hook::refresh>)
          s.refresh();
      };
      std::apply([&](auto&... s) { (ask(s), ...); }, stages_);
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

  const Source& source() const noexcept { return source_; }
  template <std::size_t I>
  auto& stage() noexcept {
    return std::get<I>(stages_);
  }
  template <std::size_t I>
  const auto& stage() const noexcept {
    return std::get<I>(stages_);
  }
  stage_clocks& clocks() noexcept { return clocks_; }
  const stage_clocks& clocks() const noexcept { return clocks_; }

  std::vector<std::string> stage_names() const {
    std::vector<std::string> out;
    std::apply([&](const auto&... s) { (out.emplace_back(stage_name(s)), ...); }, stages_);
    return out;
  }
  /// The loader's own name where there is no stage of that number.
  std::string stage_name_at(std::size_t i) const {
    std::vector<std::string> names = stage_names();
    return i < names.size() ? std::move(names[i]) : "loader";
  }
  /// What decides which sample stands where and what becomes of it, as far as the stages tell. Random numbers
  /// go by a stage's number, so each counts; of shard() only that it is there.
  std::vector<stage_identity> identity() const {
    std::vector<stage_identity> out;
    const auto ask = [&](const auto& s) {
      stage_identity one{std::string(stage_name(s)), 0, has_hook<decltype(s), hook::refresh>};
      if constexpr (has_hook<decltype(s), hook::fingerprint>) one.parameters = s.fingerprint();
      out.push_back(std::move(one));
    };
    std::apply([&](const auto&... s) { (ask(s), ...); }, stages_);
    return out;
  }
  /// What stages have to say for the report.
  std::vector<std::string> notes() const {
    std::vector<std::string> out;
    const auto ask = [&](const auto& s) {
      if constexpr (has_hook<decltype(s), hook::note>) {
        if (std::string text = s.note(); !text.empty()) out.push_back(std::move(text));
      }
    };
    std::apply([&](const auto&... s) { (ask(s), ...); }, stages_);
    return out;
  }
  shard_stage shard() const {
    shard_stage found;
    const auto look = [&](const auto& s) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(s)>, shard_stage>) found = s;
    };
    std::apply([&](const auto&... s) { (look(s), ...); }, stages_);
    return found;
  }
  template <class F>
  void for_each_batch_stage(F&& f) {
    if constexpr (types::batched) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (f(std::get<types::batching + 1 + I>(stages_)), ...);
      }(std::make_index_sequence<stages - types::batching - 1>{});
    }
  }
  /// Where batches shall lie: what a batch stage asks for (pin does), else ordinary memory.
  std::shared_ptr<slab_memory> batch_memory() {
    std::shared_ptr<slab_memory> wanted;
    for_each_batch_stage([&](auto& s) {
      if constexpr (has_hook<decltype(s), hook::slab_memory>) {
        if (wanted == nullptr) wanted = s.slab_memory();
      }
    });
    return wanted != nullptr ? wanted : std::make_shared<host_slab_memory>();
  }

  /// Where others of the epoch are drawn from, and which of them are known to be bad; both live longer.
  void draw_from(const plan_type& plan, const quarantine& bad) noexcept {
    plan_ = &plan;
    bad_ = &bad;
  }

  // ---- samples ----

  /// Samples that went through the stages from `first` up to batch, well or not; those that were timed stand
  /// for `timed`.
  static void count(stage_clock* clocks, std::size_t first, std::uint64_t samples,
                    std::uint64_t timed) noexcept {
    const auto one = [&](stage_clock& c) {
      c.ran(samples);
      if (timed != 0) c.worked(timed, 0);
    };
    for (std::size_t s = first; s <= types::batching && s < stages; ++s) one(clocks[s]);
    for (std::size_t s = phase_row; s < rows; ++s) one(clocks[s]);
  }

  /// Through the stages from I on, which don't suspend, into the slot.
  template <std::size_t I, bool Timed, class Item, class Job>
  void pass(Item&& item, context& c, Job& j, std::uint64_t slot, stopwatch* clock) {
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
      auto&& next = apply(std::get<I>(stages_), to_rvalue(std::forward<Item>(item)), c);
      if constexpr (Timed) clock->mark(I);
      this->note(c);
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
  template <std::size_t I, class Item, class Job>
  static task<void> pass_async(stage_path* self, Item item, context* c, Job* j, std::uint64_t slot) {
    constexpr std::size_t stage = types::template next_async<I, types::batching>();
    using stage_type = typename types::template stage_at<stage>;
    using given = typename types::template item<stage>;
    using next_type = typename types::template item<stage + 1>;
    using how = application<stage_type, given>;

    auto prepared = how::prepare(self->template pass_until<I, stage>(std::move(item), *c));
    c->enter(static_cast<std::uint32_t>(stage));
    const std::uint64_t begun = now_ticks();
    auto operation = self->template start<stage>(how::argument(prepared), *c, *j);
    decltype(auto) inner = awaiter_in(operation);
    using inner_type = decltype(inner);
    timed_await<inner_type, stage_clocks> timed(static_cast<inner_type&&>(inner), &self->clocks_,
                                                static_cast<std::uint32_t>(stage), begun, c);
    if constexpr (std::is_void_v<value_once_awaited_t<typename how::raw>>) {
      co_await timed;
      if (self->on_.this_slot() == executor::none) co_await self->on_.schedule();  // a stranger resumed us
      timed.settle();
      self->note(*c);
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
      if (self->on_.this_slot() == executor::none) co_await self->on_.schedule();  // a stranger resumed us
      timed.settle();
      self->note(*c);
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
  template <std::size_t I, class X, class Job>
  auto start(X& item, context& c, Job& j) {
    if constexpr (gathers_others<typename types::template stage_at<I>>) {
      static_assert(!plan_type::grouped,
                    "wick: with_others() (mixup, cutmix, mosaic) in a pipeline with bucket() or pack(), "
                    "which plan by the lengths of single samples; leave one of the two out");
      return gathering<stage_path>::template gather<I>(this, &item, &c, &j);
    } else {
      return call(std::get<I>(stages_), item, c);
    }
  }

  template <std::size_t I, std::size_t End, class Item>
  auto pass_until(Item&& item, context& c) {
    if constexpr (I == End) {
      return std::remove_cvref_t<Item>(std::move(item));
    } else {
      c.enter(static_cast<std::uint32_t>(I));
      stage_clocks::worker& mine = clocks_.mine();
      stopwatch clock(mine, true);
      clock.begin(c, order_row);
      auto next = apply(std::get<I>(stages_), std::move(item), c);
      clock.mark(I);
      mine.clocks[I].ran(1);
      mine.clocks[I].worked(1, 0);
      if (const std::size_t bytes = c.take_reserved(); bytes != 0)
        clocks_.reserved(static_cast<std::uint32_t>(I), bytes);
      this->note(c);
      return pass_until<I + 1, End>(std::move(next), c);
    }
  }
  template <std::size_t I, class Item, class Job>
  void pass_rest(Item&& item, context& c, Job& j, std::uint64_t slot) {
    stage_clocks::worker& mine = clocks_.mine();
    stopwatch clock(mine, true);
    clock.begin(c, order_row);
    pass<I, true>(std::move(item), c, j, slot, &clock);
    count(mine.clocks, I, 1, 1);
  }

  // ---- batches ----

  /// Through the batch stages from I on, which don't suspend.
  template <std::size_t I, class Batch>
  auto pass_batch(Batch&& batch, context& c) {
    if constexpr (I == stages) {
      return std::remove_cvref_t<Batch>(std::move(batch));
    } else {
      c.enter(static_cast<std::uint32_t>(I));
      const std::uint64_t begun = now_ticks();
      auto rest = [&](auto next) {
        count_batch(I, begun, c, span_kind::batch);
        return pass_batch<I + 1>(std::move(next), c);
      };
      auto& stage = std::get<I>(stages_);
      // A stage that wraps those behind it (to set their stream) calls them itself.
      if constexpr (has_hook<decltype(stage), hook::around>)
        return stage.around(std::move(batch), rest);
      else
        return rest(apply(stage, std::move(batch), c));
    }
  }
  void count_batch(std::uint16_t stage, std::uint64_t begun, const context& c, span_kind kind) {
    this->note(c);
    if (on_.this_slot() == executor::none) return;  // the consumer, of an empty batch
    const std::uint64_t now = now_ticks();
    clocks_.worked(stage, now - begun, c.index());
    if (trace_lane& lane = clocks_.lane(); lane.on()) {
      lane.write({begun, now, c.index(), 0, c.epoch(), stage, kind});
    }
  }

  /// The same through stages that suspend.
  template <std::size_t I, class Batch>
  static task<value> pass_batch_async(stage_path* self, Batch batch, context* c) {
    if constexpr (I == stages) {
      co_return std::move(batch);
    } else {
      c->enter(static_cast<std::uint32_t>(I));
      const std::uint64_t begun = now_ticks();
      using stage_type = typename types::template stage_at<I>;
      if constexpr (is_async<stage_type, Batch>) {
        task<next_item<stage_type, Batch>> one =
            apply_async(&std::get<I>(self->stages_), std::move(batch), c);
        auto next = co_await one;
        self->count_batch(I, begun, *c, span_kind::batch_wait);
        task<value> rest = pass_batch_async<I + 1, decltype(next)>(self, std::move(next), c);
        value v = co_await rest;
        co_return std::move(v);
      } else {
        static_assert(
            !has_hook<stage_type, hook::around>,
            "wick: a batch stage that suspends can't be in a pipeline with transfer(); write it as a stage "
            "of samples, or as a plain callable");
        auto next = apply(std::get<I>(self->stages_), std::move(batch), *c);
        self->count_batch(I, begun, *c, span_kind::batch);
        task<value> rest = pass_batch_async<I + 1, decltype(next)>(self, std::move(next), c);
        value v = co_await rest;
        co_return std::move(v);
      }
    }
  }

 private:
  friend struct gathering<stage_path>;
  template <class, bool>
  friend class stage_path;
  /// \throws quarantined_sample
  void refuse_bad(std::uint64_t index) const {
    if (bad_->has(index)) throw quarantined_sample();
  }

  template <class T>
  using kept = std::conditional_t<Again, T&, T>;

  kept<Source> source_;
  kept<std::tuple<S...>> stages_;
  executor& on_;
  stage_clocks clocks_;
  const plan_type* plan_ = nullptr;
  const quarantine* bad_ = nullptr;
};

}  // namespace wick::detail

// A pipeline as the engine sees it: everything that is compiled for each one. Samples go through the stages
// that don't suspend here, with a clock at each, and through the others in loader/detail/stage_walk.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/batch/detail/cloning.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/ext/source.hpp>
#include <wick/ext/stage.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/erased_pipeline.hpp>
#include <wick/loader/detail/for_each_position.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/loader/detail/pipeline_types.hpp>
#include <wick/loader/detail/stage_ref.hpp>
#include <wick/loader/detail/stage_walk.hpp>
#include <wick/loader/detail/typed_plan.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/phases.hpp>
#include <wick/pipeline/detail/stage_list.hpp>
#include <wick/pipeline/detail/trace_lane.hpp>
#include <wick/profile/detail/stage_clocks.hpp>
#include <wick/resume/detail/state.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1::detail {

/// A batch with its columns, or without batch() the samples of a group.
template <class Columns, class Value, class Delivered, bool Batched>
struct typed_batch final : batch_of<Delivered> {
  typed_batch() noexcept { this->bytes = sizeof(typed_batch); }

  void forget_slot(std::size_t slot) noexcept override { columns.forget(slot); }
  std::optional<misfit> first_misfit() const override {
    return columns.first_misfit(static_cast<std::size_t>(this->count), this->gaps);
  }
  bool stale() const override { return columns.stale(this->gaps); }
  void describe(fingerprint_hash& shape) const override {
    if constexpr (Batched) columns.describe(shape);
  }
  std::uint64_t content(std::size_t slot) const override {
    if constexpr (Batched)
      return columns.content(slot, this->first + slot);
    else
      return 0;
  }
  void close() override {
    if constexpr (Batched) {
      if (!this->gaps.empty()) columns.close(this->gaps, static_cast<std::size_t>(this->count));
      columns.seal(this->rows());
    }
  }
  bool has(std::size_t slot) const noexcept override {
    if constexpr (Batched)
      return value.has_value();
    else
      return value && (*value)[slot];
  }
  void drop() noexcept override {
    value.reset();
    columns.drop();
  }
  void take(std::vector<std::optional<Delivered>>& to) override {
    to.clear();
    if (value) {
      if constexpr (Batched) {
        to.emplace_back(std::move(*value));
      } else {
        to.swap(*value);
        columns.reuse(std::move(*value));
      }
    }
    value.reset();
  }

  Columns columns;
  std::optional<Value> value;
};

/// The first stage of a pipeline: a mix() whose weights can change.
template <class Mix>
class typed_mix final : public erased_mix {
 public:
  explicit typed_mix(Mix& of) noexcept : mix_(of) {}
  std::span<const std::string> names() const noexcept override { return mix_.names(); }
  std::span<const double> weights() const noexcept override { return mix_.weights(); }
  void set_weights(const mix_weights& to) noexcept override {
    mix_.set_weights(to.before, to.from, to.after);
  }

 private:
  Mix& mix_;
};

template <class Pipeline>
class typed_pipeline;

/// Owns the source and the stages. All workers call it at once. The batch's pipeline_run decides which clocks
/// are read, and by which plan others are drawn.
template <class Source, class... S>
class typed_pipeline<pipeline<Source, S...>> final
    : public pipeline_of<typename pipeline_types<Source, S...>::delivered> {
 public:
  using types = pipeline_types<Source, S...>;
  using plans = planning<typed_pipeline>;
  using plan_type = typename plans::plan;
  using delivered = typename types::delivered;
  using batch_type = typed_batch<typename types::columns, typename types::value, delivered, types::batched>;
  using walk = stage_walk<typed_pipeline>;
  static constexpr std::size_t batching = types::batching, stages = types::size;
  static constexpr std::size_t order_row = stages, phase_row = stages + 1, rows = phase_row + phase_count;

  /// \param memory  for batches if no stage provides memory; null: ordinary memory
  typed_pipeline(pipeline<Source, S...> what, executor& on, std::shared_ptr<slab_memory> memory = nullptr)
      : source_(std::move(what.origin)), stages_(std::move(what.stages)), on_(on) {
    static_assert(batching >= types::order_end);
    this->facts_ = constant_facts();
    if constexpr (types::batched) {
      this->facts_.drop_last = stage<batching>().drop_last();
      this->facts_.pad_last = stage<batching>().pad_last();
    }
    refer_to_stages(stages_);
    this->use(detail::ref_to_source(source_), refs_, on, std::move(memory));
    if constexpr (plans::editable) mix_.reset(new typed_mix<std::decay_t<decltype(stage<0>())>>(stage<0>()));
    refresh();
  }

  const Source& source() const noexcept { return source_; }
  executor& on() const noexcept { return on_; }
  template <std::size_t I>
  auto& stage() noexcept {
    return get_stage<I>(stages_);
  }
  template <std::size_t I>
  const auto& stage() const noexcept {
    return get_stage<I>(stages_);
  }

  // ---- facts ----

  erased_mix* mix() noexcept override { return mix_.get(); }

  void refresh() override {
    if constexpr (!refreshed_source<Source>) {
      refresh_stages();
    } else if constexpr (std::is_void_v<decltype(source_.refresh())>) {
      source_.refresh();
      refresh_stages();
    } else {
      [[maybe_unused]] const auto hold = source_.refresh();
      refresh_stages();
    }
  }
  owned<const erased_plan> plan(const shard_stage& shard, std::uint64_t seed,
                                std::optional<std::uint64_t> epoch) const override {
    return owned<const erased_plan>(plans::make(*this, shard, seed, epoch, typename plans::numbers{}));
  }

  owned<batch_job> make_batch() const override { return owned<batch_job>(new batch_type); }
  /// Always of the full size, so that a short last batch uses the same memory as the others.
  void begin(batch_job& j, const std::shared_ptr<slab_pool>& pool) const override {
    batch_type& b = typed(j);
    if constexpr (types::batched) {
      b.columns.begin(j.of->plan->slots(), stage<batching>().order(), pool);
      if constexpr (plans::packs) plan_of(j).arrange(j, b.columns);
    } else {
      b.columns.begin(j.count, layout::channels_last, pool);
    }
  }

  void run(batch_job& j, std::uint64_t from, std::uint64_t count, sample_run& r) noexcept override {
    if constexpr (!types::samples_suspend) {
      const quarantine* const bad = j.of->settings.bad.empty() ? nullptr : &j.of->settings.bad;
      detail::for_each_position(
          plan_of(j), order_of<typename plan_type::order_type>(j), j.first + from, count,
          prefetching_source<Source> ? r.ahead.samples : 0,
          [&](std::uint64_t index) { detail::prefetch_sample(source_, index, r.ahead.bytes); },
          [&](std::uint64_t first, const std::uint64_t* indexes, std::uint64_t n) {
            if constexpr (types::batched) r.print += prints_of(first, indexes, n);
            r.mark.computed(first, n, r.ahead.samples != 0);
          },
          [&](std::uint64_t i, std::uint64_t index) {
            r.c.move_to(j.of->place_of(j, from + i, index));
            r.c.enter(static_cast<std::uint32_t>(types::order_end));  // the source's errors are this sample's
            try {
              if (bad != nullptr && bad->has(index)) throw quarantined_sample();
              run_sample<false>(r.c, typed(j), from + i, nullptr);
            } catch (...) {
              j.of->add_failed(j, r.failed, from + i, r.c);
            }
          });
    }
  }
  void run_timed(batch_job& j, std::uint64_t slot, context& c, stopwatch& clock) override {
    if constexpr (!types::samples_suspend) {
      clock.begin(c, order_row);
      run_sample<true>(c, typed(j), slot, &clock);
    }
  }
  bool run_at_once(batch_job& j, std::uint64_t slot, context& c) override {
    if constexpr (walk::tries_at_once())
      return walk::at_once(*this, c, to_slot<typed_pipeline>{&typed(j), slot});
    else
      return false;
  }
  void add_reads(std::uint64_t index, read_group& to) override {
    if constexpr (walk::groups_reads()) walk::add_reads(*this, index, to);
  }
  void run_read(batch_job& j, std::uint64_t slot, context& c, std::span<range_part> parts,
                stopwatch* clock) override {
    if constexpr (walk::groups_reads()) walk::run_read(*this, c, typed(j), slot, parts, clock);
  }
  task<void> run_async(batch_job* j, std::uint64_t slot, context* c) override {
    if constexpr (types::samples_suspend) {
      return walk::set_out(this, c, to_slot<typed_pipeline>{&typed(*j), slot});
    } else {
      return {};
    }
  }
  void finish(batch_job& j, context& c) override {
    batch_type& b = typed(j);
    if constexpr (!types::batched)
      b.value.emplace(b.columns.finish(j.count));
    else if constexpr (!types::batches_suspend)
      b.value.emplace(pass_batch<batching + 1>(b.columns.finish(j.rows()), c, *j.of));
  }
  task<void> finish_async(batch_job* j, context* c) override {
    if constexpr (types::batches_suspend) {
      auto batch = typed(*j).columns.finish(j->rows());
      return walk::template from_stage<batching + 1, decltype(batch)>(this, std::move(batch), c,
                                                                      to_value<typed_pipeline>{&typed(*j)});
    } else {
      return {};
    }
  }
  void deliver(delivered& batch) override {
    if constexpr ((traits_of<S>.has_deliver || ...)) {
      for_each_stage(stages_, [&](auto& s) {
        if constexpr (traits_of<decltype(s)>.has_deliver) s.deliver(batch);
      });
    }
  }

  // ---- for the walk of a sample ----

  /// A sample that a cache in memory keeps, as it leaves that stage; null if it must be made.
  const auto* kept(const context& c) const noexcept {
    return stage<types::cache>().template find<typename types::template item<types::cache + 1>>(c);
  }
  /// Called before a sample is made that a cache may keep.
  void freeze_for_cache(context& c) const noexcept {
    if constexpr (types::cache < batching) c.freeze(stage<types::cache>().frozen());
  }
  template <class Item>
  static Item again(const Item& kept) {
    return cloning<Item>::of(kept);
  }
  /// Takes a sample from the source, or from the cache, through all stages, which don't suspend, into the
  /// slot.
  template <bool Timed>
  void run_sample(context& c, batch_type& j, std::uint64_t slot, stopwatch* clock) {
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
  /// Takes an item through the stages from I on, which don't suspend, into the slot. `Timed`: `clock` is read
  /// at each, unless it is null, and other threads see the stage.
  template <std::size_t I, bool Timed, class Item>
  void pass(Item&& item, context& c, batch_type& j, std::uint64_t slot, stopwatch* clock) {
    if constexpr (Timed)
      c.enter_watched(static_cast<std::uint32_t>(I));
    else
      c.enter(static_cast<std::uint32_t>(I));
    if constexpr (I == batching) {
      if constexpr (Timed) {
        if (clock != nullptr) phase_ticks::take();
      }
      if constexpr (types::materialize_last) {
        j.columns.put(slot,
                      materialized<std::remove_cvref_t<Item>>::make(to_rvalue(std::forward<Item>(item))));
      } else {
        j.columns.put(slot, to_rvalue(std::forward<Item>(item)));
      }
      if constexpr (Timed) {
        if (clock != nullptr) clock->mark(I, phase_ticks::take(), phase_row);
      }
    } else {
      if constexpr (Timed) {
        if (clock != nullptr) forget_phases<I>();
      }
      auto&& next = detail::apply(get_stage<I>(stages_), to_rvalue(std::forward<Item>(item)), c);
      if constexpr (Timed) {
        if (clock != nullptr) mark<I>(*clock);
      }
      pass<I + 1, Timed>(std::move(next), c, j, slot, clock);
    }
  }
  /// A source may give references to what it owns: those are copied. What it gives by value is moved.
  template <class Item>
  static decltype(auto) to_rvalue(Item&& item) {
    if constexpr (std::is_lvalue_reference_v<Item&&>)
      return std::remove_cvref_t<Item>(item);
    else
      return std::move(item);
  }

  /// The first stage that was written to do a phase's work; batch() if there is none.
  static constexpr std::size_t carries_out(slot_phase p) noexcept {
    constexpr std::array<slot_phase, stages> phases{traits_of<S>.in_slot...};
    const auto found = std::find(phases.begin(), phases.begin() + batching, p);
    return static_cast<std::size_t>(found - phases.begin());
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
  /// Ends stage I. Work that it carried out for earlier stages is charged to them.
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
  /// The same, up to the first wait of a call that may suspend. Returns the ticks that were charged to
  /// others.
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

  // ---- for the walk of a batch ----

  /// Takes a batch through the batch stages from I on, which don't suspend.
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
      auto& stage = get_stage<I>(stages_);
      // A stage that wraps those after it (to set their stream) calls them itself.
      if constexpr (traits_of<decltype(stage)>.has_around)
        return stage.around(std::move(batch), rest);
      else
        return rest(detail::apply(stage, std::move(batch), c));
    }
  }

 private:
  static batch_type& typed(batch_job& j) noexcept { return static_cast<batch_type&>(j); }
  static const batch_type& typed(const batch_job& j) noexcept { return static_cast<const batch_type&>(j); }
  static const plan_type& plan_of(const batch_job& j) noexcept {
    return static_cast<const plan_type&>(*j.of->plan);
  }
  static consteval pipeline_facts constant_facts() {
    pipeline_facts f{.stages = stages,
                     .first = types::order_end,
                     .batching = batching,
                     .order_row = order_row,
                     .phase_row = phase_row,
                     .rows = rows,
                     .batched = types::batched,
                     .samples_suspend = types::samples_suspend,
                     .batches_suspend = types::batches_suspend,
                     .tries_at_once = walk::tries_at_once(),
                     .groups_reads = walk::groups_reads() && !prefetching_source<Source>,
                     .ends_with_batch = types::batched && batching + 1 == types::size,
                     .filters = types::filters,
                     .packs = plans::packs,
                     .prefetches = prefetching_source<Source>,
                     .grouped = plans::grouped,
                     .plans_each_epoch = plans::each_epoch};
    for (std::size_t p = 0; p < phase_count; ++p) f.phase_stages[p] = carries_out(static_cast<slot_phase>(p));
    return f;
  }
  template <std::size_t... I>
  void refer_to_stages(numbered_stages<std::index_sequence<I...>, S...>& list) noexcept {
    ((refs_[I] = detail::ref_to(get_stage<I>(list))), ...);
  }

  template <class Stage>
  static constexpr bool is_refreshed =
      traits_of<Stage>.lookup_suspends || traits_of<Stage>.has_refresh || traits_of<Stage>.mixes;
  void refresh_stages() {
    if constexpr ((is_refreshed<S> || ...)) {
      for_each_stage(stages_, [&]<class Stage>(Stage& s) {
        if constexpr (traits_of<Stage>.lookup_suspends)
          walk::open_cache(*this);
        else if constexpr (traits_of<Stage>.has_refresh && requires { s.refresh(std::as_const(source_)); })
          s.refresh(std::as_const(source_));
        else if constexpr (traits_of<Stage>.has_refresh)
          s.refresh();
        else if constexpr (traits_of<Stage>.mixes)
          s.follow(source_);  // mix()
      });
    }
  }

  Source source_;
  stage_list<S...> stages_;
  stage_ref refs_[stages + 1];
  executor& on_;
  owned<erased_mix> mix_;  // of the first stage
};

}  // namespace wick::detail

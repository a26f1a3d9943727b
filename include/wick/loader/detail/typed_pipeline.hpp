/// \file
/// A pipeline as the engine knows it: all that is compiled for each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/ext/source.hpp>
#include <wick/ext/stage.hpp>
#include <wick/loader/detail/erased_pipeline.hpp>
#include <wick/loader/detail/for_each_position.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/loader/detail/stage_path.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/feeds_device.hpp>
#include <wick/pipeline/detail/written_at.hpp>
#include <wick/resume/detail/state.hpp>
#include <wick/sampling/detail/epoch_plan.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1::detail {

/// The plan of a path's epochs.
template <class Path>
class typed_plan final : public erased_plan {
  using order_type = typename epoch_plan<Path>::order_type;
  struct typed_order final : epoch_order {
    explicit typed_order(order_type o) : of_stages(std::move(o)) {}
    order_type of_stages;
  };

 public:
  explicit typed_plan(epoch_plan<Path> plan) : plan_(std::move(plan)) {
    positions_ = plan_.positions();
    batches_ = plan_.batches();
    batch_size_ = plan_.batch_size();
    slots_ = plan_.slots();
  }
  const epoch_plan<Path>& typed() const noexcept { return plan_; }
  static const order_type& order_of(const batch_job& j) noexcept {
    return static_cast<const typed_order&>(*j.order).of_stages;
  }

  std::uint64_t passed(std::uint64_t batches) const noexcept override { return plan_.passed(batches); }
  std::shared_ptr<const epoch_order> order(std::uint64_t seed, std::uint64_t epoch) const override {
    return std::make_shared<const typed_order>(plan_.order(seed, epoch));
  }
  position_range slice(std::uint64_t batch, const batch_job& of) const noexcept override {
    return plan_.slice(batch, order_of(of));
  }
  std::uint64_t index(const batch_job& of, std::uint64_t position) const noexcept override {
    return plan_.index(order_of(of), position);
  }
  void indexes(const batch_job& of, std::uint64_t first, std::uint64_t count,
               std::uint64_t* out) const noexcept override {
    plan_.indexes(order_of(of), first, count, out);
  }
  std::uint64_t substitute(const batch_job& of, std::uint64_t position,
                           random_stream& stream) const override {
    return plan_.substitute(order_of(of), position, stream);
  }

 private:
  epoch_plan<Path> plan_;
};

/// The first stage of a path, a mix() whose weights can change.
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
struct no_mix {
  template <class T>
  explicit no_mix(T&) noexcept {}
};

template <class Pipeline>
class typed_pipeline;

template <class Source, class... S>
class typed_pipeline<pipeline<Source, S...>> final
    : public pipeline_of<typename pipeline_types<Source, S...>::delivered> {
  using path_type = stage_path<pipeline<Source, S...>>;
  using types = typename path_type::types;
  using plan_type = epoch_plan<path_type>;
  using batch_type = typename path_type::batch_type;
  using delivered = typename types::delivered;
  static constexpr std::size_t batching = types::batching;

 public:
  /// \param memory  for batches that no stage places; null: ordinary memory
  typed_pipeline(pipeline<Source, S...> what, executor& on, std::shared_ptr<slab_memory> memory = nullptr)
      : path_(std::move(what), on), memory_(std::move(memory)) {
    pipeline_facts& f = this->facts_;
    f.stages = types::size;
    f.first = types::order_end;
    f.batching = batching;
    f.order_row = path_type::order_row;
    f.phase_row = path_type::phase_row;
    f.rows = path_type::rows;
    for (std::size_t p = 0; p < phase_count; ++p)
      f.phase_stages[p] = path_type::carries_out(static_cast<slot_phase>(p));
    f.batched = types::batched;
    f.samples_suspend = types::samples_suspend;
    f.batches_suspend = types::batches_suspend;
    f.ends_with_batch = types::batched && batching + 1 == types::size;
    f.filters = types::filters;
    f.prefetches = prefetching_source<Source>;
    f.grouped = plan_type::grouped;
    f.packs = plan_type::packs;
    f.plans_each_epoch = plan_type::each_epoch;
    if constexpr (types::batched) {
      f.drop_last = path_.template stage<batching>().drop_last();
      f.pad_last = path_.template stage<batching>().pad_last();
    }
    path_.for_each_stage([&](const auto& s) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(s)>, shard_stage>) f.shard = s;
      f.feeds_device = f.feeds_device || feeds_device(s);
    });
  }

  std::uint64_t samples() const override { return path_.source().size(); }
  std::string key(std::uint64_t index) const override { return key_of(path_.source(), index); }
  std::uint64_t source_fingerprint() const override { return fingerprint_of(path_.source()); }
  void prefetch(std::uint64_t index, std::size_t bytes) const noexcept override {
    prefetch_sample(path_.source(), index, bytes);
  }

  std::vector<std::string> stage_names() const override {
    std::vector<std::string> out;
    path_.for_each_stage([&](const auto& s) { out.emplace_back(stage_name(s)); });
    return out;
  }
  std::string stage_written(std::size_t stage) const override {
    std::string out;
    path_.for_each_stage([&](const auto& s) {
      if (stage-- == 0) out = written_text(s);
    });
    return out;
  }
  /// Random numbers go by a stage's number, so each counts; of shard() only that it is there.
  std::vector<stage_identity> identity() const override {
    std::vector<stage_identity> out;
    path_.for_each_stage([&](const auto& s) {
      stage_identity one{std::string(stage_name(s)), 0, traits_of<decltype(s)>.has_refresh};
      if constexpr (traits_of<decltype(s)>.has_fingerprint) one.parameters = s.fingerprint();
      out.push_back(std::move(one));
    });
    return out;
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> out;
    const auto add = [&](std::string text) {
      if (!text.empty()) out.push_back(std::move(text));
    };
    path_.for_each_stage([&](const auto& s) {
      if constexpr (traits_of<decltype(s)>.has_note) add(s.note());
    });
    add(note_of(path_.source()));
    return out;
  }
  /// What a batch stage asks for (pin does), else what the loader was given.
  std::shared_ptr<slab_memory> batch_memory() override {
    std::shared_ptr<slab_memory> wanted;
    path_.for_each_batch_stage([&](auto& s) {
      if constexpr (traits_of<decltype(s)>.has_slab_memory) {
        if (wanted == nullptr) wanted = s.slab_memory();
      }
    });
    if (wanted == nullptr) wanted = memory_;
    return wanted != nullptr ? wanted : std::make_shared<host_slab_memory>();
  }
  erased_mix* mix() noexcept override {
    if constexpr (plan_type::editable)
      return &mix_;
    else
      return nullptr;
  }

  void refresh() override { path_.refresh(); }
  owned<const erased_plan> plan(const shard_stage& shard, std::uint64_t seed,
                                std::optional<std::uint64_t> epoch) const override {
    return owned<const erased_plan>(new typed_plan<path_type>(plan_type(path_, shard, seed, epoch)));
  }

  owned<batch_job> make_batch() const override { return owned<batch_job>(new batch_type); }
  /// Always of the full size, so that a short last batch uses the same memory as the others.
  void begin(batch_job& j, const std::shared_ptr<slab_pool>& pool) const override {
    batch_type& b = typed(j);
    if constexpr (types::batched) {
      b.columns.begin(j.of->plan->slots(), path_.template stage<batching>().order(), pool);
      if constexpr (plan_type::packs) plan_of(j).arrange(j.number, order_of(j), b.columns);
    } else {
      b.columns.begin(j.count, layout::channels_last, pool);
    }
  }

  void run(batch_job& j, std::uint64_t from, std::uint64_t count, sample_run& r) noexcept override {
    if constexpr (!types::samples_suspend) {
      const quarantine* const bad = j.of->settings.bad.empty() ? nullptr : &j.of->settings.bad;
      for_each_position(
          plan_of(j), order_of(j), j.first + from, count, prefetching_source<Source> ? r.ahead.samples : 0,
          [&](std::uint64_t index) { prefetch_sample(path_.source(), index, r.ahead.bytes); },
          [&](std::uint64_t first, const std::uint64_t* indexes, std::uint64_t n) {
            if constexpr (types::batched) r.print += prints_of(first, indexes, n);
            r.mark.computed(first, n, r.ahead.samples != 0);
          },
          [&](std::uint64_t i, std::uint64_t index) {
            r.c.move_to(j.of->place_of(j, from + i, index));
            r.c.enter(static_cast<std::uint32_t>(types::order_end));  // what the source throws is this one's
            try {
              if (bad != nullptr && bad->has(index)) throw quarantined_sample();
              path_.template run<false>(r.c, typed(j), from + i, nullptr);
            } catch (...) {
              j.of->add_failed(j, r.failed, from + i, r.c);
            }
          });
    }
  }
  void run_timed(batch_job& j, std::uint64_t slot, context& c, stopwatch& clock) override {
    if constexpr (!types::samples_suspend) {
      clock.begin(c, path_type::order_row);
      path_.template run<true>(c, typed(j), slot, &clock);
    }
  }
  task<void> run_async(batch_job* j, std::uint64_t slot, context* c) override {
    if constexpr (types::samples_suspend) {
      return path_type::run_async(&path_, c, &typed(*j), slot);
    } else {
      return {};
    }
  }
  void forget(batch_job& j, std::size_t slot) const noexcept override { typed(j).columns.forget(slot); }

  std::optional<misfit> first_misfit(const batch_job& j) const override {
    return typed(j).columns.first_misfit(static_cast<std::size_t>(j.count), j.gaps);
  }
  bool stale(const batch_job& j) const override { return typed(j).columns.stale(j.gaps); }
  void describe(const batch_job& j, fingerprint_hash& shape) const override {
    if constexpr (types::batched) typed(j).columns.describe(shape);
  }
  std::uint64_t content(const batch_job& j, std::size_t slot) const override {
    if constexpr (types::batched)
      return typed(j).columns.content(slot, j.first + slot);
    else
      return 0;
  }
  void close(batch_job& j) const override {
    if constexpr (types::batched) {
      auto& columns = typed(j).columns;
      if (!j.gaps.empty()) columns.close(j.gaps, static_cast<std::size_t>(j.count));
      columns.seal(j.rows());
    }
  }
  void finish(batch_job& j, context& c) override {
    batch_type& b = typed(j);
    if constexpr (!types::batched)
      b.value.emplace(b.columns.finish(j.count));
    else if constexpr (!types::batches_suspend)
      b.value.emplace(path_.template pass_batch<batching + 1>(b.columns.finish(j.rows()), c, *j.of));
  }
  task<void> finish_async(batch_job* j, context* c) override {
    if constexpr (types::batches_suspend)
      return finish_suspending(this, &typed(*j), c);
    else
      return {};
  }
  bool has(const batch_job& j, std::size_t slot) const noexcept override {
    if constexpr (types::batched)
      return typed(j).value.has_value();
    else
      return typed(j).value && (*typed(j).value)[slot];
  }
  void drop(batch_job& j) const noexcept override {
    typed(j).value.reset();
    typed(j).columns.drop();
  }

  void take(batch_job& j, std::vector<std::optional<delivered>>& to) override {
    batch_type& b = typed(j);
    to.clear();
    if (b.value) {
      if constexpr (types::batched) {
        to.emplace_back(std::move(*b.value));
      } else {
        to.swap(*b.value);
        b.columns.reuse(std::move(*b.value));
      }
    }
    b.value.reset();
  }
  void deliver(delivered& batch) override {
    path_.for_each_batch_stage([&](auto& s) {
      if constexpr (traits_of<decltype(s)>.has_deliver) s.deliver(batch);
    });
  }

 private:
  static batch_type& typed(batch_job& j) noexcept { return static_cast<batch_type&>(j); }
  static const batch_type& typed(const batch_job& j) noexcept { return static_cast<const batch_type&>(j); }
  static const plan_type& plan_of(const batch_job& j) noexcept {
    return static_cast<const typed_plan<path_type>&>(*j.of->plan).typed();
  }
  static const auto& order_of(const batch_job& j) noexcept { return typed_plan<path_type>::order_of(j); }
  static task<void> finish_suspending(typed_pipeline* self, batch_type* j, context* c) {
    auto batch = j->columns.finish(j->rows());
    task<typename types::value> rest =
        path_type::template pass_batch_async<batching + 1>(&self->path_, std::move(batch), c, j->of);
    auto value = co_await rest;
    j->value.emplace(std::move(value));
  }

  path_type path_;
  const std::shared_ptr<slab_memory> memory_;
  template <class P>
  static auto& mix_of(P& path) {
    if constexpr (plan_type::editable)
      return path.template stage<0>();
    else
      return path;
  }
  using mix_type =
      std::conditional_t<plan_type::editable,
                         typed_mix<std::remove_reference_t<decltype(mix_of(std::declval<path_type&>()))>>,
                         no_mix>;
  [[no_unique_address]] mix_type mix_{mix_of(path_)};
};

}  // namespace wick::detail

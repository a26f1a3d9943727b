/// \file
/// The walk that takes the samples of a run of benchmark() through its stages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include <wick/tools/detail/isolated_counts.hpp>
#include <wick/tools/detail/isolated_runs.hpp>

namespace wick::inline v0_1::detail {

/// As many walks as samples may be under way at a time: each is a coroutine that takes a sample (where none
/// suspends, a run of samples) through the stages, then the next.
template <class Pipeline, std::size_t First, std::size_t Last, std::size_t Without, isolated_end End,
          class From, class Keep>
class isolated_loop {
  using all_type = isolated_runs<Pipeline>;
  using types = typename all_type::types;
  using path_type = typename all_type::path_type;
  using job = typename all_type::job;
  static constexpr bool in_slots = types::batched && End != isolated_end::dropped;
  static constexpr bool from_source = First == types::order_end;
  /// Left out: it would keep what is made here, and give none of it back.
  static constexpr std::size_t cache = types::cache;

  /// The first stage from I on that suspends; Last where none does.
  template <std::size_t I>
  static consteval std::size_t next_async() {
    if constexpr (I >= Last)
      return Last;
    else if constexpr (I != Without && I != cache &&
                       is_async<typename types::template stage_at<I>, typename types::template item<I>>)
      return I;
    else
      return next_async<I + 1>();
  }
  static constexpr bool samples_suspend = next_async<First>() < Last;
  static constexpr bool batches_suspend = types::batches_suspend && in_slots && End == isolated_end::all;

 public:
  isolated_loop(all_type& all, const From* from, Keep* keep, std::size_t in_flight)
      : all_(all),
        from_(from),
        keep_(keep),
        walks_(samples_suspend ? in_flight : all.on.workers()),
        counts_(walks_) {}

  std::size_t walks() const noexcept { return walks_; }
  const isolated_counts& counts() const noexcept { return counts_; }

  static task<void> walk(isolated_loop* self, std::size_t number) {
    executor& on = self->all_.on;
    std::uint64_t most = 1, since = now_ticks();
    for (;;) {
      const auto got = self->all_.take(most, in_slots);
      if (got.of == nullptr) co_return;
      std::uint64_t good = 0;
      if constexpr (samples_suspend) {
        task<bool> one = self->run_one(self, got.of, got.from);
        const bool through = co_await one;
        good = through ? 1 : 0;
      } else {
        const std::uint64_t begun = now_ticks();
        good = self->run_some(*got.of, got.from, got.count);
        const std::uint64_t took = now_ticks() - begun;
        if (took < in_ticks(grain::run_ticks / 2) && got.count == most)
          most = std::min(2 * most, grain::max_run);
        else if (took > in_ticks(2 * grain::run_ticks))
          most = std::max<std::uint64_t>(most / 2, 1);
      }
      self->counts_.add(number, got.count, good);
      if (got.of->unfinished.fetch_sub(got.count, std::memory_order_acq_rel) == got.count) {
        if constexpr (batches_suspend) {
          task<void> ending = make_async(self, got.of);
          co_await ending;
          if (on.this_slot() == executor::none) co_await on.schedule();  // a thread of the user's resumed it
        } else if constexpr (in_slots) {
          self->make(*got.of);
        }
        self->all_.give_back(*got.of);
      }
      if (on.job_waits() && now_ticks() - since > in_ticks(2 * grain::run_ticks)) {  // others' turn
        co_await on.schedule();
        since = now_ticks();
      }
    }
  }

 private:
  auto start(std::uint64_t index, std::uint64_t i) const {
    if constexpr (from_source)
      return std::remove_cvref_t<decltype(all_.path.source().at(index))>(
          path_type::to_rvalue(all_.path.source().at(index)));
    else
      return from_->copy(i);
  }
  std::uint64_t index(const job& j, std::uint64_t slot) const noexcept {
    if constexpr (from_source)
      return all_.index(j, slot);
    else
      return from_->index(j.first + slot);
  }

  // ---- where none suspends ----

  /// How many came through.
  std::uint64_t run_some(job& j, std::uint64_t first, std::uint64_t count) noexcept {
    pipeline_run& run = all_.run_of();
    context c = run.context_at({}, j);
    std::uint64_t good = 0;
    const auto one = [&](std::uint64_t i, std::uint64_t index) {
      const std::uint64_t slot = first + i;
      c.move_to(run.place_of(j, slot, index));
      try {
        c.enter(static_cast<std::uint32_t>(First));
        run.refuse_bad(index);
        put(until<First, Last>(start(index, j.first + slot), c), c, j, slot);
        ++good;
      } catch (...) {
        all_.failed(j, slot, c, std::current_exception());
      }
    };
    if constexpr (from_source) {
      const prefetch_depth& depth = prefetch_choice::all[0];
      for_each_position(
          all_.plan(), j, j.first + first, count, run.facts.prefetches ? depth.samples : 0,
          [&](std::uint64_t index) { prefetch_sample(all_.path.source(), index, depth.bytes); },
          [](auto&&...) {}, one);
    } else {
      for (std::uint64_t i = 0; i < count; ++i) one(i, index(j, first + i));
    }
    return good;
  }
  /// An item before stage I through the stages up to Until, which don't suspend.
  template <std::size_t I, std::size_t Until, class Item>
  auto until(Item&& item, context& c) {
    if constexpr (I == Until) {
      return std::remove_cvref_t<Item>(std::move(item));
    } else if constexpr (I == Without || I == cache) {
      return until<I + 1, Until>(std::move(item), c);
    } else {
      c.enter(static_cast<std::uint32_t>(I));
      return until<I + 1, Until>(apply(all_.path.template stage<I>(), std::move(item), c), c);
    }
  }
  template <class Item>
  void put(Item&& item, context& c, job& j, std::uint64_t slot) {
    c.enter(static_cast<std::uint32_t>(Last));
    if constexpr (in_slots) {
      j.columns.put(slot, std::move(item));
    } else if constexpr (End == isolated_end::all) {
      const auto whole = materialized<std::remove_cvref_t<Item>>::make(std::move(item));
      static_cast<void>(whole);
    } else if constexpr (!std::is_void_v<Keep>) {
      if (keep_ != nullptr) keep_->keep(std::move(item), c.index());
    }
  }

  // ---- where one does ----

  static task<bool> run_one(isolated_loop* self, job* j, std::uint64_t slot) {
    all_type& all = self->all_;
    const std::uint64_t index = self->index(*j, slot);
    pipeline_run& run = all.run_of();
    context c = run.context_at(run.place_of(*j, slot, index), *j);
    std::exception_ptr cause;
    try {
      c.enter(static_cast<std::uint32_t>(First));
      run.refuse_bad(index);
      auto item = self->start(index, j->first + slot);
      task<void> rest = pass_async<First, decltype(item)>(self, std::move(item), &c, j, slot);
      co_await rest;
    } catch (...) {
      cause = std::current_exception();
    }
    if (all.on.this_slot() == executor::none)
      co_await all.on.schedule();  // a thread of the user's resumed it
    c.give_back();
    if (cause == nullptr) co_return true;
    all.failed(*j, slot, c, std::move(cause));
    co_return false;
  }
  template <std::size_t I, class Item>
  static task<void> pass_async(isolated_loop* self, Item item, context* c, job* j, std::uint64_t slot) {
    constexpr std::size_t stage = next_async<I>();
    if constexpr (stage == Last) {
      self->put(self->template until<I, Last>(std::move(item), *c), *c, *j, slot);
      co_return;
    } else {
      using next_type = typename types::template item<stage + 1>;
      using how = application<typename types::template stage_at<stage>, typename types::template item<stage>>;
      auto prepared = how::prepare(self->template until<I, stage>(std::move(item), *c));
      c->enter(static_cast<std::uint32_t>(stage));
      auto operation = self->all_.path.template start<stage>(how::argument(prepared), *c, *j);
      if constexpr (std::is_void_v<value_once_awaited_t<typename how::raw>>) {
        co_await std::move(operation);
        if (self->all_.on.this_slot() == executor::none) co_await self->all_.on.schedule();
        if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
        task<void> rest = pass_async<stage + 1, next_type>(self, next_type(std::move(prepared)), c, j, slot);
        co_await rest;
      } else {
        auto result = co_await std::move(operation);
        if (self->all_.on.this_slot() == executor::none) co_await self->all_.on.schedule();
        if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
        next_type next = rebuild<next_type>(std::move(prepared), std::move(result));
        task<void> rest = pass_async<stage + 1, next_type>(self, std::move(next), c, j, slot);
        co_await rest;
      }
    }
  }

  // ---- batches ----

  void make(job& j) noexcept {
    if (!all_.close(j)) return;
    context c = all_.run_of().context_of_batch(j);
    c.enter(static_cast<std::uint32_t>(types::batching));
    try {
      if constexpr (End == isolated_end::all) {
        const auto batch = pass_batch<types::batching + 1>(j.columns.finish(j.rows()), c);
        static_cast<void>(batch);
      } else {
        const auto batch = j.columns.finish(j.rows());
        static_cast<void>(batch);
      }
      counts_.made_batch();
    } catch (...) {
      all_.failed_batch(j, c.stage(), std::current_exception());
    }
  }
  template <std::size_t I, class Batch>
  auto pass_batch(Batch&& batch, context& c) {
    if constexpr (I == types::size) {
      return std::remove_cvref_t<Batch>(std::move(batch));
    } else {
      c.enter(static_cast<std::uint32_t>(I));
      auto& stage = all_.path.template stage<I>();
      auto rest = [&](auto next) { return pass_batch<I + 1>(std::move(next), c); };
      if constexpr (traits_of<decltype(stage)>.has_around)
        return stage.around(std::move(batch), rest);
      else
        return rest(apply(stage, std::move(batch), c));
    }
  }
  static task<void> make_async(isolated_loop* self, job* j) {
    if (!self->all_.close(*j)) co_return;
    context c = self->all_.run_of().context_of_batch(*j);
    c.enter(static_cast<std::uint32_t>(types::batching));
    std::exception_ptr cause;
    try {
      auto batch = j->columns.finish(j->rows());
      task<void> rest = pass_batch_async<types::batching + 1, decltype(batch)>(self, std::move(batch), &c);
      co_await rest;
    } catch (...) {
      cause = std::current_exception();
    }
    if (cause == nullptr)
      self->counts_.made_batch();
    else
      self->all_.failed_batch(*j, c.stage(), cause);
  }
  template <std::size_t I, class Batch>
  static task<void> pass_batch_async(isolated_loop* self, Batch batch, context* c) {
    if constexpr (I < types::size) {
      c->enter(static_cast<std::uint32_t>(I));
      using stage_type = typename types::template stage_at<I>;
      auto& stage = self->all_.path.template stage<I>();
      if constexpr (is_async<stage_type, Batch>) {
        task<next_item<stage_type, Batch>> one = apply_async(&stage, std::move(batch), c);
        auto next = co_await one;
        task<void> rest = pass_batch_async<I + 1, decltype(next)>(self, std::move(next), c);
        co_await rest;
      } else {
        auto next = apply(stage, std::move(batch), *c);
        task<void> rest = pass_batch_async<I + 1, decltype(next)>(self, std::move(next), c);
        co_await rest;
      }
    }
    co_return;
  }

  all_type& all_;
  const From* from_;
  Keep* keep_;
  const std::size_t walks_;
  isolated_counts counts_;
};

template <class Pipeline>
template <std::size_t First, std::size_t Last, std::size_t Without, isolated_end End, class From, class Keep>
isolated_result isolated_runs<Pipeline>::run(double seconds, const From* from, Keep* keep,
                                             isolated_failures& failures) {
  begin_anew(failures);
  isolated_loop<Pipeline, First, Last, Without, End, From, Keep> walks(*this, from, keep, settings.in_flight);
  double rate = -1;
  {
    scope all(on);
    struct ending {
      isolated_runs& of;
      ~ending() {
        of.end();
        of.run_.stop->request_stop();
      }
    };
    {
      const ending at_last{*this};
      for (std::size_t i = 0; i < walks.walks(); ++i) all.spawn(walks.walk(&walks, i));
      rate = walks.counts().watch(seconds, patience_);
    }
    all.wait();
  }
  if (rate < 0) rate = walks.counts().of_all();
  return {rate, walks.counts().first_batch()};
}

}  // namespace wick::detail

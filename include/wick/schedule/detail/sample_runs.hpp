/// \file
/// One sample on its way into its slot, and what is done when it fails: it is tried again, or another is
/// drawn.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/failure/quarantine.hpp>
#include <wick/observe/detail/stage_clocks.hpp>
#include <wick/order/detail/epoch_plan.hpp>
#include <wick/run/budget.hpp>
#include <wick/run/detail/tokens.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/sleep.hpp>
#include <wick/run/stop_token.hpp>
#include <wick/run/task.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/detail/dropped.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/random.hpp>
#include <wick/sample/source.hpp>
#include <wick/schedule/detail/batch_job.hpp>
#include <wick/schedule/detail/stage_path.hpp>
#include <wick/schedule/loader_options.hpp>
#include <wick/system/detail/owned.hpp>

namespace wick::detail {

template <class Pipeline, bool Again = false>
class sample_runs;

/// Owns the pipeline, and what samples need to run. All workers call it at once.
///
/// What becomes of a position depends on the data, the seed, the epoch and the position: a substitute is
/// drawn from a random stream of the position's own, and a sample on the quarantine list counts as one that
/// was tried and has failed, so that a run with the list gives the same batches as the one that made it.
///
/// `Again`: for a batch that is made again, beside the run, by the run's own pipeline and rules.
template <class Source, class... S, bool Again>
class sample_runs<pipeline<Source, S...>, Again> {
  template <class T>
  using kept = std::conditional_t<Again, T&, T>;

 public:
  using path_type = stage_path<pipeline<Source, S...>, Again>;
  using types = typename path_type::types;
  using plan_type = typename path_type::plan_type;
  using job_type = batch_job<typename plan_type::order_type, typename types::columns, typename types::value>;

  sample_runs(pipeline<Source, S...> what, const loader_options& options, executor& on)
      : path(std::move(what), on),
        seed(options.seed),
        on(on),
        in_flight(options.in_flight != 0 ? options.in_flight
                                         : tokens::limit_for(on.workers(), on.io().threads())),
        budget(options.memory),
        policy(options.on_error),
        only_fails(policy.only_fails()),
        // Without a list the source is not asked for its fingerprint, which may take long.
        bad(options.quarantine.empty()
                ? quarantine()
                : read_quarantines(options.quarantine, path.source(), path.stage_names())) {
    check();
    path.draw_from(plan, bad);
  }
  /// \param notes may be null
  sample_runs(sample_runs<pipeline<Source, S...>>& of, const plan_type& over, draw_notes* notes)
    requires Again
      : path(of.path, notes),
        plan(over),
        seed(of.seed),
        on(of.on),
        in_flight(of.in_flight),
        budget(of.budget),
        policy(of.policy),
        only_fails(of.only_fails),
        bad(of.bad) {
    path.draw_from(plan, bad);
  }

  sample_runs(const sample_runs&) = delete;
  sample_runs& operator=(const sample_runs&) = delete;

  context context_at(place where, const job_type& of) noexcept {
    return context(where, &on, &budget, stop->token(), of.pass, &names_);
  }
  place place_of(const job_type& j, std::uint64_t slot, std::uint64_t index) const noexcept {
    return {seed, j.epoch, j.first + slot, index};
  }
  /// What the source calls its samples; lives as long as this.
  const sample_names& names() const noexcept { return names_; }
  bool is_bad(std::uint64_t index) const noexcept { return !bad.empty() && bad.has(index); }

  /// Takes what changes anew (or only the order, if that is what has changed), and plans over it. No worker
  /// is here. \throws wick::error as the constructor does
  void refresh(bool source_too) {
    if (source_too) path.refresh();
    plan_type anew(path);
    std::destroy_at(&plan);
    std::construct_at(&plan, std::move(anew));
  }

  /// Compaction: positions from here on have been moved to where others failed, as far as that is known by
  /// now. Their own batches leave them out, so that they need not be run there.
  std::uint64_t moved_from(const job_type& j) const noexcept {
    const std::uint64_t seen = moved_.load(std::memory_order_relaxed), count = seen & 0xFFFFFFFF;
    if (count == 0 || seen >> 32 != j.pass) return everything;
    return plan.ordered() - std::min(count, plan.ordered());
  }
  void note_moved(const job_type& j, std::uint64_t moved) noexcept {
    moved_.store(std::uint64_t{j.pass} << 32 | std::min<std::uint64_t>(moved, 0xFFFFFFFF),
                 std::memory_order_relaxed);
  }

  /// \throws quarantined_sample
  [[noreturn, gnu::noinline]] void refuse(context& c) const {
    c.enter(static_cast<std::uint32_t>(types::order_end));
    throw quarantined_sample();
  }

  /// Whatever became of a sample, and wherever its bytes are now: they are no longer in flight.
  struct end_of_sample {
    context* c;
    ~end_of_sample() { c->give_back(); }
  };

  /// Through all stages into the slot, in a pipeline where none suspends.
  template <bool Timed>
  void run(job_type& j, std::uint64_t slot, context& c, stopwatch* clock) {
    if constexpr (Timed) clock->begin(c, path_type::order_row);
    if constexpr (Again) path.note_begin(c);
    path.template pass<types::order_end, Timed>(path.source().at(c.index()), c, j, slot, clock);
  }
  /// The same where one may.
  static task<void> run_async(sample_runs* self, job_type* j, std::uint64_t slot, context* c) {
    const end_of_sample end{c};
    c->enter(static_cast<std::uint32_t>(types::order_end));
    if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
    if (self->is_bad(c->index())) self->refuse(*c);
    if constexpr (Again) self->path.note_begin(*c);
    auto item = path_type::to_rvalue(self->path.source().at(c->index()));
    task<void> rest = path_type::template pass_async<types::order_end, decltype(item)>(
        &self->path, std::move(item), c, j, slot);
    co_await rest;
  }

  /// That the sample at `c` has failed in this slot just now.
  failure failed(std::uint64_t slot, const context& c, std::exception_ptr cause) const {
    failure f;
    f.slot = slot;
    f.position = c.position();
    f.index = c.index();
    f.take_cause(std::move(cause), c.stage());
    if (is_bad(f.to_blame())) f.tries = 0;
    return f;
  }

  /// The sample in a slot that is no gap: the one planned, or what came in its place.
  failure standing_at(const job_type& j, std::uint64_t slot) const {
    failure out;
    out.slot = slot;
    out.position = j.first + slot;
    for (const auto& [gap, position] : j.fills) {
      if (gap == slot) out.position = position;
    }
    const failure* last = nullptr;
    for (const failure& f : j.failures) {
      if (f.slot != slot || f.position != out.position || f.of_other()) continue;
      if (last == nullptr || f.number > last->number) last = &f;
    }
    if (last == nullptr)
      out.index = plan.index(j.order, out.position);
    else
      out.index = last->action == error_action::replace ? last->substitute : last->index;
    return out;
  }

  /// There is no memory to end a batch as it should be; called where that was caught.
  static void lose(job_type& j) noexcept {
    j.fail_whole(static_cast<std::uint32_t>(types::batching), std::current_exception());
  }

  /// What the sample was found to be bad in: the stage it failed in, or was found to fail in by an earlier
  /// run.
  std::string stage_of(const failure& f) const {
    try {
      std::rethrow_exception(f.cause);
    } catch (const late_error& e) {
      return e.stage();
    } catch (const quarantined_sample&) {
      return bad.stage_of(f.to_blame());
    } catch (...) {
      return path.stage_name_at(f.stage);
    }
  }

  path_type path;
  kept<std::conditional_t<Again, const plan_type, plan_type>> plan{path};
  const std::uint64_t seed;
  executor& on;
  const std::size_t in_flight;  // samples that may be under way at a time, where they suspend
  kept<byte_budget> budget;
  kept<const error_policy> policy;
  const bool only_fails;
  kept<const quarantine> bad;
  owned<stop_source> stop = make_owned<stop_source>();

 private:
  static constexpr std::uint64_t everything = ~std::uint64_t{0};
  const sample_names names_{&path.source(), [](const void* source, std::uint64_t i) {
                              return key_of(*static_cast<const Source*>(source), i);
                            }};
  std::atomic<std::uint64_t> moved_{0};  // which pass, how many

  /// \throws wick::error
  void check() const {
    const std::vector<std::string> names = path.stage_names();
    const auto begin = names.begin() + static_cast<std::ptrdiff_t>(types::order_end);
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(types::batching + 1, names.size()));
    for (const std::string_view wanted : policy.stages()) {
      if (std::find(begin, end, wanted) != end) continue;
      std::string known;
      for (auto n = begin; n != end; ++n) known += (known.empty() ? "" : ", ") + *n;
      throw error("on_error: no stage of samples is called " + printable(wanted) + "; there are: " + known);
    }
    if (!bad.empty() && !policy.ever(error_action::skip) && !policy.ever(error_action::replace)) {
      throw error("quarantine: " + std::to_string(bad.size()) +
                  " samples are not to be tried, and nothing is said of what comes in their place; set "
                  "loader_options::on_error to on_error(skip) or on_error(replace)");
    }
    if (!policy.options().compact) return;
    if (!policy.ever(error_action::skip) && !types::filters)
      throw error("on_error: compact is for skip and filter(); fail and replace leave no gaps");
    if constexpr (plan_type::grouped) {
      throw error(
          "on_error: compact with bucket() or pack(): samples of other lengths would stand in the gaps; "
          "leave it out, or use replace, which draws one of the same length");
    }
    if (path.shard().world > 1) {
      throw error("on_error: compact with " + std::to_string(path.shard().world) +
                  " ranks: what fills a gap depends on what failed on the other ranks, which this one can't "
                  "know; use replace, which keeps batches full and equal on every rank");
    }
    if constexpr (types::batched) {
      if (path.template stage<types::batching>().pad_last()) {
        throw error(
            "on_error: compact with pad_last: an epoch gets shorter by what is left out, and would have to "
            "be padded by what is not known in advance; use replace, or leave one of the two out");
      }
    }
  }
};

}  // namespace wick::detail

/// \file
/// One sample on its way into its slot, and what is done when it fails: it is tried again, or another is
/// drawn.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/sample/context.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/epoch_plan.hpp>
#include <wick/loader/detail/stage_path.hpp>
#include <wick/resume/epoch_fingerprint.hpp>
#include <wick/sample/error.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/failure/quarantine.hpp>
#include <wick/sample/random.hpp>
#include <wick/observe/clock.hpp>
#include <wick/observe/stage_clock.hpp>
#include <wick/run/budget.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/sleep.hpp>
#include <wick/run/stop_token.hpp>
#include <wick/run/task.hpp>

namespace wick::detail {

template <class Pipeline>
class sample_runs;

/// Owns the pipeline, and what samples need to run. All workers call it at once.
///
/// What becomes of a position depends on the data, the seed, the epoch and the position: a substitute is
/// drawn from a random stream of the position's own, and a sample on the quarantine list counts as one that
/// was tried and has failed, so that a run with the list gives the same batches as the one that made it.
template <class Source, class... S>
class sample_runs<pipeline<Source, S...>> {
 public:
  using path_type = stage_path<pipeline<Source, S...>>;
  using types = typename path_type::types;
  using job_type = batch_job<typename types::order, typename types::columns, typename types::value>;

  sample_runs(pipeline<Source, S...> what, const loader_options& options, executor& on)
      : path(std::move(what), on),
        seed(options.seed),
        on(on),
        budget(options.memory),
        policy(options.on_error),
        only_fails(policy.only_fails()),
        bad(load(path, options)) {
    check();
  }

  sample_runs(const sample_runs&) = delete;
  sample_runs& operator=(const sample_runs&) = delete;

  context context_at(place where, const job_type& of) noexcept {
    return context(where, &on, &budget, stop->token(), of.pass);
  }
  place place_of(const job_type& j, std::uint64_t slot, std::uint64_t index) const noexcept {
    return {seed, j.epoch, j.first + slot, index};
  }
  bool is_bad(std::uint64_t index) const noexcept { return !bad.empty() && bad.has(index); }

  /// Compaction: positions from here on have been moved to where others failed, as far as that is known by now. Their own
  /// batches leave them out, so that they need not be run there.
  std::uint64_t moved_from(const job_type& j) const noexcept {
    const std::uint64_t seen = moved_.load(std::memory_order_relaxed), count = seen & 0xFFFFFFFF;
    if (count == 0 || seen >> 32 != j.pass) return everything;
    return plan.ordered() - std::min(count, plan.ordered());
  }
  void note_moved(const job_type& j, std::uint64_t moved) noexcept {
    moved_.store(std::uint64_t{j.pass} << 32 | std::min<std::uint64_t>(moved, 0xFFFFFFFF), std::memory_order_relaxed);
  }

  /// \throws quarantined_sample
  [[noreturn, gnu::noinline]] void refuse(context& c) const {
    c.enter(static_cast<std::uint32_t>(types::order_end));
    throw quarantined_sample();
  }

  /// Through all stages into the slot, in a pipeline where none suspends.
  template <bool Timed>
  void run(job_type& j, std::uint64_t slot, context& c, std::uint64_t* ticks) {
    std::uint64_t last = Timed ? now_ticks() : 0;
    path.template pass<types::order_end, Timed>(path.source().at(c.index()), c, j, slot, ticks, last);
  }
  /// The same where one may.
  static task<void> run_async(sample_runs* self, job_type* j, std::uint64_t slot, context* c) {
    const end_of_sample end{c};
    c->enter(static_cast<std::uint32_t>(types::order_end));
    if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
    if (self->is_bad(c->index())) self->refuse(*c);
    auto item = path_type::to_rvalue(self->path.source().at(c->index()));
    task<void> rest = path_type::template pass_async<types::order_end, decltype(item)>(
        &self->path, std::move(item), c, j, slot);
    co_await rest;
  }

  /// That the sample at `c` has failed in this slot just now.
  failure failed(std::uint64_t slot, const context& c, std::exception_ptr cause) const {
    failure f;
    f.slot = slot;
    f.stage = c.stage();
    f.cause = std::move(cause);
    f.position = c.position();
    f.index = c.index();
    if (is_bad(f.index)) f.tries = 0;
    return f;
  }

  /// Does about a failure what the policy says, and writes it down. Whether the slot has a sample afterwards;
  /// else it is a gap, or its batch is lost. \throws std::bad_alloc
  static task<bool> settle(sample_runs* self, job_type* j, context* c, failure f) {
    if (self->only_fails) {
      j->note(std::move(f));
      co_return false;
    }
    const std::uint64_t counted = print_of(f.position, f.index);  // as if it had gone well
    random_stream draws(self->seed, c->epoch(), f.position, substitute_stream);
    std::vector<std::uint64_t> tried;  // indexes that are no good here
    for (;;) {
      if (f.tries == 0 || !j->cancelled.load(std::memory_order_relaxed)) {
        task<bool> retrying = try_again(self, j, c, &f);
        const bool good = co_await retrying;
        if (good)
          f.action = error_action::retry;
        else if (!j->cancelled.load(std::memory_order_relaxed))
          f.action = *self->rule_for(f).action;
      }
      tried.push_back(f.index);
      if (f.action == error_action::replace && !self->draw(*j, draws, tried, f))
        f.action = error_action::fail;
      if (f.action == error_action::skip) {
        j->print.fetch_add(print_of(f.position, left_out) - counted, std::memory_order_relaxed);
      }
      const bool over = f.action != error_action::replace, good = f.action == error_action::retry;
      if (good && f.index != tried.front()) self->count_substitute(*j, f.position, f.index, counted);
      failure next;
      next.slot = f.slot;
      next.position = f.position;
      next.number = f.number + 1;
      next.index = f.substitute;
      next.tries = 0;
      next.drawn = f.drawn;
      j->note(std::move(f));
      if (over) co_return good;
      f = std::move(next);
      task<bool> trying = attempt(self, j, c, &f);
      const bool substituted = co_await trying;
      if (substituted) {
        self->count_substitute(*j, f.position, f.index, counted);
        co_return true;
      }
    }
  }

  /// Runs a sample for the first time, outside of a run; a failure is settled. Whether the slot has a sample.
  static task<bool> run_or_settle(sample_runs* self, job_type* j, context* c, failure f) {
    task<bool> trying = attempt(self, j, c, &f);
    const bool good = co_await trying;
    if (good) co_return true;
    task<bool> settling = settle(self, j, c, std::move(f));
    const bool settled = co_await settling;
    co_return settled;
  }
  /// The same where a failure fails the batch.
  static task<bool> run_or_fail(sample_runs* self, job_type* j, context* c, failure f) {
    task<bool> trying = attempt(self, j, c, &f);
    const bool good = co_await trying;
    if (!good) j->note(std::move(f));
    co_return good;
  }

  /// What the sample was found to be bad in: the stage it failed in, or was found to fail in by an earlier
  /// run.
  std::string stage_of(const failure& f) const {
    try {
      std::rethrow_exception(f.cause);
    } catch (const late_error& e) {
      return e.stage();
    } catch (const quarantined_sample&) {
      return bad.stage_of(f.index);
    } catch (...) {
      return path.stage_name_at(f.stage);
    }
  }

  path_type path;
  const epoch_plan<path_type> plan{path};
  const std::uint64_t seed;
  executor& on;
  byte_budget budget;
  const error_policy policy;
  const bool only_fails;
  const quarantine bad;
  std::unique_ptr<stop_source> stop = std::make_unique<stop_source>();

 private:
  static constexpr std::uint32_t substitute_stream = 0xFFFF;  // of no stage
  static constexpr std::uint64_t everything = ~std::uint64_t{0};
  std::atomic<std::uint64_t> moved_{0};  // which pass, how many

  /// Whatever became of a sample, and wherever its bytes are now: they are no longer in flight.
  struct end_of_sample {
    context* c;
    ~end_of_sample() { c->give_back(); }
  };

  /// A sample that runs alone, in a pipeline where none suspends, is on the clocks like a run of one.
  struct on_the_clocks {
    path_type& path;
    std::uint64_t ticks[path_type::rows] = {};
    const std::uint64_t begun = now_ticks();
    explicit on_the_clocks(path_type& p) noexcept : path(p) {}
    ~on_the_clocks() {
      stage_clock* const mine = path.clocks().mine();
      path_type::write_down(mine, types::order_end, 1, ticks);
      path_type::count(mine, types::order_end, 1);
      path.clocks().ran(mine, 1, now_ticks() - begun);
    }
  };

  error_rule rule_for(const failure& f) const { return policy.rule_for(stage_of(f)); }

  /// Runs a sample once. What went wrong is in `f` afterwards.
  static task<bool> attempt(sample_runs* self, job_type* j, context* c, failure* f) {
    c->move_to({self->seed, c->epoch(), f->position, f->index});
    c->enter(static_cast<std::uint32_t>(types::order_end));
    std::exception_ptr cause;
    bool quarantined = false;
    try {
      j->columns.forget(static_cast<std::size_t>(f->slot));
      if constexpr (types::samples_suspend) {
        task<void> running = run_async(self, j, f->slot, c);
        co_await running;
      } else {
        if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
        if (self->is_bad(f->index)) self->refuse(*c);
        const end_of_sample end{c};
        on_the_clocks clocks(self->path);
        self->template run<true>(*j, f->slot, *c, clocks.ticks);
      }
    } catch (const quarantined_sample&) {
      cause = std::current_exception();
      quarantined = true;
    } catch (...) {
      cause = std::current_exception();
    }
    if (self->on.this_slot() == executor::none) co_await self->on.schedule();  // a stranger resumed us
    if (cause == nullptr) co_return true;
    f->cause = std::move(cause);
    f->stage = c->stage();
    if (!quarantined) ++f->tries;
    co_return false;
  }

  /// As often as the rule for what went wrong last says, with its pauses.
  static task<bool> try_again(sample_runs* self, job_type* j, context* c, failure* f) {
    if (f->tries == 0) co_return false;  // on the quarantine list
    for (;;) {
      const error_rule rule = self->rule_for(*f);
      if (f->tries > rule.retries || j->cancelled.load(std::memory_order_relaxed)) co_return false;
      bool stopped = false;
      try {
        if (rule.backoff.count() > 0) {
          auto pause = sleep_for(rule.backoff * std::ldexp(1.0, static_cast<int>(f->tries) - 1), *c);
          co_await pause;
        }
      } catch (...) {
        stopped = true;
      }
      if (stopped) co_return false;
      task<bool> trying = attempt(self, j, c, f);
      const bool good = co_await trying;
      if (good) {
        ++f->tries;
        co_return true;
      }
    }
  }

  /// Draws a substitute from the samples of the epoch, in f.substitute. False when enough were drawn.
  bool draw(const job_type& j, random_stream& from, std::vector<std::uint64_t>& tried, failure& f) const {
    while (f.drawn < policy.options().substitutes) {
      ++f.drawn;
      const std::uint64_t index = plan.index(j.order, from.below(plan.ordered()));
      if (std::find(tried.begin(), tried.end(), index) != tried.end()) continue;
      f.substitute = index;
      return true;
    }
    return false;
  }
  void count_substitute(job_type& j, std::uint64_t position, std::uint64_t index,
                        std::uint64_t counted) const noexcept {
    j.print.fetch_add(print_of(position, index) - counted, std::memory_order_relaxed);
  }

  static quarantine load(const path_type& path, const loader_options& options) {
    std::vector<quarantine::entry> all;
    std::vector<std::string> names = path.stage_names();
    for (const auto& file : options.quarantine) {
      const std::vector<quarantine::entry> some = read_quarantine(file, path.source(), names);
      all.insert(all.end(), some.begin(), some.end());
    }
    return quarantine(std::move(all), std::move(names));
  }

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
    if (!policy.ever(error_action::skip))
      throw error("on_error: compact is for skip; fail and replace leave no gaps");
    if (path.shard().world > 1) {
      throw error("on_error: compact with " + std::to_string(path.shard().world) +
                  " ranks: what fills a gap depends on what failed on the other ranks, which this one can't "
                  "know; use "
                  "replace, which keeps batches full and equal on every rank");
    }
    if constexpr (types::batched) {
      if (path.template stage<types::batching>().pad_last()) {
        throw error(
            "on_error: compact with pad_last: an epoch gets shorter by what is left out, and would have to "
            "be "
            "padded by what is not known in advance; use replace, or leave one of the two out");
      }
    }
  }
};

}  // namespace wick::detail

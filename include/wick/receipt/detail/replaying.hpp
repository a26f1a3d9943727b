/// \file
/// Making one batch again, beside the run: by the run's source, stages and rules, with a place, a plan,
/// memory and clocks of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/detail/slab.hpp>
#include <wick/failure/detail/error_account.hpp>
#include <wick/failure/detail/settling.hpp>
#include <wick/order/order.hpp>
#include <wick/receipt/detail/draw_notes.hpp>
#include <wick/receipt/detail/receipt_writer.hpp>
#include <wick/receipt/receipt.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/sequencer.hpp>
#include <wick/run/task.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/source.hpp>
#include <wick/sample/stage.hpp>
#include <wick/system/detail/owned.hpp>

namespace wick::detail {

/// Which batch; without batch() `number` is a position. `moved`: of the epoch's samples, by the batches
/// before (compaction).
struct replayed_batch {
  std::uint64_t epoch = 0, number = 0, moved = 0;
};

/// \throws wick::error
[[noreturn]] void refuse_replay(const std::string& what);
/// Whose part is made. \throws wick::error
shard_stage replayed_share(const shard_stage& own, const replay_options& options, bool batched);
void require_replayable(const replayed_batch& what, std::uint64_t there, bool batched);

/// Lives until the batch was taken. Samples are taken up one after the other by a few coroutines, as many as
/// keep the workers busy; nothing of the run waits for them, and they count nowhere. Whoever makes it calls
/// start(), waits for done(), and then take(): all on one thread, or in one coroutine.
///
/// `Run` has the pipeline and the policy of the run, `Again` refers to them, `Finishing` ends batches of
/// that.
template <class Run, class Again, class Finishing>
class replaying {
  using path_type = typename Again::path_type;
  using plan_type = typename Again::plan_type;
  using types = typename Again::types;
  using settle = settling<Again>;
  static constexpr bool batched = types::batched;

 public:
  using job_type = typename Again::job_type;
  using delivered = typename types::delivered;

  /// \throws wick::error when there is no such batch, or rank
  replaying(Run& of, const replayed_batch& what, const replay_options& options, bool with_notes)
      : what_(what),
        world_(of.path.shard()),
        share_(replayed_share(world_, options, batched)),
        own_plan_(plan_of(of)),
        notes_(with_notes ? make_owned<draw_notes>() : nullptr),
        runs_(of, own_plan_ ? *own_plan_ : of.plan, notes_.get()),
        pool_(std::make_shared<slab_pool>(runs_.path.batch_memory(), 64)),
        finishing_(runs_, done_, pool_, false) {
    require_replayable(what, batched ? plan().batches() : plan().positions(), batched);
  }
  replaying(const replaying&) = delete;
  replaying& operator=(const replaying&) = delete;

  /// From now on it must stay until done(). \throws std::bad_alloc; nothing has begun then
  void start() {
    job_.order = plan().order(runs_.seed, what_.epoch);
    job_.epoch = what_.epoch;
    job_.first = what_.number;
    job_.count = 1;
    if constexpr (batched) {
      const auto mine = plan().slice(what_.number, job_.order);
      job_.number = what_.number;
      job_.first = mine.first;
      job_.count = mine.count;
    }
    finishing_.begin(job_, what_.moved);
    std::uint64_t lanes = runs_.on.workers();
    if constexpr (types::samples_suspend) lanes = 2 * lanes + runs_.on.io().threads();
    lanes = std::min(lanes, job_.count);
    job_.unfinished.store(lanes + 1, std::memory_order_relaxed);  // one for this function
    for (std::uint64_t begun = 0; begun < lanes; ++begun) {
      try {
        resume(lane(this).handle);
      } catch (...) {  // no memory for its frame: those that have begun do its work
        if (begun == 0)
          job_.fail_whole(static_cast<std::uint32_t>(types::batching), std::current_exception());
        ended(lanes - begun);
        break;
      }
    }
    ended(1);
  }
  /// Where it is published, as number 0.
  sequencer<job_type>& done() noexcept { return done_; }

  /// \throws what next() would; wick::error when nothing stands there
  delivered take() {
    const std::vector<told_failure> told = tell();
    if constexpr (batched) Finishing::make(job_);
    std::optional<delivered> out;
    if constexpr (batched) {
      out = std::exchange(job_.value, std::nullopt);
    } else if (job_.value && !job_.value->empty()) {
      out = std::exchange(job_.value->front(), std::nullopt);
    }
    if (!out) throw_missing(told);
    if constexpr (batched) {
      runs_.path.for_each_batch_stage([&](auto& s) {
        if constexpr (has_hook<decltype(s), hook::deliver>) s.deliver(*out);
      });
    }
    return std::move(*out);
  }

  /// What it was made of. Failures are told in it.
  receipt written() {
    notes_->sort();
    receipt out;
    out.seed = runs_.seed;
    out.epoch = what_.epoch;
    out.batch = what_.number;
    const std::vector<std::string> names = runs_.path.stage_names();
    using source_type = std::remove_cvref_t<decltype(runs_.path.source())>;
    const sample_names keys{&runs_.path.source(), [](const void* source, std::uint64_t i) {
                              return key_of(*static_cast<const source_type*>(source), i);
                            }};
    receipt_writer writer(out, *notes_, names, types::batching, keys);
    if (job_.state == decltype(job_.state)::past_the_end) return out;
    std::uint64_t row = 0;
    for (std::uint64_t slot = 0; slot < job_.count; ++slot) {
      if (std::find(job_.gaps.begin(), job_.gaps.end(), slot) != job_.gaps.end()) continue;
      const failure at = runs_.standing_at(job_, slot);
      const bool failed = std::any_of(job_.failures.begin(), job_.failures.end(), [&](const failure& f) {
        return f.slot == slot && f.action == error_action::fail;
      });
      if (failed) continue;
      receipt::sample s;
      s.slot = row++;
      s.position = at.position;
      s.index = at.index;
      s.rank = rank_of(slot);
      s.planned = plan().index(job_.order, job_.first + slot);
      writer.add(std::move(s));
    }
    if constexpr (batched) writer.add_batch(job_.first);
    for (told_failure& f : tell()) out.failures.push_back(std::move(f.entry));
    return out;
  }

 private:
  const plan_type& plan() const noexcept { return runs_.plan; }
  /// Edits of the mixture have each epoch planned by itself, and another rank has another slice.
  std::optional<plan_type> plan_of(const Run& of) const {
    const bool other_share = share_.rank != world_.rank || share_.world != world_.world;
    if (!plan_type::editable && !other_share) return std::nullopt;
    return std::optional<plan_type>(std::in_place, of.path, share_, what_.epoch);
  }
  std::uint64_t rank_of(std::uint64_t slot) const noexcept {
    if constexpr (batched) {
      for (std::uint64_t r = 0; r < world_.world; ++r) {
        const auto part = plan().slice(what_.number, job_.order, {r, world_.world});
        if (job_.first + slot - part.first < part.count) return r;
      }
      return share_.rank;
    } else {  // groups of positions, as the feed has them
      const std::uint64_t group = plan().batch_size(), in_group = what_.number % group;
      const std::uint64_t size = std::min(group, plan().positions() - (what_.number - in_group));
      std::uint64_t r = 0;
      while (size * (r + 1) / world_.world <= in_group) ++r;
      return r;
    }
  }
  std::vector<told_failure> tell() const {
    std::vector<told_failure> out;
    if (job_.failures.empty() && !job_.unlisted) return out;
    tell_all<batched>(job_, runs_.path.stage_names(), runs_.path.source(), runs_.bad, plan(), out);
    sort_by_slot(out);
    return out;
  }
  [[noreturn]] void throw_missing(const std::vector<told_failure>& told) const {
    for (const told_failure& f : told) {
      if (f.entry.action == error_action::fail) throw to_exception(f);
    }
    if (!batched && !told.empty()) throw to_exception(told.back());
    const std::string where = " of epoch " + std::to_string(what_.epoch);
    if constexpr (batched) {
      refuse_replay("batch " + std::to_string(what_.number) + where +
                    " has no sample: they stand where others were left out (error_options::compact)");
    } else {
      refuse_replay(printable_key(runs_.path.source(), plan().index(job_.order, job_.first)) + ", position " +
                    std::to_string(what_.number) + where + ", was left out by filter()");
    }
  }

  static detached lane(replaying* self) {
    for (;;) {
      co_await self->runs_.on.schedule();  // others' turn: the run's samples
      const std::uint64_t slot = self->next_.fetch_add(1, std::memory_order_relaxed);
      if (slot >= self->job_.count) break;
      failure f;
      f.slot = slot;
      f.position = self->job_.first + slot;
      f.index = self->plan().index(self->job_.order, f.position);
      f.tries = 0;
      context c = self->runs_.context_at(self->runs_.place_of(self->job_, slot, f.index), self->job_);
      try {
        task<bool> running = settle::run_or_settle(&self->runs_, &self->job_, &c, f);
        co_await running;
      } catch (...) {
        f.cause = std::current_exception();
        self->job_.lose(std::move(f));
      }
    }
    self->ended(1);
  }
  /// Nothing of this may be touched afterwards.
  void ended(std::uint64_t lanes) noexcept {
    if (job_.unfinished.fetch_sub(lanes, std::memory_order_acq_rel) == lanes) finishing_.run(job_);
  }

  const replayed_batch what_;
  const shard_stage world_, share_;  // of the run, and whose part is made
  const std::optional<plan_type> own_plan_;
  const owned<draw_notes> notes_;
  Again runs_;
  sequencer<job_type> done_{1};
  std::shared_ptr<slab_pool> pool_;
  Finishing finishing_;
  job_type job_;
  std::atomic<std::uint64_t> next_{0};  // slot that nobody has taken up
};

}  // namespace wick::detail

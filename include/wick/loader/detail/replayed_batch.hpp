/// \file
/// Making one batch again, beside the run: by the run's pipeline and rules, with a place, a plan, memory and
/// clocks of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <wick/async/detail/sequencer.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/failures/detail/error_account.hpp>
#include <wick/loader/detail/batch_completion.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/draw_notes.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/loader/receipt.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1::detail {

/// Lives until the batch is taken. A few coroutines, as many as keep the workers busy, take up the samples
/// one after the other; nothing of the run waits for them, and they count nowhere. Its owner calls start(),
/// waits for done(), and then calls make(): all on one thread, or in one coroutine.
class replayed_batch {
 public:
  /// Which batch; without batch() `number` is a position.
  struct which {
    std::uint64_t epoch = 0, number = 0;
  };
  /// \param plan  of the run
  /// \throws wick::error when there is no such batch, or rank
  replayed_batch(run_settings& of, const erased_plan& plan, const which& what, const replay_options& options,
                 bool with_notes);
  replayed_batch(const replayed_batch&) = delete;
  replayed_batch& operator=(const replayed_batch&) = delete;

  /// From now on it must stay until done(). \throws std::bad_alloc; nothing has begun then
  void start();
  /// Where it is published, as number 0.
  sequencer<batch_job>& done() noexcept { return done_; }
  /// Makes it whole, once it is done.
  batch_job& make() {
    completion_.make(*job_);
    return *job_;
  }
  /// What there is in place of a batch. \throws what next() would; wick::error when nothing stands there
  [[noreturn]] void throw_missing() const;
  /// What it was made of. Failures are in it, too.
  receipt written();

 private:
  const erased_plan& plan() const noexcept { return *run_.plan; }
  owned<const erased_plan> plan_of(const erased_plan& of_run) const;
  std::uint64_t rank_of(std::uint64_t slot) const noexcept;
  std::vector<told_failure> tell() const;
  static detached lane(replayed_batch* self);
  void ended(std::uint64_t lanes) noexcept;

  run_settings& settings_;
  const which what_;
  const shard_stage world_, share_;  // of the run, and whose part is made
  const owned<const erased_plan> own_plan_;
  const owned<draw_notes> notes_;
  pipeline_run run_;
  sequencer<batch_job> done_{1};
  std::shared_ptr<slab_pool> pool_;
  batch_completion completion_;
  const owned<batch_job> job_;
  std::atomic<std::uint64_t> next_{0};  // the first slot that no lane has
};

}  // namespace wick::detail

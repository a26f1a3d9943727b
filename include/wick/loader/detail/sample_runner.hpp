// Runs the samples that a worker has claimed: each goes through the stages into its slot, and failures are
// settled.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include <wick/async/detail/grain.hpp>
#include <wick/async/task.hpp>
#include <wick/failures/detail/failed_sample.hpp>
#include <wick/io/detail/read_group.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/loader/detail/prefetch_choice.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/budget.hpp>
#include <wick/profile/detail/run_mark.hpp>
#include <wick/profile/detail/stage_clocks.hpp>

namespace wick::inline v0_1::detail {

class scheduler;

/// Tells the scheduler about samples that have ended, by finish_some(job, count). If samples may suspend,
/// each that does has a token, and returns it. Any thread that has a slot may call it.
class sample_runner {
 public:
  sample_runner(pipeline_run& of, scheduler& owner) noexcept
      : run_(of), owner_(owner), grain_(of.settings.on.workers()) {}

  /// How long samples take.
  const wick::detail::grain& grain() const noexcept { return grain_; }

  /// Runs slots [from, from + count) of a batch. Samples that suspend end later, on any worker. `has_tokens`:
  /// whether a token was taken for each; otherwise, one is taken for each that suspends.
  void run(batch_job& j, std::uint64_t from, std::uint64_t count, bool has_tokens) noexcept;

 private:
  void run_all(batch_job& j, std::uint64_t from, std::uint64_t count) noexcept;
  void begin_all(batch_job& j, std::uint64_t from, std::uint64_t count, bool has_tokens) noexcept;
  void run_timed(batch_job& j, std::uint64_t from, std::uint64_t count, sample_run& r,
                 stopwatch& clock) noexcept;
  void learn(stage_clocks::worker& mine, std::uint64_t count, std::uint64_t ticks) noexcept;
  void settle_all(batch_job& j, std::vector<failure>& failed) noexcept;
  void lose(batch_job& j, std::uint64_t slot, const place& where) noexcept;
  static detached settle_one(sample_runner* self, batch_job* j, failure* of);
  /// What a run's samples read together.
  struct grouped {
    read_group group;
    byte_account held;
    std::bitset<run_mark::few> followed;  // by a trace
    std::uint64_t begun = 0;
    std::uint64_t weight = 0;  // how many samples each timed one stands for; 0: none is timed
  };
  void read_group_of(batch_job& j, std::uint64_t first, std::span<const std::uint64_t> indexes,
                     stage_clocks::worker& mine, grouped& reads) noexcept;
  enum class attempt { ended, suspends, failed };
  attempt try_at_once(batch_job& j, std::uint64_t slot, const place& where, stage_clocks::worker& mine,
                      context& c, failure& f) noexcept;
  attempt finish_read(batch_job& j, std::uint64_t slot, const place& where, stage_clocks::worker& mine,
                      context& c, failure& f, grouped& reads, std::size_t sample) noexcept;
  static detached run_one(sample_runner* self, batch_job* j, std::uint64_t slot, place where,
                          std::uint64_t begun, bool followed, failure* failed);

  pipeline_run& run_;
  scheduler& owner_;
  alignas(64) wick::detail::grain grain_;
  alignas(64) prefetch_choice depths_;
};

}  // namespace wick::detail

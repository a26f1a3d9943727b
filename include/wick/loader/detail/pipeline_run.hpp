// A running pipeline: for a loader's epochs, or separately for one batch that is made again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/failures/detail/failed_sample.hpp>
#include <wick/failures/detail/quarantine.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/erased_pipeline.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/budget.hpp>
#include <wick/pipeline/detail/trace_lane.hpp>
#include <wick/profile/detail/stage_clocks.hpp>

namespace wick::inline v0_1::detail {

/// A pipeline and the rules by which a loader runs it: the same for its epochs and for batches made again.
///
/// The outcome at a position depends on the data, the seed, the epoch, and the position. A substitute is
/// drawn from the position's own random stream. A sample on the quarantine list counts as one that was tried
/// and failed, so a run with the list gives the same batches as the run that made it.
struct run_settings {
  /// \throws wick::error when on_error can't be done with this pipeline, or a quarantine file can't be read
  run_settings(owned<erased_pipeline> what, const loader_options& options, executor& on);
  run_settings(const run_settings&) = delete;
  run_settings& operator=(const run_settings&) = delete;

  const pipeline_facts& facts() const noexcept { return pipeline->facts(); }
  /// The name of a stage; the loader's own if there is no stage of that number.
  std::string stage_name(std::size_t i) const {
    return i < stage_names.size() ? stage_names[i] : std::string("loader");
  }
  /// For messages: the sample's key, without characters that a terminal can't show.
  std::string printable_key(std::uint64_t index) const;
  /// The source, as a quarantine list records it.
  listed_source listed() const;
  bool is_bad(std::uint64_t index) const noexcept { return !bad.empty() && bad.has(index); }
  /// The stage that the sample failed in, in this run or in an earlier one.
  std::string stage_of(const failure& f) const;

  const owned<erased_pipeline> pipeline;
  executor& on;
  const std::uint64_t seed;
  const std::size_t in_flight;  // the most samples under way at a time, if they suspend
  byte_budget budget;
  const on_error policy;
  const bool only_fails;
  const std::vector<std::string> stage_names;
  const sample_names names;
  quarantine bad;  // empty once the data has changed

 private:
  void check() const;
};

/// The state of one run. All workers call it at once.
class pipeline_run {
 public:
  /// \param by  must outlive the run, as must the settings
  pipeline_run(run_settings& of, const erased_plan& by);
  pipeline_run(const pipeline_run&) = delete;
  pipeline_run& operator=(const pipeline_run&) = delete;

  context context_at(place where, const batch_job& j) noexcept {
    return context(where, &on, &settings.budget, stop->token(), j.pass, &settings.names);
  }
  context context_of_batch(const batch_job& j) noexcept;
  place place_of(const batch_job& j, std::uint64_t slot, std::uint64_t index) const noexcept {
    return {settings.seed, j.epoch, j.first + slot, index};
  }

  /// \throws quarantined_sample
  void refuse_bad(std::uint64_t index) const {
    if (settings.is_bad(index)) throw quarantined_sample();
  }

  // ---- clocks ----

  /// Counts samples that went through the stages from `first` up to batch, successfully or not; the timed
  /// ones stand for `timed` samples.
  void count(stage_clock* of, std::size_t first, std::uint64_t samples, std::uint64_t timed) const noexcept;
  /// Records the end of a stage after batch().
  void count_batch(std::size_t stage, std::uint64_t begun, const context& c, span_kind kind);

  // ---- failures ----

  /// The failure that the sample at `c` just had in this slot.
  failure failed(std::uint64_t slot, const context& c, std::exception_ptr cause) const;
  /// Adds that failure to a run's failures; without memory for it, the batch is lost. Called in the catch
  /// block.
  void add_failed(batch_job& j, std::vector<failure>& to, std::uint64_t slot,
                  const context& c) const noexcept;
  /// The sample in a slot that isn't a gap: the planned one, or its substitute.
  failure failure_at(const batch_job& j, std::uint64_t slot) const;
  /// Fails a batch that can't be ended properly for lack of memory. Called in the catch block.
  void lose(batch_job& j) const noexcept {
    j.fail_whole(static_cast<std::uint32_t>(facts.batching), std::current_exception());
  }

  run_settings& settings;
  erased_pipeline& pipeline;
  const pipeline_facts& facts;
  executor& on;
  const erased_plan* plan;
  stage_clocks clocks;
  owned<stop_source> stop = make_owned<stop_source>();
};

}  // namespace wick::detail

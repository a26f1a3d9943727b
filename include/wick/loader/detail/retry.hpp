// Handles a sample that failed: it is tried again, another sample takes its place, it is left out, or its
// batch fails.
#pragma once

#include <atomic>
#include <cstdint>

#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/failures/detail/failed_sample.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/pipeline/context.hpp>

namespace wick::inline v0_1::detail {

/// A sample while it goes through the stages. Releases the sample's byte budget at the end of the scope.
class sample_under_way {
 public:
  /// \throws cancelled, quarantined_sample
  sample_under_way(const pipeline_run& run, const batch_job& j, context& c) : c_(c) {
    c.enter_source(static_cast<std::uint32_t>(run.facts.first));
    if (j.cancelled.load(std::memory_order_relaxed)) throw cancelled();
    run.refuse_bad(c.index());
  }
  sample_under_way(const sample_under_way&) = delete;
  sample_under_way& operator=(const sample_under_way&) = delete;
  ~sample_under_way() { c_.give_back(); }

 private:
  context& c_;
};

/// Handles a failure by the rules of a run's settings, and records it. Returns whether the slot holds a
/// sample afterwards; if not, it is a gap, or its batch is lost.
///
/// A substitute is drawn from the position's own random stream. A sample on the quarantine list counts as one
/// that was tried and failed, so a run with the list gives the same batches as the run that made it. When
/// another sample drawn for this one has failed, that other is left out or replaced: this one is made again
/// and draws another. \throws std::bad_alloc
task<bool> settle(pipeline_run* run, batch_job* j, context* c, failure f);
/// Makes a sample again; a failure fails the batch. Returns whether the slot holds a sample.
task<bool> run_or_fail(pipeline_run* run, batch_job* j, context* c, failure f);

}  // namespace wick::detail

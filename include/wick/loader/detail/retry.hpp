/// \file
/// What is done about a sample that failed: it is tried again, another is drawn in its place, it is left out,
/// or its batch fails.
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

/// While a sample goes through the stages. Afterwards, whatever became of it, and wherever its bytes are now,
/// they are no longer in flight.
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

/// By the rules of a run's settings. A substitute is drawn from a random stream of the position's own, and a
/// sample on the quarantine list counts as one that was tried and has failed: a run with the list gives the
/// same batches as the one that made it. Where another sample that was to go into this one has failed, that
/// one is left out or replaced: this one is made again and draws another.
///
/// Does about a failure what the rules say, and writes it down. Whether the slot has a sample afterwards;
/// else it is a gap, or its batch is lost. \throws std::bad_alloc
task<bool> settle(pipeline_run* run, batch_job* j, context* c, failure f);
/// Makes a sample again; a failure fails the batch. Whether the slot has a sample.
task<bool> run_or_fail(pipeline_run* run, batch_job* j, context* c, failure f);

}  // namespace wick::detail

/// \file
/// What is done about a sample that failed: it is tried again, another is drawn in its place, it is left out,
/// or its batch fails.
#pragma once

#include <cstdint>

#include <wick/async/task.hpp>
#include <wick/failures/detail/failed_sample.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/pipeline/context.hpp>

namespace wick::inline v0_1::detail {

/// Runs a sample through stages that may suspend, once. \throws what it fails with
task<void> run_suspending(pipeline_run* run, batch_job* j, std::uint64_t slot, context* c);

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

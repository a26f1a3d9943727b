// The records of everything that was handed over, epoch after epoch.
#pragma once

#include <vector>

#include <wick/failures/detail/dropped_counts.hpp>
#include <wick/failures/detail/error_account.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/loader/detail/report_recorder.hpp>
#include <wick/loader/detail/scheduler.hpp>
#include <wick/resume/detail/delivery_log.hpp>

namespace wick::inline v0_1::detail {

struct delivery_records {
  error_account account;
  fingerprint_recorder prints;
  report_recorder report;
  delivery_log deliveries;
  dropped_counts drops = {};
};

/// Collects the failures to report of a batch, or (without batch()) of a group of samples, by rising slot.
/// Call it before the batch is taken out of its job.
void report_in_order(const batch_job& j, const run_settings& of, const erased_plan& plan,
                     std::vector<reported_failure>& to);

/// Counts the samples that filter() and skipped failures left out of a batch. Call it before the batch is
/// taken out of its job.
left_out_counts left_out_of(const batch_job& j, const std::vector<reported_failure>& failures);

/// The line for the delivery log, without the epoch's number of batches. Call it before the batch is taken
/// out of its job. \param failures  those of the batch, by rising slot
delivered_batch delivery_of(const batch_job& j, const scheduler& of,
                            const std::vector<reported_failure>& failures);

}  // namespace wick::detail

/// \file
/// What is kept of all that was handed over, epoch after epoch.
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

/// What there is to tell of a batch, or (without batch()) of a group of samples, by rising slot. Before it is
/// taken out of its job.
void report_in_order(const batch_job& j, const run_settings& of, const erased_plan& plan,
                     std::vector<reported_failure>& to);

/// What filter() and skipped failures have left out of a batch. Before it is taken out of its job.
left_out_counts left_out_of(const batch_job& j, const std::vector<reported_failure>& failures);

/// The line for the delivery log, but for the epoch's number of batches. Before the batch is taken out of its
/// job. \param failures  of the batch, by rising slot
delivered_batch delivery_of(const batch_job& j, const scheduler& of,
                            const std::vector<reported_failure>& failures);

}  // namespace wick::detail

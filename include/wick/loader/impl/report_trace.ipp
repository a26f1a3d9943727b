// Implements the trace and the timeline of loader/detail/report_recorder.hpp. Included in exactly one file
// of a program.
#pragma once

#include <algorithm>

#include <wick/async/detail/io_pool.hpp>
#include <wick/loader/detail/report_recorder.hpp>

namespace wick::inline v0_1::detail {

void report_recorder::trace(const subject& of, const std::vector<std::string>& names, std::uint64_t positions,
                            const std::string& path, const trace_options& options) {
  stop_trace();
  trace_subject what;
  what.lanes = of.clocks.lanes();
  what.slots = of.on.slots();
  what.workers = of.on.workers();
  what.io_threads = of.on.io().threads();
  what.stages = names;
  what.stages.resize(of.order_row + 1, "source");  // for samples that fail before their first stage
  what.first = of.first;
  what.last = std::min(of.batching, names.size() - 1);
  what.positions = positions;
  what.source = of.names.source;
  what.key = of.names.key;
  trace_note_.clear();
  trace_ = make_owned<trace_file>(path, options, std::move(what));
}

void report_recorder::stop_trace() noexcept {
  if (!trace_) return;
  trace_->end();
  try {
    trace_note_ = trace_->note();
  } catch (...) {  // no memory for it
  }
  trace_.reset();
}

void report_recorder::look(const queue_depths& depths, traced_batch batch) noexcept {
  if (timeline_.wants_depths(came_)) timeline_.add(depths, came_ + depths_every_);
  if (!trace_) return;
  batch.taken = came_;
  trace_->took(batch);
  const std::uint64_t spent = trace_->look(depths);  // not part of the step
  came_ += spent;
  begun_ += spent;
}

}  // namespace wick::detail

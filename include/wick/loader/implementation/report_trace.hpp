/// \file
/// What the trace and the timeline are told, of loader/detail/report_book.hpp. Included in exactly one file
/// of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <wick/loader/detail/report_book.hpp>
#include <wick/observe/detail/timeline_book.hpp>
#include <wick/system/detail/owned.hpp>
#include <wick/trace/detail/trace_file.hpp>
#include <wick/trace/trace.hpp>

namespace wick::detail {

void report_book::trace(const subject& of, const std::vector<std::string>& names, std::uint64_t positions,
                        const std::string& path, const trace_options& options) {
  stop_trace();
  trace_subject what;
  what.lanes = of.clocks.lanes();
  what.slots = of.on.slots();
  what.workers = of.on.workers();
  what.stages = names;
  what.last = std::min(of.batching, names.size() - 1);
  what.positions = positions;
  what.source = of.names.source;
  what.key = of.names.key;
  trace_note_.clear();
  trace_ = make_owned<trace_file>(path, options, std::move(what));
}

void report_book::stop_trace() noexcept {
  if (!trace_) return;
  trace_->end();
  try {
    trace_note_ = trace_->note();
  } catch (...) {  // no memory for it
  }
  trace_.reset();
}

void report_book::read(const subject& of, const queue_depths& depths) {
  timeline_book::reading r;
  r.at = now_ticks();
  r.rows = of.clocks.ticks_by_row();
  for (std::size_t i = 0; i < of.on.workers(); ++i)
    r.workers.push_back(static_cast<double>(of.clocks.ticks_of(i)));
  r.ready = depths.ready;
  r.in_flight = depths.samples;
  r.bytes = depths.bytes;
  timeline_.add(std::move(r), static_cast<std::uint64_t>(0.05 / scale_.seconds_per_tick()));
}

void report_book::read_now(const subject& of, const queue_depths& depths) noexcept {
  try {
    read(of, depths);
  } catch (...) {  // no memory: the piece becomes longer
  }
}

void report_book::look(const queue_depths& depths, traced_batch batch) noexcept {
  if (!trace_) return;
  batch.taken = last_taken_;
  trace_->took(batch);
  last_taken_ += trace_->look(depths);  // no part of the step
}

}  // namespace wick::detail

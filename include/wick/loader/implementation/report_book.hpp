/// \file
/// The bodies of what loader/detail/report_book.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstdint>

#include <wick/failure/detail/error_account.hpp>
#include <wick/failure/ledger.hpp>
#include <wick/loader/detail/report_book.hpp>
#include <wick/observe/detail/stage_clocks.hpp>
#include <wick/observe/phases.hpp>
#include <wick/observe/report.hpp>
#include <wick/observe/stall_meter.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/io_pool.hpp>

namespace wick::detail {

void report_book::usage::add(const usage& until, const usage& since) noexcept {
  time += until.time - since.time;
  program += until.program - since.program;
  workers += until.workers - since.workers;
  io += until.io - since.io;
  io_calls += until.io_calls - since.io_calls;
  own += until.own - since.own;
  others += until.others - since.others;
}

report_book::clocked report_book::since_reported(const stage_clocks::sum& now,
                                                 const stage_clocks::sum& before) noexcept {
  clocked c;
  c.count = now.count - before.count;
  const double timed = static_cast<double>(now.timed - before.timed);
  if (timed > 0) {
    c.busy = static_cast<double>(now.timed_ticks - before.timed_ticks) * static_cast<double>(c.count) / timed;
  }
  const auto waited = static_cast<std::int64_t>(now.waited - before.waited);
  if (waited > 0) c.blocked = static_cast<double>(waited);
  return c;
}

}  // namespace wick::detail

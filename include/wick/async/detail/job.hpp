/// \file
/// The smallest unit of work: a function pointer and a link. It lies inside what it works for (a coroutine
/// frame, a loader), so queueing it allocates nothing.
#pragma once

namespace wick::inline v0_1::detail {

/// Derive from it, set `execute`, hand it to a queue (executor::post, io_pool::post). It lives at least until
/// it is executed, is in one queue at a time, and is executed once for each time it was handed over. From
/// then on the queue touches it no more: `execute` may free the job, reuse it, or hand it over again.
struct job {
  void (*execute)(job*) noexcept = nullptr;  ///< gets the job itself; must not throw
  job* next = nullptr;                       ///< belongs to the queue that holds the job
};

}  // namespace wick::detail

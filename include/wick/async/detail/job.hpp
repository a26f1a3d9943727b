// The smallest unit of work: a function pointer and a link. It is part of the object it works for (a
// coroutine frame, a loader), so queueing it allocates nothing.
#pragma once

namespace wick::inline v0_1::detail {

/// Derive from it, set `execute`, and hand it to a queue (executor::post, io_pool::post). It must live until
/// it is executed, is in one queue at a time, and is executed once for each time it was handed over. From
/// then on the queue doesn't touch it: `execute` may free the job, reuse it, or hand it over again.
struct job {
  void (*execute)(job*) noexcept = nullptr;  ///< gets the job itself; must not throw
  job* next = nullptr;                       ///< belongs to the queue that holds the job
};

}  // namespace wick::detail

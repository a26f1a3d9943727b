/// \file
/// The workers: threads that run jobs, steal from each other when idle, and sleep when all queues are empty.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <wick/async/detail/job.hpp>
#include <wick/async/detail/worker_pool.hpp>

namespace wick::inline v0_1 {

/// How many threads an executor has, and which.
struct executor_options {
  /// Threads that run jobs. Default: as many as processors are available.
  std::optional<std::size_t> workers = {};
  /// For calls that block. Default: as many as give most calls a second, found while they run, up to 256. It
  /// begins with twice the workers, at least 4, at most 32.
  std::optional<std::size_t> io_threads = {};
  std::size_t queue_capacity = 1024;  ///< of each worker's own queue; more goes to the shared one
  std::string name = "wick";          ///< of the threads, as top shows them
  std::vector<int> pin_to =
      {};  ///< worker i is bound to processor pin_to[i % size]; empty: the system decides
  /// By how much the workers' priority is below that of the thread that makes the executor, as nice(1)
  /// counts, from 0 to 19. On Linux.
  int nice = 0;
};

/// A pool of workers, the threads that run stages and other coroutines. Each has a bounded FIFO queue of its
/// own; outside submissions and overflow go to a shared one, which every worker looks at between any two
/// jobs, and now and then each looks into another's queue though its own is not empty. So a job waits for no
/// other job to end, as long as one worker is free or comes round. Only jobs that workers post may stay
/// queued for up to 0.8 ms more, after several bursts in a row that were too short to be shared: then free
/// workers come round now and then instead of being woken. A worker must not block: a job that waits suspends
/// (see context::run_blocking, sleep_for).
///
/// schedule: any thread. Writes before it are visible to the coroutine that continues. One worker takes jobs
/// from outside in their order, and its own in theirs as long as they fit in its queue; between the two, and
/// between workers, there is no order.
///
/// The destructor runs the queued jobs, and the blocking calls that are under way. It wakes sleeping
/// coroutines (sleep_for) with wick::cancelled; a blocking call that begins later is refused with an
/// exception. Loaders that use the executor must be gone before. Not on a worker. It is neither copied nor
/// moved: workers point into it.
///
/// Handlers of signals never run on its threads: all are blocked there but those that a thread causes itself
/// (SIGSEGV, SIGPIPE, …) and SIGPROF. A process that a stage starts inherits that; one that must heed SIGTERM
/// or SIGCHLD is started with posix_spawn and POSIX_SPAWN_SETSIGMASK.
///
/// A static one is fine: it is made without the help of other globals, and may be destroyed at the very end
/// of the program. In a forked child its threads don't exist: there schedule() throws std::logic_error
/// instead of waiting without an end, and the destructor leaves all as it is.
class executor : public detail::worker_pool {
 public:
  /// \throws std::system_error when there are no more threads to be had, std::invalid_argument for 0 workers
  /// or I/O threads, and when a worker can't be bound to the processor that pin_to names
  explicit executor(const executor_options& options = {}) : worker_pool(options) {}
  explicit executor(std::size_t workers) : executor(executor_options{.workers = workers}) {}

  /// How many there are; a training loop that helps is not among them.
  std::size_t workers() const noexcept { return worker_pool::workers(); }
  /// `co_await ex.schedule();` continues on a worker.
  schedule_awaiter schedule() noexcept { return worker_pool::schedule(); }
  /// Processor time that each worker has taken so far, in seconds; 0 where the system doesn't say.
  std::vector<double> worker_seconds() const { return worker_pool::worker_seconds(); }
};

inline void detail::post_to(executor& on, detail::job* j) noexcept { on.post(j); }

}  // namespace wick

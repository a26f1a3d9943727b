// The workers: threads that run jobs, steal from each other when idle, and sleep when all queues are empty.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <wick/async/detail/job.hpp>
#include <wick/async/detail/worker_pool.hpp>

namespace wick::inline v0_1 {

/// Options of an executor: how many threads it has, and which.
struct executor_options {
  /// Threads that run jobs. Default: as many as there are available processors.
  std::optional<std::size_t> workers = {};
  /// Threads for calls that block. Default: the number with the most calls per second, found at run time,
  /// up to 256. It starts with twice the workers, at least 4 and at most 32.
  std::optional<std::size_t> io_threads = {};
  std::size_t queue_capacity = 1024;  ///< of each worker's own queue; more goes to the shared one
  std::string name = "wick";          ///< the threads' name, as top shows it
  /// Worker i is bound to processor pin_to[i % size]. If empty, the system decides.
  std::vector<int> pin_to = {};
  /// How far the workers' priority is below that of the thread that makes the executor, as nice(1) counts, 0
  /// to 19. On Linux.
  int nice = 0;
};

/// A pool of workers, the threads that run stages and other coroutines. Each worker has its own bounded FIFO
/// queue. Outside submissions and overflow go to a shared queue, which every worker checks between any two
/// jobs. Now and then, each worker also checks another worker's queue, even if its own isn't empty. So no job
/// waits for another one to end, as long as a worker is free or checks the queues. Only jobs that workers
/// post may stay queued for up to 0.8 ms more, after several bursts in a row that were too short to be
/// shared: free workers then check the queues now and then instead of being woken. A worker must not block: a
/// job that waits suspends (see context::run_blocking, sleep_for).
///
/// Any thread may call schedule. Writes before it are visible to the coroutine that continues. A worker takes
/// jobs from outside in their order, and its own jobs in theirs as long as they fit in its queue. There is no
/// order between the two, or between workers.
///
/// The destructor runs the queued jobs and finishes the blocking calls that are under way. It wakes sleeping
/// coroutines (sleep_for) with wick::cancelled, and refuses later blocking calls with an exception. Destroy
/// the loaders that use the executor before it, and don't destroy it on a worker. It can't be copied or
/// moved: workers point into it.
///
/// Signal handlers never run on its threads: these block all signals except those that a thread causes itself
/// (SIGSEGV, SIGPIPE, …) and SIGPROF. A process that a stage starts inherits that. If it must handle SIGTERM
/// or SIGCHLD, start it with posix_spawn and POSIX_SPAWN_SETSIGMASK.
///
/// A static executor is fine: its constructor needs no other globals, and it may be destroyed at the very end
/// of the program. In a forked child its threads don't exist: there, schedule() throws std::logic_error
/// instead of waiting without an end, and the destructor leaves everything as it is.
class executor : public detail::worker_pool {
 public:
  /// \throws std::system_error if the system has no more threads; std::invalid_argument for 0 workers or I/O
  /// threads, or if a worker can't be bound to the processor that pin_to names
  explicit executor(const executor_options& options = {}) : worker_pool(options) {}
  explicit executor(std::size_t workers) : executor(executor_options{.workers = workers}) {}

  /// The number of workers; a training loop that helps isn't one of them.
  std::size_t workers() const noexcept { return worker_pool::workers(); }
  /// `co_await ex.schedule();` continues on a worker.
  schedule_awaiter schedule() noexcept { return worker_pool::schedule(); }
  /// The processor time that each worker has used so far, in seconds; 0 if the system doesn't say.
  std::vector<double> worker_seconds() const { return worker_pool::worker_seconds(); }
};

inline void detail::post_to(executor& on, detail::job* j) noexcept { on.post(j); }

}  // namespace wick

/// \file
/// Says where the samples are when no batch leaves for long.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <wick/run/executor.hpp>
#include <wick/sample/context.hpp>
#include <wick/schedule/detail/hang_handler.hpp>
#include <wick/schedule/detail/under_way.hpp>
#include <wick/system/detail/duration.hpp>
#include <wick/system/detail/owned.hpp>

namespace wick::detail {

/// What there is to say of a loader, at one moment.
struct loader_scene {
  bool under_way = false;  ///< there is a batch that has been begun; the next to be taken is
  std::uint64_t sequence = 0, epoch = 0, number = 0;
  std::uint64_t samples = 0, unfinished = 0, unclaimed = 0;
  std::vector<sample_place> places;  ///< of all batches
  std::vector<std::string> stages;
  sample_names names;
  std::size_t memory_used = 0, memory_limit = 0;
  std::size_t workers = 0;
  std::vector<int> stuck_workers;     ///< threads, where no worker is free
  std::vector<int> stuck_io_threads;  ///< the same of calls
};

/// Who keeps all workers or all I/O threads busy.
void note_threads(executor& on, loader_scene& in);

/// Of the oldest batch, or null, of which nobody changes more than the counts under this lock; and of what
/// runs samples.
template <class Job, class Runs>
loader_scene scene_of(const Job* oldest, Runs& runs, std::unique_lock<std::mutex> lock) {
  loader_scene out;
  out.under_way = oldest != nullptr;
  if (oldest != nullptr) {
    out.sequence = oldest->sequence;
    out.epoch = oldest->epoch;
    out.number = oldest->number;
    out.samples = oldest->count;
    out.unfinished = oldest->unfinished.load(std::memory_order_relaxed);
    out.unclaimed = std::min(oldest->unclaimed(), out.unfinished);
  }
  lock.unlock();
  out.places = runs.places.look();
  out.stages = runs.path.stage_names();
  out.names = runs.names();
  out.memory_used = runs.budget.used();
  out.memory_limit = runs.budget.limit();
  note_threads(runs.on, out);
  return out;
}

/// As text: what of the oldest batch is unfinished, each that hangs for itself before those that only wait
/// their turn, in at most ten lines; and what may be in its way.
std::string text_of(loader_scene scene);

/// One message a wait. One timer, which comes round once in the time that is allowed; a wait costs two
/// stores. The message is written on a thread of its own, which is started when there is one, since it may
/// block. The destructor waits for that.
class hang_watch {
 public:
  using look = loader_scene (*)(void* at);
  /// \param after  0: never
  /// \param tell  may be empty: to stderr
  hang_watch(executor& on, std::chrono::nanoseconds after, hang_handler tell, look how, void* at);
  hang_watch(const hang_watch&) = delete;
  hang_watch& operator=(const hang_watch&) = delete;
  ~hang_watch();

  /// The consumer waits for a batch, as long as this lives.
  class waiting {
   public:
    explicit waiting(hang_watch& of) noexcept : of_(of) { of.begin(); }
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;
    ~waiting() { of_.since_.store(0, std::memory_order_relaxed); }

   private:
    hang_watch& of_;
  };

  /// Where the samples are now. Any thread.
  std::string where();
  /// While this is held nobody looks at the source or at the stages.
  [[nodiscard]] std::unique_lock<std::mutex> nobody_looks() { return std::unique_lock(looking_); }

 private:
  struct state;
  using clock = std::chrono::steady_clock;

  void begin() noexcept;
  void start() noexcept;
  /// On the timers' thread. When to come again.
  clock::time_point come_round(clock::time_point now) noexcept;
  void tell(std::int64_t since) noexcept;

  executor& on_;
  const std::chrono::nanoseconds after_;
  const hang_handler tell_;
  const look look_;
  void* const at_;
  std::mutex looking_;
  std::atomic<std::int64_t> since_{0};  // of the steady clock; 0: the consumer doesn't wait
  bool started_ = false;                // the consumer's
  std::shared_ptr<state> state_;
};

}  // namespace wick::detail

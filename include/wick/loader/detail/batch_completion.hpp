/// \file
/// The end of a batch: all its samples have ended, well or not; it is judged, its gaps are closed, and it
/// goes through the batch stages.
#pragma once

#include <memory>
#include <utility>

#include <wick/async/detail/sequencer.hpp>
#include <wick/async/task.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/pipeline_run.hpp>

namespace wick::inline v0_1::detail {

/// The thread that ended a batch's last sample calls it; it publishes the batch in the end. Batches are
/// finished in any order.
///
/// Where no stage comes after batch(), the consumer makes the output, in make(): one that a worker makes and
/// the consumer drops goes from processor to processor, its memory to another thread's allocator, for each
/// batch.
class batch_completion {
 public:
  batch_completion(pipeline_run& of, sequencer<batch_job>& done, std::shared_ptr<slab_pool> pool,
                   bool with_content)
      : run_(of), done_(done), pool_(std::move(pool)), with_content_(with_content) {}

  /// Makes room for the samples of a batch.
  void begin(batch_job& j);
  /// Nothing of the loader may be touched after this: the consumer may have taken the batch and destroyed it.
  /// What follows runs stages, so it needs a thread with a slot: a consumer that drops its batches, or that
  /// opens one which workers have ended before it is done with that, has none.
  void run(batch_job& j) noexcept;
  /// The consumer, for a batch that it has taken, before it looks into it.
  void make(batch_job& j) noexcept;

 private:
  void finish(batch_job& j) noexcept;
  bool deliverable(const batch_job& j) const noexcept;
  bool judge(batch_job& j);
  void conclude(batch_job& j) noexcept;
  void finish_marked(batch_job& j, context& c);
  void close(batch_job& j);
  void publish(batch_job& j) noexcept;
  static detached run_on_worker(batch_completion* self, batch_job* j);
  static detached remake(batch_completion* self, batch_job* j);
  static detached conclude_async(batch_completion* self, batch_job* j);

  pipeline_run& run_;
  sequencer<batch_job>& done_;
  const std::shared_ptr<slab_pool> pool_;
  const bool with_content_;
};

}  // namespace wick::detail

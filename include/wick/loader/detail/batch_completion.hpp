// Ends a batch once all its samples have ended, successfully or not: judges it, closes its gaps, and runs it
// through the batch stages.
#pragma once

#include <memory>
#include <utility>

#include <wick/async/detail/sequencer.hpp>
#include <wick/async/task.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/pipeline_run.hpp>

namespace wick::inline v0_1::detail {

/// Called by the thread that ended a batch's last sample; publishes the batch at the end. Batches are
/// finished in any order.
///
/// When no stage comes after batch(), the consumer makes the output, in make(). An output that a worker makes
/// and the consumer drops would move between processors, and its memory to another thread's allocator, for
/// each batch.
class batch_completion {
 public:
  batch_completion(pipeline_run& of, sequencer<batch_job>& done, std::shared_ptr<slab_pool> pool,
                   bool with_content)
      : run_(of), done_(done), pool_(std::move(pool)), with_content_(with_content) {}

  /// Makes room for a batch's samples.
  void begin(batch_job& j);
  /// Nothing of the loader may be touched afterwards: the consumer may have taken the batch and destroyed the
  /// loader. Finishing a batch runs stages, so it needs a thread with a slot. A consumer has none when it
  /// drops its batches, or when workers end a batch that it's still opening.
  void run(batch_job& j) noexcept;
  /// The consumer calls this for a batch that it has taken, before it looks into it.
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

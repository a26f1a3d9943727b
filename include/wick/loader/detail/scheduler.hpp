// The engine of a loader: hands out positions, runs samples through the stages, finishes batches, and keeps
// a window of them ahead of the consumer, across the ends of epochs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include <wick/async/detail/sample_tokens.hpp>
#include <wick/async/detail/sequencer.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/duration.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/loader/detail/batch_completion.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/epoch_orders.hpp>
#include <wick/loader/detail/open_batches.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/loader/detail/sample_runner.hpp>
#include <wick/loader/detail/source_size.hpp>
#include <wick/loader/detail/wait_window.hpp>
#include <wick/loader/detail/worker_jobs.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/profile/detail/hang_scene.hpp>
#include <wick/profile/detail/trace_file.hpp>

namespace wick::inline v0_1::detail {

/// Has one consumer, which calls all public members but those for workers, and opens batches. The mutex
/// guards starting and putting away worker jobs, about once a batch; samples are claimed and finished without
/// it.
class scheduler {
 public:
  /// \param of  must outlive it
  scheduler(run_settings& of, const loader_options& options);
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  /// Prompt: begins no more samples, asks waiting ones to stop, and waits for running ones. On a worker, it
  /// runs other jobs meanwhile, since all workers may be in such a destructor.
  ~scheduler();

  const erased_plan& plan() const noexcept { return *plan_; }
  const source_size& size() const noexcept { return size_; }
  const stage_clocks& clocks() const noexcept { return run_.clocks; }
  /// The index in the source of the sample in a slot that isn't a gap.
  std::uint64_t index_at(const batch_job& j, std::uint64_t slot) const {
    return run_.failure_at(j, slot).index;
  }
  const slab_pool& pool() const noexcept { return *pool_; }
  /// The figures that a report needs.
  scheduler_figures figures() noexcept;
  /// The same for its timeline and for a trace.
  queue_depths depths() noexcept;
  void look(std::uint64_t sequence, hang_scene& out);
  std::uint64_t taken() const noexcept { return done_.taken(); }

  /// Makes batches come from (epoch, number) on. If that is the next batch anyway, nothing is lost. Not on a
  /// worker unless leaves_for() is false.
  void seek(std::uint64_t epoch, std::uint64_t number);
  /// Whether a seek() to this place drops batches under way and waits for those that have begun.
  bool leaves_for(std::uint64_t epoch, std::uint64_t number) const noexcept {
    return started_ && (left_ || !comes_next(epoch, number));
  }
  /// Begins to drop them, without waiting. Nothing is taken before the next seek().
  void leave() noexcept {
    left_ = true;
    cancel();
  }
  /// After this, seek() doesn't wait.
  task<void> left_async();

  bool idle() const noexcept { return done_.taken() == ahead_.count(); }  // nothing is under way
  /// Drops what is under way, and plans over the current data of source and stages. Not on a worker unless
  /// idle(). Afterwards, no epoch is begun ahead. \throws as the constructor does; call it again then
  void refresh();
  /// Called before order stages change: no worker uses them until a batch is opened.
  void stop_preparing() noexcept { orders_.forget(); }
  /// Drops what is under way and switches to another plan, as refresh() does.
  /// \param stop  a new one
  /// \param ahead  whether the plan holds for the next epoch, too, which may then begin ahead
  void replan(owned<const erased_plan> next, owned<stop_source> stop, bool ahead) noexcept;

  /// The next batch if it is finished, else null. Keep it until release().
  batch_job* try_take() noexcept {
    batch_job* const j = done_.try_take();
    if (j != nullptr) fetch_lines(*j);
    return j;
  }
  /// Sleeps until it is finished.
  /// \throws std::bad_alloc, and wick::error when the source's size has changed; nothing is lost then
  batch_job* take() {
    before_waiting();
    return done_.take();
  }
  /// The same, but waits no longer than `most`, maybe less: null if the batch isn't finished by then.
  batch_job* take_for(std::chrono::nanoseconds most) {
    before_waiting();
    return done_.take_for(most);
  }
  auto next_async() {
    before_waiting();
    return done_.next(on_);
  }
  /// Called for a batch that was taken, before its content is used.
  void make(batch_job& j) noexcept { completion_.make(j); }
  /// Frees a batch's place in the ring, after the batch was moved out of its job.
  void release(batch_job& j) noexcept;

  /// Runs a few samples on the calling thread (which has a slot), while it would only wait. False: none left.
  bool help() noexcept {
    jobs_.helped();
    return run_some();
  }
  /// How many samples a worker claims together.
  std::uint64_t run_length() const noexcept { return runner_.grain().run_length(longest_run_); }
  /// Whether samples are short enough for a waiting thread to run some without being late for its batch.
  bool short_samples() const noexcept { return runner_.grain().short_samples(); }

  // ---- for workers ----

  void run_worker(worker_jobs::worker_job* p) noexcept;
  /// Worker jobs that found all tokens taken have retired: the thread that returns the first token starts
  /// one.
  void give_tokens(std::uint64_t n) noexcept;
  void take_owed_tokens(std::uint64_t n) noexcept {
    if (n != 0) tokens_.take_owed(n);
  }
  /// Nothing of the loader may be touched afterwards: the consumer may have taken the batch and destroyed the
  /// loader.
  void finish_some(batch_job& j, std::uint64_t count) noexcept {
    if (count == 0 || j.unfinished.fetch_sub(count, std::memory_order_acq_rel) != count) return;
    completion_.run(j);
  }

 private:
  struct cursor {
    std::uint64_t epoch = 0, number = 0;
  };

  // Opening batches: the consumer.
  void advance(cursor& c) const noexcept {
    if (++c.number == plan_->batches()) c = {c.epoch + epoch_step_, 0};
  }
  /// The number of batches to keep ahead of the consumer: more if they have taken little memory so far, or if
  /// their samples wait.
  std::size_t window() const noexcept {
    const std::size_t usual = usual_window();
    return widest_ == most_ ? usual : waits_.batches(usual, widest_now());
  }
  std::size_t usual_window() const noexcept {
    const std::size_t bytes = pool_->bytes_asked();
    return bytes == 0 ? few_ : slab_pool::cheap_blocks(bytes, few_ + 1, most_ + 1) - 1;
  }
  /// The most of them while samples wait: those that take a quarter of the bound on samples' memory. Of
  /// batches that aren't blocks of memory, the bytes aren't known.
  std::size_t widest_now() const noexcept {
    const std::size_t bytes = pool_->bytes_asked();
    return bytes == 0 ? most_ : std::min(widest_, run_.settings.budget.limit() / 4 / bytes);
  }
  std::uint64_t samples_ahead() noexcept;
  void open_more();
  void open(batch_job& j, std::uint64_t sequence);
  void before_waiting();
  void stop_helping() noexcept;
  // Starting worker jobs: consumer and workers, under the mutex.
  bool may_claim() const noexcept { return !suspends_ || tokens_.any(); }
  void start_worker() noexcept;
  bool retire(worker_jobs::worker_job* p) noexcept;
  bool comes_next(std::uint64_t epoch, std::uint64_t number) const noexcept {
    return started_ && next_out_.epoch == epoch && next_out_.number == number;
  }
  void drain(owned<stop_source> next_stop) noexcept;
  void go_by(owned<const erased_plan> next) noexcept;
  bool cancel() noexcept;
  template <class Done>
  void work_until(Done done) noexcept;

  // Workers.
  bool run_some() noexcept;
  void fetch_lines(const batch_job& j) const noexcept;

  executor& on_;
  owned<const erased_plan> plan_;
  pipeline_run run_;
  source_size size_;
  epoch_orders orders_;
  // The batches ahead in any case, and if they take little memory: four small ones are made in no time, and
  // used up while a thread is interrupted for less than a millisecond.
  const std::size_t few_, most_;
  const std::size_t widest_;         // the same while samples wait; most_ if that makes no difference
  const std::uint64_t longest_run_;  // in samples: each worker has two in the batches ahead
  const bool suspends_;              // whether stages of samples may suspend
  tokens tokens_;                    // limits the samples under way; each worker may exceed it by a run
  const bool chooses_in_flight_;
  bool may_run_ahead_, run_ahead_;

  // for the consumer only
  bool started_ = false;
  bool left_ = false;  // the batches under way are being dropped
  std::uint64_t epoch_step_ = 1, current_epoch_ = 0;
  std::uint32_t pass_ = 0;     // the pass that new batches belong to
  std::uint64_t to_open_ = 0;  // of the epoch asked for, if the next isn't begun ahead
  wait_window waits_;
  cursor next_out_, next_in_;  // open_more() uses next_in_ and epoch_step_, too; only the consumer calls it

  sequencer<batch_job> done_;
  std::shared_ptr<slab_pool> pool_;
  batch_completion completion_;

  open_batches<batch_job> ahead_;
  sample_runner runner_;

  std::mutex mutex_;
  worker_jobs jobs_;
};

}  // namespace wick::detail

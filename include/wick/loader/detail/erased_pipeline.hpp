// The engine's view of a pipeline. Everything that a loader does around samples and batches is compiled
// once, and calls the pipeline through this interface.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <wick/async/task.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/batch/detail/collate.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/io/detail/read_group.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/prefetch_choice.hpp>
#include <wick/loader/detail/stage_ref.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/phases.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/profile/detail/stage_clocks.hpp>
#include <wick/resume/detail/state.hpp>
#include <wick/sampling/detail/group_plan.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1::detail {

/// Facts that don't change during a pipeline's life.
struct pipeline_facts {
  std::size_t stages = 0;
  std::size_t first = 0;     ///< the first stage of samples; order stages come before it
  std::size_t batching = 0;  ///< batch(), or `stages`
  /// Clocks: one per stage, one for order and source, and one per phase inside the slot.
  std::size_t order_row = 0, phase_row = 0, rows = 0;
  std::array<std::size_t, phase_count> phase_stages = {};  ///< the stage that asks for each phase's work
  bool batched = false;
  bool samples_suspend = false, batches_suspend = false;  ///< whether a stage may suspend
  bool tries_at_once = false;                             ///< run_at_once() may do without a coroutine
  bool groups_reads = false;                              ///< add_reads() and run_read() may be called
  bool ends_with_batch = false;                           ///< no stage comes after batch()
  bool filters = false;                                   ///< a stage leaves out samples
  bool packs = false;                                     ///< batches consist of planned rows, filled or not
  bool feeds_device = false;                              ///< batches go to a device
  bool prefetches = false;                                ///< the source takes hints
  bool grouped = false;                                   ///< by bucket() or pack()
  bool plans_each_epoch = false;                          ///< a plan holds for one epoch
  bool drop_last = false, pad_last = false;               ///< of batch()
  shard_stage shard = {};
};

/// The positions of an epoch that make up each batch, and the source's sample at each position. A plan
/// doesn't change; any thread may ask it, so it shares no cache line with what threads write.
class alignas(64) erased_plan {
 public:
  explicit erased_plan(const shard_stage& shard) noexcept : shard_(shard) {}
  erased_plan(const erased_plan&) = delete;
  erased_plan& operator=(const erased_plan&) = delete;
  virtual ~erased_plan() = default;
  /// In an epoch, over all ranks.
  std::uint64_t positions() const noexcept { return positions_; }
  std::uint64_t batches() const noexcept { return batches_; }
  /// Samples (or packed rows) of a batch over all ranks; without batch(), the number planned at a time.
  std::uint64_t batch_size() const noexcept { return batch_size_; }
  /// The most samples of a batch that a rank has.
  std::size_t slots() const noexcept { return slots_; }
  /// This rank's positions in the first `batches` (approximately: its equal share).
  virtual std::uint64_t passed(std::uint64_t batches) const noexcept = 0;

  /// The order for an epoch's batches. Some order stages sort all samples for it.
  virtual std::shared_ptr<const epoch_order> order(std::uint64_t seed, std::uint64_t epoch) const = 0;
  // The following refer to the epoch of the batch's order.
  /// This rank's positions of a batch.
  virtual position_range slice(std::uint64_t batch, const batch_job& of) const noexcept = 0;
  /// The index in the source of a position, or of `count` positions from `first` on.
  std::uint64_t index(const batch_job& of, std::uint64_t position) const noexcept {
    std::uint64_t out = 0;
    indexes(of, position, 1, &out);
    return out;
  }
  virtual void indexes(const batch_job& of, std::uint64_t first, std::uint64_t count,
                       std::uint64_t* out) const noexcept = 0;
  /// A sample of the epoch, drawn from `stream`, that may replace one that failed.
  virtual std::uint64_t substitute(const batch_job& of, std::uint64_t position,
                                   random_stream& stream) const = 0;

 protected:
  // Batches of consecutive positions, which each rank has an equal share of.
  void divide_evenly(bool drop_last, bool pad_last) noexcept;
  position_range even_slice(std::uint64_t batch) const noexcept;
  /// Of the first `batches`.
  std::uint64_t even_share(std::uint64_t batches) const noexcept;
  /// The last batch may be padded with the first positions.
  void wrap_padding(std::uint64_t first, std::uint64_t count, std::uint64_t* positions) const noexcept {
    if (first + count <= ordered_) return;
    for (std::uint64_t i = 0; i < count; ++i) positions[i] %= ordered_;
  }
  /// \throws wick::error if an epoch would be empty, or a batch too small to be shared
  void check(std::uint64_t samples, bool batched) const;

  shard_stage shard_;
  std::uint64_t ordered_ = 0;  // positions that the order stages give
  std::uint64_t positions_ = 0, batches_ = 0, batch_size_ = 0;
  std::size_t slots_ = 0;
};

/// A mix() whose weights loader.set_mix_weights() changes.
class erased_mix {
 public:
  virtual ~erased_mix() = default;
  virtual std::span<const std::string> names() const noexcept = 0;
  virtual std::span<const double> weights() const noexcept = 0;  ///< the ones it was made with
  virtual void set_weights(const mix_weights& to) noexcept = 0;
};

/// A run of samples that the engine has claimed, and its outcome.
struct sample_run {
  context& c;               ///< for one sample after another
  prefetch_depth ahead;     ///< how far ahead the source prefetches
  run_mark& mark;           ///< the run's progress
  std::uint64_t print = 0;  ///< sum over all of them, for the epoch's fingerprint
  std::vector<failure> failed = {};
};

/// A source and its stages. Workers call the functions for samples and batches at the same time, for
/// different slots and batches. A batch must come from make_batch() of the same pipeline.
class alignas(64) erased_pipeline {
 public:
  erased_pipeline() = default;
  erased_pipeline(const erased_pipeline&) = delete;
  erased_pipeline& operator=(const erased_pipeline&) = delete;
  virtual ~erased_pipeline() = default;
  const pipeline_facts& facts() const noexcept { return facts_; }

  // ---- the source ----

  std::uint64_t samples() const { return source_.call->samples(source_.source); }
  std::string key(std::uint64_t index) const { return source_.call->key(source_.source, index); }
  std::uint64_t source_fingerprint() const { return source_.call->fingerprint(source_.source); }
  /// Prefetches a sample, up to `bytes` bytes of each part.
  void prefetch(std::uint64_t index, std::size_t bytes) const noexcept {
    source_.call->prefetch(source_.source, index, bytes);
  }

  // ---- facts about the stages ----

  std::vector<std::string> stage_names() const;
  /// The text after a stage's name in a message: " at train.cpp:42"; often empty.
  std::string stage_written(std::size_t stage) const;
  /// Everything that determines the order and the outcome of samples, as far as the stages report it. Random
  /// numbers depend on a stage's number, so each stage counts; for shard(), only that it is there.
  std::vector<stage_identity> identity() const;
  /// The notes of the stages and the source for the report, without empty ones.
  std::vector<std::string> notes() const;
  /// The memory that holds the batches: the one that a stage asks for (pin does), otherwise the one that the
  /// loader was given, or ordinary memory.
  std::shared_ptr<slab_memory> batch_memory() const;
  /// Null if the weights can't be edited.
  virtual erased_mix* mix() noexcept = 0;

  // ---- epochs; no worker is running ----

  /// Makes the source, then the order stages, read again what may have changed.
  virtual void refresh() = 0;
  /// \param epoch  the one whose weights a mix() uses; without it, the weights it was made with. Where a plan
  /// holds for one epoch: that epoch; without it, epoch 0
  /// \throws wick::error when an epoch would be empty, or a batch too small to be shared
  virtual owned<const erased_plan> plan(const shard_stage& shard, std::uint64_t seed,
                                        std::optional<std::uint64_t> epoch) const = 0;

  // ---- samples ----

  virtual owned<batch_job> make_batch() const = 0;
  /// Makes room for the samples of a batch whose order, number, positions, and count are set.
  virtual void begin(batch_job& j, const std::shared_ptr<slab_pool>& pool) const = 0;
  /// When no stage suspends: runs slots [from, from + count) through all of them. Failures are in `r`.
  virtual void run(batch_job& j, std::uint64_t from, std::uint64_t count, sample_run& r) noexcept = 0;
  /// The same for one sample, with a clock at each stage. \throws what a stage throws
  virtual void run_timed(batch_job& j, std::uint64_t slot, context& c, stopwatch& clock) = 0;
  /// Runs a sample through stages of which the first may suspend, if it needn't. False: the source was asked,
  /// and nothing else is left of it.
  /// \throws what a stage throws
  virtual bool run_at_once(batch_job& j, std::uint64_t slot, context& c) = 0;
  /// Adds what a sample reads to a group. \throws what the source throws
  virtual void add_reads(std::uint64_t index, read_group& to) = 0;
  /// Takes a sample whose parts were read in a group into its slot. `clock`: null, or read at each stage.
  /// \throws what a stage throws
  virtual void run_read(batch_job& j, std::uint64_t slot, context& c, std::span<range_part> parts,
                        stopwatch* clock) = 0;
  /// When a stage may suspend. \throws what a stage throws
  virtual task<void> run_async(batch_job* j, std::uint64_t slot, context* c) = 0;

  // ---- batches ----

  /// Makes the batch, and runs it through the stages after batch(), which don't suspend.
  virtual void finish(batch_job& j, context& c) = 0;
  /// The same when one may.
  virtual task<void> finish_async(batch_job* j, context* c) = 0;

 protected:
  /// Attaches the stages, facts().stages of them, and completes the facts.
  void use(const source_ref& source, const stage_ref* stages, executor& on,
           std::shared_ptr<slab_memory> memory);

  pipeline_facts facts_;

 private:
  source_ref source_;
  const stage_ref* stages_ = nullptr;
  std::shared_ptr<slab_memory> memory_;
};

/// A pipeline that gives batches of this type; without batch(), samples.
template <class Batch>
class pipeline_of : public erased_pipeline {
 public:
  /// Runs on the thread that takes the batch, before that thread gets it.
  virtual void deliver(Batch& batch) = 0;
};

}  // namespace wick::detail

/// \file
/// Samples through some of a pipeline's stages, for benchmark().
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/async/detail/awaitable.hpp>
#include <wick/async/detail/grain.hpp>
#include <wick/async/detail/scope.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/batch/detail/cloning.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/ext/stage.hpp>
#include <wick/failures/detail/error_account.hpp>
#include <wick/failures/detail/failed_sample.hpp>
#include <wick/failures/failure_log.hpp>
#include <wick/loader/detail/for_each_position.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/loader/detail/prefetch_choice.hpp>
#include <wick/loader/detail/stage_path.hpp>
#include <wick/loader/detail/typed_pipeline.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/tools/detail/isolated_counts.hpp>

namespace wick::inline v0_1::detail {

/// What becomes of a sample behind the last stage of a run.
enum class isolated_end {
  dropped,   ///< nothing
  in_slots,  ///< it is put into its batch, and that is dropped
  all,  ///< its batch goes through the stages behind batch(); without batch() what the loop would get is made
};

/// Items that were made once, and the indexes of their samples.
template <class Item>
class isolated_cache {
 public:
  static constexpr std::size_t most = 32;
  void keep(Item&& item, std::uint64_t index) {
    if (full_.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex_);
    if (items_.size() == most) return;
    items_.push_back(std::move(item));
    indexes_.push_back(index);
    if (items_.size() == most) full_.store(true, std::memory_order_relaxed);
  }
  bool empty() const noexcept { return items_.empty(); }
  std::uint64_t index(std::uint64_t i) const noexcept {
    return indexes_[static_cast<std::size_t>(i % indexes_.size())];
  }
  Item copy(std::uint64_t i) const {
    return cloning<Item>::of(items_[static_cast<std::size_t>(i % items_.size())]);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> full_{false};
  std::vector<Item> items_;
  std::vector<std::uint64_t> indexes_;
};

/// One run after the other of a pipeline. Each begins in the epoch where the one before has ended: what that
/// has read is in the system's cache.
template <class Pipeline>
class isolated_runs {
 public:
  using path_type = stage_path<Pipeline>;
  using types = typename path_type::types;
  static constexpr std::size_t none = ~std::size_t{0};

  /// A batch in the making.
  struct job : path_type::batch_type {
    std::uint64_t claimed = 0;
    bool lost = false;
  };
  struct claim {
    job* of = nullptr;
    std::uint64_t from = 0, count = 0;
  };

  isolated_runs(typed_pipeline<Pipeline>& of, run_settings& by)
      : path(of.path()),
        on(by.on),
        settings(by),
        plan_(of.plan(by.facts().shard, by.seed, std::nullopt)),
        order_(plan_->order(by.seed, epoch)),
        run_(by, *plan_, nullptr, false),
        pool_(std::make_shared<slab_pool>(of.batch_memory(), 64, 1, 8)) {
    job first;
    first.order = order_;
    for (std::uint64_t n = 0; n < plan_->batches(); ++n) {
      if (plan_->slice(n, first).count != 0) return;
    }
    const shard_stage& mine = by.facts().shard;
    throw error("benchmark: rank " + std::to_string(mine.rank) + " of " + std::to_string(mine.world) +
                " has no sample in any batch; make the batches larger, or benchmark another rank");
  }

  /// Runs the stages [First, Last) but Without for some seconds: of the source's samples, or of the items
  /// in `from`. Some that come out go to `keep`, where they are to be dropped.
  /// \throws std::bad_alloc
  template <std::size_t First, std::size_t Last, std::size_t Without, isolated_end End, class From,
            class Keep>
  isolated_result run(double seconds, const From* from, Keep* keep, isolated_failures& failures);

  path_type& path;
  executor& on;
  run_settings& settings;

  const erased_plan& plan() const noexcept { return *plan_; }
  pipeline_run& run_of() noexcept { return run_; }
  /// Of the largest batch.
  std::size_t batch_bytes() const noexcept { return pool_->bytes_asked(); }

  // ---- of workers ----

  claim take(std::uint64_t most, bool in_slots) {
    const std::lock_guard lock(mutex_);
    if (stopped_) return {};
    if (open_ == nullptr) open_ = begin(in_slots);
    job* const j = open_;
    const claim out{j, j->claimed, std::min(most, j->count - j->claimed)};
    j->claimed += out.count;
    if (j->claimed == j->count) open_ = nullptr;
    return out;
  }
  void give_back(job& j) noexcept {
    j.columns.drop();
    const std::lock_guard lock(mutex_);
    free_.push_back(&j);
  }
  std::uint64_t index(const job& j, std::uint64_t slot) const noexcept {
    return plan_->index(j, j.first + slot);
  }

  void failed(job& j, std::uint64_t slot, const context& c, std::exception_ptr cause) noexcept {
    try {
      {
        const std::lock_guard lock(j.mutex);
        j.gaps.push_back(static_cast<std::size_t>(slot));
      }
      failure f;
      f.index = c.index();
      f.take_cause(std::move(cause), c.stage());
      if (f.dropped || settings.is_bad(f.to_blame()) || called_off(j, f.cause)) return;
      tell(settings.printable_key(f.to_blame()), f.stage, c.position(), f.cause);
    } catch (...) {
      lose(j);
    }
  }
  /// Whether there is a batch to be made.
  bool close(job& j) noexcept {
    try {
      if (j.lost || j.gaps.size() == j.count || j.cancelled.load(std::memory_order_relaxed)) return false;
      std::sort(j.gaps.begin(), j.gaps.end());
      if (auto m = j.columns.first_misfit(static_cast<std::size_t>(j.count), j.gaps)) {
        tell(settings.printable_key(index(j, m->slot)), types::batching, j.first + m->slot,
             std::make_exception_ptr(misshapen(m->text)));
        return false;
      }
      if (j.columns.stale(j.gaps)) return false;
      if (!j.gaps.empty()) j.columns.close(j.gaps, static_cast<std::size_t>(j.count));
      j.columns.seal(j.rows());
      return true;
    } catch (...) {
      failed_batch(j, types::batching, std::current_exception());
      return false;
    }
  }
  void failed_batch(const job& j, std::size_t stage, const std::exception_ptr& cause) noexcept {
    try {
      if (!called_off(j, cause)) tell("batch " + std::to_string(j.number), stage, j.first, cause, true);
    } catch (...) {
      failures_->add({});
    }
  }

 private:
  job* begin(bool in_slots) {
    if (free_.empty()) {
      free_.reserve(jobs_.size() + 1);  // so that giving back needs no memory
      auto made = make_owned<job>();
      made->of = &run_;
      made->order = order_;
      jobs_.push_back(std::move(made));
      free_.push_back(jobs_.back().get());
    }
    job& j = *free_.back();
    position_range mine{};
    while (mine.count == 0) {  // a rank may have nothing of a small last batch
      mine = plan_->slice(number_, j);
      j.number = number_;
      j.pass = pass_;
      if (++number_ == plan_->batches()) {
        number_ = 0;
        ++pass_;
      }
    }
    j.first = mine.first;
    j.count = mine.count;
    j.claimed = 0;
    j.forget();
    j.lost = false;
    j.unfinished.store(j.count, std::memory_order_relaxed);
    if (types::batched && in_slots) run_.pipeline.begin(j, pool_);
    free_.pop_back();
    return &j;
  }
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const owned<job>& j : jobs_) j->cancelled.store(true, std::memory_order_relaxed);
  }
  /// Only when no job runs any more.
  void begin_anew(isolated_failures& failures) {
    failures_ = &failures;
    free_.clear();
    open_ = nullptr;
    for (const owned<job>& j : jobs_) {
      j->columns.drop();
      free_.push_back(j.get());
    }
    if (run_.stop->stop_requested()) run_.stop = make_owned<stop_source>();
    stopped_ = false;
  }

  /// By the end of a run, which marks the jobs before it requests the stop.
  static bool called_off(const job& j, const std::exception_ptr& cause) {
    if (!j.cancelled.load(std::memory_order_relaxed)) return false;
    try {
      std::rethrow_exception(cause);
    } catch (const cancelled&) {
      return true;
    } catch (...) {
      return false;
    }
  }
  void tell(std::string key, std::size_t stage, std::uint64_t position, const std::exception_ptr& cause,
            bool whole_batch = false) {
    failure_log_entry e;
    e.key = std::move(key);
    e.stage = settings.stage_name(stage);
    e.epoch = epoch;
    e.position = position;
    describe_cause(cause, e);
    if (whole_batch) e.kind = error_kind::batch;
    failures_->add(std::move(e));
  }
  void lose(job& j) noexcept {
    const std::lock_guard lock(j.mutex);
    j.lost = true;
    failures_->add({});
  }

  static constexpr std::uint64_t epoch = 0;
  const owned<const erased_plan> plan_;
  const std::shared_ptr<const epoch_order> order_;
  pipeline_run run_;
  double patience_ = 10;  // seconds, with stages of which no sample ends, in all runs together
  std::mutex mutex_;      // of what follows
  std::uint64_t number_ = 0;
  std::uint32_t pass_ = 0;
  const std::shared_ptr<slab_pool> pool_;
  std::vector<owned<job>> jobs_;
  std::vector<job*> free_;
  job* open_ = nullptr;
  bool stopped_ = false;
  isolated_failures* failures_ = nullptr;
};

}  // namespace wick::detail

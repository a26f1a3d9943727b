/// \file
/// Samples through some of a pipeline's stages, for measure(): on the loader's workers and in its order, but
/// beside its batches, its memory and its books.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/detail/slab.hpp>
#include <wick/failure/detail/error_account.hpp>
#include <wick/failure/detail/failed_sample.hpp>
#include <wick/failure/ledger.hpp>
#include <wick/measure/detail/cloning.hpp>
#include <wick/measure/detail/isolated_counts.hpp>
#include <wick/observe/clock.hpp>
#include <wick/order/detail/epoch_plan.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/run/awaitable.hpp>
#include <wick/run/budget.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/scope.hpp>
#include <wick/run/stop_token.hpp>
#include <wick/run/task.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/source.hpp>
#include <wick/sample/stage.hpp>
#include <wick/schedule/detail/pace.hpp>
#include <wick/schedule/detail/prefetch_choice.hpp>
#include <wick/schedule/detail/walk_ahead.hpp>
#include <wick/system/detail/owned.hpp>

namespace wick::detail {

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

/// One run after the other of a loader's pipeline. Each goes on in the epoch where the one before has ended:
/// what that has read is in the system's cache.
template <class Runs>
class isolated_runs {
 public:
  using types = typename Runs::types;
  using path_type = typename Runs::path_type;
  using order_type = typename epoch_plan<path_type>::order_type;
  using source_type = std::remove_cvref_t<decltype(std::declval<const path_type&>().source())>;
  static constexpr std::size_t none = ~std::size_t{0};

  /// A batch in the making. It has what with_others() asks of one.
  struct job {
    explicit job(const order_type& o) : order(o) {}
    order_type order;
    typename types::columns columns;
    std::atomic<bool> cancelled{false};
    std::uint64_t pass = 0, number = 0, first = 0, count = 0, claimed = 0;
    std::atomic<std::uint64_t> unfinished{0};
    std::mutex mutex;
    std::vector<std::size_t> gaps;
    bool lost = false;
    static bool is_no_other(std::uint64_t, std::uint64_t) noexcept { return false; }
  };
  struct claim {
    job* of = nullptr;
    std::uint64_t from = 0, count = 0;
  };

  isolated_runs(Runs& runs, std::uint64_t epoch, std::uint64_t number)
      : path(runs.path),
        on(runs.on),
        budget(runs.budget.limit()),
        stop(make_owned<stop_source>()),
        runs_(runs),
        epoch_(epoch),
        number_(number % runs.plan.batches()),
        order_(runs.plan.order(runs.seed, epoch)),
        pool_(std::make_shared<slab_pool>(path.batch_memory(), 64, 1, 8)),
        stage_names_(path.stage_names()) {}

  /// Runs the stages [First, Last) but Without for some seconds: of the source's samples, or of the items
  /// in `from`. Some that come out go to `keep`, where they are to be dropped.
  /// \throws std::bad_alloc
  template <std::size_t First, std::size_t Last, std::size_t Without, isolated_end End, class From,
            class Keep>
  isolated_result run(double seconds, const From* from, Keep* keep, isolated_failures& failures);

  path_type& path;
  executor& on;
  byte_budget budget;
  owned<stop_source> stop;

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
  place place_at(const job& j, std::uint64_t slot, std::uint64_t index) const noexcept {
    return {runs_.seed, epoch_, j.first + slot, index};
  }
  std::uint64_t index(const job& j, std::uint64_t slot) const noexcept {
    return runs_.plan.index(j.order, j.first + slot);
  }
  const auto& plan() const noexcept { return runs_.plan; }
  const sample_names& names() const noexcept { return names_; }
  /// \throws quarantined_sample
  void refuse_bad(context& c) const {
    if (runs_.is_bad(c.index())) runs_.refuse(c);
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
      if (f.dropped || runs_.is_bad(f.to_blame()) || ended_by_stop(f.cause)) return;
      tell(printable_key(path.source(), f.to_blame()), f.stage, c.position(), f.cause);
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
        tell(printable_key(path.source(), index(j, m->slot)), types::batching, j.first + m->slot,
             std::make_exception_ptr(misshapen(m->text)));
        return false;
      }
      if (j.columns.stale(j.gaps)) return false;
      if (!j.gaps.empty()) j.columns.close(j.gaps, static_cast<std::size_t>(j.count));
      if constexpr (requires { j.columns.seal(j.count); }) j.columns.seal(rows(j));
      return true;
    } catch (...) {
      failed_batch(j, types::batching, std::current_exception());
      return false;
    }
  }
  static std::size_t rows(const job& j) noexcept { return static_cast<std::size_t>(j.count) - j.gaps.size(); }
  void failed_batch(const job& j, std::size_t stage, const std::exception_ptr& cause) noexcept {
    try {
      if (!ended_by_stop(cause)) tell("batch " + std::to_string(j.number), stage, j.first, cause, true);
    } catch (...) {
      failures_->add({});
    }
  }
  context batch_context(const job& j) noexcept {
    static constexpr sample_names batches{
        nullptr, [](const void*, std::uint64_t number) { return "batch " + std::to_string(number); }};
    return context({runs_.seed, epoch_, j.first, j.number}, &on, &budget, stop->token(), j.pass, &batches);
  }

 private:
  job* begin(bool in_slots) {
    if (free_.empty()) {
      free_.reserve(jobs_.size() + 1);  // so that giving back needs no memory
      jobs_.push_back(make_owned<job>(order_));
      free_.push_back(jobs_.back().get());
    }
    job& j = *free_.back();
    const auto& plan = runs_.plan;
    position_range mine{};
    while (mine.count == 0) {  // a rank may have nothing of a small last batch
      mine = plan.slice(number_, order_);
      j.number = number_;
      j.pass = pass_;
      if (++number_ == plan.batches()) {
        number_ = 0;
        ++pass_;
      }
    }
    j.first = mine.first;
    j.count = mine.count;
    j.claimed = 0;
    j.gaps.clear();
    j.lost = false;
    j.cancelled.store(false, std::memory_order_relaxed);
    j.unfinished.store(j.count, std::memory_order_relaxed);
    if constexpr (types::batched) {
      if (in_slots) {
        j.columns.begin(plan.slots(), path.template stage<types::batching>().order(), pool_);
        if constexpr (epoch_plan<path_type>::packs) plan.arrange(j.number, j.order, j.columns);
      }
    }
    free_.pop_back();
    return &j;
  }
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const owned<job>& j : jobs_) j->cancelled.store(true, std::memory_order_relaxed);
  }
  /// Nobody runs any more.
  void begin_anew(isolated_failures& failures) {
    failures_ = &failures;
    free_.clear();
    open_ = nullptr;
    for (const owned<job>& j : jobs_) {
      j->columns.drop();
      free_.push_back(j.get());
    }
    if (stop->stop_requested()) stop = make_owned<stop_source>();
    stopped_ = false;
  }

  bool ended_by_stop(const std::exception_ptr& cause) const {
    if (!stop->stop_requested()) return false;
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
    ledger_entry e;
    e.key = std::move(key);
    e.stage = stage < stage_names_.size() ? stage_names_[stage] : "loader";
    e.epoch = epoch_;
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

  Runs& runs_;
  const std::uint64_t epoch_;
  double patience_ = 10;  // seconds, with stages of which no sample ends, in all runs together
  std::mutex mutex_;      // of what follows
  std::uint64_t number_, pass_ = 0;
  const order_type order_;
  const std::shared_ptr<slab_pool> pool_;
  const std::vector<std::string> stage_names_;
  std::vector<owned<job>> jobs_;
  std::vector<job*> free_;
  job* open_ = nullptr;
  bool stopped_ = false;
  isolated_failures* failures_ = nullptr;
  const sample_names names_{&path.source(), [](const void* source, std::uint64_t i) {
                              return key_of(*static_cast<const source_type*>(source), i);
                            }};
};

}  // namespace wick::detail

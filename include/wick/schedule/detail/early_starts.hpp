/// \file
/// Which samples are begun before their turn, and when.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <wick/run/detail/early_slots.hpp>
#include <wick/schedule/detail/slow_samples.hpp>

namespace wick::detail {

/// Samples that are known to take long are begun when nothing of the batches that are open is left to begin,
/// in as many batches behind those. So nothing that is wanted sooner waits for a worker because of one. Which
/// batch a sample is in, and what becomes of it, does not change.
///
/// A bound on what such samples hold, so that batches that are wanted sooner go on: half of the samples that
/// may be under way, and none is begun while half of the loader's memory is out. In that, the lowest position
/// comes first as ever, and who holds some and waits for more is let through as ever.
template <class Runs>
class early_starts {
  using job_type = typename Runs::job_type;
  static constexpr bool suspend = Runs::types::samples_suspend;

 public:
  /// Compaction moves samples from batch to batch by what has failed before.
  early_starts(Runs& runs, bool wanted) : runs_(runs), wanted_(wanted && !runs.policy.options().compact) {
    look();
  }
  early_starts(const early_starts&) = delete;
  early_starts& operator=(const early_starts&) = delete;

  /// Whether there may ever be any.
  bool wanted() const noexcept { return wanted_; }
  bool any() const noexcept { return wanted_ && slow_.any(); }
  /// The source was taken anew. No worker is here.
  void refresh() {
    slow_.forget_all();
    look();
  }

  /// Of a batch whose turn has not come, those that are slow may be begun; for the thread that opens batches.
  /// What the source can't say of has its turn like the others. \throws std::bad_alloc
  void offer(job_type& j) {
    find(j);
    j.unfinished.fetch_add(j.early.size(), std::memory_order_relaxed);  // see claimed_runs::run
    waiting_.add(j.sequence, j.early);
  }
  /// Its turn has come: those that were not begun are not any more, and `early` are the others. How many that
  /// leaves out.
  std::size_t leave_out(job_type& j) noexcept {
    const std::size_t left = waiting_.leave_out(j.sequence);
    j.early.resize(j.early.size() - left);
    return left;
  }

  /// Any thread. Whether one may be begun now; a hint.
  bool may_begin() const noexcept {
    if (waiting_.size() == 0) return false;
    if constexpr (suspend) {
      return under_way_.load(std::memory_order_relaxed) < runs_.in_flight / 2 &&
             runs_.budget.used() <= runs_.budget.limit() / 2;
    }
    return true;
  }
  /// Any thread. One that is begun now, if there is one.
  bool take(early_slots::one& out) noexcept {
    if (!waiting_.take(out)) return false;
    if constexpr (suspend) under_way_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void ended() noexcept {
    if constexpr (suspend) under_way_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// A sample has taken so long, begun early or not.
  void learn(std::uint64_t index, std::uint64_t ticks, bool early) noexcept {
    if (wanted_) slow_.learn(index, ticks, early);
  }

 private:
  void find(job_type& j) const {
    constexpr std::uint64_t stride = 32;
    j.early.clear();
    for (std::uint64_t slot = 0; slot < j.count; slot += stride) {
      std::uint64_t indexes[stride];
      const std::uint64_t n = std::min(stride, j.count - slot);
      runs_.plan.indexes(j.order, j.first + slot, n, indexes);
      for (std::uint64_t i = 0; i < n; ++i) {
        if (is_slow(indexes[i])) j.early.push_back(static_cast<std::size_t>(slot + i));
      }
    }
  }
  bool is_slow(std::uint64_t index) const noexcept {
    try {
      return slow_.has(runs_.path.source(), index);
    } catch (...) {  // it says so again where that sample comes
      return false;
    }
  }
  void look() noexcept {
    if (!wanted_) return;
    try {
      slow_.look_at(runs_.path.source());
    } catch (...) {
    }
  }

  Runs& runs_;
  const bool wanted_;
  slow_samples slow_;
  early_slots waiting_;
  std::atomic<std::size_t> under_way_{0};
};

}  // namespace wick::detail

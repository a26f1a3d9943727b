// Prepares the order of the next epoch ahead of time, on a worker: some order stages sort all samples for
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include <wick/loader/detail/erased_pipeline.hpp>

namespace wick::inline v0_1::detail {

/// The consumer calls all members except wanted() and prepare(), which workers call.
class epoch_orders {
 public:
  explicit epoch_orders(std::uint64_t seed) noexcept : seed_(seed) {}

  /// The order of an epoch. Made here unless a worker has made it or is making it. \throws std::bad_alloc
  const std::shared_ptr<const epoch_order>& get(const erased_plan& plan, std::uint64_t epoch) {
    if (current_ == nullptr || current_epoch_ != epoch) {
      std::shared_ptr<const epoch_order> made = take_prepared(epoch);
      current_ = made != nullptr ? std::move(made) : plan.order(seed_, epoch);
      current_epoch_ = epoch;
    }
    return current_;
  }
  /// Lets the next worker that asks prepare this order. `plan` must live until forget(), or until get() asks
  /// for this order.
  void expect(const erased_plan& plan, std::uint64_t epoch) noexcept {
    if (expected_ == &plan && expected_epoch_ == epoch) return;
    const std::lock_guard lock(mutex_);
    prepared_.reset();
    expected_ = &plan;
    expected_epoch_ = epoch;
    wanted_.store(true, std::memory_order_relaxed);
  }
  /// Called before the plan is destroyed or its data changes: waits for a worker that is preparing an order.
  void forget() noexcept {
    const std::lock_guard lock(mutex_);
    wanted_.store(false, std::memory_order_relaxed);
    expected_ = nullptr;
    prepared_.reset();
    current_.reset();
  }

  bool wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }
  /// One worker prepares the order; the others don't wait for it.
  void prepare() noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !wanted_.exchange(false, std::memory_order_relaxed)) return;
    try {
      prepared_ = expected_->order(seed_, expected_epoch_);
    } catch (...) {  // get() tries again, and throws
    }
  }

 private:
  std::shared_ptr<const epoch_order> take_prepared(std::uint64_t epoch) noexcept {
    if (expected_ == nullptr || expected_epoch_ != epoch) return nullptr;
    const std::lock_guard lock(mutex_);
    wanted_.store(false, std::memory_order_relaxed);
    expected_ = nullptr;
    return std::move(prepared_);
  }

  const std::uint64_t seed_;
  std::shared_ptr<const epoch_order> current_;
  std::uint64_t current_epoch_ = 0;

  std::atomic<bool> wanted_{false};
  std::mutex mutex_;                       // guards the members below; held while an order is prepared
  const erased_plan* expected_ = nullptr;  // written only by the consumer, which reads it without the mutex
  std::uint64_t expected_epoch_ = 0;       // the same
  std::shared_ptr<const epoch_order> prepared_;
};

}  // namespace wick::detail

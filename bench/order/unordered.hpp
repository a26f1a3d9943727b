// The same samples by bare threads that keep no order: the limit that an ordered loader is measured against.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "order/work.hpp"
#include <wick/sampling/detail/permutation.hpp>

namespace order {

/// Each thread takes the next position, makes its sample and puts it into a batch of its own; a batch that is
/// full goes to the consumer, whatever it holds. No thread waits for another one's sample.
class unordered {
 public:
  /// `window` batches may be ready or on their way to the consumer, beside the one that each thread fills.
  /// Ends after `end` samples.
  unordered(const work& what, std::size_t threads, std::size_t window, std::uint64_t end = ~std::uint64_t{0})
      : work_(what), end_(end), running_(threads) {
    for (std::size_t i = 0; i < window + threads + 1; ++i) free_.push_back(std::make_unique<batch>());
    for (auto& b : free_) b->samples.resize(what.batch_size);
    for (std::size_t t = 0; t < threads; ++t) threads_.emplace_back([this] { run(); });
  }
  ~unordered() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    room_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  struct batch {
    std::vector<sample> samples;
    std::size_t count = 0;
  };
  using handle = std::unique_ptr<batch>;
  /// Any batch; none at the end.
  handle next() {
    std::unique_lock lock(mutex_);
    full_.wait(lock, [&] { return !done_.empty() || running_ == 0; });
    if (done_.empty()) return nullptr;
    handle b = std::move(done_.back());
    done_.pop_back();
    return b;
  }
  void give_back(handle b) {
    {
      std::lock_guard lock(mutex_);
      free_.push_back(std::move(b));
    }
    room_.notify_one();
  }

 private:
  void run() {
    std::uint64_t epoch = 0;
    wick::detail::permutation order(work_.samples, work::seed, epoch, 0);
    for (bool last = false; !last;) {
      handle b;
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return stop_ || !free_.empty(); });
        if (stop_) return;
        b = std::move(free_.back());
        free_.pop_back();
      }
      b->count = 0;
      for (sample& s : b->samples) {
        const std::uint64_t p = position_.fetch_add(1, std::memory_order_relaxed);
        last = p >= end_;
        if (last) break;
        if (p / work_.samples != epoch)
          order = wick::detail::permutation(work_.samples, work::seed, epoch = p / work_.samples, 0);
        s = work_.make(order(p % work_.samples));
        ++b->count;
      }
      {
        std::lock_guard lock(mutex_);
        done_.push_back(std::move(b));
        if (last) --running_;
      }
      full_.notify_one();
    }
  }

  const work work_;
  const std::uint64_t end_;
  std::atomic<std::uint64_t> position_{0};
  std::mutex mutex_;
  std::condition_variable full_, room_;
  std::vector<handle> free_, done_;
  bool stop_ = false;
  std::size_t running_;
  std::vector<std::thread> threads_;
};

}  // namespace order

// Waits for several reads of object stores on the calling thread.
#pragma once

#include <cstddef>
#include <exception>
#include <mutex>
#include <vector>

#include <wick/async/stop_token.hpp>
#include <wick/base/detail/condition.hpp>
#include <wick/io/detail/object_store.hpp>

namespace wick::inline v0_1::detail {

/// Waits for started reads. If one fails, or the wait is interrupted, it calls off the others.
class remote_wait {
 public:
  /// For at most `reads` reads, so that add() needs no memory.
  explicit remote_wait(std::size_t reads) { reads_.reserve(reads); }
  /// `begin` begins the read, or throws.
  template <class Begin>
  void add(remote_read& read, Begin&& begin) {
    read.owner = this;
    read.done = &remote_wait::done;
    reads_.push_back(&read);
    {
      const std::lock_guard lock(mutex_);
      ++left_;
    }
    try {
      begin(read);
    } catch (...) {
      read.failed = std::current_exception();
      done(read);
    }
  }
  /// Waits until all are done. Returns the one that failed first, or null. \throws what check_interruption()
  /// throws, and wick::cancelled when `stop` is requested
  remote_read* wait(const stop_token& stop = {});

 private:
  static void done(remote_read& read) noexcept;

  std::vector<remote_read*> reads_;
  std::mutex mutex_;
  condition wake_;
  std::size_t left_ = 0;
  remote_read* failed_ = nullptr;
};

}  // namespace wick::detail

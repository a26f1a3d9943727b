/// \file
/// Tells two threads that use at the same time what is made for one.
#pragma once

#include <atomic>

namespace wick::inline v0_1::detail {

/// Each thread's has another address. How often it is lent to an executor now (see executor::helper): then it
/// does a worker's work, and is not the user.
inline constinit thread_local unsigned char thread_mark = 0;

/// What one user did is visible to the next, so taking turns is safe on any threads.
class single_user {
 public:
  single_user() = default;
  single_user(single_user&&) noexcept {}  // of one that is not in use

  /// In use as long as this lives; may be kept over a suspension.
  class hold {
   public:
    /// \throws std::logic_error when another caller uses it at this moment
    hold(single_user& of, const char* call) : of_(of) {
      if (of.used_.exchange(true, std::memory_order_acquire)) refuse(call);
      of.last_.store(nullptr, std::memory_order_relaxed);
    }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    /// The calling thread may take without a hold what it has got, until another hold: see
    /// still_this_thread().
    void remember_thread() noexcept { of_.last_.store(&thread_mark, std::memory_order_relaxed); }
    ~hold() { of_.used_.store(false, std::memory_order_release); }

   private:
    single_user& of_;
  };
  /// \throws std::logic_error that says so
  [[noreturn, gnu::noinline]] static void refuse(const char* call);

  /// Whether there was no hold since this thread was remembered, and it is not lent. A thread that begins to
  /// use it at this very moment is not seen.
  bool still_this_thread() const noexcept {
    return last_.load(std::memory_order_relaxed) == &thread_mark && thread_mark == 0;
  }

 private:
  std::atomic<bool> used_{false};
  std::atomic<const void*> last_{nullptr};
};

}  // namespace wick::detail

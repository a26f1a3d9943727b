// Detects two threads that use an object at the same time although it is made for one.
#pragma once

#include <atomic>

namespace wick::inline v0_1::detail {

/// Its address differs in each thread. Its value is how often the thread is lent to an executor now (see
/// executor::helper): then it does a worker's work, and isn't the user.
inline constinit thread_local unsigned char thread_mark = 0;

/// One user's writes are visible to the next, so any threads may take turns safely.
class single_user {
 public:
  single_user() = default;
  single_user(single_user&&) noexcept {}  // only while it isn't in use

  /// The object is in use as long as this lives; it may be kept across a suspension.
  class hold {
   public:
    /// \throws std::logic_error if another caller is using it at this moment
    hold(single_user& of, const char* call) : of_(of) {
      if (of.used_.exchange(true, std::memory_order_acquire)) refuse(call);
      of.last_.store(nullptr, std::memory_order_relaxed);
    }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    /// Until the next hold, the calling thread may take what it already has without a hold: see
    /// still_this_thread().
    void remember_thread() noexcept { of_.last_.store(&thread_mark, std::memory_order_relaxed); }
    ~hold() { of_.used_.store(false, std::memory_order_release); }

   private:
    single_user& of_;
  };
  /// \throws std::logic_error that says so
  [[noreturn, gnu::noinline]] static void refuse(const char* call);

  /// Whether there was no hold since this thread was remembered, and the thread isn't lent. It doesn't see a
  /// thread that begins to use the object at this very moment.
  bool still_this_thread() const noexcept {
    return last_.load(std::memory_order_relaxed) == &thread_mark && thread_mark == 0;
  }

 private:
  std::atomic<bool> used_{false};
  std::atomic<const void*> last_{nullptr};
};

}  // namespace wick::detail

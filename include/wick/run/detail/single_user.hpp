/// \file
/// Tells two threads that use at the same time what is made for one.
#pragma once

#include <atomic>

namespace wick::detail {

/// What one user did is visible to the next, so taking turns is safe on any threads.
class single_user {
 public:
  single_user() = default;
  single_user(single_user&&) noexcept {}  // of what nobody uses at that moment

  /// In use as long as this lives; may be kept over a suspension.
  class hold {
   public:
    /// \throws std::logic_error when somebody else uses it at this moment
    hold(single_user& of, const char* call) : of_(of) {
      if (of.used_.exchange(true, std::memory_order_acquire)) refuse(call);
    }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    ~hold() { of_.used_.store(false, std::memory_order_release); }

   private:
    [[noreturn, gnu::noinline]] static void refuse(const char* call);
    single_user& of_;
  };

 private:
  std::atomic<bool> used_{false};
};

}  // namespace wick::detail

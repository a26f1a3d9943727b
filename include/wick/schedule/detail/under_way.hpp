/// \file
/// Which samples are on their way at this moment, for whoever wants to say where they hang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <wick/run/detail/activity.hpp>
#include <wick/run/executor.hpp>
#include <wick/sample/context.hpp>
#include <wick/system/detail/brief_lock.hpp>
#include <wick/system/detail/thread_name.hpp>
#include <wick/system/detail/ticks.hpp>

namespace wick::detail {

/// One of them, as it was when somebody looked.
struct sample_place {
  std::uint64_t sequence = 0;  ///< its batch's
  std::uint64_t position = 0, index = 0;
  std::uint32_t stage = 0;
  bool whole_batch = false;  ///< in a stage behind batch(); `index` is its number
  bool suspends = false;     ///< `what` and the like are known
  wait_for what = wait_for::nothing;
  std::uint64_t since = 0;            ///< ticks, from when on it runs or waits
  std::size_t slot = executor::none;  ///< of who runs it
  int thread = 0;                     ///< the system's number; 0: it is on none, or that isn't known
};

/// A list for each slot, under a lock of its own, which only who looks ever has to be waited for. A run of
/// plain samples is in it once, by the context that goes from one to the next; a sample that suspends is for
/// itself. What is in it is looked at only under the lock, so it need not outlive its place there.
class under_way {
  struct list;

 public:
  explicit under_way(executor& on) : on_(on), lists_(new list[on.slots()]) {}

  /// From begin() to end() a context is looked at. Any thread.
  class entry {
   public:
    /// `c` lives longer than this.
    entry(under_way& in, const context& c, std::uint64_t sequence, bool whole_batch = false) noexcept
        : in_(in), context_(c), sequence_(sequence), whole_batch_(whole_batch) {}
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() { end(); }

    void begin(std::uint64_t ticks = now_ticks()) noexcept {
      const std::size_t slot = in_.on_.this_slot();
      begun_ = ticks;
      slot_ = slot;
      thread_ = this_thread_id();
      list& to = in_.lists_[slot == executor::none ? 0 : slot];
      const auto lock = lock_briefly(to.mutex);
      next_ = to.first;
      if (next_ != nullptr) next_->before_ = &next_;
      before_ = &to.first;
      to.first = this;
      home_ = &to;
    }
    void end() noexcept {
      if (home_ == nullptr) return;
      const auto lock = lock_briefly(home_->mutex);
      *before_ = next_;
      if (next_ != nullptr) next_->before_ = before_;
      home_ = nullptr;
    }

   private:
    friend class under_way;
    under_way& in_;
    const context& context_;
    std::uint64_t sequence_, begun_ = 0;
    list* home_ = nullptr;
    entry* next_ = nullptr;
    entry** before_ = nullptr;
    std::size_t slot_ = executor::none;
    int thread_ = 0;
    bool whole_batch_;
  };

  /// All of them. Any thread. \throws std::bad_alloc
  std::vector<sample_place> look() const;

 private:
  struct alignas(64) list {
    std::mutex mutex;
    entry* first = nullptr;
  };

  executor& on_;
  const std::unique_ptr<list[]> lists_;
};

}  // namespace wick::detail

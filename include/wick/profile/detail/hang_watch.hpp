// Writes a message when the training loop has waited long for a batch.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <wick/async/executor.hpp>
#include <wick/async/hang_handler.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/base/detail/duration.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/profile/detail/hang_scene.hpp>

namespace wick::inline v0_1::detail {

/// The consumer notes when it begins and ends a wait, and a timer of the executor checks the wait's length.
/// While a thread looks where the samples are, the consumer can't leave its wait. The message is made on a
/// short-lived thread of its own, since the source's keys and the program's callback may both block.
class hang_watch {
 public:
  /// \param after  0: no watch
  hang_watch(executor& on, hang_view of, std::chrono::nanoseconds after, hang_handler tell);
  hang_watch(const hang_watch&) = delete;
  hang_watch& operator=(const hang_watch&) = delete;
  /// Waits for a message that is being made.
  ~hang_watch();

  /// As long as this exists, the consumer waits for a batch, and has done so since `begun` (ticks).
  class waiting {
   public:
    waiting(hang_watch& in, std::uint64_t begun, std::uint64_t sequence) noexcept : in_(in) {
      in.begin(begun, sequence);
    }
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;
    ~waiting() {
      in_.end();
      if (!in_.state_) return;
      in_.on_.order_with_helpers();
      in_.leave();
    }

   private:
    hang_watch& in_;
  };
  /// The same for a calling thread that runs samples while it waits, as an executor::helper. In this order:
  /// begin(), end(), the end of the helper, leave().
  void begin(std::uint64_t begun, std::uint64_t sequence) noexcept {
    sequence_.store(sequence, std::memory_order_relaxed);
    since_.store(begun, std::memory_order_release);
    if (starts_) start();
  }
  void end() noexcept { since_.store(0, std::memory_order_relaxed); }
  void leave() noexcept {
    if (!looks_.load(std::memory_order_acquire)) return;
    const std::lock_guard until_it_has_looked(looking_);
  }
  /// Afterwards no message is being made. Called by the consumer while it isn't waiting.
  void rest() noexcept;

 private:
  struct state;

  void start() noexcept;
  void set_timer(std::chrono::nanoseconds in) noexcept;
  void come_round(bool on_time) noexcept;
  double waited(std::uint64_t since) const noexcept;
  /// False: that wait is over.
  bool tell(std::uint64_t since) noexcept;
  bool look(std::uint64_t since, hang_scene& out);

  executor& on_;
  const hang_view view_;
  const std::chrono::nanoseconds after_;
  const hang_handler handler_;
  const tick_scale scale_;

  std::atomic<std::uint64_t> sequence_{0}, since_{0};  // since_ 0: the consumer doesn't wait
  bool starts_ = false;                                // with the first wait; used by the consumer
  std::atomic<bool> looks_{false};
  std::mutex looking_;
  owned<state> state_;  // null: no watch
};

}  // namespace wick::detail

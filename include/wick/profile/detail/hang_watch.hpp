/// \file
/// Has a message made when the training loop has waited long for a batch.
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

/// The consumer notes when it begins and ends to wait; a timer of the executor's looks now and then whether
/// that is long ago. While a thread looks where the samples are, the consumer does not leave. The message is
/// made on a thread of its own, which lives only as long as that takes: keys are the source's to say, and the
/// callback is the program's, and both may block.
class hang_watch {
 public:
  /// \param after  0: there is no watch
  hang_watch(executor& on, hang_view of, std::chrono::nanoseconds after, hang_handler tell);
  hang_watch(const hang_watch&) = delete;
  hang_watch& operator=(const hang_watch&) = delete;
  /// Waits for a message that is being made.
  ~hang_watch();

  /// The consumer waits for a batch as long as this lives, since `begun` (ticks).
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
  /// The same where the calling thread runs samples meanwhile, as an executor::helper. In this order:
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
  /// No message is being made afterwards. The consumer, while it does not wait.
  void rest() noexcept;

 private:
  struct state;

  void start() noexcept;
  void set_timer(std::chrono::nanoseconds in) noexcept;
  void come_round(bool on_time) noexcept;
  double waited(std::uint64_t since) const noexcept;
  /// False: that wait was over.
  bool tell(std::uint64_t since) noexcept;
  bool look(std::uint64_t since, hang_scene& out);

  executor& on_;
  const hang_view view_;
  const std::chrono::nanoseconds after_;
  const hang_handler handler_;
  const tick_scale scale_;

  std::atomic<std::uint64_t> sequence_{0}, since_{0};  // since_ 0: the consumer doesn't wait
  bool starts_ = false;                                // with the first wait; the consumer's
  std::atomic<bool> looks_{false};
  std::mutex looking_;
  owned<state> state_;  // null: there is no watch
};

}  // namespace wick::detail

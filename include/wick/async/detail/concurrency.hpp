// Finds, while calls run, how many blocking calls at a time give the highest throughput.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick::inline v0_1::detail {

/// A limit that follows goodput: it tries higher and lower values and keeps the one at which more calls end
/// per second. The data may be on a local disk or across a network: a disk with a head is slower with many
/// calls, and a network needs hundreds. One thread at a time.
///
/// A window is a number of calls at one limit; calls that began under another limit don't count. A higher
/// limit must give 5 % more, a lower one may give 2 % less; a trial that gives much less ends before its
/// window does. After all trials have failed, it pauses before it tries again, each time twice as long, up to
/// a bound. A successful trial resets the pause, and a change of the calls' rate by over 30 % ends it.
class concurrency {
 public:
  /// Starts at `first`; stays in [least, most].
  concurrency(std::size_t first, std::size_t least, std::size_t most) noexcept
      : least_(least), most_(most), limit_(first), base_(first), skip_(first) {}

  std::size_t limit() const noexcept { return limit_; }
  std::size_t most() const noexcept { return most_; }
  bool fixed() const noexcept { return least_ == most_; }

  /// A call has ended at `now`, in seconds. `more_wait`: others wait for a thread. Returns true if the limit
  /// has changed.
  bool ended(double now, bool more_wait) noexcept;

 private:
  static constexpr std::uint64_t first_pause = 8;

  void begin(double now) noexcept;
  void judge(double rate, bool wanted) noexcept;

  std::size_t least_, most_, limit_;
  std::size_t base_;                              // the best limit so far; limit_ differs during a trial
  double rate_ = 0;                               // calls per second at base_
  std::size_t way_ = 0;                           // the next step to try
  std::uint64_t rest_ = 0, pause_ = first_pause;  // windows until the next trial
  std::uint64_t skip_;                            // calls left that don't count
  double begun_ = 0;
  std::uint64_t calls_ = 0, waits_ = 0;  // in this window
};

}  // namespace wick::detail

/// \file
/// How many blocking calls at a time give the most, found while they run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick::inline v0_1::detail {

/// A limit that follows goodput: it is tried higher and lower, and stays where more calls end a second. What
/// is read lies on a local disk, or behind a network; a disk with a head is slower with many calls, a network
/// needs hundreds. One thread at a time.
///
/// A window is some calls at one limit. Calls that began under another limit are not in it. A higher limit
/// must give 5 % more, a lower one may give 2 % less; a trial that gives much less ends before its window
/// does. What fails is tried again after a pause, each time twice as long; when the calls take another time
/// than before, the pauses end.
class concurrency {
 public:
  /// Begins at `first`; stays in [least, most].
  concurrency(std::size_t first, std::size_t least, std::size_t most) noexcept
      : least_(least), most_(most), limit_(first), base_(first), skip_(first) {}

  std::size_t limit() const noexcept { return limit_; }
  std::size_t most() const noexcept { return most_; }
  bool fixed() const noexcept { return least_ == most_; }

  /// A call has ended, at a time in seconds. `more_wait`: others wait for a thread. True: the limit is
  /// another.
  bool ended(double now, bool more_wait) noexcept;

 private:
  static constexpr std::uint64_t first_pause = 8;

  void begin(double now) noexcept;
  void judge(double rate, bool wanted) noexcept;

  std::size_t least_, most_, limit_;
  std::size_t base_;     // the best limit so far; limit_ differs while another is tried
  double rate_ = 0;      // calls a second there
  std::size_t way_ = 0;  // what is tried next
  std::uint64_t rest_ = 0, pause_ = first_pause;  // windows until then
  std::uint64_t skip_;                            // calls that are not in the window
  double begun_ = 0;
  std::uint64_t calls_ = 0, waits_ = 0;  // in the window
};

}  // namespace wick::detail

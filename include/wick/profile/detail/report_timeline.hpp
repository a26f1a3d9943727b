// The timeline of a report: iterations, and how much was ready or in flight then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wick/profile/detail/trace_file.hpp>
#include <wick/profile/report.hpp>

namespace wick::inline v0_1::detail {

/// Used by the consumer. At first each iteration is a piece. When there are too many, neighbors are merged,
/// and pieces are that long from then on. Times are in ticks.
class report_timeline {
 public:
  static constexpr std::size_t most_pieces = 256;

  void iteration(std::uint64_t begun, std::uint64_t waited, std::uint64_t total) noexcept {
    if (total == 0) return;
    if (waited > total) waited = total;
    if (now_.iterations != 0 && begun - now_.begin >= width_) close();  // after a break
    if (now_.iterations == 0) now_.begin = begun;
    now_.end = begun + total;
    ++now_.iterations;
    now_.waited += waited;
    now_.step += total - waited;
    now_.longest = std::max(now_.longest, waited);
    if (now_.end - now_.begin >= width_) close();
  }
  /// Whether to read the depths for a batch that came at `now`.
  bool wants_depths(std::uint64_t now) const noexcept { return now >= next_; }
  void add(const queue_depths& depths, std::uint64_t next_at) noexcept;
  /// Everything since the previous call. `since`: when that was; `tick`: in seconds.
  std::vector<report::timeline_piece> take(std::uint64_t since, double tick);

 private:
  struct piece {
    std::uint64_t begin = 0, end = 0, iterations = 0, waited = 0, step = 0, longest = 0;
    std::uint64_t readings = 0, ready = 0, in_flight = 0, bytes = 0;  // sums of depths

    void add(const piece& next) noexcept;
  };
  void close() noexcept;

  std::vector<piece> pieces_;
  piece now_;  // not finished yet
  std::uint64_t width_ = 0, next_ = 0;
};

}  // namespace wick::detail

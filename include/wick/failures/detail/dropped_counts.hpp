// Counts the samples that filter() and failures leave out; kept by the consumer in the order of delivery.
#pragma once

#include <cstdint>
#include <utility>

#include <wick/failures/detail/failed_sample.hpp>
#include <wick/failures/on_error.hpp>

namespace wick::inline v0_1::detail {

/// Whether filter() left this sample out in the end.
inline bool is_left_out(const failure& f) noexcept { return f.dropped && f.action == error_action::skip; }

/// The number of samples that weren't delivered, by reason.
struct left_out_counts {
  std::uint64_t filtered = 0, failed = 0;
};

/// Counts what filter() leaves out, and tells whether an epoch delivers anything.
class dropped_counts {
 public:
  std::uint64_t of_training = 0;  // by filter()
  std::uint64_t reported = 0;     // of these, the ones in a report

  /// After a start in the middle of an epoch, the counts can't tell that all of it was left out.
  void begin(bool at_the_beginning) noexcept {
    epoch_ = {};
    nothing_kept_ = at_the_beginning;
  }
  /// \param kept  samples that the consumer got; an exception in place of a batch counts as one
  void add(const left_out_counts& out, std::uint64_t kept) noexcept {
    of_training += out.filtered;
    epoch_.filtered += out.filtered;
    epoch_.failed += out.failed;
    nothing_kept_ = nothing_kept_ && kept == 0;
  }
  /// Called at the end of an epoch. With several ranks, none knows what the others keep.
  /// \throws wick::error, once, when nothing of the epoch was left on the only rank
  void require_some(std::uint64_t epoch, std::uint64_t ranks) {
    if (nothing_kept_ && epoch_.filtered + epoch_.failed != 0 && ranks == 1)
      refuse(epoch, std::exchange(epoch_, {}));
  }

 private:
  [[noreturn]] static void refuse(std::uint64_t epoch, const left_out_counts& out);
  left_out_counts epoch_;
  bool nothing_kept_ = false;
};

}  // namespace wick::detail

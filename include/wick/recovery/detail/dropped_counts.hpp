/// \file
/// Counts of what filter() leaves out, kept by the consumer in the order of delivery.
#pragma once

#include <cstdint>
#include <utility>

#include <wick/recovery/detail/failed_sample.hpp>
#include <wick/recovery/on_error.hpp>

namespace wick::inline v0_1::detail {

/// Whether filter() has left this sample out in the end.
inline bool is_left_out(const failure& f) noexcept { return f.dropped && f.action == error_action::skip; }

/// What filter() has left out.
class dropped_counts {
 public:
  std::uint64_t of_training = 0;
  std::uint64_t reported = 0;  // of these

  /// After a start in the middle of an epoch they can't say that all of it was left out.
  void begin(bool at_the_beginning) noexcept {
    epoch_ = 0;
    nothing_kept_ = at_the_beginning;
  }
  void add(std::uint64_t dropped, std::uint64_t kept) noexcept {
    of_training += dropped;
    epoch_ += dropped;
    nothing_kept_ = nothing_kept_ && kept == 0;
  }
  /// At the end of an epoch. Of several ranks none knows what the others keep.
  /// \throws wick::error, once, when nothing was left of it on the only rank
  void require_some(std::uint64_t epoch, std::uint64_t ranks) {
    if (nothing_kept_ && epoch_ != 0 && ranks == 1) refuse(epoch, std::exchange(epoch_, 0));
  }

 private:
  [[noreturn]] static void refuse(std::uint64_t epoch, std::uint64_t dropped);
  std::uint64_t epoch_ = 0;
  bool nothing_kept_ = false;
};

}  // namespace wick::detail

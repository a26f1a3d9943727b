// A failed sample, from its failure until its batch is delivered.
#pragma once

#include <cstdint>
#include <exception>

#include <wick/failures/on_error.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

/// Stands in for a sample that is known to be bad.
class quarantined_sample : public error {
 public:
  quarantined_sample()
      : error("on the quarantine list, so it was not tried; take it off there to try it again") {}
};

/// A sample's shape differs from that of the others.
class misshapen : public error {
 public:
  using error::error;
};

/// A sample that failed, and the action that was taken.
struct failure {
  static constexpr std::uint64_t whole_batch = ~std::uint64_t{0};  ///< in place of a slot
  static constexpr std::uint64_t no_index = ~std::uint64_t{0};     ///< in place of an index

  std::uint64_t slot = 0;
  std::uint32_t stage = 0;
  std::exception_ptr cause;
  std::uint64_t position = 0, index = 0;
  std::uint32_t number = 0;  ///< counts the failures in this slot, in order
  error_action action = error_action::fail;
  std::uint32_t tries = 1;
  std::uint64_t substitute = no_index;  ///< the index of the sample drawn in its place
  bool dropped = false;                 ///< by filter(): not a failure, and not reported
  std::uint32_t drawn = 0;              ///< how many were drawn for this position so far
  std::uint64_t other = no_index;       ///< the index of its other that failed and is to blame
  std::uint32_t others = 0;             ///< how many earlier failures in this slot were of others
  std::uint32_t before = none;          ///< the previous one in this slot, by its place in the batch's list

  static constexpr std::uint32_t none = ~std::uint32_t{0};  ///< in place of a failure

  bool of_other() const noexcept { return other != no_index; }
  /// The index of the bad sample.
  std::uint64_t to_blame() const noexcept { return of_other() ? other : index; }
  /// Whether it is of the position's own sample, not of a substitute or of another.
  bool planned() const noexcept { return number == others && !of_other() && slot != whole_batch; }
  /// Sets the cause and its stage, and `dropped` and `other`.
  void take_cause(std::exception_ptr what, std::uint32_t in_stage);
};

}  // namespace wick::detail

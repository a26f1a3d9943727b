// Implements failures/detail/failed_sample.hpp. Included in exactly one file of a program.
#pragma once

#include <utility>

#include <wick/failures/detail/failed_sample.hpp>
#include <wick/pipeline/detail/dropped.hpp>
#include <wick/pipeline/detail/failed_other.hpp>

namespace wick::inline v0_1::detail {

void failure::take_cause(std::exception_ptr what, std::uint32_t in_stage) {
  dropped = what == detail::dropped();
  cause = std::move(what);
  stage = in_stage;
  other = no_index;
  if (dropped) return;
  std::exception_ptr of_other;
  try {
    std::rethrow_exception(cause);
  } catch (const failed_other& e) {
    other = e.index;
    stage = e.stage;
    of_other = e.cause;
  } catch (...) {  // the sample's own failure
  }
  if (of_other != nullptr) cause = std::move(of_other);
}

}  // namespace wick::detail

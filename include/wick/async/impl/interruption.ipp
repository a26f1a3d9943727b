// Implements async/detail/interruption.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/async/detail/interruption.hpp>
#include <wick/async/stop_token.hpp>

namespace wick::inline v0_1::detail {

std::atomic<interruption_check>& interruption() noexcept {
  static constinit std::atomic<interruption_check> check{nullptr};
  return check;
}

void check_interruption() {
  if (no_longer_wanted != nullptr && no_longer_wanted->load(std::memory_order_relaxed)) throw cancelled();
  if (const interruption_check check = interruption().load(std::memory_order_acquire)) check();
}

}  // namespace wick::detail

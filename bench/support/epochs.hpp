// The lap of a loader.
#pragma once

#include <cstdint>
#include <string>

#include "support/timing.hpp"

namespace wick_bench {

/// Some epochs of a fresh loader that is warm, and what it says of them: from the last batch of one epoch to
/// the last of another, so no batch that was made in another's turn is counted, and none that is made for the
/// epoch after. The loader is gone when its turn is over.
template <class Make>
lap epochs_of(const Make& make, int epochs, std::string* report = nullptr) {
  auto loader = make();
  for (auto& batch : loader.epoch(0)) (void)batch;
  (void)loader.report();
  const stopwatch watch;
  for (int e = 1; e <= epochs; ++e) {
    for (auto& batch : loader.epoch(static_cast<std::uint64_t>(e))) (void)batch;
  }
  const lap took = watch.read();
  if (report != nullptr) *report = loader.report().to_string();
  return took;
}

}  // namespace wick_bench

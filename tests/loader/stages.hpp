// Stages whose bytes show a wrong position or epoch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

#include "support/eventually.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>
#include <wick/loader/detail/batch_job.hpp>

namespace wick_test {

/// Draws from the sample's stream, so that a wrong position or epoch shows in the bytes; one sample in 50 is
/// slow.
inline cell jitter(cell c, wick::context& context) {
  for (auto& b : c.data) b = static_cast<std::uint8_t>(b ^ context.random().below(256));
  if (c.target % 50 == 0) {
    volatile unsigned spin = 0;
    for (unsigned i = 0; i < 20'000; ++i) spin = spin + 1;
  }
  return c;
}

inline wick::task<cell> hop(cell c, wick::context& context) {
  if (context.random().bernoulli(0.5)) co_await context.on()->schedule();
  c.data[0] = static_cast<std::uint8_t>(context.random().below(256));
  if (context.random().bernoulli(0.2)) {
    auto blocking = context.run_blocking([] { return 1; });
    const int one = co_await blocking;
    c.data[1] = static_cast<std::uint8_t>(c.data[1] + one);
  }
  co_return c;
}

inline std::size_t threads_now() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++n;
  return n;
}

}  // namespace wick_test

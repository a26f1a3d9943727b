#include <thread>

#include "support/doctest.hpp"
#include <wick/pipeline/detail/phases.hpp>

namespace wick_test::phases_tests {

using wick::detail::phase_ticks;
using wick::detail::phase_timer;
using wick::ext::slot_phase;

TEST_CASE("a timer gives its ticks to the phase it is in, and taking them clears them") {
  phase_ticks::take();
  {
    phase_timer t(slot_phase::decode);
    const auto begun = wick::detail::now_ticks();
    while (wick::detail::now_ticks() == begun) {
    }
    t.next(slot_phase::color);
  }
  const auto got = phase_ticks::take();
  CHECK(got[static_cast<std::size_t>(slot_phase::decode)] > 0);
  CHECK(got[static_cast<std::size_t>(slot_phase::resize)] == 0);
  CHECK(phase_ticks::take() == phase_ticks::values{});
}

TEST_CASE("each thread has ticks of its own") {
  phase_ticks::take();
  std::thread([] { phase_ticks::add(slot_phase::resize, 5); }).join();
  CHECK(phase_ticks::take() == phase_ticks::values{});
}

}  // namespace wick_test::phases_tests

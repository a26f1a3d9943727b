// Pitfall: ThreadSanitizer does not know std::atomic_thread_fence: what is ordered by fences alone it reports
// as a race. Way around: acquire and release on the same words; hand-overs through the executor, an event
// count and the reorder ring are seen for what they are. This program is built with -fsanitize=thread, and a
// report ends it.
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "engine.hpp"
#include "pitfall.hpp"
#include <wick/async/detail/scope.hpp>
#include <wick/async/detail/sequencer.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace {

struct parcel {
  int number = 0;  // not atomic: only the hand-over orders it
};

wick::task<void> publish(wick::executor* ex, wick::detail::sequencer<parcel>* to, parcel* p, int number) {
  p->number = number;
  co_await ex->schedule();
  ++p->number;
  to->publish(static_cast<std::uint64_t>(number), p);
}

}  // namespace

int main() {
  wick::executor ex({.workers = 4, .queue_capacity = 2});
  constexpr int n = 256;
  wick::detail::sequencer<parcel> ring(n);
  std::vector<parcel> parcels(n);
  wick::detail::scope s(ex);
  for (int i = 0; i < n; ++i) s.spawn(publish(&ex, &ring, &parcels[static_cast<std::size_t>(i)], i));
  bool all = true;
  for (int i = 0; i < n; ++i) all = ring.take()->number == i + 1 && all;
  s.wait();
  pitfall::expect(all, "what was written before a hand-over is seen after it");
  return pitfall::result();
}

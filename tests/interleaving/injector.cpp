// The queue that all workers share.
#include <array>
#include <cstddef>

#include "faults.hpp"
#include "spared.hpp"
#include "support/doctest.hpp"
#include "support/interleaving.hpp"
#include <wick/async/detail/injector.hpp>

using namespace wick_test::interleaving;

namespace {

using injector = wick::detail::basic_injector<model>;

struct job : wick::detail::job {
  plain<int> payload;
  int ran = 0;  // of the test's books, not of the program: fibers don't race
};

/// So many who push two jobs each, and so many who try to take two: each job is taken once, complete, and
/// those of one who pushed in their order.
void all_at_once(std::size_t producers, std::size_t consumers) {
  injector queue;
  std::array<std::array<job, 2>, 2> jobs;
  const auto took = [&](wick::detail::job* base, std::array<int, 2>& last) {
    auto* const j = static_cast<job*>(base);
    const auto p = static_cast<std::size_t>(j < jobs[1].data() ? 0 : 1);
    const int n = static_cast<int>(j - jobs[p].data());
    expect(j->payload.read() == n + 1, "a job was taken before its payload was there");
    j->payload.write(-1);  // who has it has it alone
    expect(++j->ran == 1, "a job was taken twice");
    expect(n > last[p], "a later job was taken before an earlier one");
    last[p] = n;
  };
  for (std::size_t p = 0; p < producers; ++p) {
    spawn([&, p] {
      for (int n = 0; n < 2; ++n) {
        job& j = jobs[p][static_cast<std::size_t>(n)];
        j.payload.write(n + 1);
        queue.push(&j);
      }
    });
  }
  for (std::size_t c = 0; c < consumers; ++c) {
    spawn([&] {
      std::array<int, 2> last{-1, -1};
      for (int i = 0; i < 2; ++i) {
        if (wick::detail::job* j = queue.pop()) took(j, last);
      }
    });
  }
  join();
  std::array<int, 2> last{-1, -1};
  while (wick::detail::job* j = queue.pop()) took(j, last);
  expect(queue.empty(), "the queue is not empty in the end");
  for (std::size_t p = 0; p < producers; ++p) {
    for (const job& j : jobs[p]) expect(j.ran == 1, "a job was lost");
  }
}

/// Who knows of a push, as workers do by the event count, sees that there is a job, and gets it.
void second_look() {
  injector queue;
  job one;
  atomic<int> touched(0);
  spawn([&] {
    one.payload.write(1);
    queue.push(&one);
    touched.fetch_add(1, std::memory_order_release);
  });
  spawn([&] {
    if (touched.fetch_add(0, std::memory_order_acquire) == 0) return;
    expect(!queue.empty(), "a job that was pushed is not seen");
    expect(queue.pop() == &one && one.payload.read() == 1, "the job is not there");
    expect(queue.empty(), "the queue is not empty after its only job");
  });
  join();
}

const scenarios all{second_look, [] { all_at_once(1, 2); }, [] { all_at_once(2, 1); }};

}  // namespace

TEST_CASE("in every interleaving each job is taken once, complete and in order") {
  for (const auto& body : all) {
    const outcome o = explore({.preemptions = 2, .stale_reads = 1}, body);
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
  const outcome o = explore({.random_runs = 10'000}, [] { all_at_once(2, 3); });
  CHECK_MESSAGE(!o.failed, o.report());
}

TEST_CASE("each order of memory in the injector is needed: a weaker one is found") {
  each_order_is_needed("async/detail/injector.hpp", all, spared_in_injector);
}

TEST_CASE("each operation of the injector is needed: a fault in it is found") {
  each_operation_is_needed("async/detail/injector.hpp", all, {});
  CHECK(found({{"lock_guard", operation::lock, fault::dropped}}, all).failed);
}

// What stands in for a condition variable: of a pool's threads that wait for jobs, of who waits for a result.
#include <chrono>
#include <cstddef>
#include <mutex>

#include "faults.hpp"
#include "support/doctest.hpp"
#include "support/interleaving.hpp"
#include <wick/base/detail/condition.hpp>

using namespace wick_test::interleaving;

namespace {

using condition = wick::detail::basic_condition<model>;

/// Jobs that are only counted, and threads that take one each: no thread sleeps while there is one for it.
struct pool {
  mutex guard;
  condition changed;
  plain<int> jobs{0};

  void post() {
    {
      const std::lock_guard lock(guard);
      jobs.write(jobs.read() + 1);
    }
    changed.notify_one();
  }
  void take() {
    std::unique_lock lock(guard);
    changed.wait(lock, [&] { return jobs.read() != 0; });
    jobs.write(jobs.read() - 1);
  }
};

void one_each(std::size_t threads) {
  pool p;
  for (std::size_t i = 0; i < threads; ++i) {
    spawn([&] { p.post(); });
    spawn([&] { p.take(); });
  }
  join();
  expect(p.jobs.read() == 0, "a job is left");
}

/// One posts while two wait: neither waits without an end for what the other was woken for.
void two_from_one() {
  pool p;
  spawn([&] {
    p.post();
    p.post();
  });
  spawn([&] { p.take(); });
  spawn([&] { p.take(); });
  join();
}

/// Three post at once, and one takes all: a notification that comes late does not undo another.
void one_from_three() {
  pool p;
  for (int i = 0; i < 3; ++i) spawn([&] { p.post(); });
  spawn([&] {
    for (int i = 0; i < 3; ++i) p.take();
  });
  join();
}

/// All who wait are notified of one change, and none of it twice.
void all_at_once() {
  pool p;
  plain<bool> stopping(false);
  const auto wait = [&] {
    std::unique_lock lock(p.guard);
    p.changed.wait(lock, [&] { return stopping.read(); });
  };
  spawn(wait);
  spawn(wait);
  spawn([&] {
    const std::lock_guard lock(p.guard);
    stopping.write(true);
    p.changed.notify_all();
  });
  join();
}

/// A time that passes is no change; what changes meanwhile is seen.
void for_a_while() {
  pool p;
  spawn([&] { p.post(); });
  spawn([&] {
    std::unique_lock lock(p.guard);
    if (p.jobs.read() == 0) p.changed.wait_for(lock, std::chrono::microseconds(1));
    const bool there = p.jobs.read() != 0;
    lock.unlock();
    if (!there) p.take();
  });
  join();
}

const scenarios all{[] { one_each(1); }, [] { one_each(2); }, two_from_one,
                    one_from_three,      all_at_once,         for_a_while};

}  // namespace

TEST_CASE("in every interleaving who waits under a mutex is woken by the change it waits for") {
  for (const auto& body : all) {
    const outcome o = explore({.preemptions = 2, .stale_reads = 1, .spurious = 1}, body);
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
}

TEST_CASE("each operation of the condition is needed: a fault in it is found") {
  each_operation_is_needed("base/detail/condition.hpp", all,
                           {
                               // Of the stop of a pool, which comes once.
                               "notify_all rmw split",
                               // It ends at any time.
                               "wait_for wait blind",
                               // Who notifies makes a system call too many.
                               "end store dropped",
                           });
}

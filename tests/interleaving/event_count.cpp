#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "faults.hpp"
#include "spared.hpp"
#include "support/doctest.hpp"
#include "support/interleaving.hpp"
#include <wick/async/detail/event_count.hpp>

using namespace wick_test::interleaving;

namespace {

/// Steps of the protocol that are left out, to see that they are missed.
struct omitted {
  bool second_look = false;    // between retire and sleep
  bool look_at_found = false;  // of the last searcher that found something
  bool touch = false;          // a producer only looks whether someone sleeps, before it publishes
};

using event_count = wick::detail::basic_event_count<model>;

/// Items that are only counted, and workers that take them and sleep as the executor's do. The count itself
/// is relaxed: all order is the event count's.
class market {
 public:
  explicit market(omitted o) : omitted_(o) {}

  void produce(bool can_wait = false) {
    if (omitted_.touch) tell(can_wait);
    items_.fetch_add(1, std::memory_order_relaxed);
    if (!omitted_.touch) tell(can_wait);
  }
  /// Takes one item and sleeps as often as it must, the first times for a while only; leaves as a worker does
  /// that runs the item.
  void consume(int naps = 0) {
    if (take()) return;
    idle_.begin_search();
    for (;;) {
      if (take()) break;
      idle_.retire();
      for (bool searches = false; !searches;) {
        const bool nap = naps-- > 0;
        if (nap) idle_.begin_nap();
        if (!omitted_.second_look && there()) {
          if (nap) idle_.end_nap();
          idle_.cancel();
          searches = true;
        } else if (nap) {
          searches = idle_.nap(std::chrono::microseconds(1));
        } else {
          idle_.sleep();
          searches = true;
        }
      }
    }
    idle_.found([this] { return !omitted_.look_at_found && there(); });
  }
  /// A worker until stop(): how many items it took.
  int work() {
    for (int taken = 0;;) {
      if (take()) {
        ++taken;
        continue;
      }
      idle_.begin_search();
      for (;;) {
        if (take()) break;
        idle_.retire();
        const bool stopping = stopping_.load(std::memory_order_acquire);  // before the look
        if (there()) {
          idle_.cancel();
        } else if (stopping) {
          idle_.cancel();
          idle_.found();
          return taken;
        } else {
          idle_.sleep();
        }
      }
      ++taken;
      idle_.found([this] { return there(); });
    }
  }
  void stop() {
    stopping_.store(true, std::memory_order_release);
    idle_.notify_all();
  }
  std::uint32_t sleepers() { return idle_.sleepers(); }

 private:
  void tell(bool can_wait) { can_wait ? static_cast<void>(idle_.notify_unless_napping()) : idle_.notify(); }
  bool there() { return items_.load(std::memory_order_relaxed) > 0; }
  bool take() {
    int n = items_.load(std::memory_order_relaxed);
    while (n > 0) {
      if (items_.compare_exchange_strong(n, n - 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  const omitted omitted_;
  event_count idle_;
  atomic<int> items_{0};
  atomic<bool> stopping_{false};
};

/// So many consumers and as many items, from so many producers: all end, or a wake-up was lost.
void one_each(int consumers, int producers, omitted o = {}) {
  market m(o);
  for (int c = 0; c < consumers; ++c) spawn([&] { m.consume(); });
  for (int p = 0; p < producers; ++p) {
    spawn([&, p] {
      for (int i = p; i < consumers; i += producers) m.produce();
    });
  }
  join();
  expect(m.sleepers() == 0, "somebody who is awake counts as asleep");
}

/// The same where the first consumer naps first, and some of the items can wait for it.
void with_naps(int consumers, int naps, bool can_wait, omitted o = {}) {
  market m(o);
  for (int c = 0; c < consumers; ++c) spawn([&, c] { m.consume(c == 0 ? naps : 0); });
  spawn([&] {
    for (int i = 0; i < consumers; ++i) m.produce(can_wait);
  });
  join();
  expect(m.sleepers() == 0, "somebody who is awake counts as asleep");
}

/// A thread that naps is woken like one that sleeps, and while it naps no other one is woken for what can
/// wait.
void message_to_the_napping() {
  event_count idle;
  plain<int> message(0);
  idle.begin_search();
  idle.retire();
  idle.begin_nap();
  expect(!idle.notify_unless_napping() && idle.sleepers() == 1, "one that naps was woken for what can wait");
  spawn([&] {
    message.write(1);
    idle.notify();
  });
  spawn([&] {
    if (!idle.nap(std::chrono::microseconds(1))) idle.sleep();
    expect(message.read() == 1, "the message is not there");
    idle.found([] { return false; });
  });
  join();
  expect(idle.sleepers() == 0, "somebody who is awake counts as asleep");
}

void until_stopped(int workers, int items) {
  market m({});
  int taken = 0;
  for (int w = 0; w < workers; ++w) spawn([&] { taken += m.work(); });
  spawn([&] {
    for (int i = 0; i < items; ++i) m.produce();
    m.stop();
  });
  join();
  expect(taken == items, "an item is left over");
  expect(m.sleepers() == 0, "somebody who is awake counts as asleep");
}

/// The thread that sleep() lets go reads the writes before notify.
void message_to_the_woken() {
  event_count idle;
  plain<int> message(0);
  idle.begin_search();
  idle.retire();
  spawn([&] {
    message.write(1);
    idle.notify();
  });
  spawn([&] {
    idle.sleep();
    expect(message.read() == 1, "the message is not there");
    idle.found();
  });
  join();
}

/// The same for everybody.
void message_to_all() {
  event_count idle;
  plain<int> message(0);
  for (int i = 0; i < 2; ++i) {
    idle.begin_search();
    idle.retire();
  }
  spawn([&] {
    message.write(1);
    idle.notify_all();
  });
  for (int i = 0; i < 2; ++i) {
    spawn([&] {
      idle.sleep();
      expect(message.read() == 1, "the message is not there");
      idle.found();
    });
  }
  join();
}

/// Two sleep. The second notify comes when the first that was woken does not search any more, so it wakes the
/// other one: also when that one had seen the first permit already and was too late for it.
void message_to_the_second() {
  event_count idle;
  plain<int> first(0), second(0);
  atomic<std::uint32_t> found(0);
  int woken = 0;  // of the test's books, not of the program: fibers don't race
  for (int i = 0; i < 2; ++i) {
    idle.begin_search();
    idle.retire();
  }
  expect(idle.sleepers() == 2, "somebody who sleeps does not count");
  spawn([&] {
    first.write(1);
    idle.notify();
  });
  spawn([&] {
    while (found.load(std::memory_order_acquire) == 0) model::wait(found, 0);
    second.write(1);
    idle.notify();
  });
  for (int i = 0; i < 2; ++i) {
    spawn([&] {
      idle.sleep();
      const bool is_second = ++woken == 2;
      expect((is_second ? second : first).read() == 1, "the message is not there");
      idle.found([] { return false; });
      if (is_second) return;
      found.store(1, std::memory_order_release);
      model::wake_one(found);
    });
  }
  join();
  expect(idle.sleepers() == 0, "somebody who is awake counts as asleep");
}

/// One wakes one of two, another wakes all: both wake, and the last one sees the message to all.
void one_and_all() {
  event_count idle;
  atomic<int> message(0);
  int reached = 0;
  for (int i = 0; i < 2; ++i) {
    idle.begin_search();
    idle.retire();
  }
  spawn([&] { idle.notify(); });
  spawn([&] {
    message.store(1, std::memory_order_relaxed);
    idle.notify_all();
  });
  for (int i = 0; i < 2; ++i) {
    spawn([&] {
      idle.sleep();
      reached += message.load(std::memory_order_relaxed);
      idle.found([] { return false; });
    });
  }
  join();
  expect(reached > 0, "the message to all reached nobody");
}

const scenarios all{[] { one_each(2, 2); },         [] { until_stopped(2, 1); },
                    message_to_the_woken,           message_to_all,
                    message_to_the_second,          one_and_all,
                    [] { with_naps(1, 1, true); },  [] { with_naps(2, 1, true); },
                    [] { with_naps(3, 1, false); }, message_to_the_napping};

}  // namespace

TEST_CASE("in every interleaving no thread sleeps while there is an item") {
  for (const auto& [consumers, producers] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{2, 2}}) {
    CAPTURE(consumers);
    CAPTURE(producers);
    const outcome o = explore({.preemptions = 2, .stale_reads = 1, .spurious = consumers == 1 ? 2u : 0u},
                              [c = consumers, p = producers] { one_each(c, p); });
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
}

TEST_CASE("in every interleaving no thread sleeps while there is an item, when some nap") {
  for (const bool can_wait : {false, true}) {
    for (const auto& [consumers, naps] : {std::pair{1, 1}, std::pair{1, 2}, std::pair{2, 1}}) {
      CAPTURE(can_wait);
      CAPTURE(consumers);
      CAPTURE(naps);
      const outcome o = explore({.preemptions = consumers == 1 ? 2u : 1u, .stale_reads = 1},
                                [c = consumers, n = naps, can_wait] { with_naps(c, n, can_wait); });
      CHECK_MESSAGE(!o.failed, o.report());
      CHECK(o.complete);
    }
    const outcome o = explore({.random_runs = 15'000}, [can_wait] { with_naps(3, 2, can_wait); });
    CHECK_MESSAGE(!o.failed, o.report());
  }
  const outcome o = explore({.preemptions = 3, .stale_reads = 2, .spurious = 1}, message_to_the_napping);
  CHECK_MESSAGE(!o.failed, o.report());
  CHECK(o.complete);
}

TEST_CASE("in every interleaving each sleeping thread gets the stop, and what is left is done before") {
  for (const auto& [workers, items] : {std::pair{1, 1}, std::pair{1, 2}, std::pair{2, 1}}) {
    CAPTURE(workers);
    CAPTURE(items);
    const outcome o =
        explore({.preemptions = 2, .stale_reads = 1}, [w = workers, i = items] { until_stopped(w, i); });
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
}

TEST_CASE("in every interleaving the woken see the earlier writes") {
  for (const auto& body : {&message_to_the_woken, &message_to_all}) {
    const outcome o = explore({.preemptions = 3, .stale_reads = 2, .spurious = 1}, body);
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
  for (const auto& body : {&message_to_the_second, &one_and_all}) {
    const outcome random = explore({.random_runs = 10'000}, body);
    CHECK_MESSAGE(!random.failed, random.report());
    const outcome o = explore({.preemptions = 1, .stale_reads = 1}, body);
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
}

TEST_CASE("the same with more threads in random interleavings") {
  for (const auto& [consumers, producers] : {std::pair{3, 2}, std::pair{4, 3}}) {
    const outcome o = explore({.random_runs = 15'000}, [c = consumers, p = producers] { one_each(c, p); });
    CHECK_MESSAGE(!o.failed, o.report());
  }
  const outcome o = explore({.random_runs = 15'000}, [] { until_stopped(3, 4); });
  CHECK_MESSAGE(!o.failed, o.report());
}

TEST_CASE("each step of the protocol is needed: without it a wake-up is lost, and that is found") {
  CHECK(found({}, [] { one_each(1, 1, {.second_look = true}); }).failed);
  CHECK(found({}, [] { one_each(2, 1, {.look_at_found = true}); }).failed);
  CHECK(found({}, [] { one_each(1, 1, {.touch = true}); }).failed);
  CHECK(found({}, [] { with_naps(1, 1, true, {.second_look = true}); }).failed);
  // Who napped has used up the only wake-up, and leaves the permit that came with it to one that is not
  // woken.
  CHECK(found({{"nap", operation::rmw, fault::as_load}}, [] { with_naps(2, 1, false); }).failed);
  const auto body = [] { one_each(2, 2); };
  // A load may be of before the sleeper's touch; only a read-modify-write has a place in the order.
  CHECK(found({{"notify", operation::rmw, fault::as_load}}, body).failed);
  CHECK(found({{"wake_for", operation::wake, fault::dropped}}, body).failed);
  CHECK(found({{"take_permit", operation::wait, fault::blind}}, body).failed);
  CHECK(found({{"cancel", operation::cas, fault::split}}, body).failed);
  CHECK(found({{"notify_all", operation::wake, fault::dropped}}, [] { until_stopped(2, 1); }).failed);
  CHECK(found({{"notify_all", operation::rmw, fault::as_load}}, [] { until_stopped(1, 1); }).failed);
}

TEST_CASE("each order of memory in the event count is needed: a weaker one is found") {
  each_order_is_needed("async/detail/event_count.hpp", all, spared_in_event_count);
}

TEST_CASE("each operation of the event count is needed: a fault in it is found") {
  // Then it sleeps, which it does not while there is a permit, and loads again; or naps, which has an end.
  each_operation_is_needed("async/detail/event_count.hpp", all,
                           {"take_permit load as zero", "nap wait blind"});
}

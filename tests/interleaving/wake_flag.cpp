// The flag on which one thread waits: for the end of sync_wait, of a scope, for the sequencer's next item.
#include <optional>

#include "faults.hpp"
#include "spared.hpp"
#include "support/doctest.hpp"
#include "support/interleaving.hpp"
#include <wick/base/detail/futex.hpp>

using namespace wick_test::interleaving;

namespace {

using flag = wick::detail::basic_wake_flag<model>;

/// The thread that waits sees all writes before, and destroys the flag at once.
template <class Wait>
void one_waits_by(Wait wait) {
  std::optional<flag> done(std::in_place);
  plain<int> message(0);
  spawn([&] {
    message.write(1);
    done->set();
  });
  spawn([&] {
    wait(*done);
    expect(done->is_set(), "the wait is over and the flag is not set");
    expect(message.read() == 1, "the message is not there");
    done.reset();
  });
  join();
}
void one_waits() {
  one_waits_by([](flag& f) { f.wait(); });
}
/// First for a while.
void one_naps() {
  one_waits_by([](flag& f) {
    if (!f.wait_for(std::chrono::nanoseconds(1000))) f.wait();
  });
}

/// So does another who only looks.
void one_looks() {
  flag done;
  plain<int> message(0);
  spawn([&] {
    message.write(1);
    done.set();
  });
  spawn([&] {
    if (done.is_set()) expect(message.read() == 1, "the message is not there");
  });
  spawn([&] { done.wait(); });
  join();
  expect(done.is_set(), "the flag is not set in the end");
}

/// Two flags by turns, each cleared and used again: no wait ends because of an earlier set().
void by_turns() {
  flag asked, answered;
  plain<int> question(0), answer(0);
  spawn([&] {
    for (int i = 1; i <= 2; ++i) {
      answered.clear();
      expect(!answered.is_set(), "the flag is set after clear()");
      question.write(i);
      asked.set();
      answered.wait();
      expect(answer.read() == i, "the answer is to another question");
    }
  });
  spawn([&] {
    for (int i = 1; i <= 2; ++i) {
      asked.wait();
      asked.clear();
      answer.write(question.read());
      answered.set();
    }
  });
  join();
}

const scenarios all{one_waits, one_naps, one_looks, by_turns};

}  // namespace

TEST_CASE("in every interleaving a wait ends when the flag is set, not before, and the message is there") {
  for (const auto& body : all) {
    const outcome o = explore({.preemptions = 3, .stale_reads = 2, .spurious = 1}, body);
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
}

TEST_CASE("each order of memory in the flag is needed: a weaker one is found") {
  each_order_is_needed("base/detail/futex.hpp", all, spared_in_wake_flag, {"word.wait(", "word.load("});
}

TEST_CASE("each operation of the flag is needed: a fault in it is found") {
  each_operation_is_needed("base/detail/futex.hpp", all,
                           {"wait_for wait blind"});  // its time is over some day
  CHECK(found({{"set", operation::rmw, fault::again}}, one_waits).failed);
}

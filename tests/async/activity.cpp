#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/async/detail/activity.hpp>
#include <wick/async/detail/activity_table.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace wick_test::activity_tests {

using wick::detail::activity;
using wick::detail::activity_table;
using wick::detail::noted_wait;
using wick::detail::own_activity;
using wick::detail::wait_for;

namespace {

/// The calling thread runs for no activity before and afterwards.
struct nobody {
  nobody() { wick::detail::this_thread_resumption().of = nullptr; }
  ~nobody() { wick::detail::this_thread_resumption().of = nullptr; }
};

}  // namespace

TEST_CASE(
    "a wait is written down with what runs on the thread that suspends, and restored where it continues") {
  const nobody scope;
  own_activity work;
  work.begin(0);
  work.get()->begin();
  noted_wait wait;
  wait.begin(wait_for::memory);
  CHECK(work.get()->what() == wait_for::memory);
  wick::detail::this_thread_resumption().of = nullptr;  // another thread, say
  wait.now(wait_for::worker);
  CHECK(work.get()->what() == wait_for::worker);
  wait.end();
  CHECK(work.get()->what() == wait_for::nothing);
  CHECK(activity::current() == work.get());
  const activity::times spent = work.get()->spent();
  CHECK(spent[static_cast<std::size_t>(wait_for::memory)] > 0);
  CHECK(spent[static_cast<std::size_t>(wait_for::worker)] > 0);
  CHECK(spent[static_cast<std::size_t>(wait_for::lock)] == 0);
  CHECK(work.get()->ran_at_first() <= spent[0]);
}

TEST_CASE("on a thread without an activity nothing is written down") {
  const nobody scope;
  noted_wait wait;
  wait.begin(wait_for::time);
  wait.now(wait_for::worker);
  wait.end();
  CHECK(activity::current() == nullptr);
}

TEST_CASE("a wait that continues when the work has ended leaves nothing behind on its thread") {
  const nobody scope;
  noted_wait wait;
  {
    own_activity work;
    work.begin(0);
    wait.begin(wait_for::time);
  }
  CHECK(activity::current() == nullptr);
  wait.end();  // the last that had it
  CHECK(activity::current() == nullptr);
  noted_wait next;
  next.begin(wait_for::time);
  next.end();
}

TEST_CASE("a table shows what has begun and not ended; what a thread looks at does not end meanwhile") {
  activity_table table;
  std::size_t seen = 0;
  const auto count = [&](std::size_t, const activity&) { ++seen; };
  table.begin(0, nullptr);  // without room nothing is kept
  table.end(0);
  table.each(count);
  CHECK(seen == 0);
  table.make_room(2);
  std::vector<std::thread> others;
  std::atomic<int> working{2};
  for (std::size_t i = 0; i < 2; ++i) {
    others.emplace_back([&, i] {
      for (std::uint32_t n = 0; n < 5000; ++n) {
        activity* const work = new activity;
        work->stage = n;
        table.begin(i, work);
        table.end(i);
        work->stage = wick::detail::in_no_stage;
        work->drop();
      }
      working.fetch_sub(1);
    });
  }
  while (working.load() != 0)
    table.each([&](std::size_t, const activity& a) { CHECK(a.stage.load() < 5000); });
  for (std::thread& t : others) t.join();
  table.each(count);
  CHECK(seen == 0);
}

}  // namespace wick_test::activity_tests

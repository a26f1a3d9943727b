#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>

#include "../support/doctest.hpp"
#include <wick/async/detail/activity.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

using wick::detail::activity;
using wick::detail::noted_wait;
using wick::detail::own_activity;
using wick::detail::wait_for;

namespace {

/// What the calling thread runs is nobody's before and afterwards.
struct nobody {
  nobody() { wick::detail::this_thread_resumption().of = nullptr; }
  ~nobody() { wick::detail::this_thread_resumption().of = nullptr; }
};

}  // namespace

TEST_CASE(
    "a wait is written down with what runs on the thread that suspends, and restored where it goes on") {
  const nobody scope;
  own_activity work;
  work.begin();
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

TEST_CASE("where nobody wants to know nothing is written down") {
  const nobody scope;
  noted_wait wait;
  wait.begin(wait_for::time);
  wait.now(wait_for::worker);
  wait.end();
  CHECK(activity::current() == nullptr);
}

TEST_CASE("a wait that goes on when the work has ended leaves nothing behind on its thread") {
  const nobody scope;
  noted_wait wait;
  {
    own_activity work;
    work.begin();
    wait.begin(wait_for::time);
  }
  CHECK(activity::current() == nullptr);
  wait.end();  // the last that had it
  CHECK(activity::current() == nullptr);
  noted_wait next;
  next.begin(wait_for::time);
  next.end();
}

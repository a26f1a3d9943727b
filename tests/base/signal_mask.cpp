#include <atomic>
#include <chrono>
#include <signal.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/doctest.hpp"
#include <wick/async/executor.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace wick_test::signal_mask_tests {

namespace {

constexpr int from_outside[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,  SIGTERM,
                                SIGCHLD, SIGTSTP, SIGCONT, SIGXCPU, SIGXFSZ, SIGVTALRM};
constexpr int caused[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE, SIGPROF};

::sigset_t mask_here() {
  ::sigset_t now;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return now;
}

/// Whether a thread with this mask takes just what it may.
bool is_quiet(const ::sigset_t& mask) {
  bool right = true;
  for (const int s : from_outside) right &= ::sigismember(&mask, s) == 1;
  for (const int s : caused) right &= ::sigismember(&mask, s) == 0;
  return right;
}

bool equal(const ::sigset_t& a, const ::sigset_t& b) {
  for (int s = 1; s < SIGRTMIN; ++s) {
    if (::sigismember(&a, s) != ::sigismember(&b, s)) return false;
  }
  return true;
}

struct mask_timer : wick::detail::timer {
  mask_timer() {
    expired = [](wick::detail::timer* t, bool) noexcept {
      static_cast<mask_timer*>(t)->quiet = is_quiet(mask_here());
      static_cast<mask_timer*>(t)->done = true;
      static_cast<mask_timer*>(t)->done.notify_one();
    };
  }
  bool quiet = false;
  std::atomic<bool> done{false};
};

wick::task<bool> on_worker(wick::executor& on) {
  auto hop = on.schedule();
  co_await hop;
  co_return is_quiet(mask_here());
}

wick::task<bool> on_io_thread(wick::executor& on) {
  auto call = on.io().run(on, [] { return is_quiet(mask_here()); });
  const bool quiet = co_await call;
  co_return quiet;
}

std::atomic<int> taken{0}, taken_elsewhere{0};
std::thread::id handler_belongs_to;

void count_signal(int) {
  taken.fetch_add(1);
  if (std::this_thread::get_id() != handler_belongs_to) taken_elsewhere.fetch_add(1);
}

}  // namespace

TEST_CASE("workers, I/O threads and the timer's take no signal but what they cause themselves") {
  const ::sigset_t before = mask_here();
  wick::executor ex({.workers = 3, .io_threads = 2});
  for (int i = 0; i < 20; ++i) {
    CHECK(wick::ext::sync_wait(on_worker(ex)));
    CHECK(wick::ext::sync_wait(on_io_thread(ex)));
  }
  mask_timer timer;
  REQUIRE(ex.timers().add(timer));
  timer.done.wait(false);
  CHECK(timer.quiet);
  CHECK(equal(before, mask_here()));
}

TEST_CASE("a handler of the program's never runs on a thread of the library's") {
  handler_belongs_to = std::this_thread::get_id();
  taken = taken_elsewhere = 0;
  struct ::sigaction mine = {}, old = {};
  mine.sa_handler = count_signal;
  ::sigemptyset(&mine.sa_mask);
  REQUIRE(::sigaction(SIGUSR1, &mine, &old) == 0);
  {
    wick::executor ex({.workers = 2, .io_threads = 2});
    CHECK(wick::ext::sync_wait(on_worker(ex)));  // they have all started
    CHECK(wick::ext::sync_wait(on_io_thread(ex)));
    // The only thread of the program's that would take it doesn't: the system looks for another.
    ::sigset_t one, before;
    ::sigemptyset(&one);
    ::sigaddset(&one, SIGUSR1);
    REQUIRE(::pthread_sigmask(SIG_BLOCK, &one, &before) == 0);
    for (int i = 0; i < 100; ++i) {
      REQUIRE(::kill(::getpid(), SIGUSR1) == 0);
      CHECK(wick::ext::sync_wait(on_worker(ex)));
      CHECK(wick::ext::sync_wait(on_io_thread(ex)));
    }
    CHECK(taken == 0);
    REQUIRE(::pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);  // it takes the one that is pending
    CHECK(taken == 1);
  }
  CHECK(taken_elsewhere == 0);
  REQUIRE(::sigaction(SIGUSR1, &old, nullptr) == 0);
}

TEST_CASE(
    "what the program has blocked stays blocked, and a pool that can't be made leaves the mask as it was") {
  ::sigset_t two, before;
  ::sigemptyset(&two);
  ::sigaddset(&two, SIGPROF);
  ::sigaddset(&two, SIGTERM);
  REQUIRE(::pthread_sigmask(SIG_BLOCK, &two, &before) == 0);
  const ::sigset_t now = mask_here();
  {
    wick::executor ex(1);
    CHECK(equal(mask_here(), now));
  }
  CHECK_THROWS(wick::executor({.workers = 2, .pin_to = {-1}}));
  CHECK(equal(mask_here(), now));
  REQUIRE(::pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
}

}  // namespace wick_test::signal_mask_tests

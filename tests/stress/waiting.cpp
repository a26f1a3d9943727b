// What coroutines wait in: semaphores, one of them of one permit, and timers; with stops that come at any
// moment.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "../support/future.hpp"
#include "world.hpp"
#include <wick/async/async_semaphore.hpp>
#include <wick/async/detail/scope.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/pipeline/detail/budget.hpp>

namespace wick_stress {
namespace {

using std::chrono::microseconds;
using wick::task;

/// Requests a stop after a while, from outside of the executor.
std::thread stops_later(wick::detail::stop_source& stop, std::uint64_t rounds) {
  return std::thread([&stop, rounds] {
    for (std::uint64_t i = 0; i < rounds; ++i) std::this_thread::yield();
    stop.request_stop();
  });
}

struct workshop {
  world* w;
  wick::executor* ex;
  std::size_t permits;
  wick::async_semaphore mutex{1};
  wick::async_semaphore semaphore{permits};
  long entries = 0;  // guarded by the mutex
  bool inside = false;
  std::atomic<long> entered{0}, out{0};

  static task<void> visit(workshop* s, live, dice d, wick::ext::stop_token stop) {
    try {
      for (int i = 0; i < 20; ++i) {
        if (d.one_in(2)) {
          auto guard = co_await s->mutex.acquire({*s->ex, stop});
          s->w->expect(!std::exchange(s->inside, true), "two are in a mutex at once");
          if (d.one_in(3)) co_await s->ex->schedule();
          ++s->entries;
          s->entered.fetch_add(1);
          s->inside = false;
        } else {
          const std::size_t n = d.below(s->permits) + 1;
          auto held = co_await s->semaphore.acquire({*s->ex, stop}, n);
          const long now = s->out.fetch_add(static_cast<long>(n)) + static_cast<long>(n);
          s->w->expect(now <= static_cast<long>(s->permits), "more permits are out than there are", now);
          if (d.one_in(3)) co_await s->ex->schedule();
          s->out.fetch_sub(static_cast<long>(n));
        }
      }
    } catch (const wick::cancelled&) {
      s->w->expect(stop.stop_requested(), "a lock was cancelled without a stop");
    }
  }
};

void locks(world& w) {
  wick::executor ex(w.engine());
  workshop s{&w, &ex, w.random.below(4) + 1};
  wick::detail::scope stays(ex), leaves(ex);
  for (std::size_t n = w.random.below(10) + 2, i = 0; i < n; ++i) {
    wick::detail::scope& in = w.random.one_in(2) ? stays : leaves;
    in.spawn(workshop::visit(&s, live(w.alive), w.random.fork(), in.stop()));
  }
  if (w.random.one_in(2)) leaves.request_stop();
  leaves.wait();
  stays.wait();
  w.expect(s.entries == s.entered.load(), "as many entries as were counted under the lock", s.entries,
           s.entered.load());
  w.expect(s.semaphore.available() == s.permits, "all permits are back", s.semaphore.available(), s.permits);
  w.expect(static_cast<bool>(s.mutex.try_acquire()), "the mutex is free in the end");
}

struct larder {
  world* w;
  wick::executor* ex;
  std::size_t limit;
  bool keeps;  // whether workers keep bytes ready
  wick::detail::byte_budget budget{limit, std::chrono::hours(1), keeps ? ex : nullptr};
  std::atomic<long> out{0}, holders{0}, served{0};

  static task<void> eat(larder* s, live, dice d, std::uint64_t position) {
    // Now and then more than there is, which is let through alone.
    const std::size_t n = d.one_in(5) ? s->limit + d.below(100) + 1 : d.below(s->limit) + 1;
    auto held = std::make_unique<wick::detail::byte_account>();
    co_await s->budget.acquire(*held, *s->ex, n, position);
    const long now = s->out.fetch_add(static_cast<long>(n)) + static_cast<long>(n);
    const long others = s->holders.fetch_add(1);
    s->w->expect(now <= static_cast<long>(s->limit) || (n > s->limit && others == 0),
                 "more is out than there is", now, n, others);
    if (d.one_in(3)) co_await s->ex->schedule();
    s->holders.fetch_sub(1);
    s->out.fetch_sub(static_cast<long>(n));
    s->served.fetch_add(1);
    if (d.one_in(4)) {  // given back by a thread that is no worker
      std::thread([gone = std::move(held)]() mutable { gone.reset(); }).join();
    }
  }
};

void budgets(world& w) {
  wick::executor ex(w.engine());
  const bool keeps = w.random.one_in(2);
  larder s{&w, &ex, w.random.below(keeps ? 100'000 : 1000) + 1, keeps};
  const long n = static_cast<long>(w.random.below(200)) + 2;
  {
    wick::detail::scope eaters(ex);
    for (long i = 0; i < n; ++i) {
      eaters.spawn(larder::eat(&s, live(w.alive), w.random.fork(), w.random.below(1000)));
      if (w.random.one_in(5)) {
        const std::size_t wanted = w.random.below(s.limit) + 1;
        wick::detail::byte_account taken;
        if (s.budget.try_acquire(taken, wanted)) {
          const auto bytes = static_cast<long>(wanted);
          s.holders.fetch_add(1);
          w.expect(s.out.fetch_add(bytes) + bytes <= static_cast<long>(s.limit),
                   "more was taken at once than there was");
          s.holders.fetch_sub(1);
          s.out.fetch_sub(bytes);
        }
      }
    }
    eaters.wait();
  }
  w.expect(s.served == n, "each gets its bytes once", s.served.load(), n);
  w.expect(s.budget.used() == 0, "all bytes are back", s.budget.used());
}

struct bedroom {
  world* w;
  std::atomic<int> woke{0}, called_off{0};

  static task<void> sleeper(bedroom* b, live, wick::executor* ex, microseconds d, bool forever,
                            wick::ext::stop_token stop) {
    const auto begun = std::chrono::steady_clock::now();
    try {
      auto sleep =
          forever ? wick::sleep_for(std::chrono::hours(1), {*ex, stop}) : wick::sleep_for(d, {*ex, stop});
      co_await sleep;
      b->w->expect(!forever, "an hour has passed already");
      b->w->expect(std::chrono::steady_clock::now() - begun >= d, "a sleep ended early");
      b->woke.fetch_add(1);
    } catch (const wick::cancelled&) {
      b->called_off.fetch_add(1);
    }
  }
};

/// Stopped by tokens, or by the end of the executor itself.
void sleepers(world& w) {
  const bool abandoned = w.random.one_in(2);
  const int n = w.random.between(1, 60);
  bedroom b{&w};
  wick::detail::stop_source stop;
  std::vector<wick_test::future<void>> futures;
  std::thread stopper;
  {
    wick::executor ex(w.engine());
    for (int i = 0; i < n; ++i) {
      const bool forever = w.random.one_in(3);
      const auto token = forever || w.random.one_in(2) ? stop.token() : wick::ext::stop_token();
      futures.push_back(wick_test::as_future(
          ex, bedroom::sleeper(&b, live(w.alive), &ex, microseconds(w.random.below(1500)), forever, token)));
    }
    if (!abandoned || w.random.one_in(2)) stopper = stops_later(stop, w.random.below(200));
    if (!abandoned) {
      for (auto& f : futures) f.wait();
    }
    if (stopper.joinable()) stopper.join();
  }
  for (auto& f : futures) {
    if (w.expect(f.ready(), "a sleeper was left behind by its executor")) f.get();
  }
  w.expect(b.woke + b.called_off == n, "each sleeper ends once", b.woke.load(), b.called_off.load(), n);
}

/// One awaitable, stopped and served at the same time by different threads.
void races(world& w) {
  wick::executor ex(w.engine());
  for (int round = 0; round < 20; ++round) {
    wick::detail::stop_source stop;
    wick::async_semaphore none(0);
    struct waiter {
      static task<int> run(wick::async_semaphore* s, live, wick::ext::environment env) {
        try {
          auto held = co_await s->acquire(env);
          held.forget();
          co_return 1;
        } catch (const wick::cancelled&) {
          co_return 0;
        }
      }
    };
    std::vector<wick_test::future<int>> futures;
    const int n = w.random.between(1, 4);
    for (int i = 0; i < n; ++i)
      futures.push_back(wick_test::as_future(ex, waiter::run(&none, live(w.alive), {ex, stop.token()})));
    std::thread stopper = stops_later(stop, w.random.below(4));
    const int given = w.random.between(0, n);
    for (int i = 0; i < given; ++i) none.release();
    int got = 0;
    for (auto& f : futures) got += f.get();
    stopper.join();
    w.expect(static_cast<std::size_t>(given - got) == none.available(), "a permit was lost or made", given,
             got, none.available());
  }
}

}  // namespace

std::vector<scenario> waiting_scenarios() {
  return {
      {"locks", "semaphores of one permit and of several held over hops, waits called off", locks},
      {"budgets", "bytes of a byte_budget, too many at once among them, held over hops and split", budgets},
      {"sleepers", "sleep_for that expires, is stopped, or whose executor is destroyed", sleepers},
      {"races", "a permit and a stop that come at the same time", races}};
}

}  // namespace wick_stress

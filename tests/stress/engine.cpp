// The engine itself: executors destroyed with work queued, scopes, blocking calls, the reorder ring, foreign
// threads.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "../support/future.hpp"
#include "world.hpp"
#include <wick/async/async_semaphore.hpp>
#include <wick/async/detail/job.hpp>
#include <wick/async/detail/scope.hpp>
#include <wick/async/detail/sequencer.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace wick_stress {
namespace {

using std::chrono::microseconds;
using wick::task;

/// A job that counts its runs and posts another when it has one.
struct counted_job : wick::detail::job {
  std::atomic<int> runs{0};
  wick::executor* on = nullptr;
  counted_job* follower = nullptr;

  counted_job() {
    execute = [](wick::detail::job* j) noexcept {
      auto* self = static_cast<counted_job*>(j);
      wick::executor* const ex = self->on;
      counted_job* const next = self->follower;
      self->runs.fetch_add(1);
      if (next != nullptr) ex->post(next);
    };
  }
};

struct walker {
  /// Hops, blocks on other threads and ends; `ended` counts it.
  static task<long> run(world* w, live, wick::executor* ex, dice d, std::atomic<int>* ended) {
    long sum = 0;
    try {
      for (int n = d.between(0, 12); n > 0; --n) {
        if (d.one_in(3)) {
          auto blocking = ex->io().run(*ex, [here = live(w->alive)] { return 1L; });
          const long one = co_await blocking;
          sum += one;
        } else {
          co_await ex->schedule();
        }
      }
    } catch (const std::logic_error&) {
      sum = -1;  // a blocking call that begins while the executor is being destroyed is refused
    }
    ended->fetch_add(1);
    co_return sum;
  }
};

/// Destroyed while jobs and coroutines are queued and under way: all of them run to their ends.
void drained(world& w) {
  std::deque<counted_job> jobs(w.random.below(300));
  std::atomic<int> ended{0};
  std::vector<wick_test::future<long>> futures;
  {
    wick::executor ex(w.engine());
    const std::size_t heads = jobs.size() / 3;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].on = &ex;
      if (i + heads < jobs.size() && heads != 0) jobs[i].follower = &jobs[i + heads];
    }
    std::vector<std::thread> foreign;
    const std::size_t threads = w.random.below(3);
    for (std::size_t t = 0; t < threads; ++t) {
      foreign.emplace_back([&, t] {
        for (std::size_t i = t; i < heads; i += threads) ex.post(&jobs[i]);
      });
    }
    for (int n = w.random.between(0, 40); n > 0; --n) {
      futures.push_back(
          wick_test::as_future(ex, walker::run(&w, live(w.alive), &ex, w.random.fork(), &ended)));
    }
    if (threads == 0) {
      for (std::size_t i = 0; i < heads; ++i) ex.post(&jobs[i]);
    }
    for (std::thread& t : foreign) t.join();
  }
  const bool any = jobs.size() / 3 != 0;
  for (const counted_job& j : jobs)
    w.expect(j.runs.load() == (any ? 1 : 0), "each job runs once", j.runs.load());
  for (auto& f : futures) {
    if (w.expect(f.ready(), "the executor left a task behind")) f.get();
  }
  w.expect(ended.load() == static_cast<int>(futures.size()), "each task ends once", ended.load(),
           futures.size());
}

struct brood {
  world* w;
  wick::detail::scope* in;
  std::atomic<int> started{0}, ended{0};
  std::atomic<std::uint64_t> thrown{0};  // how many, and a bit for each id

  static task<void> member(brood* b, live, dice d, int depth) {
    b->started.fetch_add(1);
    struct at_end {
      brood* b;
      ~at_end() { b->ended.fetch_add(1); }
    } const counts{b};
    for (int n = depth > 0 ? d.between(0, 3) : 0; n > 0; --n) {
      auto child = member(b, live(b->w->alive), d.fork(), depth - 1);
      if (d.one_in(2)) {
        b->in->fork(std::move(child));
      } else {
        b->in->spawn(std::move(child));
      }
    }
    switch (d.below(4)) {
      case 0: {
        auto sleep = wick::sleep_for(
            d.one_in(8) ? std::chrono::microseconds(20'000) : microseconds(d.below(300)), *b->in);
        try {
          co_await sleep;
        } catch (const wick::cancelled&) {
          b->w->expect(b->in->stop().stop_requested(), "a sleep was cancelled without a stop");
        }
        break;
      }
      case 1:
        co_await b->in->on().schedule();
        break;
      case 2: {
        const bool fails = d.one_in(5);
        auto blocking = b->in->on().io().run(b->in->on(), [b, fails] {
          if (!fails) return;
          b->thrown.fetch_or(2);
          throw mishap(b->w->alive, 2);
        });
        co_await blocking;
        break;
      }
      default:
        break;
    }
    if (d.one_in(12)) {
      b->thrown.fetch_or(1);
      throw mishap(b->w->alive, 1);
    }
  }
  static task<void> join(wick::detail::scope* s, live) { co_await s->join(); }
};

void scopes(world& w) {
  wick::executor ex(w.engine());
  std::optional<wick::detail::scope> s(std::in_place, ex);
  brood b{&w, &*s};
  for (int n = w.random.between(0, 8); n > 0; --n)
    s->spawn(brood::member(&b, live(w.alive), w.random.fork(), 3));
  if (w.random.one_in(4)) s->request_stop();
  std::uint64_t seen = 0;
  const auto how = w.random.below(3);
  try {
    if (how == 0) s->wait();
    if (how == 1) wick::ext::sync_wait(brood::join(&*s, live(w.alive)));
  } catch (const mishap& m) {
    seen = m.id();
  }
  s.reset();
  w.expect(b.started.load() == b.ended.load(), "all that a scope started has ended", b.started.load(),
           b.ended.load());
  const std::uint64_t thrown = b.thrown.load();
  if (how == 2) return;  // the destructor keeps exceptions for itself
  w.expect((seen == 0) == (thrown == 0), "a scope loses no exception and invents none", seen, thrown);
  w.expect((seen & ~thrown) == 0, "the exception is one that was thrown", seen, thrown);
}

struct calls {
  static task<long> run(world* w, live, wick::executor* ex, dice d) {
    long failed = 0;
    for (int i = 0; i < 10; ++i) {
      const std::uint64_t id = d.next();
      const bool fails = id % 4 == 0;
      auto call = ex->io().run(*ex, [w, id, fails, here = live(w->alive)] {
        if (fails) throw mishap(w->alive, id);
        return id;
      });
      try {
        const std::uint64_t got = co_await call;
        w->expect(!fails && got == id, "a blocking call gives its own value", got, id);
      } catch (const mishap& m) {
        w->expect(fails && m.id() == id, "a blocking call throws its own exception", m.id(), id);
        ++failed;
      }
      w->expect(ex->this_slot() < ex->workers(), "a blocking call continues on a worker", ex->this_slot());
    }
    co_return failed;
  }
};

void blocking(world& w) {
  wick::executor ex(w.engine(w.random.below(4) + 1));
  std::vector<wick_test::future<long>> futures;
  for (int n = w.random.between(1, 20); n > 0; --n) {
    futures.push_back(wick_test::as_future(ex, calls::run(&w, live(w.alive), &ex, w.random.fork())));
  }
  for (auto& f : futures) f.get();
}

/// Numbers are finished in any order and taken in theirs; the window is kept by permits.
struct reorder {
  struct parcel {
    live here;
    std::uint64_t number;
  };
  world* w;
  wick::executor* ex;
  wick::detail::sequencer<parcel> ring;
  wick::async_semaphore window;
  std::atomic<std::uint64_t> next{0};

  reorder(world& of, wick::executor& on, std::size_t capacity)
      : w(&of), ex(&on), ring(capacity), window(ring.capacity()) {}

  static task<void> make(reorder* r, live, dice d, std::uint64_t count) {
    for (;;) {
      auto permit = co_await r->window.acquire({*r->ex});
      permit.forget();  // the consumer gives it back
      const std::uint64_t number = r->next.fetch_add(1);
      if (number >= count) {
        r->window.release();
        co_return;
      }
      switch (d.below(6)) {
        case 0:
          co_await r->ex->schedule();
          break;
        case 1: {
          auto sleep = wick::sleep_for(microseconds(d.below(100)), {*r->ex});
          co_await sleep;
          break;
        }
        case 2: {
          auto blocking = r->ex->io().run(*r->ex, [] {});
          co_await blocking;
          break;
        }
        default:
          break;
      }
      r->ring.publish(number, new parcel{live(r->w->alive), number});
    }
  }
  void took(parcel* p, std::uint64_t expected) {
    const std::unique_ptr<parcel> mine(p);
    w->expect(mine && mine->number == expected, "items come in order",
              mine ? mine->number : ~std::uint64_t{0}, expected);
    window.release();
  }
  static task<void> consume(reorder* r, live, dice d, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i) {
      auto next = r->ring.next(*r->ex);
      parcel* const p = co_await next;
      r->took(p, i);
      if (d.one_in(4)) co_await r->ex->schedule();
    }
  }
};

void sequencers(world& w) {
  wick::executor ex(w.engine());
  reorder r(w, ex, w.random.below(8) + 1);
  const std::uint64_t count = w.random.below(300);
  wick::detail::scope makers(ex);
  for (int n = w.random.between(1, 6); n > 0; --n) {
    makers.spawn(reorder::make(&r, live(w.alive), w.random.fork(), count));
  }
  // In turns a coroutine and a thread.
  for (std::uint64_t at = 0; at < count;) {
    const std::uint64_t to = std::min(count, at + 1 + w.random.below(60));
    if (w.random.one_in(2)) {
      wick::ext::sync_wait(reorder::consume(&r, live(w.alive), w.random.fork(), at, to));
    } else {
      for (std::uint64_t i = at; i < to; ++i) {
        reorder::parcel* p = w.random.one_in(3) ? r.ring.try_take() : nullptr;
        r.took(p != nullptr ? p : r.ring.take(), i);
      }
    }
    at = to;
  }
  makers.wait();
}

/// Threads that are no workers: they wait for tasks, each its own, on two executors at once.
void foreign(world& w) {
  wick::executor a(w.engine()), b(w.engine());
  struct ping {
    static task<int> run(wick::executor* x, wick::executor* y, live, int n) {
      int hops = 0;
      for (; hops < n; ++hops) {
        co_await x->schedule();
        if (x->this_slot() >= x->workers()) co_return -1;
        co_await y->schedule();
        if (y->this_slot() >= y->workers()) co_return -1;
      }
      co_return hops;
    }
  };
  std::vector<std::thread> threads;
  for (int t = w.random.between(1, 4); t > 0; --t) {
    threads.emplace_back([&, d = w.random.fork()]() mutable {
      for (int i = 0; i < 20; ++i) {
        const int n = d.between(0, 10);
        const int hops = d.one_in(2) ? wick::ext::sync_wait(ping::run(&a, &b, live(w.alive), n))
                                     : wick_test::as_future(b, ping::run(&b, &a, live(w.alive), n)).get();
        w.expect(hops == n, "a task that hops between executors is where it says", hops, n);
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace

std::vector<scenario> engine_scenarios() {
  return {
      {"drained", "an executor destroyed with jobs, tasks and blocking calls queued and under way", drained},
      {"scopes", "tasks that spawn tasks into their scope; exceptions, stops, all three ways to end it",
       scopes},
      {"blocking", "io() calls that give values and throw, on other threads", blocking},
      {"reorder", "a sequencer whose items come in any order, taken by threads and coroutines in turns",
       sequencers},
      {"foreign", "threads that wait for tasks which hop between two executors", foreign}};
}

}  // namespace wick_stress

// Trees of tasks: awaited in turn or all at once; with exceptions, hops, sleeps and stops anywhere.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/future.hpp"
#include "world.hpp"
#include <wick/async/executor.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/async/when_all.hpp>

namespace wick_stress {
namespace {

using std::chrono::microseconds;
using wick::task;

/// How a task ended, noted by the task itself, to be compared with what its awaiter saw.
struct ending {
  enum kinds { none, value, thrown, cancelled } how = none;
  long number = 0;
  std::uint64_t id = 0;
};

struct tree {
  world* w;
  wick::executor* ex;
  std::atomic<std::uint64_t> ids{1};
  std::atomic<int> room{300};  // nodes that may still be made

  static task<long> recorded(task<long> inner, ending* e) {
    try {
      const long v = co_await inner;
      e->how = ending::value;
      e->number = v;
      co_return v;
    } catch (const mishap& m) {
      e->how = ending::thrown;
      e->id = m.id();
      throw;
    } catch (const wick::cancelled&) {
      e->how = ending::cancelled;
      throw;
    }
  }

  static task<long> pause(tree* t, dice d, wick::ext::stop_token stop) {
    switch (d.below(8)) {
      case 0:
      case 1:
        co_await t->ex->schedule();
        break;
      case 2: {
        auto sleep = wick::sleep_for(microseconds(d.below(200)), {*t->ex, stop});
        co_await sleep;
        break;
      }
      case 3: {
        auto blocking = t->ex->io().run(*t->ex, [n = static_cast<long>(d.below(100))] { return n; });
        const long n = co_await blocking;
        co_return n;
      }
      default:
        break;
    }
    co_return 0;
  }

  static task<long> hour(tree* t, live, wick::ext::stop_token stop) {
    auto sleep = wick::sleep_for(std::chrono::hours(1), {*t->ex, stop});
    co_await sleep;
    t->w->expect(false, "a sleep of an hour ended by itself");
    co_return 0;
  }

  static task<long> node(tree* t, live here, dice d, int depth, wick::ext::stop_token stop) {
    const live local(here);
    const long extra = co_await pause(t, d.fork(), stop);
    if (d.one_in(10)) throw mishap(t->w->alive, t->ids.fetch_add(1));
    if (depth == 0 || t->room.fetch_sub(1) <= 0) co_return extra + 1;
    auto children = t->children(d, depth, stop);
    const long below = co_await children;
    co_return below + extra + 1;
  }
  task<long> children(dice& d, int depth, wick::ext::stop_token stop) {
    switch (d.below(3)) {
      case 0:
        return in_turn(this, d.fork(), depth, stop);
      case 1:
        return all(this, d.fork(), depth, stop);
      default:
        return three(this, d.fork(), depth, stop);
    }
  }
  task<long> child(dice& d, std::atomic<long>& alive, int depth, wick::ext::stop_token stop, ending* e) {
    task<long> inner = node(this, live(alive), d.fork(), depth - 1, stop);
    if (d.one_in(2)) inner = wick::detail::starts_on(*ex, std::move(inner));
    return recorded(std::move(inner), e);
  }

  static task<long> in_turn(tree* t, dice d, int depth, wick::ext::stop_token stop) {
    long sum = 0;
    const int n = d.between(1, 4);
    for (int i = 0; i < n; ++i) {
      std::atomic<long> alive{0};
      ending e;
      {
        auto child = t->child(d, alive, depth, stop, &e);
        try {
          const long v = co_await child;
          t->w->expect(e.how == ending::value && e.number == v, "an awaited value is the child's", v,
                       e.number, e.how);
          sum += v;
        } catch (const mishap& m) {
          t->w->expect(e.how == ending::thrown && e.id == m.id(), "an exception is the child's", m.id(), e.id,
                       e.how);
          if (d.one_in(3)) throw;
        } catch (const wick::cancelled&) {
          t->w->expect(e.how == ending::cancelled && stop.stop_requested(), "cancelled only by a stop",
                       e.how);
          throw;
        }
      }
      t->w->expect(alive.load() == 0, "frames of an awaited child are alive", alive.load());
    }
    co_return sum;
  }

  /// What is common to several at once: what the awaiter saw must have been one of the endings, and all have
  /// ended.
  void settle(const std::vector<ending>& of, const std::atomic<long>& alive, const ending& seen,
              wick::ext::stop_token outer) {
    bool known = seen.how != ending::thrown;
    for (const ending& e : of) {
      w->expect(e.how != ending::none, "a sibling had not ended when its awaiter went on");
      known = known || (e.how == ending::thrown && e.id == seen.id);
    }
    w->expect(known, "the exception is one of the siblings'", seen.id);
    w->expect(seen.how != ending::cancelled || outer.stop_requested(),
              "cancelled, though nobody outside asked for it");
    w->expect(alive.load() == 0, "frames of siblings are alive when their awaiter goes on", alive.load());
  }

  static task<long> all(tree* t, dice d, int depth, wick::ext::stop_token stop) {
    std::atomic<long> alive{0};
    std::vector<ending> endings(d.below(5));
    ending seen{ending::value};
    {
      std::vector<task<long>> tasks;
      for (ending& e : endings) tasks.push_back(t->child(d, alive, depth, stop, &e));
      auto together = wick::when_all(std::move(tasks));
      try {
        auto values = co_await together;
        if (t->w->expect(values.size() == endings.size(), "as many values as tasks", values.size())) {
          for (std::size_t i = 0; i < values.size(); ++i) {
            t->w->expect(endings[i].how == ending::value && endings[i].number == values[i],
                         "each value is its task's");
            seen.number += values[i];
          }
        }
      } catch (const mishap& m) {
        seen = {ending::thrown, 0, m.id()};
      } catch (const wick::cancelled&) {
        seen = {ending::cancelled};
      }
    }
    t->settle(endings, alive, seen, stop);
    co_return t->pass_on(seen, d);
  }

  static task<long> three(tree* t, dice d, int depth, wick::ext::stop_token stop) {
    std::atomic<long> alive{0};
    std::vector<ending> endings;
    endings.reserve(2);  // the child writes into the first
    endings.emplace_back();
    ending seen{ending::value};
    {
      auto child = t->child(d, alive, depth, stop, &endings[0]);
      auto sleep = wick::sleep_for(microseconds(d.below(300)), {*t->ex, stop});
      const bool fails = d.one_in(6);
      const std::uint64_t id = t->ids.fetch_add(1);
      if (fails) endings.push_back({ending::thrown, 0, id});
      auto blocking = t->ex->io().run(*t->ex, [w = t->w, fails, id] {
        if (fails) throw mishap(w->alive, id);
        return 7L;
      });
      auto together = wick::when_all(std::move(child), std::move(sleep), std::move(blocking));
      try {
        auto values = co_await together;
        t->w->expect(std::get<0>(values) == endings[0].number && std::get<2>(values) == 7,
                     "three values, each its own");
        seen.number = std::get<0>(values);
      } catch (const mishap& m) {
        seen = {ending::thrown, 0, m.id()};
      } catch (const wick::cancelled&) {
        seen = {ending::cancelled};
      }
      t->w->expect(!fails || seen.how != ending::value, "an exception of a blocking call was lost");
    }
    t->settle(endings, alive, seen, stop);
    co_return t->pass_on(seen, d);
  }

  /// A value, or an exception that is thrown on or taken as done with.
  long pass_on(const ending& seen, dice& d) {
    if (seen.how == ending::cancelled) throw wick::cancelled();
    if (seen.how == ending::thrown && d.one_in(2)) throw mishap(w->alive, seen.id);
    return seen.number;
  }
};

void trees(world& w) {
  wick::executor ex(w.engine());
  wick::detail::stop_source stop;
  tree t{&w, &ex};
  std::vector<ending> endings(w.random.below(4) + 1);
  std::vector<wick_test::future<long>> roots;
  for (ending& e : endings)
    roots.push_back(
        wick_test::as_future(ex, t.child(w.random, w.alive, w.random.between(1, 6), stop.token(), &e)));
  std::thread stopper;
  if (w.random.one_in(2)) {
    stopper = std::thread([&stop, rounds = w.random.below(300)] {
      for (std::uint64_t i = 0; i < rounds; ++i) std::this_thread::yield();
      stop.request_stop();
    });
  }
  for (std::size_t i = 0; i < roots.size(); ++i) {
    ending seen{ending::value};
    try {
      seen.number = roots[i].get();
    } catch (const mishap& m) {
      seen = {ending::thrown, 0, m.id()};
    } catch (const wick::cancelled&) {
      seen = {ending::cancelled};
      w.expect(stop.stop_requested(), "a tree was cancelled though nobody stopped it");
    }
    w.expect(seen.how == endings[i].how && seen.number == endings[i].number && seen.id == endings[i].id,
             "a future gives what its task ended with", seen.how, endings[i].how);
  }
  if (stopper.joinable()) stopper.join();
}

}  // namespace

std::vector<scenario> tree_scenarios() {
  return {{"trees", "tasks that await others in turn or all at once; exceptions and stops anywhere", trees}};
}

}  // namespace wick_stress

// Loaders: samples that suspend and fail at random; destroyed, left, resumed and sent to another epoch at any
// moment.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "world.hpp"
#include <wick/async/detail/scope.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/memory.hpp>

namespace wick_stress {
namespace {

using wick::task;

/// What the stages of one scenario's loaders do. Outcomes depend on epoch and sample alone, delays on the
/// position.
struct plan {
  world* w;
  std::uint64_t salt;
  std::uint64_t fails_one_in;  // 0: never
  std::uint64_t size;
  std::uint64_t stuck_from =
      ~std::uint64_t{0};  // positions from here on wait for an hour: who leaves must wake them

  bool fails(std::uint64_t epoch, std::uint64_t index) const {
    return fails_one_in != 0 && dice(salt ^ (epoch * 1'000'003 + index)).one_in(fails_one_in);
  }
  std::uint64_t failures(std::uint64_t epoch) const {
    std::uint64_t n = 0;
    for (std::uint64_t i = 0; i < size; ++i) n += fails(epoch, i) ? 1 : 0;
    return n;
  }
};

/// A sample that counts itself: from the first stage to the consumer.
struct item {
  live here;
  std::int64_t id;
  std::uint64_t drawn = 0;
};

using cell = wick::sample<std::array<std::uint8_t, 8>>;

struct delays {
  const plan* p;
  static task<item> run(const plan* p, live here, std::int64_t id, wick::context& c) {
    const live local(here);
    switch (c.random().below(8)) {
      case 0:
        co_await c.on()->schedule();
        break;
      case 1: {
        auto sleep = wick::sleep_for(std::chrono::microseconds(c.random().below(200)), c);
        co_await sleep;
        break;
      }
      case 2: {
        auto blocking = c.on()->io().run(*c.on(), [here] { return 1; });
        const int one = co_await blocking;
        id += one - 1;
        break;
      }
      default:
        break;
    }
    if (c.position() >= p->stuck_from) {
      auto sleep = wick::sleep_for(std::chrono::hours(1), c);
      co_await sleep;
    }
    co_return item{here, id, c.random().below(1'000'000)};
  }
  task<item> operator()(std::int64_t id, wick::context& c) const { return run(p, live(p->w->alive), id, c); }
};

struct mishaps {
  const plan* p;
  item operator()(item i, wick::context& c) const {
    if (p->fails(c.epoch(), c.index())) {
      if (i.id % 2 == 0) throw mishap(p->w->alive, static_cast<std::uint64_t>(i.id));
      throw std::runtime_error("sample " + std::to_string(i.id) + " is bad");
    }
    return i;
  }
};

struct to_cell {
  cell operator()(item i) const {
    cell c{{}, i.id};
    for (std::size_t b = 0; b < 8; ++b) c.data[b] = static_cast<std::uint8_t>(i.drawn >> b);
    return c;
  }
};

auto source_of(const plan& p) {
  std::vector<std::int64_t> ids(p.size);
  std::iota(ids.begin(), ids.end(), std::int64_t{0});
  return wick::in_memory(std::move(ids));
}
auto singles(const plan& p) {
  return source_of(p) | wick::shuffle() | wick::map("delays", delays{&p}) | wick::map("mishaps", mishaps{&p});
}
auto batches(const plan& p, std::int64_t n) {
  return source_of(p) | wick::shuffle() | wick::map("delays", delays{&p}) |
         wick::map("mishaps", mishaps{&p}) | wick::map("cell", to_cell{}) | wick::array_batch(n);
}
using single_loader = decltype(wick::loader(singles(std::declval<const plan&>())));
using batch_loader = decltype(wick::loader(batches(std::declval<const plan&>(), 1)));

plan draw_plan(world& w, std::uint64_t most = 400) {
  return {&w, w.random.next(), w.random.one_in(2) ? 0 : w.random.below(40) + 2, w.random.below(most) + 1};
}
wick::loader_options draw_options(world& w, wick::executor* on, std::uint64_t seed) {
  static constexpr std::optional<std::size_t> in_flight[] = {{}, 1, 2, 7}, prefetch[] = {{}, 1, 2, 3, 4};
  return {.seed = seed,
          .prefetch = prefetch[w.random.below(5)],
          .in_flight = in_flight[w.random.below(4)],
          .prefetch_next_epoch = w.random.one_in(2),
          .executor = on};
}

/// A sample or a failure, as a consumer sees it: ids, and -1 - position for failures.
using trace = std::vector<std::int64_t>;

struct book {
  const plan* p;
  std::map<std::uint64_t, trace> first;  // of each epoch that was seen to its end

  /// Takes up to `most`, in a plain loop; whether the epoch is over.
  static bool take(single_loader& from, std::uint64_t most, trace& into) {
    for (std::uint64_t n = 0; n < most; ++n) {
      try {
        const auto i = from.next();
        if (!i) return true;
        into.push_back(i->id);
      } catch (const wick::sample_error& e) {
        into.push_back(-1 - static_cast<std::int64_t>(e.position()));
      }
    }
    return false;
  }
  /// The same in a coroutine.
  static task<bool> take_async(single_loader* from, live, std::uint64_t most, trace* into) {
    for (std::uint64_t n = 0; n < most; ++n) {
      auto taking = from->next_async();
      try {
        const auto i = co_await taking;
        if (!i) co_return true;
        into->push_back(i->id);
      } catch (const wick::sample_error& e) {
        into->push_back(-1 - static_cast<std::int64_t>(e.position()));
      }
    }
    co_return false;
  }

  void check_whole(std::uint64_t epoch, const trace& t) {
    world& w = *p->w;
    w.expect(t.size() == p->size, "an epoch has as many samples as the source", epoch, t.size(), p->size);
    std::vector<int> seen(p->size);
    std::uint64_t failed = 0;
    for (const std::int64_t id : t) {
      if (id < 0)
        ++failed;
      else if (w.expect(static_cast<std::uint64_t>(id) < p->size, "a sample that the source has not", id))
        ++seen[static_cast<std::size_t>(id)];
    }
    for (std::uint64_t i = 0; i < p->size; ++i) {
      w.expect(seen[i] == (p->fails(epoch, i) ? 0 : 1), "each sample is seen once, or fails", i, seen[i]);
    }
    w.expect(failed == p->failures(epoch), "each failing sample is told", failed, p->failures(epoch));
    check_begin(epoch, t);
    first.try_emplace(epoch, t);
  }
  /// The part taken of an epoch is how it began the other times.
  void check_begin(std::uint64_t epoch, const trace& t) {
    const auto known = first.find(epoch);
    if (known == first.end()) return;
    p->w->expect(t.size() <= known->second.size() && std::equal(t.begin(), t.end(), known->second.begin()),
                 "an epoch has the same order each time", epoch);
  }
};

/// Whole epochs, parts of epochs, one epoch after another in any order; loops and coroutines in turns.
void epochs(world& w) {
  const plan p = draw_plan(w);
  book b{&p, {}};
  const std::uint64_t seed = w.random.next();
  for (int loaders = w.random.between(1, 2); loaders > 0; --loaders) {
    std::optional<wick::executor> ex(std::in_place, w.engine());
    {
      single_loader l(singles(p), draw_options(w, &*ex, seed));
      std::uint64_t told = 0;
      for (int n = w.random.between(1, 5); n > 0; --n) {
        const std::uint64_t epoch = w.random.below(4);
        const std::uint64_t most = w.random.one_in(2) ? p.size + 1 : w.random.below(p.size + 1);
        l.epoch(epoch);
        trace t;
        const bool whole = w.random.one_in(2)
                               ? book::take(l, most, t)
                               : wick::ext::sync_wait(book::take_async(&l, live(w.alive), most, &t));
        if (whole)
          b.check_whole(epoch, t);
        else
          b.check_begin(epoch, t);
        told += static_cast<std::uint64_t>(std::count_if(t.begin(), t.end(), [](auto id) { return id < 0; }));
      }
      // Failures are written down by groups of samples, so those of a group that was begun may be there
      // already.
      w.expect(l.failure_log().total() >= told, "each failure is in the failure log", l.failure_log().total(),
               told);
    }
    w.expect(w.alive.load() == 0, "a loader that is gone left frames or items behind", w.alive.load());
  }
}

/// Batches: a failing sample fails its batch and no other, and every failure is in the failure log.
void batched(world& w) {
  const plan p = draw_plan(w);
  wick::executor ex(w.engine());
  const auto n = static_cast<std::int64_t>(w.random.below(40) + 1);
  {
    batch_loader l(batches(p, n), draw_options(w, &ex, w.random.next()));
    for (std::uint64_t epoch = 0; epoch < w.random.below(3) + 1; ++epoch) {
      const std::uint64_t before = l.failure_log().total();
      std::vector<int> seen(p.size);
      std::uint64_t good = 0, bad = 0;
      l.epoch(epoch);
      for (;;) {
        try {
          const auto batch = l.next();
          if (!batch) break;
          ++good;
          const std::int64_t* const ids = batch->target.template as<std::int64_t>();
          for (std::int64_t i = 0; i < batch->target.extents()[0]; ++i) {
            if (w.expect(ids[i] >= 0 && static_cast<std::uint64_t>(ids[i]) < p.size, "an id of the source",
                         ids[i])) {
              ++seen[static_cast<std::size_t>(ids[i])];
            }
          }
        } catch (const wick::sample_error&) {
          ++bad;
        }
      }
      w.expect(good + bad == l.batches(), "each batch is given or has failed", good, bad, l.batches());
      const std::uint64_t failures = p.failures(epoch);
      w.expect(l.failure_log().total() - before == failures, "each failing sample is in the failure log once",
               l.failure_log().total() - before, failures);
      w.expect((bad == 0) == (failures == 0) && bad <= failures, "a batch fails for a sample", bad, failures);
      for (std::uint64_t i = 0; i < p.size; ++i) {
        w.expect(seen[i] <= (p.fails(epoch, i) ? 0 : 1), "no sample twice, none that failed", i, seen[i]);
        w.expect(failures != 0 || seen[i] == 1, "each sample once", i, seen[i]);
      }
    }
  }
  w.expect(w.alive.load() == 0, "a loader that is gone left frames or items behind", w.alive.load());
}

/// Takes batches in a coroutine until `leave` is set.
task<void> consume(batch_loader* from, live, const std::atomic<bool>* leave) {
  while (!leave->load()) {
    auto taking = from->next_async();
    try {
      const auto batch = co_await taking;
      if (!batch) co_return;
    } catch (const wick::sample_error&) {
    }
  }
}

/// Destroyed at any moment: before anything, in mid-epoch with samples that would wait for an hour, right
/// after a next_async that another thread was in, with a next_async made and never awaited.
void left(world& w) {
  plan p = draw_plan(w, 2000);
  const auto n = w.random.below(40) + 1;
  const std::uint64_t taken = w.random.below(6);
  if (w.random.one_in(2)) p.stuck_from = taken * n;
  std::optional<wick::executor> ex;
  if (w.random.one_in(2)) ex.emplace(w.engine());
  auto options = draw_options(w, ex ? &*ex : nullptr, w.random.next());
  if (!ex) {
    options.workers = w.workers();
    options.io_threads = 2;
  }
  {
    std::optional<batch_loader> l(std::in_place, batches(p, static_cast<std::int64_t>(n)), options);
    switch (w.random.below(4)) {
      case 0:
        break;
      case 1: {
        for (std::uint64_t i = 0; i < std::min(taken, l->batches()); ++i) {
          try {
            (void)l->next();
          } catch (const wick::sample_error&) {
          }
        }
        break;
      }
      case 2: {
        const auto never = l->next_async();
        l->epoch(w.random.below(2));
        break;
      }
      default: {
        if (p.stuck_from != ~std::uint64_t{0}) break;  // it would wait for samples that do
        std::atomic<bool> leave{false};
        wick::detail::scope s(l->on());
        s.spawn(consume(&*l, live(w.alive), &leave));
        for (std::uint64_t i = w.random.below(100); i > 0; --i) std::this_thread::yield();
        leave.store(true);
        s.wait();
        break;
      }
    }
    if (w.random.one_in(3)) l->epoch(w.random.below(5));  // another epoch, and destroyed at once
  }
  w.expect(w.alive.load() == 0, "a loader that is gone left frames or items behind", w.alive.load());
}

/// Left in mid-epoch and continued from its state by a loader of another number of workers: no sample lost,
/// none twice.
void resumed(world& w) {
  const plan p = draw_plan(w, 200);
  const std::uint64_t seed = w.random.next(), epoch = w.random.below(3);
  trace whole, t;
  {
    wick::executor ex(w.engine());
    single_loader l(singles(p), draw_options(w, &ex, seed));
    l.epoch(epoch);
    book::take(l, p.size + 1, whole);
  }
  std::vector<std::byte> state;
  bool over = false;
  while (!over) {
    wick::executor ex(w.random.below(4) + 1);
    single_loader l(singles(p), draw_options(w, &ex, seed));
    if (state.empty()) {
      l.epoch(epoch);
    } else {
      l.load_state(state);
      if (l.current_epoch() != epoch) break;  // the part before went exactly to the end
      if (w.random.one_in(2)) l.epoch(l.current_epoch());
    }
    over = book::take(l, w.random.below(p.size) + 1, t);
    state = l.state();
  }
  w.expect(t == whole, "an epoch in parts is the epoch", t.size(), whole.size());
  book{&p, {}}.check_whole(epoch, t);
}

/// Two loaders and tasks of the user's on one executor, at the same time.
void shared(world& w) {
  const plan p = draw_plan(w, 200), q = draw_plan(w, 200);
  wick::executor ex(w.engine());
  {
    single_loader a(singles(p), draw_options(w, &ex, 1));
    batch_loader b(batches(q, 8), draw_options(w, &ex, 2));
    struct consumer {
      static task<void> run(single_loader* from, live here, trace* into) {
        auto all = book::take_async(from, here, ~std::uint64_t{0}, into);
        co_await all;
      }
    };
    trace t;
    const std::atomic<bool> never{false};
    wick::detail::scope s(ex);
    s.spawn(consumer::run(&a, live(w.alive), &t));
    s.spawn(consume(&b, live(w.alive), &never));
    s.wait();
    book{&p, {}}.check_whole(0, t);
    w.expect(b.failure_log().total() == q.failures(0), "each failing sample is in the failure log once",
             b.failure_log().total());
  }
  w.expect(w.alive.load() == 0, "loaders that are gone left frames or items behind", w.alive.load());
}

}  // namespace

std::vector<scenario> loader_scenarios() {
  return {{"epochs", "whole and broken epochs in any order, by loops and coroutines", epochs},
          {"batched", "samples that fail their batch and are in the failure log", batched},
          {"left", "a loader destroyed at any moment, with samples that would wait for an hour", left},
          {"resumed", "an epoch in parts, each by a loader that goes on from the last one's state", resumed},
          {"shared", "two loaders and their consumers on one executor", shared}};
}

}  // namespace wick_stress

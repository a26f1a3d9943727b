// All of the executor but its threads: post, search, look again, sleep, stop.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "faults.hpp"
#include "spared.hpp"
#include "support/doctest.hpp"
#include "support/interleaving.hpp"
#include <wick/async/detail/run_queues.hpp>

using namespace wick_test::interleaving;

namespace {

using queues = wick::detail::basic_run_queues<model>;
using flag = wick::detail::basic_wake_flag<model>;

/// Each job has a payload that must be there; job i of the first half posts job i of the second half from its
/// worker.
struct world;
struct job : wick::detail::job {
  world* of = nullptr;
  job* posts = nullptr;
  std::array<job*, 3> posts_more{};
  plain<int> payload;
  int ran = 0;
  flag* waits_for = nullptr;
  flag* sets = nullptr;
};

struct world {
  /// \param patience  0: who finds nothing always naps a few times before it sleeps
  world(std::size_t workers, std::size_t capacity, std::uint32_t patience) : q(workers, capacity, patience) {
    for (job& j : jobs) {
      j.of = this;
      j.execute = [](wick::detail::job* base) noexcept {
        auto* self = static_cast<job*>(base);
        const std::size_t number = self->of->worker;  // before another fiber may continue
        expect(self->payload.read() == 1, "a job ran before its payload was there");
        expect(++self->ran == 1, "a job ran twice");
        if (self->posts != nullptr) {
          self->posts->payload.write(1);
          self->of->q.post(self->posts, number);
        }
        for (job* more : self->posts_more) {
          if (more == nullptr) break;
          more->payload.write(1);
          self->of->q.post(more, number);
        }
        if (self->waits_for != nullptr) self->waits_for->wait();
        if (self->sets != nullptr) self->sets->set();
      };
    }
  }
  void work(std::size_t number) {
    while (wick::detail::job* j = q.next(number)) {
      worker = number;  // read before the next point where another fiber may continue
      j->execute(j);
    }
  }
  void post(job& j) {
    j.payload.write(1);
    q.post(&j, ~std::size_t{0});
  }
  queues q;
  std::array<job, 8> jobs;
  std::size_t worker = 0;
};

constexpr std::uint32_t never = 1'000'000;

/// So many jobs from outside, each posting another, then the stop: all are run.
void until_stopped(std::size_t workers, std::size_t capacity, std::size_t outside, bool nested,
                   std::uint32_t patience = never) {
  world w(workers, capacity, patience);
  for (std::size_t i = 0; i < outside && nested; ++i) w.jobs[i].posts = &w.jobs[outside + i];
  for (std::size_t n = 0; n < workers; ++n) spawn([&, n] { w.work(n); });
  spawn([&] {
    for (std::size_t i = 0; i < outside; ++i) w.post(w.jobs[i]);
    w.q.stop();
  });
  join();
  for (std::size_t i = 0; i < outside * (nested ? 2u : 1u); ++i) expect(w.jobs[i].ran == 1, "a job was lost");
}

/// The stop comes only when the job has run: a wake-up that is lost leaves everybody asleep.
void one_by_one(std::size_t workers, int count, std::uint32_t patience = never) {
  world w(workers, 1, patience);
  std::array<flag, 2> ran;
  for (std::size_t n = 0; n < workers; ++n) spawn([&, n] { w.work(n); });
  spawn([&] {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      w.jobs[i].sets = &ran[i];
      w.post(w.jobs[i]);
      ran[i].wait();
    }
    w.q.stop();
  });
  join();
}

/// The first job waits for the second: it must not lie there while the other worker sleeps, whichever
/// thread posted it.
void two_at_once(bool from_worker, std::uint32_t patience = never) {
  world w(2, 1, patience);
  flag second, both;
  w.jobs[0].waits_for = &second;
  w.jobs[0].sets = &both;
  w.jobs[1].sets = &second;
  if (from_worker) w.jobs[0].posts = &w.jobs[1];
  for (std::size_t n = 0; n < 2; ++n) spawn([&, n] { w.work(n); });
  spawn([&] {
    w.post(w.jobs[0]);
    if (!from_worker) w.post(w.jobs[1]);
    both.wait();
    w.q.stop();
  });
  join();
}

void outside() { two_at_once(false); }
void from_worker() { two_at_once(true); }
void from_worker_with_naps() { two_at_once(true, 0); }
/// Two lie in a worker's queue when another comes: it takes both.
void several_at_once() {
  world w(2, 4, never);
  for (std::size_t i = 0; i < 3; ++i) w.jobs[0].posts_more[i] = &w.jobs[1 + i];
  spawn([&] { w.work(0); });
  spawn([&] { w.work(1); });
  spawn([&] {
    w.post(w.jobs[0]);
    w.q.stop();
  });
  join();
  for (std::size_t i = 0; i < 4; ++i) expect(w.jobs[i].ran == 1, "a job was lost");
}

/// The queues are destroyed as soon as the jobs have run and the workers have ended, by a thread that knows
/// nothing of those that have posted them.
void gone_after_the_last_job(std::size_t workers, std::size_t posters) {
  auto w = std::make_unique<world>(workers, 1, never);
  std::array<flag, 2> ran, ended;
  for (std::size_t n = 0; n < workers; ++n) {
    spawn([&, n] {
      w->work(n);
      ended[n].set();
    });
  }
  for (std::size_t i = 0; i < posters; ++i) {
    w->jobs[i].sets = &ran[i];
    spawn([of = w.get(), i] { of->post(of->jobs[i]); });
  }
  spawn([&] {
    for (std::size_t i = 0; i < posters; ++i) ran[i].wait();
    w->q.stop();
    for (std::size_t n = 0; n < workers; ++n) ended[n].wait();
    w->q.wait_for_posters();
    w.reset();
  });
  join();
}

const scenarios all{[] { until_stopped(1, 1, 1, true); },
                    [] { until_stopped(2, 1, 1, false); },
                    [] { one_by_one(1, 1); },
                    [] { one_by_one(2, 2); },
                    outside,
                    from_worker,
                    from_worker_with_naps,
                    several_at_once,
                    [] { gone_after_the_last_job(2, 2); },
                    [] { until_stopped(2, 2, 2, true, 0); }};

}  // namespace

TEST_CASE("whatever was posted before the stop is run, in every interleaving") {
  for (const bool nested : {false, true}) {
    const outcome o =
        explore({.preemptions = 2, .stale_reads = 1}, [&] { until_stopped(1, 1, nested ? 1 : 2, nested); });
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
  const outcome two = explore({.preemptions = 1, .stale_reads = 1}, [&] { until_stopped(2, 1, 1, false); });
  CHECK_MESSAGE(!two.failed, two.report());
  CHECK(two.complete);
}

TEST_CASE("no job lies there while a worker sleeps, in every interleaving") {
  for (const std::size_t workers : {1u, 2u}) {
    const outcome o =
        explore({.preemptions = workers == 1 ? 2u : 1u, .stale_reads = 1}, [&] { one_by_one(workers, 1); });
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
  for (const auto body : {&outside, &from_worker}) {
    const outcome o = explore({.preemptions = 1, .stale_reads = 1}, body);
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
}

TEST_CASE("the same with more workers and jobs in random interleavings, own queues of 1, 2 and 4") {
  for (const std::size_t capacity : {1u, 2u, 4u}) {
    for (const std::uint32_t patience : {0u, 1u, never}) {
      const outcome o =
          explore({.random_runs = 5'000}, [&] { until_stopped(3, capacity, 4, true, patience); });
      CHECK_MESSAGE(!o.failed, o.report());
    }
  }
  for (const auto body : {&outside, &from_worker, &from_worker_with_naps, &several_at_once}) {
    const outcome o = explore({.random_runs = 10'000}, body);
    CHECK_MESSAGE(!o.failed, o.report());
  }
  for (const std::uint32_t patience : {0u, never}) {
    const outcome o = explore({.random_runs = 10'000}, [patience] { one_by_one(2, 2, patience); });
    CHECK_MESSAGE(!o.failed, o.report());
  }
}

TEST_CASE("the queues may go once the last job has run, wherever the thread is that posted it") {
  const outcome one = explore({.preemptions = 2, .stale_reads = 1}, [] { gone_after_the_last_job(1, 1); });
  CHECK_MESSAGE(!one.failed, one.report());
  CHECK(one.complete);
  const outcome two = explore({.random_runs = 10'000}, [] { gone_after_the_last_job(2, 2); });
  CHECK_MESSAGE(!two.failed, two.report());
}

TEST_CASE("each order of memory, and each operation, of visitors is needed") {
  const scenarios bodies{[] { gone_after_the_last_job(1, 1); }, [] { gone_after_the_last_job(1, 2); }};
  each_order_is_needed("async/detail/visitors.hpp", bodies, {});
  each_operation_is_needed("async/detail/visitors.hpp", bodies, {});
}

TEST_CASE("the sleep protocol's faults are found") {
  // The second look does not see what lies in the workers' own queues.
  CHECK(found({{"empty", operation::load, fault::as_zero, {}, 0, "steal_queue.hpp"}}, from_worker).failed);
  // Only a look whether a worker sleeps, which may be of before it fell asleep.
  CHECK(found({{"notify", operation::rmw, fault::as_load}}, outside).failed);
  CHECK(found({{"wake_for", operation::wake, fault::dropped}}, outside).failed);
  CHECK(found({{"retire", operation::rmw, fault::weaker, std::memory_order_relaxed}}, from_worker).failed);
  // The stop is not seen, or seen before the posted jobs.
  CHECK(found({{"stop", operation::store, fault::dropped}}, [] { one_by_one(1, 1); }).failed);
}

TEST_CASE("each order of memory in the run queues' own code is needed: a weaker one is found") {
  each_order_is_needed("async/detail/run_queues.hpp", all, {}, {"stolen"});
}

TEST_CASE("each operation in the run queues' own code is needed: a fault in it is found") {
  each_operation_is_needed("async/detail/run_queues.hpp", all, {});
}

TEST_CASE("what the parts' orders need not be, they need not be for the workers: all of them at once") {
  std::vector<fault> faults;
  const auto add = [&](std::string_view file, const spared& table) {
    const std::vector<fault> more = weakened(sites_in(file, all), table);
    CHECK(!more.empty());
    faults.insert(faults.end(), more.begin(), more.end());
  };
  add("event_count.hpp", spared_in_event_count);
  add("steal_queue.hpp", spared_in_steal_queue);
  add("injector.hpp", spared_in_injector);
  add("futex.hpp", spared_in_wake_flag);
  for (const auto& body : all) {
    const outcome o = explore({.random_runs = 10'000, .faults = faults}, body);
    CHECK_MESSAGE(!o.failed, o.report());
  }
}

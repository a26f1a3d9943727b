#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <deque>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <wick/async/detail/run_queues.hpp>
#include <wick/async/detail/scope.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/base/detail/cpus.hpp>

#ifdef __linux__
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "../support/doctest.hpp"
#include "../support/future.hpp"
#include "../support/in_a_child.hpp"
#include "../support/sanitized.hpp"
#include "support.hpp"

namespace wick_test::executor_tests {

using wick::executor;
using wick::task;
using wick_test::call;
using wick_test::countdown;
using wick_test::gate;
using wick_test::rounds;

namespace {

/// Jobs that each count how often they ran.
class crowd {
 public:
  explicit crowd(std::size_t n) : ran_(n), done(n) {
    for (std::size_t i = 0; i < n; ++i) {
      jobs_.emplace_back([this, i] {
        ran_[i].fetch_add(1);
        done.down();
      });
    }
  }
  wick::detail::job& operator[](std::size_t i) { return jobs_[i]; }
  std::size_t size() const { return jobs_.size(); }
  bool each_once() const {
    std::size_t once = 0;
    for (const auto& n : ran_) once += n.load() == 1;
    return once == jobs_.size();
  }

 private:
  std::deque<call> jobs_;
  std::vector<std::atomic<int>> ran_;

 public:
  countdown done;
};

/// Runs f on a worker of ex and waits for it.
template <class F>
void on_a_worker(executor& ex, F f) {
  gate done;
  call j([&] {
    f();
    done.open();
  });
  ex.post(&j);
  REQUIRE(done.wait());
}

}  // namespace

TEST_CASE("every job from outside runs exactly once, at any number of workers and any queue capacity") {
  for (const std::size_t workers : {1u, 2u, 4u, 16u}) {
    for (const std::size_t capacity : {1u, 2u, 256u}) {
      CAPTURE(workers);
      CAPTURE(capacity);
      executor ex({.workers = workers, .queue_capacity = capacity});
      CHECK(ex.workers() == workers);
      crowd c(2000);
      for (std::size_t i = 0; i < c.size(); ++i) ex.post(&c[i]);
      REQUIRE(c.done.wait());
      CHECK(c.each_once());
    }
  }
}

TEST_CASE("every job that jobs post runs exactly once, at any number of workers and any queue capacity") {
  for (const std::size_t workers : {1u, 2u, 4u, 16u}) {
    for (const std::size_t capacity : {1u, 2u, 256u}) {
      CAPTURE(workers);
      CAPTURE(capacity);
      executor ex({.workers = workers, .queue_capacity = capacity});
      crowd c(2000);
      std::deque<call> posters;
      for (std::size_t p = 0; p < 20; ++p) {
        posters.emplace_back([&, p] {
          for (std::size_t i = 0; i < 100; ++i) ex.post(&c[p * 100 + i]);
        });
      }
      for (call& p : posters) ex.post(&p);
      REQUIRE(c.done.wait());
      CHECK(c.each_once());
    }
  }
}

TEST_CASE("what a blocked worker has in its queue is taken by the others") {
  executor ex({.workers = 3, .queue_capacity = 256});
  crowd c(200);
  gate finished;
  bool others_did_all = false;
  call blocked([&] {
    for (std::size_t i = 0; i < c.size(); ++i) ex.post(&c[i]);  // into this worker's own queue
    others_did_all = c.done.wait();
    finished.open();
  });
  ex.post(&blocked);
  REQUIRE(finished.wait());
  CHECK(others_did_all);
  CHECK(c.each_once());
  CHECK(ex.stolen() >= c.size());  // more, when one of the others has taken some from the other
}

TEST_CASE(
    "what a blocked worker has in its queue is taken when all jobs before were too short to be worth a "
    "wake-up") {
  for (const std::size_t workers : {2u, 4u}) {
    executor ex(workers);
    for (int burst = 0; burst < rounds(2000, 200); ++burst) {
      crowd c(64);
      on_a_worker(ex, [&] {
        for (std::size_t i = 0; i < c.size(); ++i) ex.post(&c[i]);
      });
      REQUIRE(c.done.wait());
    }
    for (int i = 0; i < 20; ++i) {
      bool other_did_it = false;
      on_a_worker(ex, [&] {
        gate done;
        call other([&] { done.open(); });
        ex.post(&other);  // into this worker's own queue
        other_did_it = done.wait();
      });
      CHECK(other_did_it);
    }
  }
}

TEST_CASE("what does not fit in a blocked worker's queue is taken by the others too") {
  executor ex({.workers = 2, .queue_capacity = 2});
  crowd c(200);
  gate finished;
  bool others_did_all = false;
  call blocked([&] {
    for (std::size_t i = 0; i < c.size(); ++i) ex.post(&c[i]);
    others_did_all = c.done.wait();
    finished.open();
  });
  ex.post(&blocked);
  REQUIRE(finished.wait());
  CHECK(others_did_all);
  CHECK(c.each_once());
  CHECK(ex.stolen() >= 1);
}

TEST_CASE("a job from outside gets its turn while a worker feeds itself without end") {
  executor ex(1);
  std::atomic<bool> stop{false};
  gate ended;
  std::unique_ptr<call> feeder;
  feeder = std::make_unique<call>([&] { stop.load() ? ended.open() : ex.post(feeder.get()); });
  ex.post(feeder.get());
  for (int i = 0; i < 100; ++i) on_a_worker(ex, [] {});
  stop = true;
  REQUIRE(ended.wait());
}

TEST_CASE("a worker's own jobs and those from outside take turns, whichever are more") {
  for (const int own : {100, 256}) {
    const int outside = own == 100 ? 3000 : 20;
    CAPTURE(own);
    executor ex({.workers = 1, .queue_capacity = 256});
    int own_ran = 0, outside_ran = 0, outside_at_last_own = 0, own_at_last_outside = 0;
    countdown done(static_cast<std::size_t>(own + outside));
    std::deque<call> jobs;
    for (int i = 0; i < own + outside; ++i) {
      const bool mine = i < own;
      jobs.emplace_back([&, mine] {
        ++(mine ? own_ran : outside_ran);
        if (mine)
          outside_at_last_own = outside_ran;
        else
          own_at_last_outside = own_ran;
        done.down();
      });
    }
    gate posted;
    call blocked([&] {
      for (int i = 0; i < own; ++i) ex.post(&jobs[static_cast<std::size_t>(i)]);
      (void)posted.wait();
    });
    ex.post(&blocked);
    for (std::size_t i = static_cast<std::size_t>(own); i < jobs.size(); ++i) ex.post(&jobs[i]);
    posted.open();
    REQUIRE(done.wait());
    // The fewer are through after about as many of the others.
    if (own < outside)
      CHECK(outside_at_last_own <= own + 2);
    else
      CHECK(own_at_last_outside <= outside + 2);
  }
}

TEST_CASE(
    "what a blocked worker has in its queue is taken though the other never runs out of work of its own") {
  executor ex({.workers = 2, .queue_capacity = 256});
  std::atomic<bool> stop{false};
  gate fed, finished;
  std::unique_ptr<call> feeder;
  feeder = std::make_unique<call>([&] { stop.load() ? fed.open() : ex.post(feeder.get()); });
  crowd c(50);
  bool other_did_all = false;
  call blocked([&] {
    ex.post(feeder.get());  // the other worker takes it, and keeps itself busy with it
    static_cast<void>(wick_test::eventually([&] { return ex.stolen() != 0; }));  // shows below
    for (std::size_t i = 0; i < c.size(); ++i) ex.post(&c[i]);
    other_did_all = c.done.wait();
    finished.open();
  });
  ex.post(&blocked);
  REQUIRE(finished.wait());
  stop = true;
  REQUIRE(fed.wait());
  CHECK(other_did_all);
}

TEST_CASE(
    "the oldest runs first: when a job starts, those before it have started or are in another worker's "
    "hands") {
  for (const std::size_t workers : {1u, 2u, 4u}) {
    CAPTURE(workers);
    executor ex({.workers = workers, .queue_capacity = 1024});
    for (int round = 0; round < rounds(20, 5); ++round) {
      constexpr std::size_t n = 1000;
      std::atomic<std::size_t> tickets{0};
      std::vector<std::size_t> ticket(n);
      countdown done(n);
      std::deque<call> jobs;
      for (std::size_t i = 0; i < n; ++i) {
        jobs.emplace_back([&, i] {
          ticket[i] = tickets.fetch_add(1);
          done.down();
        });
      }
      on_a_worker(ex, [&] {
        for (call& j : jobs) ex.post(&j);
      });
      REQUIRE(done.wait());
      // Job k has overtaken those before it whose ticket is higher: each of these was in some other worker's
      // hands, and none takes more than eight at a time.
      std::size_t worst = 0;
      for (std::size_t k = 0; k < n; ++k) {
        std::size_t overtaken = 0;
        for (std::size_t i = 0; i < k; ++i) overtaken += ticket[i] > ticket[k];
        worst = std::max(worst, overtaken);
      }
      CHECK(worst <= 8 * (workers - 1));
    }
  }
}

TEST_CASE("what did not fit in a worker's queue is at most a queue's length late") {
  constexpr std::size_t capacity = 64, n = 500;
  executor ex({.workers = 1, .queue_capacity = capacity});
  std::vector<std::size_t> order;
  countdown done(n);
  std::deque<call> jobs;
  for (std::size_t i = 0; i < n; ++i) {
    jobs.emplace_back([&, i] {
      order.push_back(i);
      done.down();
    });
  }
  on_a_worker(ex, [&] {
    for (call& j : jobs) ex.post(&j);
  });
  REQUIRE(done.wait());
  std::size_t late = 0;
  for (std::size_t place = 0; place < n; ++place)
    late = std::max(late, place > order[place] ? place - order[place] : 0);
  CHECK(late <= capacity);
}

TEST_CASE("a burst wakes as many workers as it needs, each the next") {
  for (const std::size_t workers : {2u, 4u}) {
    executor ex(workers);
    for (int round = 0; round < rounds(200, 50); ++round) {
      REQUIRE(wick_test::eventually([&] { return ex.asleep() == workers; }));
      countdown here(workers), left(workers);
      std::atomic<bool> met{true};
      std::deque<call> jobs;
      for (std::size_t i = 0; i < workers; ++i) {
        jobs.emplace_back([&] {
          here.down();
          if (!here.wait()) met = false;  // until all are here, each on a worker of its own
          left.down();
        });
      }
      for (call& j : jobs) ex.post(&j);
      REQUIRE(left.wait());
      REQUIRE(met.load());
    }
  }
}

TEST_CASE(
    "a long job yields to jobs in its worker's queue, in the shared one, and now and then in another's") {
  wick::detail::run_queues q(4, 8);
  wick::detail::job own, shared, of_another;
  const auto yields = [&](std::size_t worker, int looks) {
    for (int i = 0; i < looks; ++i) {
      if (q.should_yield(worker)) return true;
    }
    return false;
  };
  CHECK_FALSE(yields(0, 100));
  q.post(&own, 0);
  CHECK(yields(0, 1));
  q.post(&of_another, 2);
  CHECK(q.next(0) == &own);
  CHECK(yields(0, 100));
  q.post(&own, 0);  // the rest of the long job
  CHECK(q.next(0) == &of_another);
  CHECK(q.next(0) == &own);
  CHECK_FALSE(yields(0, 100));
  q.post(&shared, 4);
  for (std::size_t worker = 0; worker < 4; ++worker) CHECK(yields(worker, 1));
  CHECK(q.next(3) == &shared);
  wick::detail::run_queues alone(1, 8);
  CHECK_FALSE(alone.should_yield(0));
}

TEST_CASE("one worker runs the jobs from outside in their order") {
  executor ex(1);
  std::vector<int> order;
  countdown done(1000);
  std::deque<call> jobs;
  for (int i = 0; i < 1000; ++i) {
    jobs.emplace_back([&, i] {
      order.push_back(i);
      done.down();
    });
  }
  for (call& j : jobs) ex.post(&j);
  REQUIRE(done.wait());
  bool sorted = order.size() == 1000;
  for (std::size_t i = 0; i < order.size(); ++i) sorted = sorted && order[i] == static_cast<int>(i);
  CHECK(sorted);
}

TEST_CASE("one worker runs what it posts itself in its order, as long as it fits in its queue") {
  executor ex({.workers = 1, .queue_capacity = 256});
  std::vector<int> order;
  countdown done(256);
  std::deque<call> jobs;
  for (int i = 0; i < 256; ++i) {
    jobs.emplace_back([&, i] {
      order.push_back(i);
      done.down();
    });
  }
  on_a_worker(ex, [&] {
    for (call& j : jobs) ex.post(&j);
  });
  REQUIRE(done.wait());
  bool sorted = order.size() == 256;
  for (std::size_t i = 0; i < order.size(); ++i) sorted = sorted && order[i] == static_cast<int>(i);
  CHECK(sorted);
}

TEST_CASE("workers that have nothing to do fall asleep") {
  executor ex(4);
  CHECK(wick_test::eventually([&] { return ex.asleep() == 4; }));
  crowd c(1000);
  for (std::size_t i = 0; i < c.size(); ++i) ex.post(&c[i]);
  REQUIRE(c.done.wait());
  CHECK(wick_test::eventually([&] { return ex.asleep() == 4; }));
}

TEST_CASE("workers that have nothing to do take no processor time, nor do I/O threads") {
  executor ex({.workers = 4, .io_threads = 4});
  const auto blocking = [](executor* on) -> task<void> {
    auto calling = on->io().run(*on, [] {});
    co_await calling;
  };
  wick::ext::sync_wait(blocking(&ex));
  REQUIRE(wick_test::eventually([&] { return ex.asleep() == 4; }));
  const auto used = [&] {
    double all = ex.io().used().processor;
    for (const double one : ex.worker_seconds()) all += one;
    return all;
  };
  REQUIRE(used() > 0);
  // Their clocks stand still while this thread works for 10 ms: once they are asleep in fact, not a tick goes
  // by.
  CHECK(wick_test::eventually([&] {
    const double before = used();
    const std::clock_t begun = std::clock();
    while (std::clock() - begun < CLOCKS_PER_SEC / 100) {
    }
    return used() == before;
  }));
}

TEST_CASE(
    "an executor knows its own threads: workers, I/O threads, and who helps, and refuses to let them wait") {
  executor ex({.workers = 1, .io_threads = 1}), other({.workers = 1, .io_threads = 1});
  const auto refused = [](executor& by) -> std::string {
    try {
      by.require_outside("wait()", "co_await it");
    } catch (const std::logic_error& e) {
      return e.what();
    }
    return "";
  };
  CHECK_FALSE(ex.owns_this_thread());
  CHECK(refused(ex) == "");
  {
    const executor::helper slot(ex);
    CHECK(ex.owns_this_thread());
    CHECK_FALSE(other.owns_this_thread());
  }
  CHECK_FALSE(ex.owns_this_thread());
  on_a_worker(ex, [&] {
    CHECK(ex.owns_this_thread());
    CHECK(refused(ex) == "wick: wait() would block a worker of the executor; write co_await it there");
    CHECK_FALSE(other.owns_this_thread());
    CHECK(refused(other) == "");
  });
  struct stage {
    static task<std::string> blocking(executor* on, executor* asked, decltype(refused)* ask) {
      auto calling = on->io().run(*on, [=] { return (*ask)(*asked); });
      auto text = co_await calling;
      co_return text;
    }
  };
  CHECK(wick::ext::sync_wait(stage::blocking(&ex, &ex, &refused)) ==
        "wick: wait() would block an I/O thread of the executor; write co_await it there");
  CHECK(wick::ext::sync_wait(stage::blocking(&ex, &other, &refused)) == "");
}

TEST_CASE("the time of other tenants is that of all who are and were there, without one's own") {
  executor ex(1);
  const std::uint64_t one = 5, two = 7;
  const auto ticks = [](const void* who) { return *static_cast<const std::uint64_t*>(who); };
  CHECK(ex.tenants().ticks_of_others(&one) == 0);
  ex.tenants().enter(&one, ticks);
  CHECK(ex.tenants().ticks_of_others(&one) == 0);
  ex.tenants().enter(&two, ticks);
  CHECK(ex.tenants().ticks_of_others(&one) == 7);
  CHECK(ex.tenants().ticks_of_others(&two) == 5);
  ex.tenants().leave(&one);
  CHECK(ex.tenants().ticks_of_others(&two) == 5);
  ex.tenants().leave(&two);
  CHECK(ex.tenants().ticks_of_others(nullptr) == 12);
}

TEST_CASE("no wake-up is lost when jobs come one by one to sleeping workers") {
  for (const std::size_t workers : {1u, 2u, 4u}) {
    CAPTURE(workers);
    executor ex(workers);
    std::atomic<int> ran{0};
    call j([&] { ran.fetch_add(1); });
    const int n = rounds(4'000, 800);
    bool all = true;
    for (int i = 0; i < n && all; ++i) {
      if (i % 8 == 0) all = wick_test::eventually([&] { return ex.asleep() == workers; });
      ex.post(&j);
      all = all && wick_test::eventually([&] { return ran.load() == i + 1; });
    }
    CHECK(all);
  }
}

TEST_CASE("no wake-up is lost when a job comes just as the workers fall asleep") {
  for (const std::size_t workers : {1u, 2u}) {
    CAPTURE(workers);
    executor ex(workers);
    std::atomic<int> ran{0};
    call j([&] { ran.fetch_add(1); });
    const int n = rounds(15'000, 5'000);
    std::uint32_t random = 1;
    bool all = true;
    for (int i = 0; i < n && all; ++i) {
      ex.post(&j);
      int spins =
          0;  // gives way to others only when it takes long: the next job is to come within nanoseconds
      while (ran.load(std::memory_order_acquire) != i + 1 && ++spins < 5000) {
      }
      all = wick_test::eventually([&] { return ran.load() == i + 1; });
      random = random * 1664525u + 1013904223u;
      for (std::atomic<std::uint32_t> k{0}; k.load(std::memory_order_relaxed) < random >> 25;) {
        k.store(k.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      }
    }
    CHECK(all);
  }
}

TEST_CASE("no job is lost when several threads post in bursts and jobs post more") {
  executor ex({.workers = 4, .queue_capacity = 4});
  constexpr std::size_t threads = 4;
  const auto each = static_cast<std::size_t>(rounds(20'000, 2'000));
  crowd c(threads * each * 2);
  // Each outside job posts one of its own.
  std::deque<call> outside;
  for (std::size_t i = 0; i < threads * each; ++i) {
    outside.emplace_back([&, i] {
      ex.post(&c[2 * i]);
      ex.post(&c[2 * i + 1]);
    });
  }
  std::vector<std::thread> posters;
  for (std::size_t t = 0; t < threads; ++t) {
    posters.emplace_back([&, t] {
      auto random = static_cast<std::uint32_t>(t + 1);
      for (std::size_t i = 0; i < each; ++i) {
        ex.post(&outside[t * each + i]);
        random = random * 1664525u + 1013904223u;
        if (random >> 25 == 0) std::this_thread::yield();
        if (random >> 20 == 0) (void)wick_test::eventually([&] { return ex.asleep() > 0; });
      }
    });
  }
  for (std::thread& t : posters) t.join();
  REQUIRE(c.done.wait());
  CHECK(c.each_once());
  CHECK(wick_test::eventually([&] { return ex.asleep() == 4; }));
}

TEST_CASE("the destructor runs what is queued") {
  for (const std::size_t workers : {1u, 3u}) {
    CAPTURE(workers);
    crowd c(1000);
    gate block;
    call blocked([&] { (void)block.wait(); });
    std::thread opener;
    {
      executor ex({.workers = workers, .queue_capacity = 2});
      ex.post(&blocked);
      for (std::size_t i = 0; i < c.size(); ++i) ex.post(&c[i]);
      opener = std::thread([&] { block.open(); });
    }
    CHECK(c.each_once());
    opener.join();
  }
}

TEST_CASE("the destructor runs what the queued jobs post in turn") {
  for (int round = 0; round < 50; ++round) {
    int steps = 0;
    std::unique_ptr<call> next;
    {
      executor ex(2);
      next = std::make_unique<call>([&] {
        if (++steps < 1000) ex.post(next.get());
      });
      ex.post(next.get());
    }
    CHECK(steps == 1000);
  }
}

TEST_CASE("the destructor finishes blocking calls under way and what continues after them") {
  for (int round = 0; round < rounds(50, 10); ++round) {
    std::atomic<int> ended{0};
    {
      executor ex({.workers = 2, .io_threads = 2});
      const auto read = [](executor* on, std::atomic<int>* n) -> wick::detail::detached {
        auto operation = on->io().run(*on, [] { return 1; });
        const int one = co_await operation;
        co_await on->schedule();
        n->fetch_add(one);
      };
      for (int i = 0; i < 20; ++i) wick::detail::resume(read(&ex, &ended).handle);
    }
    CHECK(ended.load() == 20);
  }
}

TEST_CASE(
    "a blocking call that begins while the executor is destroyed is refused with an exception, not lost") {
  std::atomic<int> refused{0}, done{0};
  std::thread opener;
  gate block;
  call blocked([&] { (void)block.wait(); });
  {
    executor ex({.workers = 1, .io_threads = 2});
    const auto read = [](executor* on, std::atomic<int>* no,
                         std::atomic<int>* yes) -> wick::detail::detached {
      co_await on->schedule();
      try {
        for (;;) {  // until the destructor is there
          auto operation = on->io().run(*on, [] {});
          co_await operation;
          yes->fetch_add(1);
        }
      } catch (const std::logic_error&) {
        no->fetch_add(1);
      }
    };
    ex.post(&blocked);
    for (int i = 0; i < 20; ++i) wick::detail::resume(read(&ex, &refused, &done).handle);
    opener = std::thread([&] { block.open(); });
  }
  CHECK(refused.load() == 20);
  opener.join();
}

TEST_CASE("executors come and go without a trace") {
  const auto threads = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  const auto before = threads();
  int ran = 0, expected = 0;
  for (int round = 0; round < rounds(100, 20); ++round) {
    executor ex(static_cast<std::size_t>(1 + round % 16));
    if (round % 2 != 0) continue;
    on_a_worker(ex, [&] { ++ran; });
    ++expected;
  }
  CHECK(ran == expected);
  // A thread that was joined may be on its way out still, now or when they were first counted.
  CHECK(wick_test::eventually([&] { return threads() <= before; }));
}

TEST_CASE("schedule continues on a worker") {
  executor ex(2);
  const auto where = [](executor* on) -> task<std::size_t> {
    co_await on->schedule();
    co_return on->this_slot();
  };
  CHECK(wick::ext::sync_wait(where(&ex)) < ex.workers());
}

TEST_CASE("a coroutine may hop between executors") {
  executor a(2), b(2);
  const auto hop = [](executor* x, executor* y) -> task<int> {
    int right = 0;
    for (int i = 0; i < 200; ++i) {
      co_await x->schedule();
      if (x->this_slot() < x->workers() && y->this_slot() == executor::none) ++right;
      co_await y->schedule();
      if (y->this_slot() < y->workers() && x->this_slot() == executor::none) ++right;
    }
    co_return right;
  };
  CHECK(wick::ext::sync_wait(hop(&a, &b)) == 400);
}

TEST_CASE("a foreign thread has no slot") {
  const executor ex(1);
  CHECK(ex.this_slot() == executor::none);
}

TEST_CASE("a helper lends a slot after the workers' and takes it back") {
  executor ex(2);
  {
    const executor::helper h(ex);
    REQUIRE(h);
    CHECK(ex.this_slot() >= ex.workers());
    CHECK(ex.this_slot() < ex.slots());
  }
  CHECK(ex.this_slot() == executor::none);
}

TEST_CASE("helpers on several threads have different slots, and when all are lent there is none") {
  executor ex(1);
  const std::size_t places = ex.slots() - ex.workers();
  std::vector<std::size_t> slots(places, executor::none);
  countdown all(places);
  gate end;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < places; ++t) {
    threads.emplace_back([&, t] {
      const executor::helper h(ex);
      if (h) slots[t] = ex.this_slot();
      all.down();
      (void)end.wait();
    });
  }
  REQUIRE(all.wait());
  {
    const executor::helper one_too_many(ex);
    CHECK_FALSE(one_too_many);
    CHECK(ex.this_slot() == executor::none);
  }
  end.open();
  for (std::thread& t : threads) t.join();
  std::vector<bool> used(ex.slots());
  for (const std::size_t s : slots) {
    REQUIRE(s >= ex.workers());
    REQUIRE(s < ex.slots());
    CHECK_FALSE(used[s]);
    used[s] = true;
  }
  const executor::helper again(ex);
  CHECK(again);
}

TEST_CASE("a helper within another executor's helper gives the outer slot back") {
  executor a(1), b(1);
  const executor::helper outer(a);
  const std::size_t slot = a.this_slot();
  {
    const executor::helper inner(b);
    CHECK(b.this_slot() != executor::none);
    CHECK(a.this_slot() == executor::none);
  }
  CHECK(a.this_slot() == slot);
  CHECK(b.this_slot() == executor::none);
}

TEST_CASE("what a helper posts is run by the workers") {
  executor ex(2);
  const executor::helper h(ex);
  crowd c(500);
  for (std::size_t i = 0; i < c.size(); ++i) ex.post(&c[i]);
  REQUIRE(c.done.wait());
  CHECK(c.each_once());
}

TEST_CASE("helper slots are handed from thread to thread without a race") {
  executor ex(1);
  std::vector<int> scratch(ex.slots(), 0);  // plain: only the holder of a slot touches its own
  std::atomic<int> lent{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < rounds(5'000, 1'000); ++i) {
        const executor::helper h(ex);
        if (!h) continue;
        ++scratch[ex.this_slot()];
        lent.fetch_add(1);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  int sum = 0;
  for (const int n : scratch) sum += n;
  CHECK(sum == lent.load());
}

TEST_CASE("the defaults are one worker a processor") {
  const executor ex;
  CHECK(ex.workers() == wick::detail::available_cpus());
  CHECK(ex.slots() > ex.workers());
}

#ifdef __linux__
TEST_CASE("an executor without workers or I/O threads is refused") {
  CHECK_THROWS_WITH_AS(executor(0), "wick: executor: workers is 0; it is at least 1, or left out",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(executor({.workers = 1, .io_threads = 0}),
                       "wick: executor: io_threads is 0; it is at least 1, or left out",
                       std::invalid_argument);
}

TEST_CASE("workers bear the executor's name and their number") {
  executor ex({.workers = 1, .name = "fuel"});
  std::array<char, 16> text{};
  on_a_worker(ex, [&] { ::pthread_getname_np(::pthread_self(), text.data(), text.size()); });
  CHECK(std::string(text.data()) == "fuel-0");
}

TEST_CASE(
    "workers are bound to the processors that pin_to names, and the threads for blocking calls are not") {
  const std::vector<int> allowed = wick::detail::allowed_cpus();
  REQUIRE_FALSE(allowed.empty());
  const int cpu = allowed.back();
  executor ex({.workers = 2, .io_threads = 1, .pin_to = {cpu}});
  std::vector<int> seen, seen_by_io;
  on_a_worker(ex, [&] { seen = wick::detail::allowed_cpus(); });
  CHECK(seen == std::vector<int>{cpu});
  const auto ask = [](executor* on) -> task<std::vector<int>> {
    co_await on->schedule();
    auto operation =
        on->io().run(*on, [] { return wick::detail::allowed_cpus(); });  // the pool's threads start here
    auto cpus = co_await operation;
    co_return cpus;
  };
  CHECK(wick::ext::sync_wait(ask(&ex)) == allowed);
  CHECK(wick::detail::allowed_cpus() == allowed);  // this thread is as before
}

TEST_CASE("a processor that this process may not use is refused, with those it may") {
  std::string text;
  try {
    executor ex({.workers = 2, .pin_to = {wick::detail::allowed_cpus().front(), 100'000}});
  } catch (const std::invalid_argument& e) {
    text = e.what();
  }
  CHECK(text.find("worker 1 can't be bound to processor 100000; pin_to may name") != std::string::npos);
  CHECK(text.find(' ' + std::to_string(wick::detail::allowed_cpus().front())) != std::string::npos);
  CHECK_THROWS_AS(executor({.workers = 1, .pin_to = {-1}}), std::invalid_argument);
}

#if !defined(WICK_TEST_TSAN)  // it does not let a child of many threads start threads
namespace {

template <class F>
bool refuses(F f) {
  try {
    f();
  } catch (const std::logic_error& e) {
    return std::string(e.what()).find("forked child") != std::string::npos;
  }
  return false;
}

}  // namespace

TEST_CASE("in a forked child an executor refuses with a clear error, and its destructor does not hang") {
  auto ex = std::make_unique<executor>(wick::executor_options{.workers = 2, .io_threads = 2});
  on_a_worker(*ex, [] {});
  const auto nothing = []() -> task<void> { co_return; };
  const auto hop = [](executor* on) -> task<void> { co_await on->schedule(); };
  const auto block = [](executor* on) -> task<void> {
    auto operation = on->io().run(*on, [] {});
    co_await operation;
  };
  const auto nap = [](executor* on) -> task<void> {
    co_await wick::sleep_for(std::chrono::milliseconds(1), *on);
  };
  wick::ext::sync_wait(block(ex.get()));  // all of its threads are there, and wait
  wick::ext::sync_wait(nap(ex.get()));
  CHECK(wick_test::in_a_child([&] {
          int bad = 0;
          call j([] {});
          bad += !ex->forked();
          bad += !refuses([&] { ex->post(&j); });
          bad += !refuses([&] { wick::ext::sync_wait(hop(ex.get())); });
          bad += !refuses([&] { wick::ext::sync_wait(block(ex.get())); });
          bad += !refuses([&] { wick::ext::sync_wait(nap(ex.get())); });
          bad += !refuses([&] { static_cast<void>(wick_test::as_future(*ex, nothing())); });
          bad += !refuses([&] {
            wick::detail::scope s(*ex);
            s.spawn(nothing());
          });
          ex.reset();
          executor own(2);  // a new one works
          wick::ext::sync_wait(hop(&own));
          bad += own.forked();
          return bad;
        }) == 0);
  CHECK_FALSE(ex->forked());
  wick::ext::sync_wait(hop(ex.get()));  // the parent is as before
}
#endif
#endif

}  // namespace wick_test::executor_tests

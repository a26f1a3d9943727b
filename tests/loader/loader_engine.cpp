// Loaders that share workers, are left early, fail, or run short of memory.
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "loader/stages.hpp"
#include "support/doctest.hpp"
#include "support/eventually.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/async/detail/scope.hpp>
#include <wick/core.hpp>
#include <wick/loader/detail/batch_job.hpp>

namespace wick_test::loader_engine_tests {

TEST_CASE("who comes for a batch whose place in the ring another has got finds nothing to claim") {
  wick::detail::typed_batch<wick::detail::single_column<int>, std::vector<std::optional<int>>, int, false>
      job;
  CHECK(job.claim(0, 8).count == 0);
  job.sequence = 3;
  job.count = 10;
  job.offer();
  CHECK(job.unclaimed() == 10);
  CHECK(job.claim(3, 4).from == 0);
  CHECK(job.claim(3, 4).from == 4);
  job.sequence = 7;
  job.offer();
  CHECK(job.claim(3, 4).count == 0);
  CHECK(job.unclaimed() == 10);
  const auto all = job.claim(7, 100);
  CHECK(all.from == 0);
  CHECK(all.count == 10);
  CHECK(job.claim(7, 1).count == 0);
  job.offer();
  CHECK(job.claim(7, 1).count == 1);
  CHECK(job.claim_rest() == 9);
  job.offer();
  CHECK(job.claim(7, 4, 6).count == 4);
  const auto rest = job.claim(7, 4, 6);  // two fewer would be left to another thread
  CHECK(rest.from == 4);
  CHECK(rest.count == 6);
  CHECK(job.unclaimed() == 0);
}

TEST_CASE("the only worker continues with other samples while one waits for a blocking call") {
  struct meeting {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
  };
  auto met = std::make_shared<meeting>();
  struct stages {
    // Number 0 blocks an I/O thread until number 9 has come by: on the same worker, since there is one.
    static wick::task<cell> wait(std::shared_ptr<meeting> m, cell c, wick::context& context) {
      if (c.target == 0) {
        auto blocking = context.run_blocking([m] {
          std::unique_lock lock(m->mutex);
          m->changed.wait(lock, [&] { return m->open; });
        });
        co_await blocking;
      }
      if (c.target == 9) {
        const std::lock_guard lock(m->mutex);
        m->open = true;
        m->changed.notify_all();
      }
      co_return c;
    }
  };
  wick::loader l(numbers{40} |
                     wick::map("wait", [met](cell c, wick::context& x) { return stages::wait(met, c, x); }) |
                     wick::array_batch(10),
                 {.workers = 1, .io_threads = 1});
  CHECK(targets_of(l, 0).size() == 4);
}

TEST_CASE("two loaders on one executor, used at the same time from two threads, each give their own") {
  wick::executor ex(2);
  wick::loader train(numbers{2000} | wick::shuffle() | hop | wick::array_batch(50),
                     {.seed = 1, .executor = &ex});
  wick::loader val(numbers{700} | jitter | wick::array_batch(70), {.seed = 2, .executor = &ex});
  wick::loader train_alone(numbers{2000} | wick::shuffle() | hop | wick::array_batch(50),
                           {.seed = 1, .workers = 1});
  wick::loader val_alone(numbers{700} | jitter | wick::array_batch(70), {.seed = 2, .workers = 1});
  std::vector<std::uint64_t> got;
  std::thread other([&] {
    for (std::uint64_t e = 0; e < 4; ++e) got.push_back(bytes_of(val, e));
  });
  for (std::uint64_t e = 0; e < 4; ++e) CHECK(bytes_of(train, e) == bytes_of(train_alone, e));
  other.join();
  for (std::uint64_t e = 0; e < 4; ++e) CHECK(got[e] == bytes_of(val_alone, e));
}

TEST_CASE("a coroutine takes batches with next_async, several at once on one worker") {
  wick::executor ex(1);
  wick::loader a(numbers{300} | hop | wick::array_batch(10), {.executor = &ex});
  wick::loader b(numbers{500} | jitter | wick::array_batch(10), {.executor = &ex});
  struct consumer {
    static wick::task<void> run(decltype(a)* from, std::int64_t* sum) {
      for (;;) {
        auto taking = from->next_async();
        auto batch = co_await taking;
        if (!batch) co_return;
        for (int i = 0; i < 10; ++i) *sum += batch->target.as<std::int64_t>()[i];
      }
    }
  };
  std::int64_t sum_a = 0, sum_b = 0;
  wick::detail::scope s(ex);
  s.spawn(consumer::run(&a, &sum_a));
  s.spawn(consumer::run(&b, &sum_b));
  s.wait();
  CHECK(sum_a == 300 * 299 / 2);
  CHECK(sum_b == 500 * 499 / 2);
}

TEST_CASE("loaders are destroyed in coroutines on their own executor, on all workers at once") {
  for (const std::size_t workers : {1, 2}) {
    wick::executor ex(workers);
    struct consumer {
      static wick::task<void> run(wick::executor* on, std::atomic<std::size_t>* ended) {
        co_await on->schedule();
        {
          wick::loader l(numbers{2000} | jitter | hop | wick::array_batch(10), {.executor = on});
          for (int i = 0; i < 3; ++i) {
            auto taking = l.next_async();
            co_await taking;
          }
        }
        ++*ended;
      }
    };
    std::atomic<std::size_t> ended{0};
    wick::detail::scope all(ex);
    for (std::size_t i = 0; i < 2 * workers; ++i) all.spawn(consumer::run(&ex, &ended));
    REQUIRE(eventually([&] { return ended == 2 * workers; }));
    all.wait();
  }
}

TEST_CASE("batches are opened while workers go to rest: they wait for no slow source or order") {
  wick::executor ex(2);
  struct slow {
    const wick::executor* on;
    std::atomic<int>* state;  // 1: looks at it from now on; 2: all workers slept while the size was asked for
    std::uint64_t size() const {
      if (*state == 1 && eventually([&] { return on->asleep() == on->workers(); })) *state = 2;
      return 400;
    }
    std::int64_t at(std::uint64_t i) const { return static_cast<std::int64_t>(i); }
  };
  std::atomic<int> state{0};
  wick::loader l(slow{&ex, &state} | wick::array_batch(100), {.prefetch = 2, .executor = &ex});
  l.epoch(0);
  CHECK(l.next());
  state = 1;
  while (l.next()) {
  }
  CHECK(state == 2);
}

TEST_CASE("a loader stays until a worker has let go of its last sample") {
  wick::executor ex(2);
  struct handed_over {  // as of a library of callbacks: another thread resumes it while it suspends
    std::atomic<bool>* gone;
    std::atomic<int>* too_early;
    std::vector<std::thread>* threads;
    int value;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) {
      std::atomic<bool>* const out = gone;
      std::atomic<int>* const told = too_early;
      threads->emplace_back([h] { h.resume(); });
      for (int i = 0; i < 200 && !*out; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (*out) ++*told;
    }
    int await_resume() const noexcept { return value; }
  };
  std::atomic<bool> gone{false};
  std::atomic<int> too_early{0};
  std::vector<std::thread> threads;
  {
    wick::loader l(
        wick::from(std::vector<int>{1}) |
            [](int v, wick::context& c) -> wick::task<int> {
          co_await c.on()->schedule();
          co_return v;
        } |
                                               [&](int v) {
                                                 return handed_over{&gone, &too_early, &threads, v};
                                               } |
                                               wick::array_batch(1),
        {.prefetch_next_epoch = false, .executor = &ex});
    CHECK(l.next());
  }
  gone = true;
  for (std::thread& t : threads) t.join();
  CHECK(too_early == 0);
}

TEST_CASE("a number of workers that can't be meant is refused") {
  CHECK(contains(message_of([] { wick::loader(numbers{10} | wick::array_batch(1), {.workers = 1'000'000}); }),
                 ".workers is 1000000", "processors"));
  CHECK(contains(
      message_of([] { wick::loader(numbers{10} | wick::array_batch(1), {.io_threads = 1'000'000}); }),
      ".io_threads is 1000000"));
}

TEST_CASE("next() on a worker is refused instead of blocking it") {
  wick::executor ex(1);
  wick::loader l(numbers{100} | hop | wick::array_batch(10), {.executor = &ex});
  struct consumer {
    static wick::task<std::string> run(wick::executor* on, decltype(l)* from) {
      co_await on->schedule();
      try {
        while (from->next()) {
        }
      } catch (const std::logic_error& e) {
        co_return e.what();
      }
      co_return "";
    }
  };
  CHECK(contains(wick::ext::sync_wait(consumer::run(&ex, &l)), "next_async"));
}

TEST_CASE("destroying a loader at any moment is prompt and leaves nothing running") {
  for (int round = 0; round < 60; ++round) {
    auto alive = std::make_shared<int>(0);
    {
      wick::executor ex(static_cast<std::size_t>(1 + round % 4));
      wick::loader l(numbers{100'000} | wick::shuffle() | wick::map("hold", [alive](cell c) { return c; }) |
                         hop | wick::array_batch(128),
                     {.prefetch = static_cast<std::size_t>(1 + round % 5), .executor = &ex});
      if (round % 3 != 0) l.epoch(0);
      for (int taken = 0; taken < round % 7; ++taken) (void)l.next();
    }
    CHECK(alive.use_count() == 1);
  }
}

TEST_CASE("a loader that is destroyed asks a stage that waits to give up") {
  struct waiter {
    // Waits for the stop token alone: only the loader's end can wake it.
    static wick::task<cell> wait(cell c, wick::context& context) {
      struct until_stopped {
        wick::context& context;
        std::coroutine_handle<> handle;
        std::atomic<int> met{0};
        struct wake {
          until_stopped* of;
          void operator()() const noexcept {
            if (of->met.exchange(1) == 1) of->handle.resume();
          }
        };
        std::optional<wick::detail::stop_callback<wake>> callback;
        bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<> h) {
          handle = h;
          callback.emplace(context.stop(), wake{this});
          return met.exchange(1) == 0;
        }
        void await_resume() { callback.reset(); }
      } waiting{context, nullptr, {}, {}};
      co_await waiting;
      throw std::runtime_error("gave up");
      co_return c;
    }
  };
  wick::loader l(numbers{1000} | wick::map("wait", &waiter::wait) | wick::array_batch(10), {.workers = 2});
  l.epoch(0);
}

TEST_CASE(
    "an exception of a stage reaches the loop with the sample's key and the stage, and the loader "
    "continues") {
  wick::loader l(numbers{100} |
                     wick::map("fragile",
                               [](cell c) {
                                 if (c.target == 42 || c.target == 47) throw std::runtime_error("it broke");
                                 return c;
                               }) |
                     wick::array_batch(10),
                 {.workers = 4});
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int64_t> got;
    int errors = 0;
    l.epoch(epoch);
    for (;;) {
      try {
        const auto batch = l.next();
        if (!batch) break;
        got.push_back(batch->target.as<std::int64_t>()[0]);
      } catch (const wick::sample_error& e) {
        ++errors;
        CHECK(std::string(e.what()) == "number 42: fragile: std::runtime_error: it broke");
        CHECK(e.key() == "number 42");
        CHECK(e.stage() == "fragile");
        CHECK(e.epoch() == epoch);
        CHECK(e.position() == 42);
        CHECK_THROWS_AS(std::rethrow_exception(e.cause()), std::runtime_error);
      }
    }
    CHECK(errors == 1);
    CHECK(got == std::vector<std::int64_t>{0, 10, 20, 30, 50, 60, 70, 80, 90});
  }
  REQUIRE(l.failure_log().total() == 6);
  CHECK(l.failure_log().entries()[1].key == "number 47");
  CHECK(l.failure_log().entries()[1].stage == "fragile");
  CHECK(l.failure_log().entries()[1].text == "std::runtime_error: it broke");
  CHECK(contains(l.report().to_string(), "6 samples failed"));
}

TEST_CASE("whatever a stage throws, where it throws and how often, every failure is in the failure log") {
  for (const std::size_t workers : {1, 4}) {
    wick::loader l(numbers{500} |
                       wick::map("first",
                                 [](cell c) {
                                   if (c.target % 7 == 0) throw 17;
                                   return c;
                                 }) |
                       hop |
                       wick::map("last",
                                 [](cell c) {
                                   if (c.target % 11 == 0) throw std::runtime_error("eleven");
                                   return c;
                                 }) |
                       wick::array_batch(16),
                   {.workers = workers});
    std::size_t errors = 0, batches = 0;
    l.epoch(0);
    for (;;) {
      try {
        if (!l.next()) break;
        ++batches;
      } catch (const wick::sample_error&) {
        ++errors;
      }
    }
    CHECK(errors + batches == l.batches());
    std::set<std::string> expected, found;
    for (int i = 0; i < 500; ++i) {
      if (i % 7 == 0 || i % 11 == 0) expected.insert("number " + std::to_string(i));
    }
    for (const auto& e : l.failure_log().entries()) found.insert(e.key);
    CHECK(found == expected);
  }
}

TEST_CASE("a batch stage that throws names the batch") {
  wick::loader l(numbers{40} | wick::array_batch(10) |
                     wick::map("check",
                               [](wick::sample<wick::array, wick::array> b) {
                                 if (b.target.as<std::int64_t>()[0] == 20) throw std::runtime_error("no");
                                 return b;
                               }),
                 {.workers = 2});
  l.epoch(0);
  CHECK(l.next());
  CHECK(l.next());
  CHECK(wick_test::message_of([&] { return l.next(); }) == "batch 2: check: std::runtime_error: no");
  CHECK(l.next());
  CHECK(!l.next());
}

TEST_CASE("batch stages run in the pipeline's order, plain ones and coroutines") {
  using whole = wick::sample<wick::array, wick::array>;
  struct stages {
    static wick::task<whole> slow(whole b, wick::context& c) {
      co_await c.on()->schedule();
      b.target.as<std::int64_t>()[0] = -1;
      co_return b;
    }
  };
  wick::loader l(
      numbers{100} | hop | wick::array_batch(10) | [](whole& b) { b.target.as<std::int64_t>()[1] = -2; } |
          wick::map("slow", &stages::slow) | [](whole b) { return b.target; },
      {.workers = 3});
  std::int64_t n = 0;
  for (auto& target : l.epoch(0)) {
    CHECK(target.as<std::int64_t>()[0] == -1);
    CHECK(target.as<std::int64_t>()[1] == -2);
    CHECK(target.as<std::int64_t>()[2] == 10 * n++ + 2);
  }
  CHECK(n == 10);
}

TEST_CASE("a pipeline without batch gives samples in order, and a failing one is thrown in its place") {
  wick::loader l(numbers{100} | wick::shuffle() | hop |
                     [](cell c) {
                       if (c.target == 3) throw std::runtime_error("three");
                       return c.target;
                     },
                 {.seed = 4, .workers = 4});
  const wick::detail::permutation order(100, 4, 1, 0);
  l.epoch(1);
  for (std::uint64_t p = 0; p < 100; ++p) {
    if (order(p) == 3) {
      CHECK(wick_test::contains(wick_test::message_of([&] { return l.next(); }), "number 3: map",
                                ": std::runtime_error: three"));
    } else {
      const auto value = l.next();
      REQUIRE(value);
      CHECK(*value == static_cast<std::int64_t>(order(p)));
    }
  }
  CHECK(!l.next());
}

TEST_CASE("the shapes of a batch are judged by its first sample, whichever comes first") {
  struct ragged {
    wick::shape extents() const { return {odd ? 3 : 2}; }
    wick::dtype type() const { return wick::dtype::uint8; }
    void write_to(wick::ext::slot) const {}
    bool odd;
  };
  for (int round = 0; round < 20; ++round) {
    wick::loader l(
        numbers{64} | hop | [](cell c) { return ragged{c.target % 32 == 21}; } | wick::array_batch(32),
        {.workers = 4});
    l.epoch(0);
    const std::string text = wick_test::message_of([&] { return l.next(); });
    CHECK(contains(text, "number 21: batch: shape [3] of uint8", "first sample has [2]"));
  }
  wick::loader l(
      numbers{64} | hop | [](cell c) { return ragged{c.target % 32 == 0}; } | wick::array_batch(32),
      {.workers = 4});
  l.epoch(0);
  CHECK(contains(wick_test::message_of([&] { return l.next(); }), "number 1: batch: shape [2]",
                 "first sample has [3]"));
}

TEST_CASE("samples that fill a small memory budget wait, and none waits without an end") {
  struct heavy {
    static wick::task<cell> load(cell c, wick::context& context) {
      auto room = context.reserve(600);
      co_await room;
      co_await context.on()->schedule();
      co_return c;
    }
  };
  wick::loader l(numbers{2000} | wick::shuffle() | wick::map("heavy", &heavy::load) | wick::array_batch(64),
                 {.workers = 4, .memory = 1000});
  std::size_t n = 0;
  for (auto& batch : l.epoch(0)) n += static_cast<std::size_t>(batch.target.extents()[0]);
  CHECK(n == 2000);
  CHECK(l.peak_bytes_in_flight() <= 1000);
}

namespace {

/// Takes 300 bytes, and 300 more while it has them.
struct two_steps {
  static wick::task<cell> load(cell c, wick::context& context) {
    auto first = context.reserve(300);
    co_await first;
    co_await context.on()->schedule();
    auto second = context.reserve(300);
    co_await second;
    co_await context.on()->schedule();
    co_return c;
  }
};

}  // namespace

TEST_CASE(
    "a sample that needs more memory while it holds some continues, though all memory is held by such "
    "samples") {
  for (const std::size_t workers : {1, 4}) {
    // With 1,000 bytes three hold 300 each and all of them want 300 more.
    wick::loader l(
        numbers{1000} | wick::shuffle() | wick::map("heavy", &two_steps::load) | wick::array_batch(64),
        {.workers = workers, .memory = 1000});
    std::size_t n = 0;
    for (auto& batch : l.epoch(0)) n += static_cast<std::size_t>(batch.target.extents()[0]);
    CHECK(n == 1000);
    CHECK(l.peak_bytes_in_flight() <=
          1500);  // one sample at a time is let through beyond the bound, with both steps
  }
}

TEST_CASE("memory that one sample reserves in several coroutines at a time is its own until it ends") {
  struct heavy {
    static wick::task<int> part(wick::context* context, std::size_t bytes) {
      auto room = context->reserve(bytes);
      co_await room;
      co_await context->on()->schedule();
      co_return 1;
    }
    static wick::task<cell> load(cell c, wick::context& context) {
      auto both = wick::when_all(part(&context, 100), part(&context, 200), part(&context, 150));
      (void)co_await std::move(both);
      co_return c;
    }
  };
  wick::loader l(numbers{1000} | wick::map("heavy", &heavy::load) | wick::array_batch(64),
                 {.workers = 4, .memory = 1000});
  std::size_t n = 0;
  for (auto& batch : l.epoch(0)) n += static_cast<std::size_t>(batch.target.extents()[0]);
  CHECK(n == 1000);
  CHECK(l.peak_bytes_in_flight() >= 450);
}

TEST_CASE("a failed try gives its memory back before the next") {
  struct flaky {
    static wick::task<cell> load(cell c, wick::context& context) {
      auto room = context.reserve(800);
      co_await room;
      co_await context.on()->schedule();
      if (context.position() % 3 == 0) throw wick::error("not today");
      co_return c;
    }
  };
  wick::loader l(numbers{60} | wick::map("flaky", &flaky::load) | wick::array_batch(10),
                 {.workers = 2,
                  .memory = 1000,
                  .on_error = wick::on_error(wick::on_error::retry(2).then(wick::on_error::skip))});
  std::size_t n = 0;
  for (auto& batch : l.epoch(0)) n += static_cast<std::size_t>(batch.target.extents()[0]);
  CHECK(n == 40);
  CHECK(l.peak_bytes_in_flight() == 800);
}

TEST_CASE("Ctrl-C in the middle of an epoch ends a program at once, and one that catches it ends cleanly") {
  for (const bool catches : {false, true}) {
    int pipe_ends[2];
    REQUIRE(::pipe(pipe_ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      static volatile std::sig_atomic_t interrupted = 0;
      if (catches) {
        std::signal(SIGINT, [](int) { interrupted = 1; });
      } else {
        std::signal(SIGINT, SIG_DFL);
      }
      int code = 3;
      {
        wick::loader l(numbers{1'000'000'000} | wick::shuffle() | hop | wick::array_batch(64),
                       {.workers = 2});
        bool told = false;
        for ([[maybe_unused]] auto& batch : l.epoch(0)) {
          if (!told) told = ::write(pipe_ends[1], "x", 1) == 1;
          if (interrupted) {
            code = 0;
            break;
          }
        }
      }
      ::_exit(code);
    }
    char ready;
    REQUIRE(::read(pipe_ends[0], &ready, 1) == 1);
    REQUIRE(::kill(child, SIGINT) == 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (catches)
      CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    else
      CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGINT));
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
  }
}

}  // namespace wick_test::loader_engine_tests

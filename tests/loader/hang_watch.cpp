// Kinds of hang, each made on purpose: the message says where the sample is and what it waits for; then the
// hang is resolved, and all samples arrive.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <signal.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/eventually.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/sanitized.hpp"
#include "support/temp_dir.hpp"
#include "support/work_for.hpp"
#include <wick/async/async_semaphore.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/batch/batch.hpp>
#include <wick/ext/stage.hpp>
#include <wick/loader/loader.hpp>
#include <wick/profile/detail/hang_scene.hpp>
#include <wick/profile/detail/hang_watch.hpp>

namespace wick_test::hang_watch_tests {

using namespace std::chrono_literals;
using wick_test::cell;
using wick_test::contains;
using wick_test::eventually;
using wick_test::numbers;
using wick_test::work_for;

namespace {

constexpr std::int64_t hung = 3;  // the sample that hangs
constexpr std::uint64_t samples = 40, batch_size = 8;

/// What blocks a thread until it is opened.
class gate {
 public:
  void pass() noexcept { open_.wait(false); }
  bool is_open() const noexcept { return open_.load(); }
  void open() noexcept {
    open_.store(true);
    open_.notify_all();
  }

 private:
  std::atomic<bool> open_{false};
};

/// What a coroutine awaits until it is opened; wick knows nothing of it.
class own_awaitable {
 public:
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> h) {
    const std::lock_guard lock(mutex_);
    if (!open_) waiting_ = h;
    return !open_;
  }
  void await_resume() const noexcept {}
  void open() {
    std::coroutine_handle<> waiting;
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
      waiting = std::exchange(waiting_, nullptr);
    }
    if (waiting) waiting.resume();
  }

 private:
  std::mutex mutex_;
  bool open_ = false;
  std::coroutine_handle<> waiting_;
};

/// Calls `f` once: at its own call, or when that doesn't come, so that a test that fails doesn't hang.
template <class F>
class in_time {
 public:
  explicit in_time(F& f)
      : f_(f), watch_([this] {
          std::unique_lock lock(mutex_);
          if (over_.wait_for(lock, wick_test::patience, [this] { return done_; })) return;
          done_ = true;
          f_();
        }) {}
  ~in_time() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    over_.notify_one();
    watch_.join();
  }
  void operator()() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(done_, true)) f_();
  }

 private:
  F& f_;
  std::mutex mutex_;
  bool done_ = false;
  std::condition_variable over_;
  std::thread watch_;
};

struct count_up {
  std::uint64_t count;
  std::uint64_t size() const noexcept { return count; }
  std::int64_t at(std::uint64_t i) const noexcept { return static_cast<std::int64_t>(i); }
};

wick::loader_options two_workers() {
  wick::loader_options o;
  o.workers = 2;
  o.io_threads = 4;
  o.prefetch_next_epoch = false;  // whose sample would hang, too
  return o;
}

/// Takes an epoch, of which batch 0 hangs once `hangs()`, which is when the loop begins to wait; `resolve` is
/// called with the message.
template <class Pipeline, class Hangs, class Resolve>
std::string message_of_hang(Pipeline what, wick::loader_options options, Hangs hangs, Resolve resolve) {
  using clock = std::chrono::steady_clock;
  std::mutex mutex;
  std::vector<std::string> messages;
  clock::time_point message_at;
  in_time once(resolve);
  options.on_hang = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    if (contains(text, "batch 0 of epoch 0")) {  // later ones may only be slow, on a slow machine
      messages.push_back(text);
      if (messages.size() == 1) message_at = clock::now();
    }
    once();
  };
  std::vector<std::int64_t> seen;
  clock::time_point begun;
  {
    wick::loader train(std::move(what), options);
    auto epoch = train.epoch(0);
    CHECK(eventually(hangs));
    begun = clock::now();
    for (auto& batch : epoch) {
      const std::int64_t* const t = batch.target.template as<std::int64_t>();
      seen.insert(seen.end(), t, t + batch.target.extents()[0]);
    }
    CHECK(train.failure_log().total() == 0);
  }
  REQUIRE(seen.size() == samples);
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == static_cast<std::int64_t>(i));
  REQUIRE(messages.size() == 1);
  CHECK(message_at - begun < options.hang_after + 20s);
  if (std::getenv("WICK_SHOW_HANGS") != nullptr) {
    MESSAGE(std::chrono::duration<double>(message_at - begun - options.hang_after).count()
            << " s after the limit: " << messages[0]);
  }
  return messages[0];
}

/// Whether a line of a message begins with `key` and has all of `words`.
bool says(const std::string& text, const std::string& key, const std::vector<std::string>& words) {
  const std::size_t at = text.find("\n  " + key);
  if (at == std::string::npos) return false;
  const std::string line = text.substr(at, text.find('\n', at + 1) - at);
  return std::all_of(words.begin(), words.end(), [&](const std::string& w) { return contains(line, w); });
}

struct wanted {
  std::string key;
  std::vector<std::string> words;
};

/// `hang(options)` gives the message of one hang. On a slow machine the limit may come before the hang is
/// as wanted: then it is tried again with a longer one.
template <class Hang, class IsWanted>
std::string check_message_by(Hang hang, IsWanted is_wanted) {
  std::string text;
  bool good = false;
  for (const auto after : {100ms, 1000ms, 8000ms}) {
    wick::loader_options options = two_workers();
    options.hang_after = after;
    text = hang(options);
    good = is_wanted(text);
    if (good) break;
  }
  CAPTURE(text);
  CHECK(good);
  CHECK(contains(text, "wick: the loop has waited "));
  return text;
}
/// The message has all of these lines.
template <class Hang>
std::string check_message(Hang hang, const std::vector<wanted>& lines) {
  return check_message_by(hang, [&](const std::string& text) {
    return std::all_of(lines.begin(), lines.end(),
                       [&](const wanted& w) { return says(text, w.key, w.words); });
  });
}

/// A stage which sends the sample that hangs through `wait(context*)`, once it has said that it is there.
template <class Wait>
wick::task<cell> waits(cell c, wick::context* context, Wait wait, std::atomic<bool>* there) {
  if (c.target == hung) {
    wick::task<void> waiting = wait(context);
    there->store(true);
    co_await waiting;
  }
  co_return c;
}

/// A sample of a pipeline that suspends, in `wait(context*)`, until `resolve()`.
template <class Wait, class Resolve>
std::string hang_in(wick::loader_options options, Wait wait, Resolve resolve) {
  std::atomic<bool> there{false};
  const auto stage = [&](cell c, wick::context& context) { return waits(c, &context, wait, &there); };
  return message_of_hang(
      numbers{samples} | wick::map("wait", stage) | wick::array_batch(batch_size), options,
      [&] { return there.load(); }, resolve);
}

wick::task<void> await(wick::context*, own_awaitable* of) { co_await *of; }
wick::task<void> lock(wick::context* c, wick::async_semaphore* of) {
  auto guard = co_await of->acquire(*c);
  static_cast<void>(guard);
}
wick::task<void> sleep(wick::context* c, wick::ext::stop_token until) {
  try {
    co_await wick::sleep_for(1h, {*c->on(), until});
  } catch (const wick::cancelled&) {  // the test has woken it
  }
}
wick::task<void> call(wick::context* c, gate* until) {
  auto blocking = c->run_blocking([until] { until->pass(); });
  co_await blocking;
}
wick::task<void> read_from(wick::context* c, int fd) {
  auto reading = c->run_blocking([fd] {
    char byte;
    return ::read(fd, &byte, 1);
  });
  const auto n = co_await reading;
  static_cast<void>(n);
}

}  // namespace

TEST_CASE("a FIFO that delivers nothing: the message names the sample and the I/O thread") {
  const wick_test::temp_dir folder;
  const std::string path = (folder.path() / "silent").string();
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const int fd = ::open(path.c_str(), O_RDWR);
  REQUIRE(fd >= 0);
  check_message(
      [fd](auto options) {
        return hang_in(
            options, [fd](wick::context* c) { return read_from(c, fd); },
            [fd] { CHECK(::write(fd, "x", 1) == 1); });
      },
      {{"number 3 (position 3)", {"in 'wait'", "in a call on I/O thread wick-io-", " for "}}});
  ::close(fd);
}

TEST_CASE("a mutex that is held elsewhere: the message names the sample and the worker") {
  check_message(
      [](auto options) {
        std::mutex mutex;
        gate let_go, held;
        std::atomic<bool> there{false};
        std::thread holder([&] {
          const std::lock_guard lock(mutex);
          held.open();
          let_go.pass();
        });
        held.pass();
        const auto stage = [&](cell c) {
          if (c.target == hung) {
            there.store(true);
            const std::lock_guard lock(mutex);
          }
          return c;
        };
        std::string text = message_of_hang(
            numbers{samples} | wick::map("wait", stage) | wick::array_batch(batch_size), options,
            [&] { return there.load(); }, [&] { let_go.open(); });
        holder.join();
        return text;
      },
      {{"number 3 (position 3)", {"in 'wait'", "running on worker "}}});
}

TEST_CASE("an endless loop: the message names the sample, the stage and the worker") {
  for (const bool suspends : {false, true}) {
    CAPTURE(suspends);
    check_message(
        [suspends](auto options) {
          std::atomic<bool> there{false}, enough{false};
          const auto stage = [&](cell c) {
            while (c.target == hung && !enough.load()) there.store(true);
            return c;
          };
          const auto hang = [&](auto what) {
            return message_of_hang(
                std::move(what), options, [&] { return there.load(); }, [&] { enough.store(true); });
          };
          return suspends ? hang(numbers{samples} | wick_test::slowly | wick::map("loop", stage) |
                                 wick::array_batch(batch_size))
                          : hang(numbers{samples} | wick::map("loop", stage) | wick::array_batch(batch_size));
        },
        {{"number 3 (position 3)", {"in 'loop'", "running on worker "}}});
  }
}

TEST_CASE("the last sample of a batch hangs: the message counts no other, though samples end by the run") {
  constexpr auto last = static_cast<std::int64_t>(batch_size) - 1;
  const std::string text = check_message_by(
      [](auto options) {
        options.workers = 1;
        std::atomic<bool> there{false}, enough{false};
        const auto pass = [](cell c) -> wick::task<cell> { co_return c; };
        const auto stage = [&](cell c) {
          while (c.target == last && !enough.load()) there.store(true);
          return c;
        };
        return message_of_hang(
            numbers{samples} | wick::map("pass", pass) | wick::map("loop", stage) |
                wick::array_batch(batch_size),
            options, [&] { return there.load(); }, [&] { enough.store(true); });
      },
      [](const std::string& of) {
        const std::string key = "number " + std::to_string(last) + " (position " + std::to_string(last) + ')';
        return says(of, key, {"in 'loop'", "running on worker "}) && !contains(of, "on their way");
      });
  CHECK(contains(text, "1 of its " + std::to_string(batch_size) + " samples"));
}

TEST_CASE("a sample among thousands of short ones: the message names the few positions that it may be") {
  constexpr std::uint64_t many = 200'000, last = many - 100;
  for (const auto after : {200ms, 2000ms, 8000ms}) {
    std::atomic<bool> enough{false};
    std::atomic<int> messages{0};
    std::string text;
    wick::loader_options options = two_workers();
    options.hang_after = after;
    options.on_hang = [&](const std::string& message) {
      if (messages.fetch_add(1) == 0) text = message;
      enough.store(true);
    };
    const auto stage = [&](std::int64_t x) {
      while (x == static_cast<std::int64_t>(last) && !enough.load(std::memory_order_relaxed)) {
      }
      return x;
    };
    {
      wick::loader train(count_up{many} | wick::map("loop", stage) | wick::array_batch(many / 2), options);
      std::size_t taken = 0;
      while (train.next()) ++taken;
      CHECK(taken == 2);
    }
    CAPTURE(text);
    REQUIRE(messages.load() > 0);
    // "one of positions 199872 to 199935: …", or exactly that one where it was timed.
    const std::size_t from = text.find("one of positions ");
    std::uint64_t first = last, end = last;
    if (from != std::string::npos)
      REQUIRE(std::sscanf(text.c_str() + from, "one of positions %" SCNu64 " to %" SCNu64, &first, &end) ==
              2);
    else if (!contains(text, "(position " + std::to_string(last) + ')'))
      continue;  // on a slow machine the message was of a wait before
    if (last < first || last > end) continue;
    CHECK(end - first < 64);
    CHECK(contains(text, "running on "));
    return;
  }
  FAIL("no message named the sample");
}

TEST_CASE("an awaitable that is never resumed: the message says that it is the program's own") {
  check_message(
      [](auto options) {
        own_awaitable closed;
        return hang_in(
            options, [&](wick::context* c) { return await(c, &closed); }, [&] { closed.open(); });
      },
      {{"number 3 (position 3)", {"in 'wait'", "in a co_await of the program's own"}}});
}

TEST_CASE("a sleep of an hour: the message says that the sample sleeps") {
  check_message(
      [](auto options) {
        wick::detail::stop_source awake;
        const wick::ext::stop_token token = awake.token();
        return hang_in(
            options, [token](wick::context* c) { return sleep(c, token); }, [&] { awake.request_stop(); });
      },
      {{"number 3 (position 3)", {"in 'wait'", "sleeping for "}}});
}

TEST_CASE("a permit that is never given back: the message says that the sample waits for one") {
  check_message(
      [](auto options) {
        wick::async_semaphore mutex(1);
        auto held = mutex.try_acquire();
        return hang_in(
            options, [&](wick::context* c) { return lock(c, &mutex); }, [&] { held.reset(); });
      },
      {{"number 3 (position 3)", {"waiting for an async_semaphore"}}});
}

namespace {

/// Sample 0 takes the memory, and keeps it in a call.
wick::task<cell> takes_memory(cell c, wick::context* context, gate* taken, gate* until) {
  if (c.target != 0) taken->pass();
  co_await context->reserve(900);
  if (c.target == 0) {
    wick::task<void> calling = call(context, until);
    taken->open();
    co_await calling;
  }
  co_return c;
}

}  // namespace

TEST_CASE("memory that is not given back: the message says who has it and who waits for it") {
  const auto hang = [](wick::loader_options options) {
    gate taken, closed;
    const auto stage = [&](cell c, wick::context& context) {
      return takes_memory(c, &context, &taken, &closed);
    };
    options.memory = 1000;
    return message_of_hang(
        numbers{samples} | wick::map("wait", stage) | wick::array_batch(batch_size), options,
        [&] { return taken.is_open(); }, [&] { closed.open(); });
  };
  check_message(hang, {{"number 0 ", {"in a call on I/O thread"}},
                       {"number 1 ", {"waiting for memory (", " of 1000 bytes are taken)"}}});
}

namespace {

wick::task<cell> after(cell c, wick::task<void> waiting) {
  co_await waiting;
  co_return c;
}

/// All samples are in calls, or wait for a thread that makes theirs.
std::string hang_in_calls(wick::loader_options options) {
  gate closed;
  std::atomic<std::size_t> there{0};
  const auto stage = [&](cell c, wick::context& context) {
    there.fetch_add(1);
    return after(c, call(&context, &closed));
  };
  return message_of_hang(
      numbers{samples} | wick::map("wait", stage) | wick::array_batch(batch_size), options,
      [&] { return there.load() >= *options.in_flight; }, [&] { closed.open(); });
}

}  // namespace

TEST_CASE("samples that use up in_flight: the message says that the others are not begun, and why") {
  const auto hang = [](wick::loader_options options) {
    options.in_flight = 4;
    return hang_in_calls(options);
  };
  check_message(hang, {{"number 0 ", {"in a call on I/O thread"}},
                       {"4 are not begun", {"all 4 samples that may be under way at a time are"}}});
}

TEST_CASE("I/O threads that are all in calls: the message says who is, and who waits for one") {
  const auto hang = [](wick::loader_options options) {
    options.io_threads = 1;
    options.in_flight = 8;
    return hang_in_calls(options);
  };
  check_message(hang, {{"number 7 ", {"waiting for one of 1 I/O threads"}}});
}

TEST_CASE("workers that others keep busy: the message says so") {
  const auto hang = [](wick::loader_options options) {
    gate closed;
    std::atomic<int> kept{0};
    wick::executor shared(2);
    const auto keep = [](wick::executor* on, gate* until, std::atomic<int>* count) -> wick::task<void> {
      co_await on->schedule();
      count->fetch_add(1);
      until->pass();
    };
    std::vector<std::thread> others;
    for (int i = 0; i < 2; ++i) {
      others.emplace_back([&] { wick::ext::sync_wait(keep(&shared, &closed, &kept)); });
    }
    options.workers = options.io_threads = std::nullopt;
    options.executor = &shared;
    CHECK(eventually([&] { return kept.load() == 2; }));
    std::string text = message_of_hang(
        numbers{samples} | wick_test::slowly | wick::array_batch(batch_size), options, [] { return true; },
        [&] { closed.open(); });
    for (std::thread& t : others) t.join();
    return text;
  };
  // The thread that waits for the batch begins samples, too; all of them when it is quick.
  check_message_by(hang, [](const std::string& text) {
    return contains(text, " are not begun: no worker is free; of 2, 0 run this loader's samples") ||
           contains(text, ": in 'map', waiting for a worker for ");
  });
}

TEST_CASE("a stage after batch() that blocks, or waits: the message names the batch and the stage") {
  const auto blocks = [](wick::loader_options options) {
    gate closed;
    std::atomic<bool> there{false};
    const auto stage = [&](auto batch) {
      if (batch.target.template as<std::int64_t>()[0] == 0) {
        there.store(true);
        closed.pass();
      }
      return batch;
    };
    return message_of_hang(
        numbers{samples} | wick::array_batch(batch_size) | wick::map("step", stage), options,
        [&] { return there.load(); }, [&] { closed.open(); });
  };
  const std::string text = check_message(blocks, {{"batch 0: in 'step'", {"running on worker "}}});
  CHECK(contains(text, "all its samples have ended"));
  const auto suspends = [](wick::loader_options options) {
    own_awaitable closed;
    std::atomic<bool> there{false};
    const auto stage = [&](auto batch) {
      return [](auto own, own_awaitable* at, std::atomic<bool>* seen) -> wick::task<decltype(own)> {
        if (own.target.template as<std::int64_t>()[0] == 0) {
          seen->store(true);
          co_await *at;
        }
        co_return own;
      }(std::move(batch), &closed, &there);
    };
    return message_of_hang(
        numbers{samples} | wick::array_batch(batch_size) | wick::map("step", stage), options,
        [&] { return there.load(); }, [&] { closed.open(); });
  };
  check_message(suspends, {{"batch 0: in 'step'", {"in a co_await of the program's own"}}});
}

namespace {

/// Sample 3 is not to be had until the gate is open.
struct slow_numbers : numbers {
  gate* until = nullptr;
  std::atomic<bool>* there = nullptr;
  cell at(std::uint64_t i) const {
    if (i == static_cast<std::uint64_t>(hung)) {
      there->store(true);
      until->pass();
    }
    return numbers::at(i);
  }
};

}  // namespace

TEST_CASE("a source that blocks: the message says that the sample is there") {
  for (const bool suspends : {false, true}) {
    CAPTURE(suspends);
    check_message_by(
        [suspends](auto options) {
          gate closed;
          std::atomic<bool> there{false};
          slow_numbers source;
          source.count = samples;
          source.until = &closed;
          source.there = &there;
          const auto hang = [&](auto what) {
            return message_of_hang(
                std::move(what), options, [&] { return there.load(); }, [&] { closed.open(); });
          };
          return suspends ? hang(source | wick_test::slowly | wick::array_batch(batch_size))
                          : hang(source | wick::array_batch(batch_size));
        },
        [](const std::string& text) {
          // The second where the samples before it were so short that these run together.
          return says(text, "number 3 (position 3)", {"in the source", "running on worker "}) ||
                 says(text, "one of positions ", {"in the source or a stage", "running on worker "});
        });
  }
}

namespace {

template <class Stay>
wick::task<cell> stays(cell c, Stay* stay) {
  (*stay)();
  co_return c;
}

}  // namespace

TEST_CASE("a sample that hangs on the thread that waits for the batch") {
  // Whether the loop takes part is its own choice: it does where samples are short.
  for (const bool suspends : {false, true}) {
    CAPTURE(suspends);
    std::atomic<bool> enough{false}, there{false};
    const auto loop = std::this_thread::get_id();
    auto stay = [&] {
      while (std::this_thread::get_id() == loop && !enough.load()) there.store(true);
    };
    const auto take = [&](auto what) {
      wick::loader_options options = two_workers();
      options.hang_after = 100ms;
      std::vector<std::string> messages;
      options.on_hang = [&](const std::string& text) {
        if (there.load()) messages.push_back(text);
        enough.store(there.load());
      };
      {
        wick::loader train(std::move(what), options);
        for (std::uint64_t epoch = 0; epoch < 10'000 && !enough.load(); ++epoch)
          wick_test::targets_of(train, epoch);
      }
      if (!enough.load()) return;  // it never did
      REQUIRE(!messages.empty());
      CAPTURE(messages[0]);
      CHECK(contains(messages[0], "running on the thread that waits for the batch"));
    };
    if (suspends) {
      const auto stage = [&](cell c, wick::context&) { return stays(c, &stay); };
      take(numbers{1000} | wick::map("wait", stage) | wick::array_batch(1000));
    } else {
      const auto stage = [&](cell c) {
        stay();
        return c;
      };
      take(numbers{1000} | wick::map("wait", stage) | wick::array_batch(1000));
    }
  }
}

TEST_CASE("a hang has one message, in next() and in next_async() on a worker, and the next hang another") {
  for (const bool async : {false, true}) {
    CAPTURE(async);
    own_awaitable closed[2];
    std::atomic<int> messages[2]{};
    wick::loader_options options = two_workers();
    options.hang_after = 20ms;
    options.on_hang = [&](const std::string& text) {
      if (contains(text, "batch 0 of epoch 0")) messages[0].fetch_add(1);
      if (contains(text, "batch 2 of epoch 0")) messages[1].fetch_add(1);
    };
    // A hang lasts five times as long as is allowed from its message on.
    std::thread other([&] {
      for (int i = 0; i < 2; ++i) {
        CHECK(eventually([&] { return messages[i].load() != 0; }));
        const auto end = std::chrono::steady_clock::now() + 100ms;
        CHECK(eventually([&] { return std::chrono::steady_clock::now() > end; }));
        closed[i].open();
      }
    });
    std::size_t taken = 0;
    {
      const auto stage = [&](cell c) {
        return [](cell own, own_awaitable* first, own_awaitable* second) -> wick::task<cell> {
          if (own.target == 3) co_await *first;
          if (own.target == 20) co_await *second;
          co_return own;
        }(c, &closed[0], &closed[1]);
      };
      wick::loader train(numbers{samples} | wick::map("wait", stage) | wick::array_batch(batch_size),
                         options);
      if (async) {
        const auto all = [](auto* from, std::size_t* count) -> wick::task<void> {
          co_await from->on().schedule();
          for (;;) {
            auto next = from->next_async();
            auto batch = co_await next;
            if (!batch) break;
            ++*count;
          }
        };
        wick::ext::sync_wait(all(&train, &taken));
      } else {
        while (train.next()) ++taken;
      }
    }
    other.join();
    CHECK(taken == samples / batch_size);
    CHECK(messages[0].load() == 1);
    CHECK(messages[1].load() == 1);
  }
}

TEST_CASE(
    "a loop that is slow itself gets no message, though its next batch hangs; nor one without a limit") {
  for (const bool off : {false, true}) {
    CAPTURE(off);
    own_awaitable closed;
    std::atomic<int> messages{0};
    std::atomic<bool> there{false};
    auto open = [&closed] { closed.open(); };
    in_time once(open);
    wick::loader_options options = two_workers();
    options.hang_after = off ? 0ms : 20ms;
    options.on_hang = [&](const std::string& text) {
      if (!contains(text, "batch 1 of epoch 0")) return;
      messages.fetch_add(1);
      once();
    };
    const auto wait = [&](wick::context* c) { return await(c, &closed); };
    const auto stage = [&](cell c, wick::context& context) { return waits(c, &context, wait, &there); };
    wick::loader train(numbers{samples} | wick::map("wait", stage) | wick::array_batch(2), options);
    auto batch = train.next();  // the watch has begun
    REQUIRE(batch);
    CHECK(eventually([&] { return there.load(); }));
    const auto end = std::chrono::steady_clock::now() + 200ms;
    CHECK(eventually([&] { return std::chrono::steady_clock::now() > end; }));
    CHECK(messages.load() == 0);
    if (off) once();
    batch = train.next();
    CHECK(batch);
    CHECK(messages.load() == (off ? 0 : 1));
  }
}

TEST_CASE("a loader that is destroyed during a message waits for its end; refresh() does, too") {
  for (const bool refresh : {false, true}) {
    CAPTURE(refresh);
    own_awaitable closed;
    gate telling, leaving;
    std::atomic<bool> returned{false}, there{false};
    std::thread other([&] {
      telling.pass();
      closed.open();
    });
    {
      wick::loader_options options = two_workers();
      options.hang_after = 20ms;
      options.on_hang = [&](const std::string&) {
        telling.open();
        leaving.pass();
        std::this_thread::yield();
        returned.store(true);
      };
      const auto wait = [&](wick::context* c) { return await(c, &closed); };
      const auto stage = [&](cell c, wick::context& context) { return waits(c, &context, wait, &there); };
      wick::loader train(numbers{samples} | wick::map("wait", stage) | wick::array_batch(batch_size),
                         options);
      CHECK(train.next());
      leaving.open();
      if (refresh) {
        train.refresh();
        CHECK(returned.load());
      }
    }
    CHECK(returned.load());
    other.join();
  }
}

#ifndef WICK_TEST_TSAN
TEST_CASE("a process that was stopped for longer than hang_after has no message for that") {
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    std::atomic<int> messages{0};
    std::atomic<bool> open{false};
    const auto wait = [&open](cell i) {
      while (!open) std::this_thread::sleep_for(1ms);
      return i;
    };
    int status = 1;
    {
      wick::loader l(numbers{4} | wick::map("wait", wait) | wick::array_batch(4),
                     {.workers = 1, .hang_after = 2s, .on_hang = [&](const std::string&) { ++messages; }});
      std::thread opener([&] {
        static_cast<void>(::write(ready[1], "x", 1));
        for (int i = 0; i < 100; ++i)
          std::this_thread::sleep_for(10ms);  // a second of the process's own time
        open = true;
      });
      status = l.next() && messages == 0 ? 0 : 1;
      opener.join();
    }
    ::_exit(status);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  std::this_thread::sleep_for(300ms);
  REQUIRE(::kill(child, SIGSTOP) == 0);
  std::this_thread::sleep_for(4s);  // longer than hang_after
  REQUIRE(::kill(child, SIGCONT) == 0);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  ::close(ready[0]);
  ::close(ready[1]);
}
#endif

TEST_CASE("loaders that come and go in the middle of waits and messages") {
  std::atomic<int> messages{0};
  wick::executor shared(2);
  for (int round = 0; round < 100; ++round) {
    wick::loader_options options;
    if (round % 2 == 0)
      options.workers = 2;
    else
      options.executor = &shared;
    options.hang_after = 1ms;
    options.on_hang = [&](const std::string& text) {
      CHECK(!text.empty());
      messages.fetch_add(1);
    };
    const auto stage = [round](cell c, wick::context& context) -> wick::task<cell> {
      return [](cell own, wick::context* in, int most) -> wick::task<cell> {
        auto pause = wick::sleep_for(std::chrono::milliseconds(own.target % most), *in);
        co_await pause;
        co_return own;
      }(c, &context, round % 7 + 1);
    };
    wick::loader train(numbers{samples} | wick::map("wait", stage) | wick::array_batch(batch_size), options);
    for (int taken = 0; taken < round % 4; ++taken) static_cast<void>(train.next());
    if (round % 5 == 0) train.refresh();
  }
  CHECK(messages.load() > 0);
}

TEST_CASE("a wait that is interrupted by samples of the waiting thread's own has its message") {
  wick::executor on({.workers = 1});
  std::atomic<std::uint64_t> messages{0};
  wick::detail::hang_watch watch(on, {nullptr, [](void*, std::uint64_t, wick::detail::hang_scene&) {}}, 2ms,
                                 [&messages](const std::string&) { ++messages; });
  for (std::uint64_t wait = 1; wait <= 10; ++wait) {
    const std::uint64_t begun = wick::detail::now_ticks();
    const auto give_up = std::chrono::steady_clock::now() + 20s;
    while (messages < wait && std::chrono::steady_clock::now() < give_up) {
      watch.begin(begun, 0);
      work_for(5us);  // it waits: the watch sees that now and then
      watch.end();
      watch.leave();
      work_for(20us);  // a sample of its own: often the watch looks closer then, and finds no wait
    }
    REQUIRE(messages == wait);
  }
}

}  // namespace wick_test::hang_watch_tests

// Kinds of hang, each made on purpose: the message names the sample and what it waits for; then the hang is
// resolved, and all samples arrive.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/eventually.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/order/order.hpp>
#include <wick/run/async_mutex.hpp>
#include <wick/run/async_semaphore.hpp>
#include <wick/run/channel.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/sleep.hpp>
#include <wick/run/stop_token.hpp>
#include <wick/run/sync_wait.hpp>

using namespace std::chrono_literals;
using wick_test::batches;
using wick_test::cell;
using wick_test::contains;
using wick_test::eventually;
using wick_test::numbers;
using wick_test::targets_of;

namespace {

constexpr std::int64_t hung = 3;  // the sample that hangs
constexpr std::uint64_t samples = 40, batch_size = 8;

/// The line of a message that tells of one sample.
std::string line_of(const std::string& text, const std::string& key) {
  const std::size_t at = text.find("\n  " + key);
  return at == std::string::npos ? std::string() : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

/// Whether the kernel says here which call a thread is in.
bool calls_are_told() {
  std::string text(64, '\0');
  const int fd = ::open("/proc/self/syscall", O_RDONLY);
  if (fd < 0) return false;
  const auto n = ::read(fd, text.data(), text.size());
  ::close(fd);
  return n > 0 && text[0] >= '0' && text[0] <= '9';
}

/// A line about one sample that a message must have, with these words.
struct told_of {
  std::string key;
  std::vector<std::string> words;
};

wick::loader_options two_workers() {
  wick::loader_options o;
  o.workers = 2;
  o.io_threads = 4;
  o.hang_after = 50ms;
  o.prefetch_next_epoch = false;  // whose sample would hang, too
  return o;
}

bool says(const std::string& text, const std::vector<told_of>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const told_of& one) {
    const std::string line = line_of(text, one.key);
    return !line.empty() && std::all_of(one.words.begin(), one.words.end(),
                                        [&](const std::string& w) { return contains(line, w); });
  });
}

/// Calls `f` once: when it is told to, or when that doesn't come, so that a test that fails doesn't hang.
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
  void operator()() const {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(done_, true)) f_();
  }

 private:
  F& f_;
  mutable std::mutex mutex_;
  mutable bool done_ = false;
  std::condition_variable over_;
  std::thread watch_;
};

/// Runs an epoch, of which batch 0 hangs. When all are where they stay, the training loop begins to wait;
/// `resolve` is called when it is told so.
template <class Pipeline, class Resolve>
std::string message_of_hang(Pipeline what, wick::loader_options options, const std::vector<told_of>& wanted,
                            Resolve resolve) {
  using clock = std::chrono::steady_clock;
  std::string message;
  int messages = 0;
  clock::time_point told_at;
  const in_time once(resolve);
  options.on_hang = [&](const std::string& text) {
    if (!contains(text, "batch 0 of epoch 0")) return;  // the machine is slow
    if (++messages != 1) return;
    told_at = clock::now();
    message = text;
    once();
  };
  std::vector<std::int64_t> seen;
  {
    wick::loader train(std::move(what), options);
    auto epoch = train.epoch(0);
    std::string where;
    const bool hangs = eventually([&] { return says(where = train.where(), wanted); });
    CAPTURE(where);
    CHECK(hangs);
    if (!hangs) once();
    const clock::time_point begun = clock::now();
    for (auto& batch : epoch) {
      const std::int64_t* const t = batch.target.template as<std::int64_t>();
      seen.insert(seen.end(), t, t + batch.target.extents()[0]);
    }
    CHECK(train.ledger().total() == 0);
    if (hangs) CHECK(told_at - begun < options.hang_after + 2s);
  }
  CHECK(seen.size() == samples);
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == static_cast<std::int64_t>(i));
  CHECK(messages == 1);
  CHECK(contains(message, "wick: the training loop has waited "));
  CAPTURE(message);
  CHECK(says(message, wanted));
  if (std::getenv("WICK_SHOW_HANGS") != nullptr) MESSAGE(message);
  return message;
}

/// What a stage waits for that is the program's own: whoever comes here goes on when it is opened.
class gate {
 public:
  struct awaiter {
    gate& of;
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> h) {
      const std::lock_guard lock(of.mutex_);
      if (of.open_) return false;
      of.waiting_.push_back(h);
      return true;
    }
    void await_resume() const noexcept {}
  };
  awaiter operator co_await() noexcept { return {*this}; }
  void open() {
    std::vector<std::coroutine_handle<>> all;
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
      all.swap(waiting_);
    }
    for (auto h : all) h.resume();
  }

 private:
  std::mutex mutex_;
  bool open_ = false;
  std::vector<std::coroutine_handle<>> waiting_;
};

/// What blocks a thread until it is opened.
class barrier {
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

/// `wait` is awaited by the sample that hangs.
template <class Wait>
wick::task<cell> waits(cell c, wick::context* context, Wait wait) {
  if (c.target == hung) {
    wick::task<void> waiting = wait(context);
    co_await waiting;
  }
  co_return c;
}

/// A pipeline with a stage that awaits what `wait(context*)` gives.
template <class Wait>
auto with_wait(Wait wait) {
  auto stage = [wait](cell c, wick::context& context) { return waits(c, &context, wait); };
  return numbers{samples} | wick::map("wait", stage) | wick::array_batch(batch_size);
}

wick::task<void> pass_gate(wick::context*, gate* of) { co_await *of; }
wick::task<void> lock(wick::context* c, wick::async_mutex* of) {
  auto guard = co_await of->lock(*c);
  static_cast<void>(guard);
}
wick::task<void> acquire(wick::context* c, wick::async_semaphore* of) {
  auto permit = co_await of->acquire(*c);
  static_cast<void>(permit);
}
wick::task<void> receive(wick::context* c, wick::detail::channel<int>* of) {
  auto got = co_await of->receive(*c);
  static_cast<void>(got);
}
wick::task<void> sleep(wick::context* c, wick::stop_token until) {
  try {
    co_await wick::sleep_for(1h, {*c->on(), until});
  } catch (const wick::cancelled&) {  // somebody has woken it
  }
}
wick::task<void> read_from(wick::context* c, int fd) {
  auto call = c->run_blocking([fd] {
    char byte;
    return ::read(fd, &byte, 1);
  });
  const auto n = co_await call;
  static_cast<void>(n);
}
wick::task<void> receive_from(wick::context* c, int fd) {
  auto call = c->run_blocking([fd] {
    char byte;
    return ::recv(fd, &byte, 1, 0);
  });
  const auto n = co_await call;
  static_cast<void>(n);
}

const std::string on_io_thread = "in a call on an I/O thread";

}  // namespace

TEST_CASE("a FIFO that nobody writes to: the message names the sample and the I/O thread") {
  const wick_test::temp_dir folder;
  const std::string path = (folder.path() / "silent").string();
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const int fd = ::open(path.c_str(), O_RDWR);
  REQUIRE(fd >= 0);
  std::vector<std::string> words{on_io_thread};
  if (calls_are_told()) words.push_back("reads from " + path);
  message_of_hang(with_wait([fd](wick::context* c) { return read_from(c, fd); }), two_workers(),
                  {{"number 3 (position 3): in 'wait'", words}}, [fd] { CHECK(::write(fd, "x", 1) == 1); });
  ::close(fd);
}

TEST_CASE("a mutex that is held elsewhere: the message names the sample and the worker") {
  std::mutex mutex;
  barrier let_go, held;
  std::thread holder([&] {
    const std::lock_guard lock(mutex);
    held.open();
    let_go.pass();
  });
  held.pass();
  auto stage = [&mutex](cell c) {
    if (c.target == hung) const std::lock_guard lock(mutex);
    return c;
  };
  std::vector<std::string> words{"running on "};
  if (calls_are_told()) words.push_back("futex");
  message_of_hang(numbers{samples} | wick::map("wait", stage) | wick::array_batch(batch_size), two_workers(),
                  {{"number 3", words}}, [&] { let_go.open(); });
  holder.join();
}

TEST_CASE("a task that is never resumed: the message says that it is the program's own") {
  gate closed;
  message_of_hang(with_wait([&closed](wick::context* c) { return pass_gate(c, &closed); }), two_workers(),
                  {{"number 3", {"waiting for something that is not wick's"}}}, [&] { closed.open(); });
}

TEST_CASE("a server that is silent: the message names the sample and the socket") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const int ours = ends[0], theirs = ends[1];
  std::vector<std::string> words{on_io_thread};
  if (calls_are_told()) words.push_back("receives from socket:");
  message_of_hang(with_wait([ours](wick::context* c) { return receive_from(c, ours); }), two_workers(),
                  {{"number 3", words}}, [theirs] { CHECK(::send(theirs, "x", 1, 0) == 1); });
  ::close(ours);
  ::close(theirs);
}

namespace {

/// Sample 0 takes it first.
wick::task<cell> takes_memory(cell c, wick::context* context, barrier* taken, barrier* at) {
  if (c.target != 0) taken->pass();
  co_await context->reserve(900);
  if (c.target == 0) {
    auto call = context->run_blocking([taken, at] {
      taken->open();
      at->pass();
    });
    co_await call;
  }
  co_return c;
}

}  // namespace

TEST_CASE("memory that is not given back: the message names who has it and who waits for it") {
  barrier taken, closed;
  auto stage = [&](cell c, wick::context& context) { return takes_memory(c, &context, &taken, &closed); };
  wick::loader_options options = two_workers();
  options.memory = 1000;
  message_of_hang(
      numbers{samples} | wick::map("wait", stage) | wick::array_batch(batch_size), options,
      {{"number 0", {on_io_thread}}, {"number 1 ", {"waiting for memory (900 of 1000 bytes are taken)"}}},
      [&] { closed.open(); });
}

TEST_CASE("an async_mutex that is never unlocked: the message names the sample and the lock") {
  wick::async_mutex mutex;
  auto held = mutex.try_lock();
  message_of_hang(with_wait([&mutex](wick::context* c) { return lock(c, &mutex); }), two_workers(),
                  {{"number 3", {"waiting for a lock"}}}, [&] { held.unlock(); });
}

TEST_CASE("an async_semaphore without permits: the message names the sample and the lock") {
  wick::async_semaphore semaphore(1);
  std::optional<wick::async_semaphore::permits> held(semaphore.try_acquire());
  message_of_hang(with_wait([&semaphore](wick::context* c) { return acquire(c, &semaphore); }), two_workers(),
                  {{"number 3", {"waiting for a lock"}}}, [&] { held.reset(); });
}

TEST_CASE("a channel into which nobody sends: the message names the sample and the channel") {
  wick::detail::channel<int> channel(1);
  message_of_hang(with_wait([&channel](wick::context* c) { return receive(c, &channel); }), two_workers(),
                  {{"number 3", {"waiting for a channel"}}}, [&] { CHECK(channel.try_send(1)); });
}

TEST_CASE("a sleep of an hour: the message names the sample and says that it sleeps") {
  wick::detail::stop_source awake;
  const wick::stop_token token = awake.token();
  message_of_hang(with_wait([token](wick::context* c) { return sleep(c, token); }), two_workers(),
                  {{"number 3", {"sleeping"}}}, [&] { awake.request_stop(); });
}

TEST_CASE("an endless loop: the message names the sample and the worker that computes") {
  std::atomic<bool> enough{false};
  auto stage = [&enough](cell c) {
    while (c.target == hung && !enough.load()) std::this_thread::yield();
    return c;
  };
  message_of_hang(numbers{samples} | wick::map("wait", stage) | wick::array_batch(batch_size), two_workers(),
                  {{"number 3", {"running on "}}}, [&] { enough.store(true); });
}

TEST_CASE("an endless loop in a pipeline that suspends is no wait for the program's own tasks") {
  std::atomic<bool> enough{false};
  auto stage = [&enough](cell c) {
    while (c.target == hung && !enough.load()) std::this_thread::yield();
    return c;
  };
  wick::loader_options options = two_workers();
  message_of_hang(
      numbers{samples} | wick_test::slowly | wick::map("wait", stage) | wick::array_batch(batch_size),
      options, {{"number 3", {"running on worker"}}}, [&] { enough.store(true); });
}

TEST_CASE("a stage behind batch() that blocks: the message names the batch") {
  barrier closed;
  std::atomic<int> batch{0};
  auto stage = [&](auto b) {
    if (batch.fetch_add(1) == 0) closed.pass();
    return b;
  };
  wick::loader_options options = two_workers();
  options.workers = 1;
  const std::string text =
      message_of_hang(numbers{samples} | wick::array_batch(batch_size) | wick::map("step", stage), options,
                      {{"batch 0: in 'step'", {"running on worker 0"}}}, [&] { closed.open(); });
  CHECK(contains(text, "it is in the stages behind batch()"));
}

namespace {

/// Samples 0 and 1 call first, and stay there.
struct two_calls {
  std::atomic<int> begun{0};
  barrier both, end;
};

wick::task<cell> calls(cell c, wick::context* context, two_calls* of) {
  const bool stays = c.target < 2;
  if (!stays) of->both.pass();
  auto call = context->run_blocking([of, stays] {
    if (!stays) return;
    if (of->begun.fetch_add(1) == 1) of->both.open();
    of->end.pass();
  });
  co_await call;
  co_return c;
}

}  // namespace

TEST_CASE("I/O threads that are all stuck: the message names who has them, and counts who waits for one") {
  two_calls both;
  auto stage = [&both](cell c, wick::context& context) { return calls(c, &context, &both); };
  wick::loader_options options = two_workers();
  options.io_threads = 2;
  options.in_flight = 64;
  const std::string text =
      message_of_hang(numbers{samples} | wick::map("wait", stage) | wick::array_batch(20), options,
                      {{"number 0", {on_io_thread}},
                       {"number 1 ", {on_io_thread}},
                       {"and 10 more in '", {"waiting for an I/O thread"}}},
                      [&] { both.end.open(); });
  CHECK(contains(text, "20 of its 20 samples are unfinished"));
}

namespace {

wick::task<cell> asks(cell c, wick::context* context) {
  auto call = context->run_blocking([] {});
  co_await call;
  co_return c;
}

}  // namespace

TEST_CASE("I/O threads that others keep busy: the message says what these threads do") {
  const wick_test::temp_dir folder;
  const std::string path = (folder.path() / "others").string();
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const int fd = ::open(path.c_str(), O_RDWR);
  REQUIRE(fd >= 0);
  std::string text;
  {
    wick::executor shared({.workers = 2, .io_threads = 1});
    const auto others = [](wick::executor* on, int from) -> wick::task<void> {
      co_await on->schedule();
      auto call = on->io().run(*on, [from] {
        char byte;
        return ::read(from, &byte, 1);
      });
      const auto n = co_await call;
      static_cast<void>(n);
    };
    std::thread other([&] {
      auto run = others(&shared, fd);
      wick::sync_wait(std::move(run));
    });
    CHECK(eventually([&] { return !shared.io().all_in_calls().empty(); }));
    auto stage = [](cell c, wick::context& context) { return asks(c, &context); };
    wick::loader_options options = two_workers();
    options.workers = options.io_threads = 0;
    options.executor = &shared;
    text = message_of_hang(numbers{samples} | wick::map("wait", stage) | wick::array_batch(batch_size),
                           options, {{"number 0", {"waiting for an I/O thread"}}},
                           [&] { CHECK(::write(fd, "x", 1) == 1); });
    other.join();
  }
  ::close(fd);
  CHECK(contains(text, "no I/O thread is free:\n  wick-io-0 (thread "));
  if (calls_are_told()) CHECK(contains(text, " reads from " + path));
}

TEST_CASE("workers that others keep busy: the message says what these threads do") {
  barrier closed;
  std::atomic<int> kept{0};
  std::string text;
  {
    wick::executor shared({.workers = 2});
    const auto others = [](wick::executor* on, barrier* at, std::atomic<int>* count) -> wick::task<void> {
      co_await on->schedule();
      count->fetch_add(1);
      at->pass();
    };
    std::vector<std::thread> keep;
    for (int i = 0; i < 2; ++i) {
      keep.emplace_back([&] {
        auto run = others(&shared, &closed, &kept);
        wick::sync_wait(std::move(run));
      });
    }
    CHECK(eventually([&] { return kept.load() == 2; }));
    wick::loader_options options = two_workers();
    options.workers = options.io_threads = 0;
    options.executor = &shared;
    text = message_of_hang(numbers{samples} | wick_test::slowly | wick::array_batch(batch_size), options, {},
                           [&] { closed.open(); });
    for (std::thread& t : keep) t.join();
  }
  CHECK(contains(text, "no worker is free:\n  wick-0 (thread "));
  CHECK(contains(text, "\n  wick-1 (thread "));
}

namespace {

template <class Stay>
wick::task<cell> stays(cell c, Stay* stay) {
  (*stay)();
  co_return c;
}

}  // namespace

TEST_CASE("a sample that hangs on the thread that waits for the batch is told to be there") {
  // Whether the loop takes part is its own choice: it does where samples are short.
  std::atomic<bool> enough{false};
  std::string where;
  const auto loop = std::this_thread::get_id();
  auto stay = [&] {
    while (std::this_thread::get_id() == loop && !enough.load()) std::this_thread::yield();
  };
  auto stage = [&stay](cell c, wick::context&) { return stays(c, &stay); };
  wick::loader train(numbers{1000} | wick::map("wait", stage) | wick::array_batch(1000), two_workers());
  const std::string wanted = "in 'wait', running on the thread that waits for the batch for ";
  std::thread other([&] {
    CHECK(eventually([&] { return contains(where = train.where(), wanted); }));
    enough.store(true);
  });
  for (std::uint64_t epoch = 0; !enough.load(); ++epoch) targets_of(train, epoch);
  other.join();
  CHECK(contains(where, wanted));
}

TEST_CASE("a hang is told once, by next() and by next_async(), and the next one again") {
  for (const bool async : {false, true}) {
    CAPTURE(async);
    gate closed;
    std::atomic<int> of_first{0};
    wick::loader_options options = two_workers();
    options.hang_after = 10ms;
    options.on_hang = [&](const std::string& text) {
      if (contains(text, "batch 0 of epoch 0")) of_first.fetch_add(1);
    };
    // The hang lasts ten times as long as is allowed from where it was told.
    std::thread other([&] {
      CHECK(eventually([&] { return of_first.load() != 0; }));
      const auto end = std::chrono::steady_clock::now() + 100ms;
      CHECK(eventually([&] { return std::chrono::steady_clock::now() > end; }));
      closed.open();
    });
    std::size_t taken = 0;
    {
      wick::loader train(with_wait([&closed](wick::context* c) { return pass_gate(c, &closed); }), options);
      if (async) {
        const auto all = [](auto* from, std::size_t* count) -> wick::task<void> {
          for (;;) {
            auto next = from->next_async();
            auto batch = co_await next;
            if (!batch) break;
            ++*count;
          }
        };
        auto run = all(&train, &taken);
        wick::sync_wait(std::move(run));
      } else {
        while (train.next()) ++taken;
      }
    }
    other.join();
    CHECK(taken == samples / batch_size);
    CHECK(of_first.load() == 1);
  }
}

TEST_CASE("a loop that is slow itself is told nothing, though its next batch hangs") {
  gate closed;
  std::atomic<int> messages{0};
  auto open = [&closed] { closed.open(); };
  const in_time once(open);
  wick::loader_options options = two_workers();
  options.hang_after = 10ms;
  options.on_hang = [&](const std::string& text) {
    if (!contains(text, "batch 1 of epoch 0")) return;
    messages.fetch_add(1);
    once();
  };
  const auto pass = [&closed](wick::context* c) { return pass_gate(c, &closed); };
  const auto stage = [pass](cell c, wick::context& context) { return waits(c, &context, pass); };
  wick::loader train(numbers{samples} | wick::map("wait", stage) | wick::array_batch(2), options);
  auto batch = train.next();  // the watch has begun
  REQUIRE(batch);
  CHECK(eventually([&] { return contains(train.where(), "number 3 (position 3): in 'wait'"); }));
  const auto end = std::chrono::steady_clock::now() + 100ms;
  CHECK(eventually([&] { return std::chrono::steady_clock::now() > end; }));
  CHECK(messages.load() == 0);
  batch = train.next();
  CHECK(messages.load() == 1);
}

namespace {

/// Sample 3 waits at the one, sample 20 at the other.
wick::task<cell> pass_two(cell c, gate* first, gate* second) {
  if (c.target == hung) co_await *first;
  if (c.target == 20) co_await *second;
  co_return c;
}

}  // namespace

TEST_CASE("a loader that is destroyed while a sample hangs and a message is being told waits for both") {
  gate first, second;
  barrier telling, leaving, told;
  std::atomic<bool> returned{false};
  std::thread other([&] {
    CHECK(eventually([&] { return telling.is_open(); }));
    first.open();
    leaving.pass();
    second.open();
    told.open();
  });
  {
    wick::loader_options options = two_workers();
    options.on_hang = [&](const std::string&) {
      telling.open();
      told.pass();
      returned.store(true);
    };
    auto stage = [&](cell c) { return pass_two(c, &first, &second); };
    wick::loader train(numbers{samples} | wick::map("wait", stage) | wick::array_batch(batch_size), options);
    CHECK(train.next());
    leaving.open();
  }
  CHECK(returned.load());
  other.join();
}

TEST_CASE("where() may be asked at any time, by any thread") {
  const auto ask_during = [](auto pipeline) {
    wick::loader_options options = two_workers();
    wick::loader train(std::move(pipeline), options);
    CHECK(contains(train.where(), "no batch is in the making"));
    std::atomic<bool> over{false};
    std::atomic<int> asked{0};
    std::thread other([&] {
      while (!over.load()) {
        CHECK_FALSE(train.where().empty());
        asked.fetch_add(1);
      }
    });
    for (std::uint64_t epoch = 0; epoch < 3 || asked.load() < 20; ++epoch) {
      CHECK(targets_of(train, epoch).size() == 63);
      train.refresh();
    }
    over.store(true);
    other.join();
  };
  ask_during(numbers{1000} | wick::shuffle() | wick::array_batch(16));
  ask_during(numbers{1000} | wick::shuffle() | wick_test::slowly | wick::array_batch(16));
}

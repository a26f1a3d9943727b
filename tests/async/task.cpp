#include <atomic>
#include <coroutine>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/detail/frame_pool.hpp>
#include <wick/async/detail/scope.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace wick_test::task_tests {

using wick::task;
using wick::ext::sync_wait;
using wick_test::counted;
using wick_test::rounds;
using wick_test::stack_span;

namespace {

task<int> answer() { co_return 42; }

task<int> answer_elsewhere(wick::executor* ex) {
  co_await ex->schedule();
  co_return 42;
}

task<void> fail(std::string text) {
  throw std::runtime_error(text);
  co_return;
}

task<int> fail_elsewhere(wick::executor* ex, std::string text) {
  co_await ex->schedule();
  throw std::runtime_error(text);
}

/// What a task threw, as its awaiter sees it.
template <class T>
task<std::string> text_thrown_by(task<T> t) {
  std::string text;
  try {
    if constexpr (std::is_void_v<T>) {
      co_await t;
    } else {
      const T value = co_await t;
      (void)value;
    }
  } catch (const std::runtime_error& e) {
    text = e.what();
  }
  co_return text;
}

/// A program with 10^6 nested frames of about 200 bytes takes 200 MB, and several times that under a
/// sanitizer, which puts red zones round each frame and keeps freed ones: there 10^5, which would still
/// overflow any stack.
const int deep = rounds(1'000'000, 100'000);

}  // namespace

TEST_CASE("a task gives its value to who awaits it") { CHECK(sync_wait(answer()) == 42); }

TEST_CASE("a task that ends on another thread gives its value to who awaits it") {
  wick::executor ex(2);
  CHECK(sync_wait(answer_elsewhere(&ex)) == 42);
}

TEST_CASE("a task of a reference gives the very object") {
  int x = 1;
  const auto borrow = [](int* p) -> task<int&> { co_return *p; };
  const auto through = [](task<int&> t) -> task<int*> {
    int& r = co_await t;
    co_return &r;
  };
  CHECK(sync_wait(through(borrow(&x))) == &x);
}

TEST_CASE("a task of a reference to const binds to a non-const object") {
  std::string s = "photo";
  const auto borrow = [](std::string* p) -> task<const std::string&> { co_return *p; };
  const auto through = [](task<const std::string&> t) -> task<const std::string*> {
    const std::string& r = co_await t;
    co_return &r;
  };
  CHECK(sync_wait(through(borrow(&s))) == &s);
}

TEST_CASE("a task of void runs to its end before its awaiter continues") {
  wick::executor ex(2);
  int x = 0;
  const auto set = [](wick::executor* on, int* p) -> task<void> {
    co_await on->schedule();
    *p = 1;
  };
  const auto after = [](task<void> t, int* p) -> task<int> {
    co_await t;
    co_return *p * 10;
  };
  CHECK(sync_wait(after(set(&ex, &x), &x)) == 10);
}

TEST_CASE("a value that can only be moved arrives") {
  const auto make = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  const auto through = [](task<std::unique_ptr<int>> t) -> task<std::unique_ptr<int>> {
    auto p = co_await t;
    ++*p;
    co_return p;
  };
  CHECK(*sync_wait(through(make())) == 8);
}

TEST_CASE("a value without a default constructor, and one made from braces, arrive") {
  struct size {
    size(int w, int h) : width(w), height(h) {}
    int width, height;
  };
  const auto make = []() -> task<size> { co_return {3, 4}; };
  const size s = sync_wait(make());
  CHECK(s.width == 3);
  CHECK(s.height == 4);
}

TEST_CASE("what a task returns is converted to its type") {
  const auto make = []() -> task<std::string> { co_return "tar"; };
  CHECK(sync_wait(make()) == "tar");
}

TEST_CASE("an exception of a task reaches its awaiter") {
  CHECK(sync_wait(text_thrown_by(fail("no such file"))) == "no such file");
}

TEST_CASE("an exception after a suspension reaches the awaiter") {
  wick::executor ex(1);
  CHECK(sync_wait(text_thrown_by(fail_elsewhere(&ex, "cut short"))) == "cut short");
}

TEST_CASE("an awaiter that caught an exception continues and may await again") {
  const auto retry = []() -> task<int> {
    int caught = 0;
    for (int i = 0; i < 3; ++i) {
      auto t = fail("again");
      try {
        co_await t;
      } catch (const std::runtime_error&) {
        ++caught;
      }
    }
    co_return caught;
  };
  CHECK(sync_wait(retry()) == 3);
}

TEST_CASE("a task does nothing before it is awaited") {
  bool ran = false;
  const auto mark = [](bool* p) -> task<void> {
    *p = true;
    co_return;
  };
  auto t = mark(&ran);
  CHECK_FALSE(ran);
  sync_wait(std::move(t));
  CHECK(ran);
}

TEST_CASE("a task that is dropped without being awaited drops its parameters and never runs") {
  std::atomic<int> alive{0};
  bool ran = false;
  const auto hold = [](counted, bool* p) -> task<void> {
    *p = true;
    co_return;
  };
  {
    counted c(alive);
    const auto t = hold(c, &ran);
    CHECK(alive.load() == 2);
  }
  CHECK(alive.load() == 0);
  CHECK_FALSE(ran);
}

TEST_CASE("assigning to a task drops the one it held, at once") {
  std::atomic<int> alive{0};
  const auto hold = [](counted) -> task<void> { co_return; };
  const counted c(alive);
  auto first = hold(c), second = hold(c);
  CHECK(alive.load() == 3);
  first = std::move(second);
  CHECK(alive.load() == 2);
  CHECK(first);
  CHECK_FALSE(second);
  task<void>& same = first;
  first = std::move(same);
  CHECK(first);
  CHECK(alive.load() == 2);
}

TEST_CASE("a default task is empty, a moved-from task too") {
  CHECK_FALSE(task<int>());
  auto t = answer();
  CHECK(t);
  const auto u = std::move(t);
  CHECK_FALSE(t);
  CHECK(u);
}

TEST_CASE("is_task knows tasks and nothing else") {
  CHECK(wick::detail::is_task<task<void>>);
  CHECK(wick::detail::is_task<task<std::unique_ptr<int>>>);
  CHECK_FALSE(wick::detail::is_task<int>);
  CHECK_FALSE(wick::detail::is_task<std::coroutine_handle<>>);
}

TEST_CASE("the locals and parameters of a task are gone once it was awaited and dropped") {
  wick::executor ex(2);
  std::atomic<int> alive{0};
  const auto hold = [](wick::executor* on, counted c) -> task<void> {
    const counted local(c);
    co_await on->schedule();
    const counted later(c);
  };
  const auto outer = [](auto make, wick::executor* on, std::atomic<int>* n) -> task<int> {
    {
      const counted c(*n);
      auto t = make(on, c);
      co_await t;
    }
    co_return n->load();
  };
  CHECK(sync_wait(outer(hold, &ex, &alive)) == 0);
}

TEST_CASE("every frame of a chain that ends with an exception is freed") {
  struct chain {
    static task<void> link(wick::executor* on, std::atomic<int>* n, int depth) {
      const counted local(*n);
      if (depth == 0) {
        co_await on->schedule();
        throw std::runtime_error("bottom");
      }
      auto t = link(on, n, depth - 1);
      co_await t;
    }
  };
  wick::executor ex(2);
  std::atomic<int> alive{0};
  // Deeper than what runs nested, so that some links unwind from the list at the bottom.
  CHECK(sync_wait(text_thrown_by(chain::link(&ex, &alive, 1000))) == "bottom");
  CHECK(alive.load() == 0);
}

TEST_CASE("awaiting a million tasks that do not suspend takes no stack") {
  stack_span span;
  const auto loop = [](stack_span* s, int n) -> task<long> {
    const auto one = [](stack_span* p, int i) -> task<int> {
      p->touch();
      co_return i & 1;
    };
    long sum = 0;
    for (int i = 0; i < n; ++i) {
      const int bit = co_await one(s, i);
      s->touch();
      sum += bit;
    }
    co_return sum;
  };
  CHECK(sync_wait(loop(&span, 1'000'000)) == 500'000);
  CHECK(span.bytes() < stack_span::bounded);
}

TEST_CASE("awaiting many tasks that each end on a worker takes no stack") {
  const int n = rounds(200'000, 20'000);
  stack_span span;
  wick::executor ex(2);
  const auto loop = [](wick::executor* on, stack_span* s, int count) -> task<long> {
    const auto one = [](wick::executor* w, stack_span* p) -> task<int> {
      co_await w->schedule();
      p->touch();
      co_return 1;
    };
    long sum = 0;
    for (int i = 0; i < count; ++i) {
      const int bit = co_await one(on, s);
      s->touch();
      sum += bit;
    }
    co_return sum;
  };
  CHECK(sync_wait(loop(&ex, &span, n)) == n);
  CHECK(span.bytes() < stack_span::bounded);
}

namespace {

struct nest {
  /// The innermost of `depth` nested tasks suspends when `on` is not null.
  static task<long> level(wick::executor* on, stack_span* s, int depth) {
    s->touch();
    if (depth == 0) {
      if (on != nullptr) co_await on->schedule();
      s->touch();
      co_return 0;
    }
    const long below = co_await level(on, s, depth - 1);
    s->touch();
    co_return below + 1;
  }
};

}  // namespace

TEST_CASE("a million nested tasks that do not suspend take no stack") {
  stack_span span;
  CHECK(sync_wait(nest::level(nullptr, &span, deep)) == deep);
  CHECK(span.bytes() < stack_span::bounded);
}

TEST_CASE("a million nested tasks of which the innermost suspends take no stack, and unwind without any") {
  stack_span span;
  wick::executor ex(1);
  CHECK(sync_wait(nest::level(&ex, &span, deep)) == deep);
  CHECK(span.bytes() < stack_span::bounded);
}

TEST_CASE("at every depth of nesting a task may loop over others that suspend or don't") {
  struct mixed {
    static task<long> level(wick::executor* on, stack_span* s, int depth) {
      long sum = 0;
      for (int i = 0; i < 20; ++i) {
        const long a = co_await nest::level(nullptr, s, i);
        const long b = co_await nest::level(i % 5 == 0 ? on : nullptr, s, 3);
        sum += a + b;
      }
      if (depth > 0) {
        const long below = co_await level(on, s, depth - 1);
        sum += below;
      }
      co_return sum;
    }
  };
  stack_span span;
  wick::executor ex(2);
  constexpr long each = 190 + 20 * 3;
  for (const int depth : {0, 1, 45, 46, 47, 48, 49, 50, 97, 200}) {
    CAPTURE(depth);
    CHECK(sync_wait(mixed::level(&ex, &span, depth)) == each * (depth + 1));
  }
  CHECK(span.bytes() < stack_span::bounded);
}

TEST_CASE("a task that ends on a worker while its parent is about to suspend resumes it exactly once") {
  // The worker often finishes the child before the parent has said that it is suspended: both orders occur.
  wick::executor ex(2);
  const auto parent = [](wick::executor* on, std::atomic<int>* resumed) -> task<int> {
    const auto child = [](wick::executor* w) -> task<int> {
      co_await w->schedule();
      co_return 1;
    };
    const int one = co_await child(on);
    resumed->fetch_add(one);
    const int two = co_await child(on);
    resumed->fetch_add(two);
    co_return one + two;
  };
  const int n = rounds(20'000, 2'000);
  std::atomic<int> resumed{0};
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += sync_wait(parent(&ex, &resumed));
  CHECK(sum == 2 * n);
  CHECK(resumed.load() == 2 * n);
}

TEST_CASE("a coroutine that a foreign thread resumes by its bare handle still takes no stack") {
  struct hand_over {
    std::coroutine_handle<>* to;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const noexcept { *to = h; }
    void await_resume() const noexcept {}
  };
  struct chain {
    static task<int> level(std::coroutine_handle<>* to, stack_span* s, int depth) {
      if (depth == 0) {
        co_await hand_over{to};
        s->touch();
        co_return 0;
      }
      const int below = co_await level(to, s, depth - 1);
      s->touch();
      co_return below + 1;
    }
    static wick::detail::detached start(task<int> t, int* result) { *result = co_await t; }
  };
  const int n = rounds(100'000, 20'000);
  stack_span span;
  std::coroutine_handle<> handle;
  int result = -1;
  wick::detail::resume(chain::start(chain::level(&handle, &span, n), &result).handle);
  REQUIRE(handle);
  CHECK(result == -1);
  std::thread([&] { handle.resume(); }).join();
  CHECK(result == n);
  CHECK(span.bytes() < stack_span::bounded);
}

TEST_CASE("frames made on one thread and dropped on another are all freed") {
  std::atomic<int> alive{0};
  const auto hold = [](counted c) -> task<int> {
    const counted local(c);
    co_return 1;
  };
  for (int round = 0; round < 20; ++round) {
    std::vector<task<int>> made;
    {
      const counted c(alive);
      for (int i = 0; i < 1000; ++i) made.push_back(hold(c));
    }
    std::thread([drop = std::move(made)]() mutable { drop.clear(); }).join();
    CHECK(alive.load() == 0);
  }
}

TEST_CASE("frames made on one thread and dropped on another come back to the first, once there are many") {
  if (wick::detail::frames_from_heap) return;
  constexpr std::size_t size = 1234, many = 1000;  // a size that nothing else here has
  const auto make = [] {
    std::set<void*> made;
    while (made.size() < many) made.insert(wick::detail::frame_pool::allocate(size));
    return made;
  };
  const std::set<void*> first = make();
  std::thread([&] {
    for (void* const p : first) wick::detail::frame_pool::release(p, size);
  }).join();
  // What the heap has got back it gives away before: nothing comes from there by chance.
  std::vector<void*> others;
  while (others.size() < 2 * many) others.push_back(::operator new((size + 63) / 64 * 64));
  const std::set<void*> again = make();
  for (void* const p : others) ::operator delete(p);
  std::size_t known = 0;
  for (void* const p : again) known += first.contains(p);
  CHECK(known >= many / 2);
  for (void* const p : again) wick::detail::frame_pool::release(p, size);
}

TEST_CASE("frames larger than the pool's classes work too") {
  const auto large = []() -> task<int> {
    volatile unsigned char block[100'000] = {};
    block[99'999] = 5;
    co_await std::suspend_never();
    co_return block[99'999];
  };
  for (int i = 0; i < 100; ++i) CHECK(sync_wait(large()) == 5);
}

namespace {

/// Runs tasks when the program ends, after this thread's thread-locals (the frame pool among them) were
/// destroyed.
struct late {
  task<int> kept = answer();
  ~late() {
    kept = task<int>();
    for (int i = 0; i < 100; ++i) {
      std::vector<task<int>> several;
      for (int k = 0; k < 10; ++k) several.push_back(answer());
      for (auto& t : several) {
        if (sync_wait(std::move(t)) != 42) std::abort();
      }
    }
  }
};
const late at_exit;

}  // namespace

TEST_CASE("a static object may hold and run tasks to the very end of the program") {
  // Its destructor does the test: it would crash this program.
  CHECK(at_exit.kept);
}

TEST_CASE("a task that is resumed by its bare handle from within another one ends for its own parent") {
  // C suspends below P; D, which runs at the same place of the same stack later, resumes it.
  struct parked {
    std::coroutine_handle<> handle;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) noexcept { handle = h; }
    void await_resume() const noexcept {}
  };
  const auto c = [](parked* at) -> task<int> {
    co_await *at;
    co_return 7;
  };
  const auto p = [](int* got, task<int> child) -> task<void> { *got = co_await child; };
  const auto d = [](parked* at, int* got) -> task<void> {
    at->handle.resume();
    CHECK(*got == 7);
    co_return;
  };
  wick::executor ex(1);
  const auto all = [&](wick::detail::scope* s, parked* at, int* got) -> task<void> {
    s->spawn(p(got, c(at)));
    while (!at->handle) co_await s->on().schedule();
    CHECK(*got == 0);
    co_await d(at, got);
    CHECK(*got == 7);
  };
  for (int i = 0; i < 100; ++i) {
    parked at;
    int got = 0;
    wick::detail::scope s(ex);
    s.spawn(all(&s, &at, &got));
    s.wait();
    CHECK(got == 7);
  }
}

}  // namespace wick_test::task_tests

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/stop_token.hpp>

namespace wick_test::stop_token_tests {

using wick::detail::stop_callback;
using wick::detail::stop_source;
using wick::ext::stop_token;
using wick_test::gate;
using wick_test::rounds;

TEST_CASE("a default token never stops and calls no callback") {
  const stop_token t;
  CHECK_FALSE(t.stop_possible());
  CHECK_FALSE(t.stop_requested());
  bool called = false;
  {
    const stop_callback c(t, [&] { called = true; });
  }
  CHECK_FALSE(called);
}

TEST_CASE("a token sees the stop of its source, copies of it too") {
  stop_source s;
  const stop_token t = s.token(), u = t;
  CHECK(t.stop_possible());
  CHECK_FALSE(u.stop_requested());
  s.request_stop();
  CHECK(t.stop_requested());
  CHECK(u.stop_requested());
  CHECK(s.stop_requested());
}

TEST_CASE("only the first request of a stop does anything") {
  stop_source s;
  int called = 0;
  const stop_callback c(s.token(), [&] { ++called; });
  CHECK(s.request_stop());
  CHECK_FALSE(s.request_stop());
  CHECK(called == 1);
}

TEST_CASE("of many threads that request a stop exactly one gets true: it was the one") {
  for (int round = 0; round < rounds(200, 50); ++round) {
    stop_source s;
    std::atomic<int> won{0}, called{0};
    const stop_callback c(s.token(), [&] { called.fetch_add(1); });
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        if (s.request_stop()) won.fetch_add(1);
      });
    }
    for (std::thread& t : threads) t.join();
    CHECK(won.load() == 1);
    CHECK(called.load() == 1);
  }
}

TEST_CASE("callbacks are called in the order of their registration, on the thread that stops") {
  stop_source s;
  std::vector<int> order;
  std::thread::id where;
  const stop_callback a(s.token(), [&] { order.push_back(1); });
  const stop_callback b(s.token(), [&] { order.push_back(2); });
  const stop_callback c(s.token(), [&] {
    order.push_back(3);
    where = std::this_thread::get_id();
  });
  std::thread t([&] { s.request_stop(); });
  const auto id = t.get_id();
  t.join();
  CHECK(order == std::vector<int>{1, 2, 3});
  CHECK(where == id);
}

TEST_CASE("what is sampled after a stop sees all that was written before it") {
  stop_source s;
  int written = 0;
  std::thread t([&] {
    written = 7;
    s.request_stop();
  });
  CHECK(wick_test::eventually([token = s.token()] { return token.stop_requested(); }));
  CHECK(written == 7);
  t.join();
}

TEST_CASE("a callback that comes after the stop is called at once, on its own thread") {
  stop_source s;
  s.request_stop();
  std::thread::id where;
  const stop_callback c(s.token(), [&] { where = std::this_thread::get_id(); });
  CHECK(where == std::this_thread::get_id());
}

TEST_CASE("a callback that went before the stop is never called, whichever of several it was") {
  for (int gone = 0; gone < 4; ++gone) {
    stop_source s;
    std::vector<int> order;
    const auto note = [&](int i) { return [&order, i] { order.push_back(i); }; };
    using callback = stop_callback<decltype(note(0))>;
    std::vector<std::unique_ptr<callback>> all;
    for (int i = 0; i < 4; ++i) all.push_back(std::make_unique<callback>(s.token(), note(i)));
    all[static_cast<std::size_t>(gone)].reset();
    s.request_stop();
    std::vector<int> expected;
    for (int i = 0; i < 4; ++i) {
      if (i != gone) expected.push_back(i);
    }
    CHECK(order == expected);
  }
}

TEST_CASE("callbacks may come and go in any order and the list stays whole") {
  stop_source s;
  int called = 0;
  const auto count = [&called] { ++called; };
  using callback = stop_callback<decltype(count)>;
  std::vector<std::unique_ptr<callback>> all(16);
  std::uint32_t random = 1;
  for (int i = 0; i < 10'000; ++i) {
    random = random * 1664525u + 1013904223u;
    auto& slot = all[random >> 28];
    if (slot)
      slot.reset();
    else
      slot = std::make_unique<callback>(s.token(), count);
  }
  int present = 0;
  for (const auto& c : all) present += c != nullptr;
  s.request_stop();
  CHECK(called == present);
}

TEST_CASE("a callback may destroy itself while it is called") {
  struct self_destroying {
    std::optional<stop_callback<std::function<void()>>> callback;
  };
  stop_source s;
  auto box = std::make_unique<self_destroying>();
  int called = 0;
  box->callback.emplace(s.token(), [&] {
    ++called;
    box.reset();
  });
  s.request_stop();
  CHECK(called == 1);
  CHECK(box == nullptr);
}

TEST_CASE("a callback may destroy one that has not been called yet, which then isn't") {
  stop_source s;
  std::optional<stop_callback<std::function<void()>>> later;
  int called = 0;
  const stop_callback first(s.token(), [&] { later.reset(); });
  later.emplace(s.token(), [&] { ++called; });
  s.request_stop();
  CHECK(called == 0);
}

TEST_CASE("a callback may destroy one that was called before") {
  stop_source s;
  std::optional<stop_callback<std::function<void()>>> earlier;
  int called = 0;
  earlier.emplace(s.token(), [&] { ++called; });
  const stop_callback second(s.token(), [&] { earlier.reset(); });
  s.request_stop();
  CHECK(called == 1);
  CHECK_FALSE(earlier.has_value());
}

TEST_CASE("a callback may add another, which is called at once, and may request the stop again") {
  stop_source s;
  int called = 0;
  bool again = true;
  std::optional<stop_callback<std::function<void()>>> inner;
  const stop_callback outer(s.token(), [&] {
    again = s.request_stop();
    inner.emplace(s.token(), [&] { ++called; });
  });
  s.request_stop();
  CHECK(called == 1);
  CHECK_FALSE(again);
}

TEST_CASE("the destructor of a callback waits until a call on another thread is over") {
  for (int round = 0; round < rounds(200, 50); ++round) {
    stop_source s;
    gate entered;
    std::atomic<bool> destroying{false};
    int finished = 0;  // not atomic: the destructor is what makes it safe to read
    const auto slow = [&] {
      entered.open();
      while (!destroying.load()) std::this_thread::yield();
      for (int i = 0; i < 50; ++i) std::this_thread::yield();
      finished = 1;
    };
    std::optional<stop_callback<decltype(slow)>> c;
    c.emplace(s.token(), slow);
    std::thread stopper([&] { s.request_stop(); });
    REQUIRE(entered.wait());
    destroying = true;
    c.reset();
    CHECK(finished == 1);
    stopper.join();
  }
}

TEST_CASE(
    "callbacks that come and leave on several threads while one stops are called at most once, and never "
    "when gone") {
  for (int round = 0; round < rounds(300, 60); ++round) {
    stop_source s;
    std::atomic<int> wrong{0};
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        ready.fetch_add(1);
        for (int i = 0; i < 200; ++i) {
          int called = 0;  // on this stack: a call after the destructor is a race and a use after return
          {
            const stop_callback c(s.token(), [&called] { ++called; });
            if (i % 16 == 0) std::this_thread::yield();
          }
          if (called > 1) wrong.fetch_add(1);
        }
        // The stop was requested before this point or is requested later: this one is called exactly once.
        std::atomic<int> called{0};
        const stop_callback last(s.token(), [&called] { called.fetch_add(1); });
        if (!wick_test::eventually([&] { return called.load() != 0; })) wrong.fetch_add(1);
        if (called.load() != 1) wrong.fetch_add(1);
      });
    }
    while (ready.load() != 3) std::this_thread::yield();
    for (int i = 0; i < round % 20; ++i) std::this_thread::yield();
    s.request_stop();
    for (std::thread& t : threads) t.join();
    CHECK(wrong.load() == 0);
  }
}

}  // namespace wick_test::stop_token_tests

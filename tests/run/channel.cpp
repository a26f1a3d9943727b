#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/run/channel.hpp>
#include <wick/run/scope.hpp>
#include <wick/run/sync_wait.hpp>

using wick::sync_wait;
using wick::task;
using wick::detail::channel;
using wick::detail::environment;
using wick_test::counted;
using wick_test::eventually;
using wick_test::rounds;

namespace {

task<void> produce(channel<int>* c, environment env, int from, int to, std::atomic<int>* refused) {
  for (int i = from; i < to; ++i) {
    const bool sent = co_await c->send(env, i);
    if (!sent) refused->fetch_add(1);
  }
}

task<void> consume(channel<int>* c, environment env, std::vector<std::atomic<int>>* seen) {
  for (;;) {
    const auto value = co_await c->receive(env);
    if (!value) co_return;
    (*seen)[static_cast<std::size_t>(*value)].fetch_add(1);
  }
}

}  // namespace

TEST_CASE("each value arrives once, with any number of producers and consumers and any capacity") {
  for (const std::size_t capacity : {0u, 1u, 3u, 64u}) {
    for (const int producers : {1, 4}) {
      for (const int consumers : {1, 3}) {
        CAPTURE(capacity);
        CAPTURE(producers);
        CAPTURE(consumers);
        wick::executor ex(3);
        channel<int> c(capacity);
        const int each = rounds(2'000, 300);
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(each * producers));
        std::atomic<int> refused{0};
        wick::detail::scope receivers(ex), senders(ex);
        for (int i = 0; i < consumers; ++i) receivers.spawn(consume(&c, ex, &seen));
        for (int i = 0; i < producers; ++i)
          senders.spawn(produce(&c, ex, i * each, (i + 1) * each, &refused));
        senders.wait();
        c.close();
        receivers.wait();
        int once = 0;
        for (const auto& n : seen) once += n.load() == 1;
        CHECK(once == each * producers);
        CHECK(refused.load() == 0);
        CHECK(c.size() == 0);
      }
    }
  }
}

TEST_CASE("one consumer sees what one producer sent in its order") {
  for (const std::size_t capacity : {0u, 1u, 7u}) {
    wick::executor ex(4);
    channel<int> c(capacity);
    std::atomic<int> refused{0};
    const auto check = [](channel<int>* from, environment env) -> task<bool> {
      bool sorted = true;
      for (int i = 0;; ++i) {
        const auto value = co_await from->receive(env);
        if (!value) co_return sorted;
        sorted = sorted && *value == i;
      }
    };
    wick::detail::scope s(ex);
    const auto all = [](channel<int>* to, environment env, std::atomic<int>* no) -> task<void> {
      co_await produce(to, env, 0, rounds(5'000, 500), no);
      to->close();
    };
    s.spawn(all(&c, ex, &refused));
    CHECK(sync_wait(check(&c, ex)));
    s.wait();
  }
}

TEST_CASE("a full channel holds up the sender and never holds more than its capacity") {
  wick::executor ex(1);
  channel<int> c(3);
  std::atomic<int> refused{0};
  wick::detail::scope s(ex);
  s.spawn(produce(&c, ex, 0, 10, &refused));
  REQUIRE(eventually([&] { return c.size() == 3 && ex.asleep() == 1; }));
  int extra = 99;
  CHECK_FALSE(c.try_send(extra));
  for (int i = 0; i < 10; ++i) {
    REQUIRE(eventually([&] { return c.size() == 3 || i > 6; }));
    CHECK(c.size() <= 3);
    std::optional<int> value;
    REQUIRE(eventually([&] { return (value = c.try_receive()).has_value(); }));
    CHECK(*value == i);
  }
  s.wait();
  CHECK_FALSE(c.try_receive());
}

TEST_CASE("without capacity a send ends when its value was received") {
  wick::executor ex(1);
  channel<int> c(0);
  int one = 1;
  CHECK_FALSE(c.try_send(one));
  std::atomic<bool> sent{false};
  const auto send = [](channel<int>* to, environment env, std::atomic<bool>* done) -> task<void> {
    const bool ok = co_await to->send(env, 5);
    done->store(ok);
  };
  wick::detail::scope s(ex);
  s.spawn(send(&c, ex, &sent));
  REQUIRE(eventually([&] { return ex.asleep() == 1; }));
  CHECK_FALSE(sent.load());
  const auto value = c.try_receive();
  REQUIRE(value);
  CHECK(*value == 5);
  s.wait();
  CHECK(sent.load());
}

TEST_CASE("after close what was accepted still arrives, then nothing does, and sends are refused") {
  wick::executor ex(1);
  channel<int> c(2);
  CHECK(c.try_send(1));
  CHECK(c.try_send(2));
  std::atomic<int> refused{0};
  wick::detail::scope s(ex);
  s.spawn(produce(&c, ex, 3, 4, &refused));
  REQUIRE(eventually([&] { return ex.asleep() == 1; }));
  CHECK(refused.load() == 0);
  CHECK_FALSE(c.closed());
  c.close();
  c.close();
  CHECK(c.closed());
  s.wait();
  CHECK(refused.load() == 1);  // it waited, and was refused
  CHECK_FALSE(c.try_send(5));
  CHECK_FALSE(sync_wait(c.send(ex, 6)));
  CHECK(sync_wait(c.receive(ex)) == std::optional<int>(1));
  CHECK(c.try_receive() == std::optional<int>(2));
  CHECK(sync_wait(c.receive(ex)) == std::nullopt);
}

TEST_CASE("close wakes all that wait to receive") {
  wick::executor ex(2);
  channel<int> c(4);
  std::vector<std::atomic<int>> seen(1);
  wick::detail::scope s(ex);
  for (int i = 0; i < 20; ++i) s.spawn(consume(&c, ex, &seen));
  REQUIRE(eventually([&] { return ex.asleep() == 2; }));
  c.close();
  s.wait();
  CHECK(seen[0].load() == 0);
}

TEST_CASE("a value that can only be moved arrives, and try_send leaves one that was not sent alone") {
  wick::executor ex(1);
  channel<std::unique_ptr<int>> c(1);
  auto first = std::make_unique<int>(1), second = std::make_unique<int>(2);
  CHECK(c.try_send(first));
  CHECK(first == nullptr);
  CHECK_FALSE(c.try_send(second));
  CHECK(second != nullptr);
  CHECK_FALSE(c.try_send(std::move(second)));
  auto got = sync_wait(c.receive(ex));
  REQUIRE(got);
  CHECK(**got == 1);
}

TEST_CASE("values that nobody received go with the channel, dropped ones with their send") {
  std::atomic<int> alive{0};
  wick::executor ex(1);
  {
    channel<counted> c(2);
    CHECK(c.try_send(counted(alive)));
    CHECK(c.try_send(counted(alive)));
    CHECK(alive.load() == 2);
    c.close();
    CHECK_FALSE(sync_wait(c.send(ex, counted(alive))));
    CHECK(alive.load() == 2);
  }
  CHECK(alive.load() == 0);
}

TEST_CASE("a stop calls off who waits to send or to receive; its value is dropped, nothing else is lost") {
  wick::executor ex(2);
  wick::detail::stop_source stop;
  channel<int> full(1), empty(1);
  CHECK(full.try_send(0));
  std::atomic<int> called_off{0};
  const auto sender = [](channel<int>* c, environment env, std::atomic<int>* off) -> task<void> {
    try {
      co_await c->send(env, 1);
    } catch (const wick::cancelled&) {
      off->fetch_add(1);
    }
  };
  const auto receiver = [](channel<int>* c, environment env, std::atomic<int>* off) -> task<void> {
    try {
      co_await c->receive(env);
    } catch (const wick::cancelled&) {
      off->fetch_add(1);
    }
  };
  wick::detail::scope s(ex);
  for (int i = 0; i < 5; ++i) {
    s.spawn(sender(&full, {ex, stop.token()}, &called_off));
    s.spawn(receiver(&empty, {ex, stop.token()}, &called_off));
  }
  REQUIRE(eventually([&] { return ex.asleep() == 2; }));
  CHECK(called_off.load() == 0);
  stop.request_stop();
  s.wait();
  CHECK(called_off.load() == 10);
  CHECK(full.try_receive() == std::optional<int>(0));
  CHECK_FALSE(full.try_receive());
  CHECK(empty.try_send(7));
  CHECK(empty.try_receive() == std::optional<int>(7));
}

TEST_CASE(
    "whatever sends, receptions, stops and a close meet, what was accepted is received or left, and nobody "
    "is lost") {
  wick::executor ex(4);
  std::uint32_t random = 99;
  long total_off = 0, total_refused = 0, total_received = 0;
  const auto send = [](channel<counted>* c, environment env, std::atomic<int>* alive,
                       std::atomic<int>* accepted, std::atomic<int>* refused,
                       std::atomic<int>* off) -> task<void> {
    for (int i = 0; i < 5; ++i) {
      try {
        const bool sent = co_await c->send(env, counted(*alive));
        (sent ? accepted : refused)->fetch_add(1);
      } catch (const wick::cancelled&) {
        off->fetch_add(1);
      }
    }
  };
  const auto receive = [](channel<counted>* c, environment env, std::atomic<int>* received,
                          std::atomic<int>* off) -> task<void> {
    try {
      for (;;) {
        const auto value = co_await c->receive(env);
        if (!value) co_return;
        received->fetch_add(1);
      }
    } catch (const wick::cancelled&) {
      off->fetch_add(1);
    }
  };
  for (int round = 0; round < rounds(300, 50); ++round) {
    random = random * 1664525u + 1013904223u;
    std::atomic<int> alive{0}, accepted{0}, refused{0}, received{0}, off{0};
    auto c = std::make_unique<channel<counted>>(random >> 30);
    wick::detail::stop_source stops[3];
    wick::detail::scope s(ex);
    if (round % 5 == 0) stops[0].request_stop();  // so that each thing happens, whatever the timing
    for (int i = 0; i < 6; ++i) {
      if (i == 3 && round % 3 == 0) c->close();
      s.spawn(send(c.get(), {ex, stops[i % 3].token()}, &alive, &accepted, &refused, &off));
      s.spawn(receive(c.get(), {ex, stops[(i + 1) % 3].token()}, &received, &off));
    }
    std::thread stopper([&] {
      stops[0].request_stop();
      if ((random & 0x10000) != 0) stops[1].request_stop();
    });
    for (unsigned i = 0; i < (random >> 20) % 64; ++i) std::this_thread::yield();
    c->close();
    stopper.join();
    s.wait();
    const int left = static_cast<int>(c->size());
    CHECK(accepted.load() == received.load() + left);
    CHECK(alive.load() == left);
    c.reset();  // at once: nobody may still touch it
    CHECK(alive.load() == 0);
    total_off += off.load();
    total_refused += refused.load();
    total_received += received.load();
  }
  CHECK(total_off > 0);
  CHECK(total_refused > 0);
  CHECK(total_received > 0);
}

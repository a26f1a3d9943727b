#include <atomic>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/detail/injector.hpp>
#include <wick/async/detail/job.hpp>
#include <wick/async/executor.hpp>

namespace wick_test::job_tests {

using wick_test::countdown;

TEST_CASE("a fresh job does nothing and is in no queue") {
  const wick::detail::job j;
  CHECK((j.execute == nullptr));
  CHECK(j.next == nullptr);
}

TEST_CASE("a job is two pointers and nothing has to be constructed or destroyed") {
  CHECK(sizeof(wick::detail::job) == 2 * sizeof(void*));
  CHECK(std::is_trivially_copyable_v<wick::detail::job>);
  CHECK(std::is_trivially_destructible_v<wick::detail::job>);
}

TEST_CASE("a job inside an object finds its way back to it") {
  struct squared : wick::detail::job {
    int value = 12;
  } s;
  s.execute = [](wick::detail::job* j) noexcept {
    auto* self = static_cast<squared*>(j);
    self->value *= self->value;
  };
  s.execute(&s);
  CHECK(s.value == 144);
}

TEST_CASE("a job may post itself again while it runs") {
  wick::executor ex(2);
  countdown done(1);
  struct repeated : wick::detail::job {
    wick::executor* ex;
    countdown* done;
    int left = 1000;
  } j;
  j.ex = &ex;
  j.done = &done;
  j.execute = [](wick::detail::job* self) noexcept {
    auto* r = static_cast<repeated*>(self);
    if (--r->left == 0)
      r->done->down();
    else
      r->ex->post(r);
  };
  ex.post(&j);
  REQUIRE(done.wait());
  CHECK(j.left == 0);
}

TEST_CASE("a job may free itself while it runs: no thread touches it afterwards") {
  constexpr int n = 1000;
  countdown done(n);
  struct once : wick::detail::job {
    countdown* done;
  };
  {
    wick::executor ex(2);
    for (int i = 0; i < n; ++i) {
      auto j = std::make_unique<once>();
      j->done = &done;
      j->execute = [](wick::detail::job* self) noexcept {
        const std::unique_ptr<once> me(static_cast<once*>(self));
        me->done->down();
      };
      ex.post(j.release());
    }
  }
  CHECK(done.wait());
}

TEST_CASE("the injector is first in, first out, and takes a job again that it gave back") {
  wick::detail::injector queue;
  std::vector<wick::detail::job> jobs(5);
  CHECK(queue.empty());
  CHECK(queue.pop() == nullptr);
  for (int round = 0; round < 3; ++round) {
    for (wick::detail::job& j : jobs) queue.push(&j);
    CHECK_FALSE(queue.empty());
    for (wick::detail::job& j : jobs) CHECK(queue.pop() == &j);
    CHECK(queue.empty());
    CHECK(queue.pop() == nullptr);
  }
}

TEST_CASE("the injector gives each job to one of many takers, and each pusher's in its order") {
  constexpr std::size_t pushers = 3, takers = 3;
  const auto each = static_cast<std::size_t>(wick_test::rounds(30'000, 3'000));
  struct numbered : wick::detail::job {
    std::size_t pusher, number;
  };
  std::vector<numbered> jobs(pushers * each);
  wick::detail::injector queue;
  std::atomic<std::size_t> taken{0};
  std::atomic<bool> ordered{true};
  std::vector<std::thread> threads;
  for (std::size_t p = 0; p < pushers; ++p) {
    threads.emplace_back([&, p] {
      for (std::size_t i = 0; i < each; ++i) {
        numbered& j = jobs[p * each + i];
        j.pusher = p;
        j.number = i;
        queue.push(&j);
      }
    });
  }
  for (std::size_t t = 0; t < takers; ++t) {
    threads.emplace_back([&] {
      std::vector<std::size_t> next(pushers, 0);  // one taker sees each pusher's numbers rise
      while (taken.load() < jobs.size()) {
        const auto* j = static_cast<numbered*>(queue.pop());
        if (j == nullptr) {
          std::this_thread::yield();
          continue;
        }
        if (j->number < next[j->pusher]) ordered = false;
        next[j->pusher] = j->number + 1;
        taken.fetch_add(1);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(taken.load() == jobs.size());
  CHECK(ordered.load());
  CHECK(queue.empty());
}

}  // namespace wick_test::job_tests

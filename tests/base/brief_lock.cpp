#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "async/support.hpp"
#include <wick/base/detail/brief_lock.hpp>

namespace wick_test::brief_lock_tests {

using wick::detail::lock_briefly;

TEST_CASE("a lock that was tried for is held, and given back at the end") {
  std::mutex m;
  {
    const auto lock = lock_briefly(m);
    CHECK(lock.owns_lock());
    std::thread([&] { CHECK_FALSE(m.try_lock()); }).join();
  }
  CHECK(m.try_lock());
  m.unlock();
}

TEST_CASE("one that is held for longer than it is tried for is waited for") {
  std::mutex m;
  std::atomic<bool> asks{false};
  std::atomic<int> got{0};
  std::unique_lock held(m);
  std::thread other([&] {
    asks = true;
    const auto lock = lock_briefly(m);
    got = lock.owns_lock() ? 1 : -1;
  });
  while (!asks) std::this_thread::yield();
  for (int i = 0; i < 2000; ++i) std::this_thread::yield();
  CHECK(got == 0);
  held.unlock();
  other.join();
  CHECK(got == 1);
}

TEST_CASE("one thread at a time has it") {
  std::mutex m;
  std::uint64_t sum = 0;  // a plain number
  const int n = wick_test::rounds(200'000, 20'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < n; ++i) {
        const auto lock = lock_briefly(m);
        ++sum;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(sum == 4 * static_cast<std::uint64_t>(n));
}

}  // namespace wick_test::brief_lock_tests

// Calls on some threads at once: each is made, and the first failure ends the others' waiting.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/async/detail/at_once.hpp>
#include <wick/async/detail/interruption.hpp>
#include <wick/async/stop_token.hpp>

namespace wick_test::at_once_tests {

namespace {

using wick::detail::at_once;

void wait_until_interrupted() {
  for (;;) {
    wick::detail::check_interruption();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

TEST_CASE("each call is made once, on any number of threads") {
  for (const std::size_t threads : {0, 1, 3, 50}) {
    for (const std::size_t count : {0, 1, 20}) {
      std::vector<std::atomic<int>> calls(count);
      at_once(count, threads, [&](std::size_t i) { ++calls[i]; });
      for (const std::atomic<int>& c : calls) CHECK(c == 1);
    }
  }
}

TEST_CASE("a failure ends the calls that wait, and is thrown") {
  const auto third_fails = [](std::size_t i) {
    if (i == 2) throw std::runtime_error("the third");
    wait_until_interrupted();
  };
  CHECK_THROWS_WITH(at_once(8, 4, third_fails), "the third");
  CHECK(wick::detail::no_longer_wanted == nullptr);
}

TEST_CASE("a call that is cancelled for a reason of its own is a failure") {
  CHECK_THROWS_AS(at_once(3, 2,
                          [](std::size_t i) {
                            if (i == 1) throw wick::cancelled();
                          }),
                  wick::cancelled);
}

TEST_CASE("an interruption of the calling thread ends the others, also when it has nothing left to do") {
  struct interrupted {};
  static std::thread::id caller;
  static std::atomic<bool> now;
  caller = std::this_thread::get_id();
  now = false;
  wick::detail::interruption() = [] {
    if (now && std::this_thread::get_id() == caller) throw interrupted();
  };
  const auto wait = [](std::size_t) {
    if (std::this_thread::get_id() == caller) {
      while (!now) std::this_thread::yield();
      return;
    }
    now = true;
    wait_until_interrupted();
  };
  CHECK_THROWS_AS(at_once(2, 2, wait), interrupted);
  wick::detail::interruption() = nullptr;
}

}  // namespace wick_test::at_once_tests

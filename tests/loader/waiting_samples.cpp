// How many samples wait at a time for servers, disks, and timers, without any option.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/doctest.hpp"
#include "support/numbers.hpp"
#include <wick/async/detail/sample_tokens.hpp>
#include <wick/core.hpp>
#include <wick/loader/detail/wait_window.hpp>

namespace wick_test::waiting_samples_tests {

using wick::detail::tokens;
using wick::detail::wait_window;

TEST_CASE("the window doubles while half of its samples are under way, and shrinks when few are") {
  wait_window w;
  const auto take = [&](std::uint64_t under_way, std::uint64_t samples, int batches) {
    for (int i = 0; i < batches; ++i) w.took(under_way, samples, 4, 64);
    return w.batches(4, 64);
  };
  CHECK(w.batches(4, 64) == 4);
  CHECK(take(8, 16, 3) == 4);
  CHECK(take(0, 12, 1) == 8);  // samples that began together end together: the most count
  CHECK(take(15, 32, 8) == 8);
  CHECK(take(16, 32, 8) == 16);
  CHECK(take(60, 64, 16) == 32);
  CHECK(take(100, 128, 32) == 64);
  CHECK(take(256, 256, 64) == 64);  // what memory allows
  CHECK(w.batches(4, 24) == 24);
  CHECK(w.batches(4, 2) == 4);
  CHECK(take(32, 256, 64) == 64);
  CHECK(take(31, 256, 64) == 32);
  CHECK(take(0, 128, 32 + 16 + 8) == 4);
  CHECK(take(0, 16, 100) == 4);
  CHECK(take(16, 16, 4) == 8);  // and grows again
}

TEST_CASE("a window of batches for a number of samples holds at least as many") {
  CHECK(wait_window::batches_for(256, 4, 4) == 68);
  CHECK(wait_window::batches_for(256, 100, 4) == 7);
  CHECK(wait_window::batches_for(256, 1, 0) == 256);
  CHECK(wait_window::batches_for(256, 0, 0) == 256);
}

TEST_CASE("tokens that are owed are taken beyond the limit, and may be given back before that") {
  tokens t(4);
  CHECK(t.take(3) == 3);
  t.take_owed(3);
  CHECK(t.taken() == 6);
  CHECK(!t.any());
  CHECK(t.take(1) == 0);
  CHECK(!t.give(2));
  CHECK(t.give(1));
  CHECK(t.taken() == 3);
  CHECK(!t.give(3));
  CHECK(!t.give(2));  // given before they were taken
  CHECK(t.taken() == 0);
  CHECK(t.any());
  t.take_owed(2);
  CHECK(t.taken() == 0);
  CHECK(t.take(9) == 4);
}

namespace {

/// How many samples sleep at a time, at most.
struct sleepers {
  std::atomic<int> now{0}, most{0};
  template <class Item>
  wick::task<Item> sleep(Item item, wick::context& c) {
    const int n = now.fetch_add(1) + 1;
    for (int seen = most.load(); seen < n && !most.compare_exchange_weak(seen, n);) {
    }
    co_await wick::sleep_for(std::chrono::milliseconds(50), {*c.on(), c.stop()});
    now.fetch_sub(1);
    co_return item;
  }
};
template <std::size_t Bytes>
int most_asleep(std::size_t samples, const wick::loader_options& options) {
  using item = std::array<std::uint8_t, Bytes>;
  sleepers s;
  wick::loader l(wick::in_memory(std::vector<item>(samples)) |
                     wick::map("sleep", [&s](item i, wick::context& c) { return s.sleep(i, c); }) |
                     wick::array_batch(4),
                 options);
  std::size_t got = 0;
  for (const auto& batch : l.epoch(0)) got += static_cast<std::size_t>(batch.extents()[0]);
  CHECK(got == samples);
  return s.most.load();
}

}  // namespace

TEST_CASE("where samples wait, many do at a time, however small the batches are") {
  // Of 50 ms each, 125 at a time are 2,500 samples a second.
  const int most = most_asleep<16>(2'000, {.workers = 2});
  CHECK(most >= 125);
  CHECK(most <= 256);
}

TEST_CASE("the batches that are opened for waiting samples take a quarter of the memory bound at most") {
  // Eight batches of 256 KB.
  const int most = most_asleep<std::size_t{64} << 10>(400, {.workers = 2, .memory = std::size_t{8} << 20});
  CHECK(most > 16);
  CHECK(most <= 4 * 9);
}

TEST_CASE("the window of waiting samples follows in_flight, and prefetch where that is set") {
  CHECK(most_asleep<16>(70, {.workers = 2, .in_flight = 7}) == 7);
  CHECK(most_asleep<16>(100, {.workers = 2, .prefetch = 3}) <= 4 * 3);
}

}  // namespace wick_test::waiting_samples_tests

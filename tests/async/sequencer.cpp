#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/detail/sequencer.hpp>
#include <wick/async/sync_wait.hpp>

namespace wick_test::sequencer_tests {

using wick::executor;
using wick::task;
using wick::detail::sequencer;
using wick_test::rounds;

namespace {

/// An item that says which it is; plain members, so that publishing must make them visible.
struct numbered {
  std::uint64_t number = 0;
  std::uint64_t square = 0;
};

/// Publishes 0 … count-1 from several threads, in random order within the window that the consumer has
/// opened.
class publishers {
 public:
  publishers(sequencer<numbered>& to, std::size_t count, std::size_t window, std::size_t threads)
      : to_(to), items_(count), order_(count), window_(window) {
    for (std::size_t i = 0; i < count; ++i) order_[i] = i;
    // Shuffled in blocks of the window: a number comes at most one window before or after its place.
    std::uint64_t random = 12345;
    for (std::size_t block = 0; block < count; block += window) {
      const std::size_t end = std::min(count, block + window);
      for (std::size_t i = end - 1; i > block; --i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        std::swap(order_[i], order_[block + (random >> 33) % (i - block + 1)]);
      }
    }
    for (std::size_t t = 0; t < threads; ++t) threads_.emplace_back([this] { run(); });
  }
  ~publishers() {
    for (std::thread& t : threads_) t.join();
  }
  publishers(const publishers&) = delete;
  publishers& operator=(const publishers&) = delete;

  /// The consumer has taken another.
  void taken() { taken_.fetch_add(1, std::memory_order_release); }

 private:
  void run() {
    for (;;) {
      const std::size_t i = next_.fetch_add(1);
      if (i >= order_.size()) return;
      const std::size_t n = order_[i];
      const bool in_time =
          wick_test::eventually([&] { return n < taken_.load(std::memory_order_acquire) + window_; });
      if (!in_time) return;
      items_[n].number = n;
      items_[n].square = n * n;
      to_.publish(n, &items_[n]);
    }
  }
  sequencer<numbered>& to_;
  std::vector<numbered> items_;
  std::vector<std::size_t> order_;
  const std::size_t window_;
  std::atomic<std::size_t> next_{0}, taken_{0};
  std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("whatever the order of publishing, items are taken in theirs") {
  std::array<int, 6> order{0, 1, 2, 3, 4, 5};
  std::array<numbered, 6> items{};
  do {
    sequencer<numbered> s(8);
    std::size_t published = 0, taken = 0;
    std::array<bool, 6> there{};
    for (const int n : order) {
      s.publish(static_cast<std::uint64_t>(n), &items[static_cast<std::size_t>(n)]);
      there[static_cast<std::size_t>(n)] = true;
      ++published;
      while (numbered* it = s.try_take()) {
        REQUIRE(it == &items[taken]);
        ++taken;
      }
      // Exactly those are out before which nothing is missing.
      const auto expected = std::find(there.begin(), there.end(), false) - there.begin();
      REQUIRE(taken == static_cast<std::size_t>(expected));
      REQUIRE(s.taken() == taken);
    }
    REQUIRE(published == taken);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("nothing is taken before it is there") {
  sequencer<numbered> s(4);
  numbered second;
  CHECK(s.try_take() == nullptr);
  s.publish(1, &second);
  CHECK(s.try_take() == nullptr);
  CHECK(s.taken() == 0);
}

TEST_CASE("a wait for some time gives nothing before it is there, and afterwards what is there") {
  sequencer<numbered> s(4);
  numbered first, second;
  CHECK(s.take_for(std::chrono::microseconds(100)) == nullptr);
  CHECK(s.take_for(std::chrono::nanoseconds(-1)) == nullptr);
  CHECK(s.taken() == 0);
  s.publish(0, &first);
  CHECK(s.take_for(std::chrono::hours(1)) == &first);
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    s.publish(1, &second);
  });
  numbered* found = nullptr;
  while (found == nullptr) found = s.take_for(std::chrono::hours(1));
  late.join();
  CHECK(found == &second);
  CHECK(s.taken() == 2);
}

TEST_CASE("the capacity is rounded up to a power of two and is at least one") {
  CHECK(sequencer<numbered>(0).capacity() == 1);
  CHECK(sequencer<numbered>(1).capacity() == 1);
  CHECK(sequencer<numbered>(5).capacity() == 8);
  CHECK(sequencer<numbered>(64).capacity() == 64);
}

TEST_CASE("the ring goes round, at every capacity") {
  for (const std::size_t capacity : {1u, 2u, 4u, 16u}) {
    sequencer<numbered> s(capacity);
    std::vector<numbered> items(capacity);
    for (std::uint64_t n = 0; n < 1000; n += capacity) {
      for (std::size_t i = capacity; i-- > 0;) s.publish(n + i, &items[i]);
      for (std::size_t i = 0; i < capacity; ++i) REQUIRE(s.try_take() == &items[i]);
      REQUIRE(s.try_take() == nullptr);
    }
  }
}

TEST_CASE("a sleeping consumer gets everything in order from several publishers") {
  for (const std::size_t capacity : {1u, 2u, 8u, 64u}) {
    CAPTURE(capacity);
    const auto count = static_cast<std::size_t>(rounds(5'000, 1'500));
    sequencer<numbered> s(capacity);
    publishers p(s, count, s.capacity(), 3);
    std::size_t wrong = 0;
    for (std::size_t n = 0; n < count; ++n) {
      const numbered* const it = s.take();
      if (it == nullptr || it->number != n || it->square != n * n) ++wrong;
      p.taken();
    }
    CHECK(wrong == 0);
    CHECK(s.taken() == count);
  }
}

TEST_CASE("a coroutine that awaits gets everything in order from several publishers") {
  const auto consume = [](sequencer<numbered>* s, publishers* p, executor* on,
                          std::size_t count) -> task<std::size_t> {
    std::size_t wrong = 0;
    for (std::size_t n = 0; n < count; ++n) {
      const numbered* const it = co_await s->next(*on);
      if (it == nullptr || it->number != n || it->square != n * n) ++wrong;
      p->taken();
    }
    co_return wrong;
  };
  executor ex(2);
  for (const std::size_t capacity : {1u, 2u, 64u}) {
    CAPTURE(capacity);
    const auto count = static_cast<std::size_t>(rounds(5'000, 1'500));
    sequencer<numbered> s(capacity);
    publishers p(s, count, s.capacity(), 3);
    CHECK(wick::ext::sync_wait(consume(&s, &p, &ex, count)) == 0);
  }
}

TEST_CASE("a consumer may look, sleep and await by turns") {
  const auto one = [](sequencer<numbered>* s, executor* on) -> task<numbered*> {
    numbered* const it = co_await s->next(*on);
    co_return it;
  };
  executor ex(1);
  const auto count = static_cast<std::size_t>(rounds(6'000, 1'500));
  sequencer<numbered> s(16);
  publishers p(s, count, s.capacity(), 2);
  std::size_t wrong = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const numbered* it = nullptr;
    if (n % 3 == 0)
      it = s.take();
    else if (n % 3 == 1)
      it = wick::ext::sync_wait(one(&s, &ex));
    else if (!wick_test::eventually([&] { return (it = s.try_take()) != nullptr; }))
      break;
    if (it == nullptr || it->number != n) ++wrong;
    p.taken();
  }
  CHECK(wrong == 0);
}

TEST_CASE("a coroutine that finds the item there does not suspend") {
  const auto consume = [](sequencer<numbered>* s, executor* on) -> task<std::thread::id> {
    numbered* const it = co_await s->next(*on);
    (void)it;
    co_return wick_test::this_thread();
  };
  executor ex(1);
  sequencer<numbered> s(2);
  numbered item;
  s.publish(0, &item);
  CHECK(wick::ext::sync_wait(consume(&s, &ex)) == wick_test::this_thread());
}

namespace {

/// Publishes the item to each of `n` sequencers, as soon as it is there.
void publish_to_each(std::atomic<sequencer<numbered>*>& to, numbered& item, int n) {
  for (int i = 0; i < n; ++i) {
    sequencer<numbered>* s = nullptr;
    while ((s = to.exchange(nullptr)) == nullptr) std::this_thread::yield();
    s->publish(0, &item);
  }
}

}  // namespace

TEST_CASE("the consumer may destroy the sequencer as soon as it has the last item") {
  const int n = rounds(10'000, 1'000);
  std::atomic<sequencer<numbered>*> to{nullptr};
  numbered item;
  std::thread publisher([&] { publish_to_each(to, item, n); });
  int right = 0;
  for (int i = 0; i < n; ++i) {
    const auto s = std::make_unique<sequencer<numbered>>(std::size_t{1});
    to.store(s.get());
    if (s->take() == &item) ++right;
  }
  publisher.join();
  CHECK(right == n);
}

TEST_CASE("a consuming coroutine may destroy the sequencer as soon as it has the last item") {
  const auto consume = [](std::unique_ptr<sequencer<numbered>> s, std::atomic<sequencer<numbered>*>* to,
                          executor* on) -> task<numbered*> {
    to->store(s.get());
    numbered* const it = co_await s->next(*on);
    s.reset();
    co_return it;
  };
  executor ex(2);
  const int n = rounds(10'000, 1'000);
  std::atomic<sequencer<numbered>*> to{nullptr};
  numbered item;
  std::thread publisher([&] { publish_to_each(to, item, n); });
  int right = 0;
  for (int i = 0; i < n; ++i) {
    auto s = std::make_unique<sequencer<numbered>>(std::size_t{1});
    if (wick::ext::sync_wait(consume(std::move(s), &to, &ex)) == &item) ++right;
  }
  publisher.join();
  CHECK(right == n);
}

}  // namespace wick_test::sequencer_tests

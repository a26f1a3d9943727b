#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "support.hpp"
#include <wick/async/detail/steal_queue.hpp>

namespace wick_test::steal_queue_tests {

using wick::detail::steal_queue;

TEST_CASE("the oldest item comes out first") {
  steal_queue<int> q(8);
  std::vector<int> items(8);
  for (int& i : items) CHECK(q.push(&i));
  for (int& i : items) CHECK(q.pop() == &i);
  CHECK(q.pop() == nullptr);
}

TEST_CASE("the capacity is rounded up to a power of two and is at least one") {
  CHECK(steal_queue<int>(0).capacity() == 1);
  CHECK(steal_queue<int>(1).capacity() == 1);
  CHECK(steal_queue<int>(2).capacity() == 2);
  CHECK(steal_queue<int>(3).capacity() == 4);
  CHECK(steal_queue<int>(256).capacity() == 256);
  CHECK(steal_queue<int>(257).capacity() == 512);
}

TEST_CASE("a full queue refuses and keeps what it has") {
  steal_queue<int> q(2);
  int a = 0, b = 0, c = 0;
  CHECK(q.push(&a));
  CHECK(q.push(&b));
  CHECK_FALSE(q.push(&c));
  CHECK(q.pop() == &a);
  CHECK(q.push(&c));
  CHECK(q.pop() == &b);
  CHECK(q.pop() == &c);
}

TEST_CASE("a queue of one takes one at a time, without an end") {
  steal_queue<int> q(1);
  int a = 0, b = 0;
  for (int i = 0; i < 1000; ++i) {
    CHECK(q.push(&a));
    CHECK_FALSE(q.push(&b));
    CHECK(q.pop() == &a);
    CHECK(q.pop() == nullptr);
  }
}

TEST_CASE("size and empty follow pushes and pops round the ring") {
  steal_queue<int> q(4);
  int x = 0;
  CHECK(q.empty());
  for (int i = 0; i < 100; ++i) {
    CHECK(q.push(&x));
    CHECK(q.push(&x));
    CHECK(q.size() == 2);
    CHECK_FALSE(q.empty());
    CHECK(q.pop() == &x);
    CHECK(q.size() == 1);
    CHECK(q.pop() == &x);
    CHECK(q.empty());
    CHECK(q.size() == 0);
  }
}

TEST_CASE("with an owner and several thieves each item is taken once, complete, and in order by each") {
  struct item {
    std::size_t number = 0;
    std::size_t square = 0;  // plain: the queue must make it visible
    std::atomic<int> taken{0};
  };
  const auto n = static_cast<std::size_t>(wick_test::rounds(200'000, 20'000));
  for (const std::size_t capacity : {1u, 2u, 64u, 256u}) {
    CAPTURE(capacity);
    std::vector<item> items(n);
    steal_queue<item> q(capacity);
    std::atomic<std::size_t> left{n};
    std::atomic<int> wrong{0};
    const auto consider = [&](item* it, std::size_t& next) {
      if (it->taken.fetch_add(1) != 0 || it->square != it->number * it->number || it->number < next)
        wrong.fetch_add(1);
      next = it->number + 1;
      left.fetch_sub(1);
    };
    std::vector<std::thread> thieves;
    for (int t = 0; t < 3; ++t) {
      thieves.emplace_back([&] {
        std::size_t next = 0;
        while (left.load() != 0) {
          if (item* it = q.pop())
            consider(it, next);
          else
            std::this_thread::yield();
        }
      });
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < n; ++i) {
      items[i].number = i;
      items[i].square = i * i;
      while (!q.push(&items[i])) {  // full: the owner takes one itself
        if (item* it = q.pop()) consider(it, next);
      }
    }
    while (left.load() != 0) {
      if (item* it = q.pop())
        consider(it, next);
      else
        std::this_thread::yield();
    }
    for (std::thread& t : thieves) t.join();
    CHECK(wrong.load() == 0);
    CHECK(q.empty());
    std::size_t once = 0;
    for (const item& it : items) once += it.taken.load() == 1;
    CHECK(once == n);
  }
}

TEST_CASE("a slot is written again only after its item was read: items may be reused at once") {
  // Two items go round and round; a thief that read a slot late would see one of them twice in a row.
  struct ball {
    std::atomic<bool> in_queue{false};
  };
  ball balls[2];
  steal_queue<ball> q(1);
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> thieves;
  for (int t = 0; t < 2; ++t) {
    thieves.emplace_back([&] {
      while (!done.load()) {
        if (ball* b = q.pop()) {
          if (!b->in_queue.exchange(false)) wrong.fetch_add(1);
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  const int n = wick_test::rounds(20'000, 2'000);
  for (int thrown = 0; thrown < n;) {
    for (ball& b : balls) {
      if (b.in_queue.load()) continue;
      b.in_queue.store(true);
      if (q.push(&b))
        ++thrown;
      else
        b.in_queue.store(false);
    }
    std::this_thread::yield();
  }
  done = true;
  for (std::thread& t : thieves) t.join();
  CHECK(wrong.load() == 0);
}

}  // namespace wick_test::steal_queue_tests

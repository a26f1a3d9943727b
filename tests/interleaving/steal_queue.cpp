#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

#include "faults.hpp"
#include "spared.hpp"
#include "support/doctest.hpp"
#include "support/interleaving.hpp"
#include <wick/async/detail/steal_queue.hpp>

using namespace wick_test::interleaving;

namespace {

struct item {
  plain<int> payload;
  int taken = 0;  // of the test's books, not of the program: fibers don't race
};

/// An owner that pushes `items`, taking one itself when the queue is full, and then empties it; thieves that
/// try so many times each to take `at_once`. In the end each item was taken once, complete, and by each taker
/// in the order of pushing.
struct setup {
  std::size_t capacity;
  std::size_t items;
  std::vector<int> thieves;
  std::size_t at_once = 1;
};

template <class Atomics = model>
void run(const setup& s) {
  wick::detail::steal_queue<item, Atomics> queue(s.capacity);
  std::array<item, 8> items;
  const auto took = [&](item* it, std::ptrdiff_t& last) {
    const std::ptrdiff_t n = it - items.data();
    expect(it->payload.read() == static_cast<int>(n) + 1, "an item was taken before its payload was there");
    it->payload.write(-1);  // who has it has it alone
    expect(++it->taken == 1, "an item was taken twice");
    expect(n > last, "a taker saw a later item before an earlier one");
    last = n;
  };
  for (const int tries : s.thieves) {
    spawn([&, tries] {
      std::ptrdiff_t last = -1;
      std::array<item*, 8> some;
      for (int i = 0; i < tries; ++i) {
        if (s.at_once == 1) {
          if (item* it = queue.pop()) took(it, last);
        } else {
          const std::size_t n = queue.pop_half(some.data(), s.at_once);
          expect(n <= s.at_once, "more than was asked for");
          for (std::size_t k = 0; k < n; ++k) took(some[k], last);
        }
      }
    });
  }
  spawn([&] {
    std::ptrdiff_t last = -1;
    for (std::size_t i = 0; i < s.items; ++i) {
      items[i].payload.write(static_cast<int>(i) + 1);
      while (!queue.push(&items[i])) {
        if (item* it = queue.pop()) took(it, last);
      }
    }
    while (!queue.empty()) {
      if (item* it = queue.pop()) took(it, last);
    }
  });
  join();
  expect(queue.empty() && queue.pop() == nullptr && queue.size() == 0, "the queue is not empty in the end");
  for (std::size_t i = 0; i < s.items; ++i) expect(items[i].taken == 1, "an item was lost");
}

/// Who knows of a push, as workers do by the event count, sees that there is an item.
void second_look() {
  wick::detail::steal_queue<item, model> queue(1);
  item one;
  atomic<int> touched(0);
  spawn([&] {
    one.payload.write(1);
    queue.push(&one);
    touched.fetch_add(1, std::memory_order_release);
  });
  spawn([&] {
    if (touched.fetch_add(0, std::memory_order_acquire) == 0) return;
    expect(!queue.empty() && queue.size() == 1, "an item that was pushed is not seen");
    expect(queue.pop() == &one && one.payload.read() == 1, "the item is not there");
    expect(queue.empty() && queue.size() == 0, "the queue is not empty after its only item");
  });
  join();
}

/// The owner fills a slot again only when the pop that freed it has read it; else that load may take the new
/// item. The model has no values from the future, so this states what to look for: the load of a pop whose
/// exchange then succeeds must happen before the next store to its slot. (One whose exchange fails may take
/// anything.)
struct watched : model {
  struct read_by_pop {
    detail::race_detector* slot = nullptr;
    std::uint32_t then = 0;
  };
  /// Of the thread that is between a pop's loads and its exchange: another may pop meanwhile, so a list each.
  static std::vector<read_by_pop>& reads() {
    static std::array<std::vector<read_by_pop>, max_threads> of_each;
    return of_each[detail::race_detector::this_thread()];
  }

  template <class T>
  class slot : public detail::race_detector {
   public:
    T load(std::memory_order o) {
      reads().push_back({this, this->now()});
      return word_.load(o);
    }
    void store(T v, std::memory_order o) {
      this->write();
      word_.store(v, o);
    }

   private:
    wick_test::interleaving::atomic<T> word_;
  };
  template <class T>
  class index : public wick_test::interleaving::atomic<T> {
   public:
    using wick_test::interleaving::atomic<T>::atomic;
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure,
                               site at = {__builtin_FILE(), __builtin_LINE(), __builtin_FUNCTION(),
                                          static_cast<int>(std::source_location::current().column())}) {
      const std::vector<read_by_pop> before = std::exchange(reads(), {});
      if (!wick_test::interleaving::atomic<T>::compare_exchange_weak(expected, desired, success, failure, at))
        return false;
      for (const read_by_pop& read : before) read.slot->was_read(read.then);
      return true;
    }
  };
  template <class T>
  using atomic = std::conditional_t<std::is_pointer_v<T>, slot<T>, index<T>>;
};

void run_watched() { run<watched>({1, 3, {1, 1}}); }
void run_watched_by_half() { run<watched>({4, 6, {2}, 2}); }

const scenarios all{[] {
                      run({1, 3, {1, 1}});
                    },
                    [] {
                      run({4, 6, {1, 1}, 3});
                    },
                    second_look, run_watched, run_watched_by_half};

}  // namespace

TEST_CASE("in every interleaving each item is taken once, complete and in order, at capacities 1, 2 and 4") {
  for (const setup& s :
       {setup{1, 2, {1}}, setup{1, 3, {2}}, setup{2, 3, {2}}, setup{1, 2, {1, 1}}, setup{2, 3, {1, 1}},
        setup{4, 4, {2}}, setup{4, 4, {2}, 2}, setup{4, 5, {1, 1}, 2}}) {
    CAPTURE(s.capacity);
    CAPTURE(s.thieves.size());
    const outcome o = explore({.preemptions = 2, .stale_reads = 1, .spurious = 1}, [&] { run(s); });
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
}

TEST_CASE("in every interleaving a slot is filled again only when the pop that freed it has read it") {
  for (const setup& s : {setup{1, 3, {1, 1}}, setup{2, 4, {2}}, setup{4, 6, {1}, 2}}) {
    const outcome o = explore({.preemptions = 2, .stale_reads = 1, .spurious = 1}, [&] { run<watched>(s); });
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
}

TEST_CASE("the same with three thieves in random interleavings") {
  for (const setup& s : {setup{1, 4, {2, 2, 2}}, setup{2, 6, {3, 3, 3}}, setup{4, 8, {3, 3, 3}},
                         setup{4, 8, {3, 3, 3}, 2}, setup{8, 8, {2, 2, 2}, 4}}) {
    CAPTURE(s.capacity);
    const outcome o = explore({.random_runs = 20'000}, [&] { run(s); });
    CHECK_MESSAGE(!o.failed, o.report());
  }
}

TEST_CASE("each order of memory in the queue is needed: a weaker one is found") {
  each_order_is_needed("async/detail/steal_queue.hpp", all, spared_in_steal_queue);
}

TEST_CASE("each operation of the queue is needed: a fault in it is found") {
  // The exchange that follows brings the head.
  each_operation_is_needed("async/detail/steal_queue.hpp", all, {"pop_half load as zero"});
}

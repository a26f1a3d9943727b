#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>

#include "faults.hpp"
#include "spared.hpp"
#include "support/doctest.hpp"
#include "support/interleaving.hpp"
#include <wick/async/detail/sequencer.hpp>

using namespace wick_test::interleaving;

namespace {

struct item {
  plain<int> payload;
};

/// What the sequencer asks of an executor: all writes before post are visible to the job. One worker,
/// one job at a time.
class one_worker {
 public:
  plain<int> frame{0};  // stands for the job's memory, which its coroutine wrote
  void post(wick::detail::job* j) noexcept {
    expect(frame.read() == 1, "the awaiter is not there");
    job_.store(j, std::memory_order_relaxed);
    posted_.set();
  }
  void run() {
    for (;;) {
      posted_.wait();
      wick::detail::job* const j = job_.load(std::memory_order_relaxed);
      if (j == nullptr) return;
      posted_.clear();
      job_.store(nullptr, std::memory_order_relaxed);
      j->execute(j);
    }
  }
  void stop() noexcept { posted_.set(); }

 private:
  wick::detail::basic_wake_flag<model> posted_;
  atomic<wick::detail::job*> job_{nullptr};
};

using sequencer = wick::detail::sequencer<item, model, one_worker>;

/// A coroutine that no thread waits for; it begins at once.
struct detached {
  struct promise_type {
    detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

enum class consumer : std::uint8_t {
  looks,         ///< so many times as there are items; those not there then are taken after all have joined
  sleeps,        ///< take()
  looks_sleeps,  ///< take() when it is not there
  naps,          ///< take() when it is not there after take_for()
  awaits,        ///< next()
  by_turns       ///< take(), next(), take(), …
};

constexpr std::chrono::nanoseconds nap{1000};

struct setup {
  std::size_t capacity;
  std::size_t items;
  std::size_t publishers;
  consumer how;
};

/// The numbers go round the publishers; each waits until its number is within the ring. The consumer destroys
/// the sequencer as soon as it has the last item.
class world {
 public:
  explicit world(const setup& s) : setup_(s), sequencer_(std::in_place, s.capacity) {}

  void run() {
    for (std::size_t p = 0; p < setup_.publishers; ++p) {
      spawn([this, p] { publish(p); });
    }
    if (setup_.how == consumer::awaits || setup_.how == consumer::by_turns) {
      spawn([this] { worker_.run(); });
      spawn([this] { await(this); });
    } else {
      spawn([this] { consume(); });
    }
    join();
    if (setup_.how == consumer::looks) {
      while (next_ < setup_.items) took(sequencer_->try_take());
      expect(sequencer_->try_take() == nullptr, "there is more than was published");
    }
    expect(next_ == setup_.items, "the consumer ended early");
  }

 private:
  void publish(std::size_t first) {
    sequencer* const to = &*sequencer_;
    for (std::size_t n = first; n < setup_.items; n += setup_.publishers) {
      if (n >= setup_.capacity) {
        for (;;) {
          const std::uint32_t seen = taken_.load(std::memory_order_acquire);
          if (n < seen + setup_.capacity) break;
          model::wait(taken_, seen);
        }
      }
      items_[n].payload.write(static_cast<int>(n) + 1);
      to->publish(n, &items_[n]);
    }
  }

  void took(item* it) {
    expect(it != nullptr, "an item is not there");
    expect(sequencer_->taken() == next_ + 1, "the sequencer counts otherwise");
    expect(it == &items_[next_], "an item is taken out of its order");
    expect(it->payload.read() == static_cast<int>(next_) + 1,
           "an item was taken before its payload was there");
    it->payload.write(-1);  // who has it has it alone
    books_.write(books_.read() + 1);
    ++next_;
    if (next_ < setup_.items && setup_.capacity < setup_.items) {
      taken_.fetch_add(1, std::memory_order_release);
      model::wake_all(taken_);
    }
  }

  void consume() {
    if (setup_.how == consumer::looks) {
      for (std::size_t i = 0; i < setup_.items; ++i) {
        if (item* it = sequencer_->try_take()) took(it);
      }
      return;
    }
    while (next_ < setup_.items) {
      item* it = setup_.how == consumer::looks_sleeps ? sequencer_->try_take() : nullptr;
      if (setup_.how == consumer::naps) it = sequencer_->take_for(nap);
      if (it == nullptr) it = sequencer_->take();
      took(it);
    }
    sequencer_.reset();
  }

  static detached await(world* w) {
    while (w->next_ < w->setup_.items) {
      item* it = nullptr;
      if (w->setup_.how == consumer::by_turns && w->next_ % 2 == 0) {
        it = w->sequencer_->take();
      } else {
        w->worker_.frame.write(1);
        it = co_await w->sequencer_->next(w->worker_);
      }
      w->took(it);
    }
    w->sequencer_.reset();
    w->worker_.stop();
  }

  const setup setup_;
  std::array<item, 6> items_;
  one_worker worker_;
  atomic<std::uint32_t> taken_{0};
  plain<int> books_{0};
  std::size_t next_ = 0;
  std::optional<sequencer> sequencer_;
};

void run(const setup& s) { world(s).run(); }

constexpr std::array consumers{consumer::looks_sleeps, consumer::sleeps, consumer::naps, consumer::awaits,
                               consumer::by_turns};

const scenarios all{[] { run({1, 1, 1, consumer::looks}); },    [] { run({1, 1, 1, consumer::sleeps}); },
                    [] { run({1, 1, 1, consumer::awaits}); },   [] { run({2, 2, 2, consumer::looks}); },
                    [] { run({1, 2, 2, consumer::sleeps}); },   [] { run({1, 2, 2, consumer::awaits}); },
                    [] { run({2, 3, 2, consumer::by_turns}); }, [] { run({1, 2, 2, consumer::naps}); }};

}  // namespace

TEST_CASE("in every interleaving each item is taken once, in order and complete: one item, capacity 1") {
  for (const consumer how :
       {consumer::looks, consumer::sleeps, consumer::looks_sleeps, consumer::naps, consumer::awaits}) {
    CAPTURE(static_cast<int>(how));
    const outcome o = explore({.preemptions = 3, .stale_reads = 2, .spurious = 1}, [&] {
      run({1, 1, 1, how});
    });
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
}

TEST_CASE("in every interleaving the same with two publishers and a ring of 1 and 2 that goes round") {
  const outcome looks = explore({.preemptions = 3, .stale_reads = 2, .spurious = 1}, [] {
    run({2, 2, 2, consumer::looks});
  });
  CHECK_MESSAGE(!looks.failed, looks.report());
  CHECK(looks.complete);
  for (const consumer how : consumers) {
    for (const std::size_t capacity : {1u, 2u}) {
      CAPTURE(static_cast<int>(how));
      CAPTURE(capacity);
      const outcome o = explore({.preemptions = 2, .stale_reads = 1}, [&] {
        run({capacity, capacity + 1, 2, how});
      });
      CHECK_MESSAGE(!o.failed, o.report());
      CHECK(o.complete);
    }
  }
}

TEST_CASE("the same with three publishers and a ring of 4 in random interleavings") {
  for (const consumer how : consumers) {
    for (const std::size_t capacity : {1u, 2u, 4u}) {
      CAPTURE(static_cast<int>(how));
      CAPTURE(capacity);
      const outcome o = explore({.random_runs = 5'000}, [&] { run({capacity, 6, 3, how}); });
      CHECK_MESSAGE(!o.failed, o.report());
    }
  }
}

TEST_CASE("each order of memory in the sequencer is needed: a weaker one is found") {
  each_order_is_needed("async/detail/sequencer.hpp", all, spared_in_sequencer);
}

TEST_CASE("each operation of the sequencer is needed: a fault in it is found") {
  // await_ready saves an exchange, which would find the same.
  each_operation_is_needed("async/detail/sequencer.hpp", all, {"await_ready load as zero"});
}

TEST_CASE("a publisher that touches the sequencer once more after its item is there is found") {
  for (const consumer how : {consumer::sleeps, consumer::awaits}) {
    const auto body = [how] { run({1, 1, 1, how}); };
    CHECK(found({{"publish", operation::rmw, fault::again}}, body).failed);
  }
  CHECK(found({{"set", operation::rmw, fault::again}}, [] { run({1, 1, 1, consumer::sleeps}); }).failed);
}

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <thread>

#include "engine/peer.hpp"

namespace engine {

namespace {

std::uint64_t fib_of(int n) {
  if (n < 2) return static_cast<std::uint64_t>(n);
  std::uint64_t a = 0;
  tbb::task_group group;
  group.run([&a, n] { a = fib_of(n - 1); });
  const std::uint64_t b = fib_of(n - 2);
  group.wait();
  return a + b;
}

class tbb_peer final : public peer {
 public:
  explicit tbb_peer(std::size_t workers)
      : limit_(tbb::global_control::max_allowed_parallelism, workers), arena_(static_cast<int>(workers)) {
    arena_.initialize();
  }
  ~tbb_peer() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    asked_.notify_one();
    if (device_.joinable()) device_.join();
  }

  answer spawn(std::uint64_t bursts, std::uint64_t each) override {
    std::atomic<std::uint64_t> done{0};
    arena_.execute([&] {
      for (std::uint64_t b = 0; b < bursts; ++b) {
        tbb::task_group group;
        for (std::uint64_t i = 0; i < each; ++i) group.run([] {});
        group.wait();
        done.fetch_add(each, std::memory_order_relaxed);
      }
    });
    return done.load();
  }
  answer fib(int n) override {
    return arena_.execute([&] { return fib_of(n); });
  }
  answer pipeline(std::uint64_t tokens) override {
    std::uint64_t next = 0, out = 0;
    arena_.execute([&] {
      const auto source = [&](tbb::flow_control& control) -> std::uint64_t {
        if (next == tokens) control.stop();
        return next++;
      };
      const auto pass = [](std::uint64_t x) { return x + 3; };
      tbb::parallel_pipeline(
          64, tbb::make_filter<void, std::uint64_t>(tbb::filter_mode::serial_in_order, source) &
                  tbb::make_filter<std::uint64_t, std::uint64_t>(tbb::filter_mode::parallel, pass) &
                  tbb::make_filter<std::uint64_t, void>(tbb::filter_mode::serial_in_order,
                                                        [&](std::uint64_t x) { out = chain(out, x); }));
    });
    return out;
  }
  answer loops(std::span<const std::uint32_t> lengths) override {
    std::atomic<std::uint64_t> sum{0};
    arena_.execute([&] {
      tbb::task_group group;
      for (const std::uint32_t n : lengths)
        group.run([&sum, n] { sum.fetch_add(burn(n), std::memory_order_relaxed); });
      group.wait();
    });
    return sum.load();
  }
  answer ping_pong(std::uint64_t n) override {
    if (!device_.joinable()) device_ = std::thread([this] { serve(); });
    std::uint64_t done = 0;
    arena_.execute([&] {
      tbb::task_group group;
      group.run_and_wait([&] {
        for (; done < n; ++done) {
          tbb::task::suspend([this](tbb::task::suspend_point point) {
            {
              std::lock_guard lock(mutex_);
              waiting_.push_back(point);
            }
            asked_.notify_one();
          });
        }
      });
    });
    return done;
  }
  bool post(void (*what)(void*), void* with) override {
    arena_.enqueue([what, with] { what(with); });
    return true;
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      asked_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const tbb::task::suspend_point point = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      tbb::task::resume(point);
      lock.lock();
    }
  }

  tbb::global_control limit_;
  tbb::task_arena arena_;
  std::thread device_;
  std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<tbb::task::suspend_point> waiting_;
  bool stopping_ = false;
};

}  // namespace

std::unique_ptr<peer> make_tbb(std::size_t workers) { return std::make_unique<tbb_peer>(workers); }

}  // namespace engine

#ifdef WICK_BENCH_TASKFLOW
#include <atomic>
#include <taskflow/algorithm/pipeline.hpp>
#include <taskflow/taskflow.hpp>

#include "engine/peer.hpp"

namespace engine {

namespace {

std::uint64_t fib_of(tf::Executor& on, int n) {
  if (n < 2) return static_cast<std::uint64_t>(n);
  std::uint64_t a = 0;
  tf::TaskGroup group = on.task_group();
  group.silent_async([&on, &a, n] { a = fib_of(on, n - 1); });
  const std::uint64_t b = fib_of(on, n - 2);
  group.corun();
  return a + b;
}

class taskflow_peer final : public peer {
 public:
  explicit taskflow_peer(std::size_t workers) : on_(workers) {}

  answer spawn(std::uint64_t bursts, std::uint64_t each) override {
    return on_
        .async([this, bursts, each] {
          std::uint64_t done = 0;
          for (std::uint64_t b = 0; b < bursts; ++b) {
            tf::TaskGroup group = on_.task_group();
            for (std::uint64_t i = 0; i < each; ++i) group.silent_async([] {});
            group.corun();
            done += each;
          }
          return done;
        })
        .get();
  }
  answer fib(int n) override {
    return on_.async([this, n] { return fib_of(on_, n); }).get();
  }
  answer pipeline(std::uint64_t tokens) override {
    std::uint64_t out = 0;
    std::array<std::uint64_t, 64> lines{};
    tf::Pipeline chain_of(
        64,
        tf::Pipe{tf::PipeType::SERIAL,
                 [&](tf::Pipeflow& flow) {
                   if (flow.token() == tokens) return flow.stop();
                   lines[flow.line()] = flow.token();
                 }},
        tf::Pipe{tf::PipeType::PARALLEL, [&](tf::Pipeflow& flow) { lines[flow.line()] += 3; }},
        tf::Pipe{tf::PipeType::SERIAL, [&](tf::Pipeflow& flow) { out = chain(out, lines[flow.line()]); }});
    tf::Taskflow all;
    all.composed_of(chain_of);
    on_.run(all).wait();
    return out;
  }
  answer loops(std::span<const std::uint32_t> lengths) override {
    std::atomic<std::uint64_t> sum{0};
    for (const std::uint32_t n : lengths) {
      on_.silent_async([&sum, n] { sum.fetch_add(burn(n), std::memory_order_relaxed); });
    }
    on_.wait_for_all();
    return sum.load();
  }
  bool post(void (*what)(void*), void* with) override {
    on_.silent_async([what, with] { what(with); });
    return true;
  }

 private:
  tf::Executor on_;
};

}  // namespace

std::unique_ptr<peer> make_taskflow(std::size_t workers) { return std::make_unique<taskflow_peer>(workers); }

}  // namespace engine
#endif

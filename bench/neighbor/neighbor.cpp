// What a loader's busy workers cost the thread that launches a step's operations: many tiny ones, as on a
// GPU.
//
// Two loops: one launches all the time, one waits after each step, as for a device. Beside each a loader
// whose workers are busy all the time. What is measured is the launching alone, from the first to the last
// operation of a step.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/ops/zeros.h>

#include "support/options.hpp"
#include "support/timing.hpp"
#include "support/work.hpp"
#include <wick/base/detail/cpus.hpp>
#include <wick/wick.hpp>

namespace {

constexpr int launches = 2000;
constexpr double sample_us = 500;
using seconds = std::chrono::duration<double>;
using clock_type = std::chrono::steady_clock;

struct numbers {
  std::uint64_t size() const { return 1'000'000; }
  float at(std::uint64_t i) const { return static_cast<float>(i); }
};

float compute(float x) {
  wick_bench::work(sample_us);
  return x;
}

/// Seconds of each step's launches, for `length` seconds.
std::vector<double> launch(double length, double wait) {
  std::vector<double> out;
  at::Tensor t = at::zeros({16});
  for (const auto end = clock_type::now() + seconds(length); clock_type::now() < end;) {
    const auto begun = clock_type::now();
    for (int i = 0; i < launches; ++i) t.add_(1);
    out.push_back(seconds(clock_type::now() - begun).count());
    if (wait > 0) std::this_thread::sleep_for(seconds(wait));
  }
  return out;
}

struct side {
  std::string name, key;
  wick::executor_options on;
  std::vector<double> delays, rates;  // against alone; samples a second
};

int run(const wick_bench::options& o) {
  const std::size_t cpus = wick::detail::available_cpus();
  const double length = o.quick ? 0.2 : 1.0;
  for (const auto& [loop, wait] : {std::pair{"launching", 0.0}, std::pair{"waiting", 2e-3}}) {
    std::vector<side> sides{
        {"nice 15, as for a device", "nice_15", {.nice = 15}, {}, {}},
        {"at the loop's priority", "nice_0", {}, {}, {}},
        {"the same, one worker less", "one_less", {.workers = std::max<std::size_t>(1, cpus - 1)}, {}, {}}};
    for (int r = 0; r < o.rounds; ++r) {
      for (side& s : sides) {
        const double alone = wick_bench::mean(launch(length / 2, wait));
        wick::executor on(s.on);
        wick::loader busy(numbers() | wick::map("work", compute) | wick::batch(8),
                          {.seed = 1, .prefetch = 4096, .executor = &on});
        busy.epoch(0);
        static_cast<void>(busy.next());
        const wick_bench::stopwatch watch;
        const double beside = wick_bench::mean(launch(length, wait));
        const double took = watch.seconds();
        s.delays.push_back(beside / alone);
        s.rates.push_back(static_cast<double>(busy.report().stages.at(1).count) / took);
      }
    }
    std::printf("%s:\n", loop);
    for (const side& s : sides)
      std::printf("  %-32s launches take %.3f of alone; %.0f samples/s\n", s.name.c_str(),
                  wick_bench::median(s.delays), wick_bench::median(s.rates));
    std::printf("RESULT neighbor loop=%s", loop);
    for (const side& s : sides) std::printf(" %s=%.3f", s.key.c_str(), wick_bench::median(s.delays));
    std::printf("\n");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(wick_bench::options::parse(
      argc, argv, "What a loader's busy workers cost the thread that launches a step's operations."));
} catch (const std::exception& e) {
  std::fprintf(stderr, "neighbor: %s\n", e.what());
  return 1;
}

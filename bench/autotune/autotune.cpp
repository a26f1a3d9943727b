// Does a loader that chooses its reads at a time come near the best of all fixed numbers? Four pipelines,
// bound by the processor, by reads of 20 ms, by the training loop, and by two of these; and a storage that
// changes meanwhile.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/options.hpp"
#include "support/timing.hpp"
#include "support/work.hpp"
#include <wick/core.hpp>

namespace {

using clock_type = std::chrono::steady_clock;
using wick_bench::options;
using wick_bench::work;

/// A storage: a call takes `latency` seconds, and all together end at most `rate` a second; above `best` at a
/// time it gives less, down to half.
struct storage {
  std::atomic<double> latency{0}, rate{1e9}, best{1e9};
  std::atomic<int> at_a_time{0};
  std::mutex mutex;
  clock_type::time_point next{};

  void read() {
    const double now_in = ++at_a_time;
    const double most = best;
    const double can = rate * (now_in > most ? 0.5 + 0.5 * most / now_in : 1);
    clock_type::time_point end;
    {
      const std::lock_guard lock(mutex);
      const auto now = clock_type::now();
      next = std::max(next, now) + std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / can));
      end = std::max(next, now + std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * latency)));
    }
    std::this_thread::sleep_until(end);
    --at_a_time;
  }
};

struct load {
  const char* name;
  double latency = 0, rate = 1e9, best = 1e9;  // of the storage; latency 0: nothing is read
  double work = 0, step = 0;                   // microseconds a sample, and a batch
};

/// Samples a second of this load, from `from` seconds on.
struct result {
  double rate;
  std::size_t at_a_time;
};
class running {
 public:
  running(const load& what, std::optional<std::size_t> io_threads, std::size_t workers)
      : step_(what.step),
        loader_(wick::in_memory(std::vector<int>(1 << 20)) |
                    wick::map("read",
                              [s = &storage_](int x, wick::context& c) -> wick::task<int> {
                                if (s->latency > 0) {
                                  auto call = c.run_blocking([s] { s->read(); });
                                  co_await call;
                                }
                                co_return x;
                              }) |
                    wick::map("work", [w = what.work](int x) { return work(w), x; }) | wick::array_batch(32),
                {.workers = workers, .io_threads = io_threads}) {
    become(what);
  }
  void become(const load& what) {
    storage_.latency = what.latency;
    storage_.rate = what.rate;
    storage_.best = what.best;
  }
  result run(double seconds) {
    const auto begin = clock_type::now();
    double samples = 0, took = 0;
    while (took < seconds) {
      if (!loader_.next()) {
        loader_.epoch(++epoch_);
        continue;
      }
      if (step_ > 0) work(step_);
      samples += 32;
      took = std::chrono::duration<double>(clock_type::now() - begin).count();
    }
    return {samples / took, loader_.report().io_threads};
  }

 private:
  double step_;
  storage storage_;
  std::uint64_t epoch_ = 0;
  wick::loader<wick::array> loader_;
};

/// The best of the grid, and what choosing gives.
double compare(const options& o, const load& what, double settling) {
  const double look = o.quick ? 0.3 : 4;
  double best = 0;
  std::size_t with = 0;
  for (std::size_t n = 1; n <= 256; n *= 2) {
    running fixed(what, n, o.workers);
    fixed.run(look / 4);
    const double got = fixed.run(look).rate;
    if (got > best) best = got, with = n;
  }
  running choosing(what, std::nullopt, o.workers);
  choosing.run(settling);
  const result got = choosing.run(3 * look);
  std::printf("%-10s best %9.1f samples/s with %3zu I/O threads; chosen %9.1f (%.3f), at the end with %zu\n",
              what.name, best, with, got.rate, got.rate / best, got.at_a_time);
  std::fflush(stdout);
  return got.rate / best;
}

int run(const options& o) {
  const double settling = o.quick ? 0.5 : 30;
  const load processor{"processor", 0, 1e9, 1e9, 300, 0};
  const load reads{"reads", 20e-3, 4000, 1e9, 10, 0};
  const load loop{"loop", 2e-3, 1e9, 1e9, 10, 20'000};
  const load mixed{"mixed", 10e-3, 1500, 24, 200, 0};
  std::string line = "RESULT autotune";
  for (const load* l : {&processor, &reads, &loop, &mixed})
    line += std::string(" ") + l->name + "=" + std::to_string(compare(o, *l, settling)).substr(0, 5);

  // The storage of `reads` becomes one that is best with 8 calls at a time.
  const load other{"other", 10e-3, 800, 8, 10, 0};
  double best = 0;
  for (std::size_t n = 1; n <= 256; n *= 2) {
    running fixed(other, n, o.workers);
    fixed.run(1);
    best = std::max(best, fixed.run(o.quick ? 0.3 : 4).rate);
  }
  running changing(reads, std::nullopt, o.workers);
  changing.run(settling);
  changing.become(other);
  changing.run(settling);
  const result got = changing.run(o.quick ? 0.3 : 12);
  std::printf("changed    best %9.1f samples/s; chosen %9.1f (%.3f), at the end with %zu\n", best, got.rate,
              got.rate / best, got.at_a_time);
  std::printf("%s changed=%.3f workers=%zu cores=%u\n", line.c_str(), got.rate / best, o.workers,
              std::thread::hardware_concurrency());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(options::parse(argc, argv, "Reads at a time: chosen by the loader, and fixed"));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "autotune: %s\n", e.what());
    return 1;
  }
}

// Does the report name what makes a pipeline slow, and does it know what mending it gives? A cause is put
// into a pipeline of eight stages, its report is read, the cause is taken out, and the gain compared with
// the prediction.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/options.hpp"
#include "support/work.hpp"
#include <wick/core.hpp>

namespace {

using namespace std::chrono_literals;
using wick_bench::work;

void rest(double microseconds) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<std::int64_t>(1e3 * microseconds)));
}

/// What is wrong with a pipeline. Times in microseconds.
struct fault {
  int slow_stage = -1;
  double slow = 0;  ///< work of that stage in addition
  double held = 0;  ///< rest in it, on the worker
  int one_in = 1;   ///< only each of so many samples
  double lock = 0;  ///< work under a lock in stage 4, or beside it
  bool locked = false;
  double read = 200;  ///< the call on an I/O thread, in pipelines that have one
  double step_work = 0, step_rest = 0;
  std::size_t reserve = 0;  ///< bytes, for the time of the read
};

struct setting {
  std::size_t workers = 1, io_threads = 4, memory = std::size_t{512} << 20;
};

std::mutex the_lock;

struct stage_work {
  const fault* what;
  int number;
  std::int64_t operator()(std::int64_t i) const {
    work(15);
    if (number == what->slow_stage && i % what->one_in == 0) {
      if (what->slow > 0) work(what->slow);
      if (what->held > 0) rest(what->held);
    }
    if (number == 4 && what->lock > 0) {
      if (what->locked) {
        const std::lock_guard hold(the_lock);
        work(what->lock);
      } else {
        work(what->lock);
      }
    }
    return i;
  }
};

struct outcome {
  double rate = 0;
  wick::report report;
};

template <class Pipeline>
outcome run(Pipeline&& pipeline, const fault& f, const setting& s, double seconds) {
  wick::loader l(std::forward<Pipeline>(pipeline),
                 {.workers = s.workers, .io_threads = s.io_threads, .memory = s.memory});
  outcome out;
  // Within one epoch: leaving one drops what is under way, which takes its time.
  const auto begun = std::chrono::steady_clock::now();
  bool warm = false;
  int measured = 0;  // a verdict needs 30 iterations
  for ([[maybe_unused]] auto& batch : l.epoch(0)) {
    if (f.step_work > 0) work(f.step_work);
    if (f.step_rest > 0) rest(f.step_rest);
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    if (!warm && passed > 0.3 * seconds) {
      warm = true;
      static_cast<void>(l.report());
    }
    if (warm && ++measured > 40 && passed > 1.3 * seconds) break;
  }
  out.report = l.report();
  out.rate = out.report.samples_per_second();
  return out;
}

outcome run_plain(const fault& f, const setting& s, double seconds) {
  std::vector<std::int64_t> numbers(200'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  const auto st = [&](int n) { return wick::map("s" + std::to_string(n), stage_work{&f, n}); };
  return run(wick::in_memory(numbers) | wick::shuffle() | st(0) | st(1) | st(2) | st(3) | st(4) | st(5) |
                 st(6) | st(7) | wick::array_batch(16),
             f, s, seconds);
}

outcome run_reading(const fault& f, const setting& s, double seconds) {
  std::vector<std::int64_t> numbers(200'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  const auto st = [&](int n) { return wick::map("s" + std::to_string(n), stage_work{&f, n}); };
  struct reader {
    const fault* what;
    wick::task<std::int64_t> operator()(std::int64_t i, wick::context& c) const {
      if (what->reserve != 0) co_await c.reserve(what->reserve);
      const double time = what->read;
      auto call = c.run_blocking([time] { rest(time); });
      co_await call;
      co_return i;
    }
  };
  return run(wick::in_memory(numbers) | wick::shuffle() | wick::map("fetch", reader{&f}) | st(1) | st(2) |
                 st(3) | st(4) | st(5) | st(6) | st(7) | wick::array_batch(16),
             f, s, seconds);
}

struct example {
  std::string name;
  bool reads = false;
  fault with, without;
  setting settings, mended;
  wick::report::what_if change;
  std::vector<std::string> said;  // one of them
};

std::vector<example> examples(std::size_t workers) {
  std::vector<example> out;
  const setting s{.workers = workers};
  for (int k = 0; k < 8; ++k) {
    out.push_back({"slow_" + std::to_string(k),
                   false,
                   {.slow_stage = k, .slow = 285},
                   {},
                   s,
                   s,
                   {.stage = "s" + std::to_string(k), .times_faster = 20},
                   {"Bottleneck: s" + std::to_string(k) + " ("}});
  }
  out.push_back({"reader",
                 true,
                 {.read = 20'000},
                 {.read = 2'000},  // much shorter ones take longer than they are asked to
                 s,
                 s,
                 {.stage = "fetch", .times_faster = 10},
                 {"I/O in fetch"}});
  setting more = s;
  more.io_threads = 16;
  out.push_back({"io_threads",
                 true,
                 {.read = 20'000},
                 {.read = 20'000},
                 s,
                 more,
                 {.io_threads = 16},
                 {"I/O in fetch"}});
  out.push_back({"consumer", false, {.step_rest = 20'000}, {}, s, s, {.step_ms = 0}, {"the training step"}});
  out.push_back(
      {"busy_consumer", false, {.step_work = 20'000}, {}, s, s, {.step_ms = 0}, {"the training step"}});
  setting twice = s;
  twice.workers = 2 * workers;
  out.push_back({"workers",
                 false,
                 {.slow_stage = 3, .held = 4000},
                 {.slow_stage = 3, .held = 4000},
                 s,
                 twice,
                 {.workers = 2 * workers},
                 {"a blocking call in s3", "the number of workers"}});
  setting little = s;
  little.memory = 1 << 20;
  out.push_back({"memory",
                 true,
                 {.read = 10'000, .reserve = 512 << 10},
                 {.read = 10'000, .reserve = 512 << 10},
                 little,
                 s,
                 {.memory = std::size_t{512} << 20},
                 {"the memory budget"}});
  out.push_back({"slow_samples",
                 false,
                 {.slow_stage = 5, .slow = 150'000, .one_in = 1000},
                 {},
                 s,
                 s,
                 {.stage = "s5", .without_slowest = 0.002},
                 {"a few slow samples in s5"}});
  if (workers > 1) {
    out.push_back({"lock",
                   false,
                   {.lock = 150, .locked = true},
                   {.lock = 150},
                   s,
                   s,
                   {.stage = "s4", .without_blocking = true},
                   {"a lock or a blocking call in s4"}});
  }
  return out;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 != 0 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 1;
  int rounds = 3;
  std::string only;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--seconds" && i + 1 < argc)
      seconds = std::atof(argv[++i]);
    else if (a == "--rounds" && i + 1 < argc)
      rounds = std::atoi(argv[++i]);
    else if (a == "--only" && i + 1 < argc)
      only = argv[++i];
    else if (a == "--verbose")
      verbose = true;
    else if (a == "--quick") {
      seconds = 0.1;
      rounds = 1;
    } else {
      std::printf("advice [--quick] [--seconds 1] [--rounds 3] [--only NAME] [--verbose]\n");
      return a == "--help" ? 0 : 2;
    }
  }
  std::vector<double> errors;
  int named = 0, all = 0;
  double worst = 0;
  for (const std::size_t workers : {1, 2, 4}) {
    for (const example& e : examples(workers)) {
      if (!only.empty() && e.name != only) continue;
      std::vector<double> gains, predicted;
      int said = 0;
      for (int r = 0; r < rounds; ++r) {
        const auto one = e.reads ? run_reading : run_plain;
        const outcome with = one(e.with, e.settings, seconds), without = one(e.without, e.mended, seconds);
        gains.push_back(without.rate / with.rate);
        const wick::report::prediction p = with.report.predict(e.change);
        predicted.push_back(p.gain);
        const std::string text = with.report.advice();
        const bool ok = std::any_of(e.said.begin(), e.said.end(),
                                    [&](const std::string& s) { return text.find(s) != text.npos; });
        said += ok;
        if (verbose || !ok) std::printf("%s\n", with.report.to_string().c_str());
      }
      const double gain = median(gains), guess = median(predicted), off = guess / gain - 1;
      errors.push_back(std::abs(off));
      worst = std::max(worst, std::abs(off));
      all += 1;
      named += said == rounds;
      std::printf("%-14s %zu workers: gain %6.2f, predicted %6.2f (%+5.1f %%), named %d of %d\n",
                  e.name.c_str(), workers, gain, guess, 100 * off, said, rounds);
      std::fflush(stdout);
    }
  }
  std::printf("RESULT advice named=%d of=%d median_error=%.3f worst_error=%.3f\n", named, all,
              errors.empty() ? 0 : median(errors), worst);
}

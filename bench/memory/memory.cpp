// How much memory a loader takes where samples are of very different sizes: the most that was resident
// against the bound, and the speed against the same without a bound.
//
// Files of 1 KB to 50 MB, log-normal, in the page cache. Each run is a process of its own, so that its peak is
// its own.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/options.hpp"
#include "support/temp_folder.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t bound = std::size_t{256} << 20;
constexpr std::size_t no_bound = std::size_t{1} << 40;

/// Bytes of this process as /proc says: VmRSS, resident now, or VmHWM, the most since it began.
double resident(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return 1024 * std::strtod(line.c_str() + name.size() + 1, nullptr);
  }
  throw std::runtime_error("no " + name + " in /proc/self/status");
}

std::vector<fs::path> make_files(const fs::path& folder, std::size_t count) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> sizes(std::log(1.0e6), 1.6);
  std::vector<char> bytes(50'000'000);
  for (char& c : bytes) c = static_cast<char>(random());
  std::vector<fs::path> out;
  for (std::size_t i = 0; i < count; ++i) {
    const double size = std::clamp(sizes(random), 1e3, 5e7);
    out.push_back(folder / (std::to_string(i) + ".bin"));
    std::ofstream file(out.back(), std::ios::binary);
    if (!file.write(bytes.data(), static_cast<std::streamsize>(size)))
      throw std::runtime_error("can't write " + out.back().string());
  }
  return out;
}

std::uint64_t sum_of(const wick::bytes& all) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 8 <= all.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, all.data() + i, 8);
    sum += word;
  }
  return sum;
}

struct work {
  const std::vector<fs::path>* files;
  std::size_t workers = 1, memory = bound;
  double step_ms = 0;
};

struct figures {
  double seconds = 0, cpu = 0, base = 0, peak = 0;
  std::uint64_t sum = 0, samples = 0;
};

template <class Loader, class Take>
figures run_loader(Loader& loader, const work& w, Take&& take) {
  figures f;
  f.base = resident("VmRSS");
  const wick_bench::stopwatch watch;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    for (auto& batch : loader.epoch(epoch)) {
      take(batch, f);
      if (w.step_ms > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(w.step_ms));
    }
  }
  const wick_bench::lap lap = watch.read();
  f.seconds = lap.wall;
  f.cpu = lap.cpu;
  f.peak = resident("VmHWM");
  if (std::getenv("WICK_BENCH_REPORT") != nullptr) std::printf("%s\n", loader.report().to_string().c_str());
  return f;
}

/// A number of each file.
figures sums(const work& w) {
  wick::loader loader(wick::files(*w.files) | wick::shuffle() | wick::read() |
                          wick::map("sum", [](wick::bytes b) { return std::array{sum_of(b)}; }) |
                          wick::array_batch(16),
                      {.seed = 1, .workers = w.workers, .memory = w.memory, .prefetch_next_epoch = false});
  return run_loader(loader, w, [](auto& batch, figures& f) {
    const std::size_t n = static_cast<std::size_t>(batch.extents()[0]);
    f.samples += n;
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t one = 0;
      std::memcpy(&one, reinterpret_cast<const char*>(batch.data()) + 8 * i, 8);
      f.sum += one;
    }
  });
}

/// The files themselves.
figures groups(const work& w) {
  wick::loader loader(wick::files(*w.files) | wick::shuffle() | wick::read() | wick::group(8),
                      {.seed = 1, .workers = w.workers, .memory = w.memory, .prefetch_next_epoch = false});
  return run_loader(loader, w, [](auto& batch, figures& f) {
    for (const auto& one : batch) f.sum += sum_of(one);
    f.samples += batch.size();
  });
}

/// In a process of its own.
template <class Run>
figures alone(Run run, const work& w) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      const figures f = run(w);
      code = ::write(ends[1], &f, sizeof f) == sizeof f ? 0 : 1;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "memory: %s\n", e.what());
    }
    std::fflush(nullptr);
    ::_exit(code);
  }
  ::close(ends[1]);
  figures f;
  const bool whole = child > 0 && ::read(ends[0], &f, sizeof f) == sizeof f;
  ::close(ends[0]);
  int status = 0;
  if (child > 0) ::waitpid(child, &status, 0);
  if (!whole) throw std::runtime_error("a run has failed");
  return f;
}

struct kind {
  const char* name;
  figures (*run)(const work&);
  double step_ms;
};
constexpr kind kinds[] = {{"sums", &sums, 0}, {"groups", &groups, 0}, {"groups, slow loop", &groups, 5}};

int run(const wick_bench::options& o) {
  const wick_bench::temp_folder folder;
  const std::vector<fs::path> files = make_files(folder.path(), o.quick ? 100 : 1000);
  std::printf("%-20s %7s %12s %12s %10s %8s\n", "", "workers", "MiB, bound", "MiB, none", "samples/s", "ratio");
  double worst_memory = 0, worst_speed = 10;
  for (const kind& k : kinds) {
    if (!std::string(k.name).starts_with(o.which)) continue;
    for (const std::size_t workers : {1, 2, 4, 8, 16}) {
      std::vector<double> with, without;
      double peak = 0, free = 0;
      std::uint64_t sum = 0;
      for (int round = 0; round < o.rounds; ++round) {
        for (const bool bounded : {true, false}) {
          const figures f = alone(k.run, {&files, workers, bounded ? bound : no_bound, k.step_ms});
          if (sum == 0) sum = f.sum;
          if (f.samples != 2 * files.size() || f.sum != sum) {
            std::fprintf(stderr, "memory: %s with %zu workers: other samples\n", k.name, workers);
            return 1;
          }
          (bounded ? with : without).push_back(static_cast<double>(f.samples) / f.seconds);
          double& most = bounded ? peak : free;
          most = std::max(most, f.peak - f.base);
        }
      }
      const double speed = wick_bench::median(with) / wick_bench::median(without);
      worst_speed = std::min(worst_speed, speed);
      worst_memory = std::max(worst_memory, peak / static_cast<double>(bound));
      std::printf("%-20s %7zu %12.0f %12.0f %10.0f %8.3f\n", k.name, workers, peak / 1048576, free / 1048576,
                  wick_bench::median(with), speed);
      std::fflush(stdout);
    }
  }
  std::printf("RESULT memory bound_mib=%zu worst_memory=%.3f worst_speed=%.3f rounds=%d cores=%u\n", bound >> 20,
              worst_memory, worst_speed, o.rounds, std::thread::hardware_concurrency());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(wick_bench::options::parse(argc, argv, "The most memory that a loader takes, against its bound",
                                          {wick_bench::options::case_option}));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "memory: %s\n", e.what());
    return 1;
  }
}

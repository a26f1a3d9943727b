// Wall and processor time of contestants that run in turns, and what is said of the figures: medians and
// ratios.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <utility>
#include <vector>

namespace wick_bench {

/// Seconds, of the clock on the wall and of all processors together.
struct lap {
  double wall = 0, cpu = 0;
};

class stopwatch {
 public:
  stopwatch() : wall_(std::chrono::steady_clock::now()), cpu_(process_cpu()) {}
  lap read() const { return {seconds(), process_cpu() - cpu_}; }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_).count();
  }

 private:
  static double process_cpu() {
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    const auto s = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return s(u.ru_utime) + s(u.ru_stime);
  }
  std::chrono::steady_clock::time_point wall_;
  double cpu_;
};

inline double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n % 2 != 0 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}
inline double mean(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return v.empty() ? 0 : sum / static_cast<double>(v.size());
}

/// One side of a comparison: does `units` (samples, pictures) and says how long it took.
struct contestant {
  std::string name;
  double units = 0;
  std::function<lap()> run;
  std::vector<lap> laps = {};

  double units_per_second() const {
    return median(of([&](const lap& l) { return units / l.wall; }));
  }
  double cpu_per_unit() const {
    return median(of([&](const lap& l) { return l.cpu / units; }));
  }
  double processors() const {
    return median(of([&](const lap& l) { return l.cpu / l.wall; }));
  }
  template <class F>
  std::vector<double> of(F f) const {
    std::vector<double> out;
    for (const lap& l : laps) out.push_back(f(l));
    return out;
  }
};

/// Speed of `a` as a multiple of `b`'s: the median over the rounds, each against its neighbor in time, so
/// that a machine that is slower for a while does not count.
inline double ratio(const contestant& a, const contestant& b) {
  std::vector<double> each;
  for (std::size_t i = 0; i < std::min(a.laps.size(), b.laps.size()); ++i) {
    each.push_back((a.units / a.laps[i].wall) / (b.units / b.laps[i].wall));
  }
  return median(std::move(each));
}

/// The same of processor time: what `b` spends on a unit as a multiple of what `a` does.
inline double cpu_ratio(const contestant& a, const contestant& b) {
  std::vector<double> each;
  for (std::size_t i = 0; i < std::min(a.laps.size(), b.laps.size()); ++i) {
    each.push_back((b.laps[i].cpu / b.units) / (a.laps[i].cpu / a.units));
  }
  return median(std::move(each));
}

/// In turns; each round begins with another one.
inline void run_in_turns(std::vector<contestant>& all, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      contestant& c = all[(i + static_cast<std::size_t>(r)) % all.size()];
      c.laps.push_back(c.run());
    }
  }
}

/// A line a contestant; `unit` names what is counted, `scale` divides the speed (1e6 for millions).
inline void print_table(const std::vector<contestant>& all, std::string_view speed, double scale,
                        std::string_view cpu, double cpu_scale) {
  std::printf("%-34s %12.*s %9s %9s %14.*s %6s\n", "", static_cast<int>(speed.size()), speed.data(), "worst",
              "best", static_cast<int>(cpu.size()), cpu.data(), "cores");
  for (const contestant& c : all) {
    std::vector<double> speeds = c.of([&](const lap& l) { return c.units / l.wall / scale; });
    const auto [low, high] = std::minmax_element(speeds.begin(), speeds.end());
    std::printf("%-34s %12.3f %9.3f %9.3f %14.2f %6.2f\n", c.name.c_str(), median(speeds), *low, *high,
                c.cpu_per_unit() * cpu_scale, c.processors());
  }
}

}  // namespace wick_bench

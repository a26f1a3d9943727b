// The engine on its own: spawning, fork-join, pipelines, waking up, idling; against oneTBB, std::async and
// others.
//
// Every result is checked. A line RESULT a case; figures are medians over rounds that the libraries take in
// turns.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "engine/peer.hpp"
#include "support/options.hpp"
#include "support/timing.hpp"

namespace engine {

namespace {

using wick_bench::contestant, wick_bench::lap, wick_bench::median, wick_bench::ratio, wick_bench::stopwatch;

struct library {
  const char* name;
  std::unique_ptr<peer> (*make)(std::size_t workers);
};
const std::vector<library> libraries{
    {"wick", make_wick},         {"tbb", make_tbb}, {"std_async", make_std_async},
#ifdef WICK_BENCH_LIBFORK
    {"libfork", make_libfork},
#endif
#ifdef WICK_BENCH_TASKFLOW
    {"taskflow", make_taskflow},
#endif
};

bool good = true;
void check(const char* what, const std::string& who, std::uint64_t found, std::uint64_t wanted) {
  if (found == wanted) return;
  std::fprintf(stderr, "engine: %s: %s gives %llu, wanted %llu\n", what, who.c_str(),
               static_cast<unsigned long long>(found), static_cast<unsigned long long>(wanted));
  good = false;
}

/// The most memory of the process since this was last asked, in MB.
double peak_memory() {
  double kib = 0;
  if (std::FILE* const f = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, f) != nullptr) std::sscanf(line, "VmHWM: %lf", &kib);
    std::fclose(f);
  }
  if (std::FILE* const f = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", f);
    std::fclose(f);
  }
  return kib / 1024;
}

struct side {
  std::string name;
  contestant measured;
  double memory = 0;
};

/// Each library that can, in turns. `units` is what one run() does.
std::vector<side> play(const char* what, std::size_t workers, const std::string& only, int rounds,
                       double units, std::uint64_t wanted, const std::function<answer(peer&)>& run) {
  std::vector<side> sides;
  sides.reserve(libraries.size());
  std::vector<std::unique_ptr<peer>> peers;
  for (const library& l : libraries) {
    if (!std::string(l.name).starts_with(only)) continue;
    auto p = l.make(workers);
    peer* const one = p.get();
    const answer first = run(*one);  // and warm
    if (!first) continue;
    check(what, l.name, *first, wanted);
    sides.push_back({l.name, {l.name, units, [=, &run] {
                                const stopwatch watch;
                                const answer a = run(*one);
                                const lap took = watch.read();
                                check(what, l.name, *a, wanted);
                                return took;
                              }}});
    peers.push_back(std::move(p));
  }
  for (int r = 0; r < rounds; ++r) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      side& s = sides[(i + static_cast<std::size_t>(r)) % sides.size()];
      peak_memory();
      s.measured.laps.push_back(s.measured.run());
      s.memory = std::max(s.memory, peak_memory());
    }
  }
  return sides;
}

/// CPU and wall time a unit of each, and wick's speed as a multiple of the others'.
void tell(const char* name, const char* what, std::size_t workers, const std::vector<side>& sides) {
  std::printf("%s, %zu worker%s\n", what, workers, workers == 1 ? "" : "s");
  for (const side& s : sides) {
    std::printf("  %-10s %10.1f CPU ns %10.1f ns %8.2f cores %8.1f MB\n", s.name.c_str(),
                s.measured.cpu_per_unit() * 1e9, 1e9 / s.measured.units_per_second(), s.measured.processors(),
                s.memory);
  }
  std::string line = "RESULT engine case=" + std::string(name) + " workers=" + std::to_string(workers);
  const auto add = [&](const std::string& key, const char* format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    line += " " + key + "=" + text;
  };
  for (const side& s : sides) {
    add("cpu_ns_" + s.name, "%.1f", s.measured.cpu_per_unit() * 1e9);
    add("ns_" + s.name, "%.1f", 1e9 / s.measured.units_per_second());
    add("mb_" + s.name, "%.0f", s.memory);
    if (&s != &sides[0]) add("speed_against_" + s.name, "%.2f", ratio(sides[0].measured, s.measured));
  }
  std::printf("%s\n", line.c_str());
}

/// 1 % of the tasks are 100 times as long. Against the time that all of them take on that many processors.
void tasks(const wick_bench::options& o, std::size_t workers, const char* name, double seconds_each,
           double turn) {
  const auto turns = static_cast<std::uint32_t>(seconds_each / turn);
  std::vector<std::uint32_t> lengths(static_cast<std::size_t>((o.quick ? 0.1 : 1.0) / seconds_each), turns);
  for (std::size_t i = 50; i < lengths.size(); i += 100) lengths[i] = 100 * turns;
  std::uint64_t wanted = 0;
  for (const std::uint32_t n : lengths) wanted += burn(n);
  double ideal = 0;
  const int rounds = std::max(3, o.rounds / 2);
  // The ideal in the same run: as many threads as there are workers, each with its share.
  std::vector<double> alone;
  for (int r = 0; r < rounds; ++r) {
    const stopwatch watch;
    std::vector<std::thread> threads;
    std::atomic<std::uint64_t> sum{0};
    for (std::size_t t = 0; t < workers; ++t) {
      threads.emplace_back([&, t] {
        std::uint64_t mine = 0;
        for (std::size_t i = t; i < lengths.size(); i += workers) mine += burn(turns);
        for (std::size_t i = 50 + 100 * t; i < lengths.size(); i += 100 * workers) mine += burn(99 * turns);
        sum += mine;
      });
    }
    for (std::thread& t : threads) t.join();
    alone.push_back(watch.seconds());
  }
  ideal = median(alone);
  std::vector<side> sides = play(name, workers, o.only, rounds, static_cast<double>(lengths.size()), wanted,
                                 [&](peer& p) { return p.loops(lengths); });
  std::printf("tasks of %.1f ms, 1 in 100 a hundred times as long, %zu workers; the bare work takes %.3f s\n",
              seconds_each * 1e3, workers, ideal);
  std::string line = "RESULT engine case=" + std::string(name) + " workers=" + std::to_string(workers);
  for (const side& s : sides) {
    const double took = s.measured.units / s.measured.units_per_second(), share = ideal / took;
    std::printf("  %-10s %6.3f s, %5.1f %% of the ideal\n", s.name.c_str(), took, share * 100);
    char text[64];
    std::snprintf(text, sizeof text, " ideal_%s=%.3f", s.name.c_str(), share);
    line += text;
  }
  std::printf("%s\n", line.c_str());
}

struct wake_up {
  std::chrono::steady_clock::time_point asked;
  std::atomic<double> took{-1};
};

void latency(const wick_bench::options& o, std::size_t workers) {
  const int times = o.quick ? 50 : 1000;
  std::printf("waking an idle pool of %zu workers\n", workers);
  std::string line = "RESULT engine case=wake workers=" + std::to_string(workers);
  std::vector<std::pair<const char*, std::unique_ptr<peer>>> peers;
  for (const library& l : libraries) {
    if (std::string(l.name).starts_with(o.only)) peers.emplace_back(l.name, l.make(workers));
  }
  std::vector<std::vector<double>> took(peers.size());
  for (int i = 0; i < times; ++i) {
    for (std::size_t p = 0; p < peers.size(); ++p) {
      std::this_thread::sleep_for(std::chrono::microseconds(500));  // they sleep by now
      wake_up w;
      w.asked = std::chrono::steady_clock::now();
      const bool can = peers[p].second->post(
          [](void* with) {
            auto* const one = static_cast<wake_up*>(with);
            one->took.store(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - one->asked).count());
            one->took.notify_one();
          },
          &w);
      if (!can) continue;
      while (w.took.load() < 0) w.took.wait(-1);
      took[p].push_back(w.took.load());
    }
  }
  for (std::size_t p = 0; p < peers.size(); ++p) {
    if (took[p].empty()) continue;
    std::sort(took[p].begin(), took[p].end());
    const double half = took[p][took[p].size() / 2], most = took[p][took[p].size() * 99 / 100];
    std::printf("  %-10s p50 %7.1f us, p99 %7.1f us\n", peers[p].first, half * 1e6, most * 1e6);
    char text[96];
    std::snprintf(text, sizeof text, " p50_us_%s=%.1f p99_us_%s=%.1f", peers[p].first, half * 1e6,
                  peers[p].first, most * 1e6);
    line += text;
  }
  std::printf("%s\n", line.c_str());
}

/// Tasks of 5 µs on more and more workers.
void oversubscribed(const wick_bench::options& o, double turn) {
  const std::vector<std::uint32_t> small(o.quick ? 2000 : 40'000, static_cast<std::uint32_t>(5e-6 / turn));
  std::uint64_t wanted = 0;
  for (const std::uint32_t n : small) wanted += burn(n);
  const auto with = [&](std::size_t workers) {
    return play("oversubscribed", workers, o.only, std::max(3, o.rounds / 2),
                static_cast<double>(small.size()), wanted, [&](peer& p) { return p.loops(small); });
  };
  std::printf(
      "(g) tasks of 5 us on more workers than cores; speed, and as a multiple of 2 workers' just before\n");
  for (const std::size_t workers : {1, 4, 8, 16, 32, 64}) {
    const std::vector<side> two = with(2), sides = with(workers);
    std::string line = "RESULT engine case=oversubscribed workers=" + std::to_string(workers);
    for (std::size_t i = 0; i < sides.size(); ++i) {
      const double speed = sides[i].measured.units_per_second(),
                   against = speed / two[i].measured.units_per_second();
      std::printf("  %2zu workers  %-10s %9.0f tasks/s  %.2f\n", workers, sides[i].name.c_str(), speed,
                  against);
      char text[96];
      std::snprintf(text, sizeof text, " tasks_s_%s=%.0f against_2_%s=%.2f", sides[i].name.c_str(), speed,
                    sides[i].name.c_str(), against);
      line += text;
    }
    std::printf("%s\n", line.c_str());
  }
}

void idle(const wick_bench::options& o) {
  const double seconds = o.quick ? 0.5 : 5;
  constexpr std::size_t workers = 16;
  std::string line = "RESULT engine case=idle workers=" + std::to_string(workers);
  std::printf("%zu idle workers for %.1f s\n", workers, seconds);
  for (const library& l : libraries) {
    if (!std::string(l.name).starts_with(o.only)) continue;
    const auto p = l.make(workers);
    static_cast<void>(p->spawn(4, 64));
    const stopwatch watch;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const lap took = watch.read();
    std::printf("  %-10s %.3f %% of a core\n", l.name, 100 * took.cpu / took.wall);
    char text[64];
    std::snprintf(text, sizeof text, " core_percent_%s=%.3f", l.name, 100 * took.cpu / took.wall);
    line += text;
  }
  std::printf("%s\n", line.c_str());
}

std::uint64_t pipeline_result(std::uint64_t tokens) {
  std::uint64_t out = 0;
  for (std::uint64_t i = 0; i < tokens; ++i) out = chain(out, i + 3);
  return out;
}

}  // namespace

int run(const wick_bench::options& o) {
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::printf("%zu cores\n", cores);
  const auto wanted_case = [&](const char* name) { return std::string(name).starts_with(o.which); };
  const int few = std::max(3, o.rounds / 2);
  for (const std::size_t workers : {std::size_t{1}, o.workers}) {
    const auto one = [&](const char* name, const char* what, double units, std::uint64_t wanted, auto run) {
      if (!wanted_case(name)) return;
      tell(name, what, workers, play(name, workers, o.only, o.rounds, units, wanted, run));
    };
    const std::uint64_t bursts = o.quick ? 100 : 5000;
    one("spawn", "(a) spawn and complete an empty task, 128 at a time", static_cast<double>(bursts * 128),
        bursts * 128, [&](peer& p) { return p.spawn(bursts, 128); });
    if (workers != 1) {
      one("few_spawns", "(a) the same, few of them", 50 * 128, 50 * 128,
          [&](peer& p) { return p.spawn(50, 128); });
    }
    const std::uint64_t calls = o.quick ? 100'000 : 10'000'000;
    if (workers == 1) {
      one("call", "(a) await a task that does not suspend", static_cast<double>(calls), calls,
          [&](peer& p) { return p.call(calls); });
    }
    const int n = o.quick ? 18 : 27;
    std::uint64_t a = 0, b = 1, forks = 0, before = 0;
    for (int i = 0; i < n; ++i) {
      const std::uint64_t c = a + b, now = i < 1 ? 0 : forks + before + 1;
      a = b, b = c, before = forks, forks = now;
    }
    one("fib", "(b) fork-join tree, a fork", static_cast<double>(forks), a,
        [&](peer& p) { return p.fib(n); });
    const std::uint64_t tokens = o.quick ? 20'000 : 1'000'000;
    one("pipeline", "(c) three empty stages in order, 64 tokens, a token", static_cast<double>(tokens),
        pipeline_result(tokens), [&](peer& p) { return p.pipeline(tokens); });
  }
  // How long a turn of burn() is here.
  std::vector<double> turns;
  for (int i = 0; i < 5; ++i) {
    const stopwatch watch;
    static_cast<void>(burn(10'000'000));
    turns.push_back(watch.seconds() / 1e7);
  }
  const double turn = median(turns);
  if (wanted_case("tasks_100us")) tasks(o, o.workers, "tasks_100us", 1e-4, turn);
  if (wanted_case("tasks_1ms")) tasks(o, o.workers, "tasks_1ms", 1e-3, turn);
  if (wanted_case("ping_pong")) {
    const std::uint64_t trips = o.quick ? 1000 : 50'000;
    tell("ping_pong", "(e) a suspension that another thread ends, a round trip", 1,
         play("ping_pong", 1, o.only, few, static_cast<double>(trips), trips,
              [&](peer& p) { return p.ping_pong(trips); }));
  }
  if (wanted_case("wake")) latency(o, o.workers);
  if (wanted_case("oversubscribed")) oversubscribed(o, turn);
  if (wanted_case("idle")) idle(o);
  return good ? 0 : 1;
}

}  // namespace engine

int main(int argc, char** argv) {
  return engine::run(
      wick_bench::options::parse(argc, argv,
                                 "The engine on its own: spawn, fork-join, pipeline, long and "
                                 "short tasks, I/O completion, waking, idling",
                                 {wick_bench::options::only_option, wick_bench::options::case_option}));
}

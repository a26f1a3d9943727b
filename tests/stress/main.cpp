// wick_stress: random scenarios over the engine and the loaders until the time is over, everything accounted
// for.
//
// A seed decides all of a scenario but its timing, so a failure is repeated by its seed, over and over if
// need be.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "heap.hpp"
#include "world.hpp"
#include <wick/async/detail/frame_pool.hpp>
#include <wick/io/detail/known_folders.hpp>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define WICK_STRESS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define WICK_STRESS_SANITIZED 1
#endif
#endif
#ifdef WICK_STRESS_SANITIZED
#include <sanitizer/common_interface_defs.h>
#endif

using namespace wick_stress;

namespace {

constexpr const char* help =
    R"(wick_stress: random scenarios over the engine and the loaders until the time is over.

  wick_stress [--seconds N] [--seed S] [--workers 1,2,4,16] [--only NAME[,NAME…]] [--patience N]
  wick_stress --seed S --once [--times N] [--workers …] [--only …]
  wick_stress --list

  --seconds N     go on for N seconds (10)
  --seed S        the first scenario's seed (1); the others' are made from it
  --once          only the scenario of that seed: how a failure is repeated
  --times N       with --once: N times (1); what is decided by timing may take many
  --workers LIST  draw the number of workers from these (1,2,4,16)
  --only NAMES    draw from these scenarios only
  --patience N    a scenario that takes longer than N seconds hangs (60)
  --list          the scenarios, and what each is about

At the end of each scenario no coroutine frame, item or exception of it is alive and no memory is left allocated (under
sanitizers that is LeakSanitizer's to see). Exit status: 0 all was well, 1 a scenario failed, 2 wrong arguments, and a
signal's when a scenario hung or crashed. Each failure is printed with the command that repeats it.
)";

struct arguments {
  double seconds = 10, patience = 60;
  std::uint64_t seed = 1, times = 1;
  bool once = false, list = false;
  std::vector<std::size_t> workers{1, 2, 4, 16};
  std::vector<std::string> only;
  std::string restrictions;  // the options that a repetition needs too
};

[[noreturn]] void wrong(const std::string& text) {
  std::fprintf(stderr, "wick_stress: %s; --help says what there is\n", text.c_str());
  std::exit(2);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::uint64_t whole_number(const std::string& option, const std::string& text) {
  std::size_t used = 0;
  std::uint64_t n = 0;
  try {
    n = std::stoull(text, &used);
  } catch (const std::exception&) {
  }
  if (used == 0 || used != text.size() || text[0] == '-')
    wrong(option + " takes a whole number, not '" + text + "'");
  return n;
}

arguments parse(int argc, char** argv) {
  arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) wrong(option + " needs a value");
      return argv[i];
    };
    if (option == "--help" || option == "-h") {
      std::fputs(help, stdout);
      std::exit(0);
    } else if (option == "--once") {
      a.once = true;
    } else if (option == "--list") {
      a.list = true;
    } else if (option == "--seconds") {
      a.seconds = static_cast<double>(whole_number(option, value()));
    } else if (option == "--patience") {
      a.patience = static_cast<double>(whole_number(option, value()));
    } else if (option == "--seed") {
      a.seed = whole_number(option, value());
    } else if (option == "--times") {
      a.times = whole_number(option, value());
    } else if (option == "--workers") {
      const std::string list = value();
      a.workers.clear();
      for (const std::string& w : split(list)) {
        a.workers.push_back(static_cast<std::size_t>(whole_number(option, w)));
        if (a.workers.back() == 0) wrong("--workers takes numbers above 0");
      }
      a.restrictions += " --workers " + list;
    } else if (option == "--only") {
      const std::string list = value();
      a.only = split(list);
      a.restrictions += " --only " + list;
    } else {
      wrong("no option " + option);
    }
  }
  return a;
}

/// The scenario that runs, for who must speak when the program is about to die.
char running[512];

void say_what_runs() {
  constexpr char intro[] = "wick_stress: it happened in\n  ";
  if (running[0] == 0) return;
  (void)!write(2, intro, sizeof(intro) - 1);
  (void)!write(2, running, std::strlen(running));
  (void)!write(2, "\n", 1);
}
#ifndef WICK_STRESS_SANITIZED
extern "C" void on_crash(int signal) {
  say_what_runs();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}
#endif

/// Aborts when a scenario takes too long: what hangs can only be looked at from outside.
class watchdog {
 public:
  explicit watchdog(double seconds) : patience_(seconds), thread_([this] { watch(); }) {}
  ~watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void begin(const std::string& what) {
    const std::lock_guard lock(mutex_);
    ++number_;
    what.copy(running, sizeof(running) - 1);
    running[std::min(what.size(), sizeof(running) - 1)] = 0;
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      const std::uint64_t seen = number_;
      if (changed_.wait_for(lock, std::chrono::duration<double>(patience_), [&] { return over_; })) return;
      if (number_ != seen) continue;
      std::fprintf(stderr, "wick_stress: FAILED: a scenario hangs: it has taken more than %.0f seconds\n",
                   patience_);
      std::fflush(stderr);
      say_what_runs();
      std::signal(SIGABRT, SIG_DFL);
      std::abort();
    }
  }

  const double patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t number_ = 0;
  bool over_ = false;
  std::thread thread_;
};

/// On a thread of its own: what threads keep for themselves (frames to be used again) is gone with it.
std::vector<std::string> run(const scenario& s, world& w) {
  std::thread([&] {
    try {
      s.run(w);
    } catch (const std::exception& e) {
      w.expect(false, "an exception left the scenario", e.what());
    } catch (...) {
      w.expect(false, "an exception left the scenario");
    }
  }).join();
  w.expect(w.alive.load() == 0, "frames, items or exceptions are still alive", w.alive.load());
  return w.failures();
}

}  // namespace

int main(int argc, char** argv) {
  const arguments a = parse(argc, argv);
  std::vector<scenario> all, chosen;
  for (const auto& group :
       {tree_scenarios(), waiting_scenarios(), engine_scenarios(), loader_scenarios(), file_scenarios()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  if (a.list) {
    for (const scenario& s : all) std::printf("%-10s %s\n", s.name, s.about);
    return 0;
  }
  for (const std::string& name : a.only) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const scenario& s) { return s.name == name; });
    if (found == all.end()) wrong("no scenario '" + name + "' (--list has them)");
    chosen.push_back(*found);
  }
  if (chosen.empty()) chosen = all;

#ifdef WICK_STRESS_SANITIZED
  __sanitizer_set_death_callback(say_what_runs);
#else
  for (const int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) std::signal(s, on_crash);
#endif
  std::setvbuf(stdout, nullptr, _IOLBF, 0);

  watchdog watch(a.patience);
  const auto begun = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  };
  struct tally {
    std::uint64_t times = 0;
    double seconds = 0;
  };
  std::map<std::string, tally> ran;
  std::uint64_t scenarios = 0, failed = 0;
  const auto attempt = [&](const scenario& s, std::uint64_t seed, bool warm) {
    const double at = passed();
    std::vector<std::string> failures;
    std::string what;
    what.reserve(sizeof(running));
    wick::detail::frame_pool::trim();
    const heap_state before = heap_now();
    const std::size_t places = wick::detail::known_folders::all().blocks();  // stay, and are bounded
    {
      dice choice(seed);
      choice.next();  // drew the scenario
      world w(choice.next(), a.workers);
      what = std::string(argv[0]) + " --seed " + std::to_string(seed) + " --once" + a.restrictions + "   (" +
             s.name + ", " + std::to_string(w.workers()) + " workers, queue_capacity " +
             std::to_string(w.capacity()) + ")";
      watch.begin(what);
      failures = run(s, w);
    }
    wick::detail::frame_pool::trim();
    const heap_state after = heap_now();
    const long kept = after.blocks - before.blocks -
                      static_cast<long>(wick::detail::known_folders::all().blocks() - places);
    if (heap_is_counted() && failures.empty() && warm && kept != 0) {
      failures.push_back(std::to_string(kept) + " blocks (" + std::to_string(after.bytes - before.bytes) +
                         " bytes) of memory were not freed");
    }
    if (!failures.empty()) {
      ++failed;
      std::printf("wick_stress: FAILED: %s\n", what.c_str());
      for (const std::string& f : failures) std::printf("    %s\n", f.c_str());
    }
    if (warm) {
      ++scenarios;
      ++ran[s.name].times;
      ran[s.name].seconds += passed() - at;
    }
  };
  const auto drawn = [&](std::uint64_t seed) -> const scenario& {
    return chosen[dice(seed).below(chosen.size())];
  };

  // What is made once a program (tables, clocks) is made here and not counted as a leak.
  for (const scenario& s : chosen) {
    for (std::uint64_t seed = 0, n = 0; n < 2; ++seed) {
      if (drawn(seed).name != s.name) continue;
      attempt(s, seed, false);
      ++n;
    }
  }
  if (a.once) {
    for (std::uint64_t i = 0; i < a.times; ++i) attempt(drawn(a.seed), a.seed, true);
  } else {
    dice seeds(a.seed);
    for (std::uint64_t seed = a.seed; scenarios == 0 || passed() < a.seconds; seed = seeds.next()) {
      attempt(drawn(seed), seed, true);
      if (failed >= 5) {
        std::printf("wick_stress: five scenarios have failed; that will do\n");
        break;
      }
    }
  }
  running[0] = 0;
  const double seconds = passed();
  std::printf("wick_stress: %llu scenarios in %.1f s (%.0f a second), %llu failed; memory %s\n",
              static_cast<unsigned long long>(scenarios), seconds, static_cast<double>(scenarios) / seconds,
              static_cast<unsigned long long>(failed), heap_is_counted() ? "counted" : "not counted");
  for (const auto& [name, t] : ran) {
    std::printf("  %-10s %6llu times, %8.2f ms each\n", name.c_str(),
                static_cast<unsigned long long>(t.times), 1e3 * t.seconds / static_cast<double>(t.times));
  }
  return failed != 0 ? 1 : 0;
}

// What order costs: a loader against bare threads that give the same samples as they come; and a position of
// each shuffle.
//
// The loader hands out batch after batch, every sample in its place. The bare threads put samples into
// batches as they are made, so that a slow one holds up nothing. Samples of 2 and 20 µs, all alike, or one in
// a hundred 100 times slower.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "order/unordered.hpp"
#include "order/work.hpp"
#include "support/options.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>

namespace order {
namespace {

using wick_bench::contestant, wick_bench::lap, wick_bench::stopwatch;

struct numbers {
  std::uint64_t count;
  std::uint64_t size() const noexcept { return count; }
  std::uint64_t at(std::uint64_t i) const noexcept { return i; }
};

auto pipeline(const work& w) {
  return numbers{w.samples} | wick::shuffle() |
         wick::map("work", [w](std::uint64_t i) { return w.make(i); }) | wick::array_batch(w.batch_size);
}

/// A loader that continues, epoch after epoch.
class ordered {
 public:
  ordered(const work& w, std::size_t workers, std::optional<std::size_t> prefetch)
      : loader_(pipeline(w), {.seed = work::seed, .workers = workers, .prefetch = prefetch}) {
    loader_.epoch(0);
  }
  auto next() {
    for (;;) {
      if (auto b = loader_.next()) return b;
      loader_.epoch(++epoch_);
    }
  }
  std::string report() { return loader_.report().to_string(); }

 private:
  std::uint64_t epoch_ = 0;
  decltype(wick::loader(pipeline(work{}))) loader_;
};

/// How many steps last about that long on this machine.
std::uint64_t steps_for(double seconds) {
  work w{.steps = 1 << 20};
  std::uint64_t kept = 0;
  std::vector<double> each;
  for (int i = 0; i < 5; ++i) {
    const stopwatch watch;
    kept += w.make(static_cast<std::uint64_t>(i)).data[0];
    each.push_back(watch.seconds() / static_cast<double>(w.steps));
  }
  if (kept == 1) std::printf(" ");
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(seconds / wick_bench::median(each)));
}

/// An epoch of both: the same samples with the same contents, the loader's in the order of the permutation.
bool same(work w, std::size_t workers) {
  w.samples = 1 << 10;
  std::uint64_t theirs = 0, ours = 0, position = 0;
  bool in_order = true;
  unordered bare(w, workers, 4, w.samples);
  while (auto b = bare.next()) {
    for (std::size_t i = 0; i < b->count; ++i) {
      theirs += b->samples[i].data[0] * static_cast<std::uint64_t>(b->samples[i].target + 1);
    }
    bare.give_back(std::move(b));
  }
  wick::loader l(pipeline(w), {.seed = work::seed, .workers = workers});
  const wick::detail::permutation order(w.samples, work::seed, 0, 0);
  for (auto& b : l.epoch(0)) {
    for (std::int64_t i = 0; i < b.target.extents()[0]; ++i) {
      const auto id = static_cast<std::uint64_t>(b.target.as<std::int64_t>()[i]);
      in_order = in_order && id == order(position++);
      ours += b.data.as<std::uint64_t>()[i * 8] * (id + 1);
    }
  }
  return in_order && position == w.samples && ours == theirs;
}

/// Until the threads of both sides have filled what they may fill, and sleep: none works in the other's time.
void settle() {
  for (;;) {
    const stopwatch watch;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (watch.read().cpu < 0.001) return;
  }
}

struct comparison {
  double cost, cpu_cost;  // what order takes of the speed, and adds to the processor time; 0.02: 2 %
};

/// `prefetch`: the loader's default where it is not given.
comparison compare(const work& w, std::optional<std::size_t> prefetch, const wick_bench::options& o,
                   const std::string& title) {
  const double each = o.quick ? 0.05 : 0.3;  // seconds a lap
  ordered loader(w, o.workers, prefetch);
  unordered bare(w, o.workers, prefetch.value_or(4));
  const auto take_ours = [&](std::uint64_t n) {
    for (; n != 0; --n) (void)loader.next();
  };
  const auto take_theirs = [&](std::uint64_t n) {
    for (; n != 0; --n) bare.give_back(bare.next());
  };
  take_ours(8);
  take_theirs(8);
  const stopwatch watch;
  std::uint64_t batches = 0;
  for (; watch.seconds() < each / 4; ++batches) take_theirs(1);
  batches *= 4;
  std::vector<contestant> all;
  const auto units = static_cast<double>(batches * w.batch_size);
  // What became ready while the other had its turn is taken before the clock starts.
  const auto lap_of = [&, batches](auto take) {
    return [=] {
      settle();
      take(16);
      const stopwatch one;
      take(batches);
      return one.read();
    };
  };
  all.push_back({"wick, in order", units, lap_of(take_ours)});
  all.push_back({"bare threads, as they come", units, lap_of(take_theirs)});
  std::printf("%s\n", title.c_str());
  run_in_turns(all, o.rounds);
  print_table(all, "k samples/s", 1e3, "cpu us/sample", 1e6);
  const comparison c{1 - ratio(all[0], all[1]), 1 / cpu_ratio(all[0], all[1]) - 1};
  std::printf("  order costs %.1f %% of the speed, %.1f %% processor time\n\n", c.cost * 100,
              c.cpu_cost * 100);
  return c;
}

/// Nanoseconds a position, the median of some rounds, asked one after the other or (map) many at a time.
template <class Order>
double position_cost(const Order& order, std::uint64_t n, bool many) {
  std::vector<double> each;
  std::uint64_t kept = 0;
  for (int round = 0; round < 9; ++round) {
    constexpr std::uint64_t count = 1 << 16;
    std::uint64_t at[16];
    const stopwatch watch;
    for (std::uint64_t p = 0; p < count; p += 16) {
      for (std::uint64_t i = 0; i < 16; ++i) at[i] = (p + i) % n;
      if constexpr (requires { order.map(at, 16); }) {
        if (many) {
          order.map(at, 16);
          for (const std::uint64_t i : at) kept += i;
          continue;
        }
      }
      for (std::uint64_t& i : at) kept += order(i);
    }
    each.push_back(watch.seconds() * 1e9 / static_cast<double>(count));
  }
  if (kept == 1) std::printf(" ");
  return wick_bench::median(each);
}

int run(const wick_bench::options& o) {
  const auto chosen = [&](std::string_view name) { return o.which.empty() || name.starts_with(o.which); };
  std::string result;
  const auto add = [&](const std::string& key, double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, " %s=%.*f", key.c_str(), digits, value);
    result += text;
  };

  if (chosen("position")) {
    constexpr std::uint64_t n = 1'281'167;
    const auto say = [&](const char* key, const char* what, double ns) {
      std::printf("%-52s %8.1f ns a position\n", what, ns);
      add(key, ns, 1);
    };
    const auto shuffled = wick::shuffle().prepare(n, 1, 2, 0);
    say("shuffle_ns", "shuffle of 1,281,167, one by one", position_cost(shuffled, n, false));
    say("shuffle_many_ns", "shuffle of 1,281,167, as the loader asks", position_cost(shuffled, n, true));
    say("shuffle_wide_ns", "shuffle of 2^40",
        position_cost(wick::detail::permutation(std::uint64_t{1} << 40, 1, 2, 0), n, true));
    const auto blocks = wick::block_shuffle(1000, 16).prepare(n, 1, 2, 0);
    say("block_shuffle_ns", "block_shuffle(1000, 16), one by one", position_cost(blocks, n, false));
    say("block_shuffle_many_ns", "block_shuffle(1000, 16), as the loader asks",
        position_cost(blocks, n, true));
    std::vector<double> weights(n);
    for (std::uint64_t i = 0; i < n; ++i) weights[i] = 1 + static_cast<double>(i % 13);
    say("weighted_ns", "weighted, with replacement",
        position_cost(wick::weighted(weights).prepare(n, 1, 2, 0), n, false));
    const auto without = wick::weighted(weights, {.replacement = false});
    const stopwatch watch;
    const auto list = without.prepare(n, 1, 2, 0);
    add("weighted_list_s", watch.seconds(), 2);
    std::printf("%-52s %8.2f s an epoch of %llu\n", "weighted, without: its list", watch.seconds(),
                static_cast<unsigned long long>(n));
    say("weighted_without_ns", "weighted, without replacement", position_cost(list, n, false));
    std::printf("\n");
  }

  const std::uint64_t us = std::max<std::uint64_t>(1, steps_for(1e-6));
  const work even{.steps = 20 * us}, uneven{.steps = 20 * us, .slow_one_in = 100};
  if (!same({.steps = 10}, o.workers) || !same({.steps = 10, .slow_one_in = 100}, o.workers)) {
    std::fprintf(
        stderr,
        "order: the loader does not give what the bare threads give, in the order of the permutation\n");
    return 1;
  }
  std::printf("results are equal: the same samples, the loader's in the order of the permutation\n\n");

  const auto both = [&](const std::string& key, const work& w, const std::string& title,
                        std::optional<std::size_t> prefetch = {}) {
    if (!chosen(key)) return;
    const comparison c = compare(w, prefetch, o, title);
    add("cost_" + key, c.cost, 4);
    add("cpu_cost_" + key, c.cpu_cost, 4);
  };
  both("even", even, "20 us a sample, batches of 64");
  both("slow", uneven, "20 us a sample, one in 100 takes 2 ms, batches of 64");
  work short_even = even, short_uneven = uneven;
  short_even.steps = short_uneven.steps = 2 * us;
  both("short_even", short_even, "2 us a sample, batches of 64");
  both("short_slow", short_uneven, "2 us a sample, one in 100 takes 200 us, batches of 64");
  // How far ahead it takes: not in the usual run.
  if (o.which.starts_with("prefetch")) {
    for (const std::size_t batch : {8, 32, 64, 256}) {
      for (const std::size_t prefetch : {1, 2, 4, 8, 16, 32}) {
        work w = uneven;
        w.batch_size = batch;
        both("prefetch_" + std::to_string(batch) + "_" + std::to_string(prefetch), w,
             "20 us a sample, one in 100 takes 2 ms, batches of " + std::to_string(batch) + ", prefetch " +
                 std::to_string(prefetch),
             prefetch);
      }
    }
  }
  std::printf("RESULT order%s rounds=%d workers=%zu cores=%u\n", result.c_str(), o.rounds, o.workers,
              std::thread::hardware_concurrency());
  return 0;
}

}  // namespace
}  // namespace order

int main(int argc, char** argv) {
  return order::run(
      wick_bench::options::parse(argc, argv,
                                 "What order costs: a loader against bare threads that give the same samples "
                                 "as they come; and a position of each shuffle",
                                 {wick_bench::options::case_option}));
}

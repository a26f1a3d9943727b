// What a training loop waits where one sample in a hundred takes a hundred times as long as the others: slow
// samples begun before their turn, and not.
//
// A step of fixed length takes a batch of 16; it is as long as 1.25 times what the pipeline takes for one
// alone, without slow samples begun early. Four cases: samples that take the processor and samples that wait
// in a call, each with lengths that the source says (the first epoch counts), and without, where the first
// epoch learns and those after it count. Sides run in turns; the figures are medians over the rounds of the
// 99th percentile and the mean of the waits of an epoch. Fingerprints with contents are compared.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "support/options.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>

namespace {

using clock_type = std::chrono::steady_clock;
using cell = wick::sample<std::array<std::uint8_t, 8>>;
constexpr std::size_t batch_size = 16;

bool is_long(std::uint64_t i) { return wick::random_stream(5, 0, i, 0).below(100) == 0; }

/// Without lengths, and with.
struct plain {
  std::uint64_t count;
  std::uint64_t size() const { return count; }
  cell at(std::uint64_t i) const {
    cell c{{}, static_cast<std::int64_t>(i)};
    for (std::size_t b = 0; b < c.data.size(); ++b) c.data[b] = static_cast<std::uint8_t>(i >> b);
    return c;
  }
};
struct measured : plain {
  std::uint64_t length(std::uint64_t i) const { return is_long(i) ? 10'000 : 100; }
};

/// Turns of arithmetic that take `seconds`.
std::uint64_t turns_for(double seconds);
std::uint64_t work(std::uint64_t x, std::uint64_t turns) {
  for (; turns != 0; --turns) x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u + 1;
  return x;
}
std::uint64_t turns_for(double seconds) {
  constexpr std::uint64_t turns = 2'000'000;
  double best = 1e9;
  for (std::uint64_t n = 0; n < 10; ++n) {
    const wick_bench::stopwatch time;
    [[maybe_unused]] const volatile std::uint64_t kept = work(n, turns);
    best = std::min(best, time.seconds());
  }
  return static_cast<std::uint64_t>(seconds / best * static_cast<double>(turns));
}

constexpr std::chrono::microseconds short_call{200};
wick::task<cell> call(cell c, wick::context& context) {
  const bool slow = is_long(static_cast<std::uint64_t>(c.target));
  co_await wick::sleep_for(slow ? 100 * short_call : short_call, context);
  co_return c;
}

struct waits {
  double p99 = 0, mean = 0, wall = 0;
  std::uint64_t print = 0;
};

/// One epoch, with a step that sleeps: as if a device worked.
template <class Loader>
waits epoch_of(Loader& l, std::uint64_t epoch, double step) {
  std::vector<double> each;
  const wick_bench::stopwatch time;
  double asked = 0;
  auto batches = l.epoch(epoch);
  for (auto b = batches.begin(); b != batches.end();) {
    const double now = time.seconds();
    each.push_back(now - asked);
    if (step != 0)
      std::this_thread::sleep_until(clock_type::now() +
                                    std::chrono::nanoseconds(static_cast<long>(step * 1e9)));
    asked = time.seconds();
    ++b;
  }
  waits out;
  out.wall = time.seconds();
  each.erase(each.begin(), each.begin() + std::min<std::ptrdiff_t>(8, std::ssize(each)));  // the beginning
  std::sort(each.begin(), each.end());
  out.mean = wick_bench::mean(each);
  out.p99 = each.empty() ? 0 : each[each.size() * 99 / 100];
  out.print = l.fingerprint(epoch).value;
  return out;
}

/// p99 and mean with slow samples begun early as parts of those without.
struct outcome {
  double p99 = 0, mean = 0;
};

template <class Make>
outcome compare(const char* name, Make make, const wick_bench::options& o, std::uint64_t epoch) {
  if (!std::string(name).starts_with(o.which)) return {};
  const auto options = [&](bool early) {
    return wick::loader_options{.seed = 3,
                                .workers = o.workers,
                                .prefetch = 4,
                                .begin_slow_early = early,
                                .content_fingerprint = true};
  };
  double alone;
  std::size_t batches = 0;
  {
    auto l = make(options(false));
    batches = static_cast<std::size_t>(l.batches());
    alone = epoch_of(l, 0, 0).wall / static_cast<double>(batches);
  }
  const double step = 1.25 * alone;
  std::array<std::vector<double>, 2> p99, mean;
  std::vector<double> p99_ratio, mean_ratio;
  for (int r = 0; r < o.rounds; ++r) {
    std::array<waits, 2> got;
    for (int side = 0; side < 2; ++side) {
      const bool early = (side + r) % 2 == 0;
      auto l = make(options(early));
      for (std::uint64_t e = 0; e < epoch; ++e) epoch_of(l, e, step);
      got[early ? 1 : 0] = epoch_of(l, epoch, step);
    }
    if (got[0].print != got[1].print) {
      std::fprintf(stderr, "%s: the two sides have different batches\n", name);
      std::exit(1);
    }
    for (std::size_t s = 0; s < 2; ++s) {
      p99[s].push_back(got[s].p99);
      mean[s].push_back(got[s].mean);
    }
    p99_ratio.push_back(got[1].p99 / std::max(got[0].p99, 1e-6));
    mean_ratio.push_back(got[1].mean / std::max(got[0].mean, 1e-6));
  }
  const outcome out{wick_bench::median(p99_ratio), wick_bench::median(mean_ratio)};
  std::printf("%-34s step %5.2f ms   p99 %6.2f -> %6.2f ms (%.2f)   mean %6.3f -> %6.3f ms (%.2f)\n", name,
              1e3 * step, 1e3 * wick_bench::median(p99[0]), 1e3 * wick_bench::median(p99[1]), out.p99,
              1e3 * wick_bench::median(mean[0]), 1e3 * wick_bench::median(mean[1]), out.mean);
  std::fflush(stdout);
  return out;
}

int run(const wick_bench::options& o) {
  const std::uint64_t count = o.quick ? 2'000 : 16'000;
  const std::uint64_t turns = turns_for(100e-6);
  const auto compute = [turns](cell c) {
    const auto i = static_cast<std::uint64_t>(c.target);
    c.data[7] = static_cast<std::uint8_t>(work(i, is_long(i) ? 100 * turns : turns));
    return c;
  };
  const auto computing = [&](auto source) {
    return [=](const wick::loader_options& options) {
      return wick::loader(wick::from(source) | wick::shuffle() | compute | wick::array_batch(batch_size),
                          options);
    };
  };
  const auto calling = [&](auto source) {
    return [=](const wick::loader_options& options) {
      return wick::loader(wick::from(source) | wick::shuffle() | call | wick::array_batch(batch_size),
                          options);
    };
  };
  const plain unknown{count};
  const measured known{{count}};
  const outcome a = compare("processor time, lengths known", computing(known), o, 0);
  const outcome b = compare("processor time, second epoch", computing(unknown), o, 1);
  const outcome c = compare("in calls, lengths known", calling(known), o, 0);
  const outcome d = compare("in calls, second epoch", calling(unknown), o, 1);
  if (!o.which.empty()) return 0;
  std::printf(
      "RESULT stragglers processor_p99=%.2f processor_learned_p99=%.2f call_p99=%.2f call_learned_p99=%.2f "
      "processor_mean=%.2f processor_learned_mean=%.2f call_mean=%.2f call_learned_mean=%.2f\n",
      a.p99, b.p99, c.p99, d.p99, a.mean, b.mean, c.mean, d.mean);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run(wick_bench::options::parse(
      argc, argv, "Waiting for batches where one sample in a hundred takes a hundred times as long.",
      {wick_bench::options::case_option}));
}

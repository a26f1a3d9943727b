// The number of calls at a time, against storages that answer in different ways. No thread and no clock: a
// storage is a function from calls at a time to calls a second.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include <wick/async/detail/concurrency.hpp>

using wick::detail::concurrency;

namespace {

/// Calls a second at so many at a time.
using storage = std::function<double(double)>;

/// A storage for some time: what the calls gave a second, from `from` seconds on.
double goodput(concurrency& c, const storage& s, double& now, double seconds, double from, unsigned seed,
               double wanted = 1e9) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> gap(1);
  const double end = now + seconds, counted = now + from;
  std::uint64_t calls = 0;
  while (now < end) {
    const double can = s(static_cast<double>(c.limit())), rate = std::min(can, wanted);
    now += gap(random) / rate;
    if (now >= counted) ++calls;
    c.ended(now, can < wanted);
  }
  return static_cast<double>(calls) / (seconds - from);
}

double best(const storage& s, std::size_t most = 256) {
  double out = 0;
  for (std::size_t c = 1; c <= most; ++c) out = std::max(out, s(static_cast<double>(c)));
  return out;
}

/// Each call takes so long, and all together can do no more than `most` a second.
storage latency(double seconds, double most) {
  return [=](double c) { return std::min(c / seconds, most); };
}
/// As above up to `c0` calls at a time; each one more takes some of it away, down to half, as on a disk with
/// a head.
storage thrashing(double seconds, double c0) {
  return [=](double c) { return (c <= c0 ? c : c0 * (0.5 + 0.5 * c0 / c)) / seconds; };
}

const std::vector<std::pair<std::string, storage>>& storages() {
  static const std::vector<std::pair<std::string, storage>> all{
      {"a local disk", latency(100e-6, 40'000)},
      {"a network of 20 ms without a limit", latency(20e-3, 1e9)},
      {"a network of 20 ms that gives 2,000", latency(20e-3, 2000)},
      {"a network of 50 ms that gives 300", latency(50e-3, 300)},
      {"a disk that is best with 1", thrashing(5e-3, 1)},
      {"a disk that is best with 3", thrashing(5e-3, 3)},
      {"a store that is best with 24", thrashing(10e-3, 24)},
      {"a store that is best with 100", thrashing(30e-3, 100)},
  };
  return all;
}

}  // namespace

TEST_CASE("after 30 s the calls at a time give 94 % of the best on average, trials included") {
  for (const auto& [name, s] : storages()) {
    constexpr unsigned runs = 10;
    double sum = 0;
    for (unsigned seed = 1; seed <= runs; ++seed) {
      concurrency c(4, 1, 256);
      double now = 1000;
      const double got = goodput(c, s, now, 90, 30, seed);
      sum += got;
      CHECK_MESSAGE(got >= 0.9 * best(s),
                    name << ", seed " << seed << ": " << got << " of " << best(s) << " with " << c.limit());
    }
    CHECK_MESSAGE(sum / runs >= 0.94 * best(s), name << ": " << sum / runs << " of " << best(s));
  }
}

TEST_CASE("it follows a storage that becomes another") {
  for (const auto& [before, a] : storages()) {
    for (const auto& [after, b] : storages()) {
      concurrency c(4, 1, 256);
      double now = 0;
      goodput(c, a, now, 60, 30, 1);
      const double got = goodput(c, b, now, 120, 60, 2);
      CHECK_MESSAGE(got >= 0.8 * best(b), before << ", then " << after << ": " << got << " of " << best(b)
                                                 << " with " << c.limit());
    }
  }
}

TEST_CASE("where calls don't wait for threads their number stays") {
  concurrency c(8, 1, 256);
  double now = 0;
  goodput(c, latency(1e-3, 1e9), now, 60, 0, 1, 2000);
  CHECK(c.limit() == 8);
}

TEST_CASE("a number that is given stays, and none leaves its bounds") {
  concurrency given(3, 3, 3);
  double now = 0;
  goodput(given, latency(20e-3, 1e9), now, 30, 0, 1);
  CHECK(given.limit() == 3);
  CHECK(given.fixed());

  concurrency some(4, 2, 20);
  std::size_t least = 4, most = 4;
  for (int i = 0; i < 40; ++i) {
    goodput(some, i % 2 == 0 ? latency(20e-3, 1e9) : thrashing(5e-3, 1), now, 3, 0, static_cast<unsigned>(i));
    least = std::min(least, some.limit());
    most = std::max(most, some.limit());
  }
  CHECK(least >= 2);
  CHECK(most == 20);
}

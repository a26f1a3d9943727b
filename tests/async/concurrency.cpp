// The number of calls at a time, against storages that answer in different ways. No thread and no clock: a
// storage is a function from calls at a time to calls a second.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include <wick/async/detail/concurrency.hpp>

namespace wick_test::concurrency_tests {

using wick::detail::concurrency;

namespace {

/// Calls a second at so many at a time.
using storage = std::function<double(double)>;

/// A storage for some time: what the calls gave a second, from `from` seconds on.
double goodput(concurrency& c, const storage& s, double& now, double seconds, double from, unsigned seed,
               double wanted = 1e9) {
  std::minstd_rand random(seed);
  const double end = now + seconds, counted = now + from;
  std::uint64_t calls = 0;
  while (now < end) {
    const double can = s(static_cast<double>(c.limit())), rate = std::min(can, wanted);
    now -= std::log(static_cast<double>(random()) / static_cast<double>(random.max())) / rate;
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
  double all = 0;
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
    all += sum / runs / best(s);
  }
  CHECK(all / static_cast<double>(storages().size()) >= 0.984);
}

TEST_CASE("a few calls at a time are found to one") {
  const storage s = [](double c) {  // 10 ms a call, 800 a second, and less with more than 8
    return std::min(c / 10e-3, 800 * (c > 8 ? 0.5 + 0.5 * 8 / c : 1));
  };
  double sum = 0;
  int runs = 0;
  for (const std::size_t first : {5u, 7u, 9u, 11u, 82u}) {
    for (unsigned seed = 1; seed <= 4; ++seed, ++runs) {
      concurrency c(first, 1, 256);
      double now = 0;
      sum += goodput(c, s, now, 120, 60, seed);
    }
  }
  CHECK(sum / runs >= 0.97 * best(s));
}

TEST_CASE("it follows a storage that becomes another") {
  double sum = 0;
  int runs = 0, missed = 0;
  for (const auto& [before, a] : storages()) {
    for (const auto& [after, b] : storages()) {
      for (unsigned seed = 1; seed <= 2; ++seed, ++runs) {
        concurrency c(4, 1, 256);
        double now = 0;
        goodput(c, a, now, 60, 30, seed);
        const double got = goodput(c, b, now, 120, 60, seed + 9) / best(b);
        sum += got;
        if (got >= 0.8) continue;
        ++missed;
        MESSAGE(before << ", then " << after << ": " << got << " of the best, with " << c.limit());
      }
    }
  }
  CHECK(sum / runs >= 0.965);
  CHECK(missed <= runs / 20);
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
    goodput(some, i % 2 == 0 ? latency(20e-3, 1e9) : thrashing(5e-3, 1), now, 6, 0, static_cast<unsigned>(i));
    least = std::min(least, some.limit());
    most = std::max(most, some.limit());
  }
  CHECK(least >= 2);
  CHECK(most == 20);
}

}  // namespace wick_test::concurrency_tests

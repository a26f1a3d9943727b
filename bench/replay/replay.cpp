// How soon a round's first batch of a replay buffer is there, after 1,000 entries that were appended and as
// many weights that were set: by refresh(), and by a new loader over all weights.
//
// Each round has its own entries and weights; that no sample of another round comes is checked in each.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "support/options.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>

namespace {

using wick_bench::stopwatch;

struct step {
  std::array<float, 16> seen, next;
  std::int32_t action;
  float reward;
};

constexpr std::uint64_t more = 1000, batch = 64, batches = 10;

struct figures {
  std::vector<double> refresh, first, anew;
  bool same = true;
};

auto pipeline(const wick::replay_buffer<step>& memory) {
  return memory.samples() | wick::weighted(memory.weights(), {.samples = batches * batch}) |
         wick::array_batch(batch);
}

figures measure(std::uint64_t entries, std::uint64_t rounds, std::size_t workers) {
  figures out;
  const std::uint64_t capacity = entries + rounds / 2 * more;  // for half of the rounds it grows
  wick::replay_buffer<step> memory(capacity);
  step s{};
  const auto append = [&](double weight) {
    s.reward = static_cast<float>(memory.appended());
    return memory.append(s, weight);
  };
  while (memory.appended() < entries) append(1);
  wick::loader train(pipeline(memory), {.seed = 1, .workers = workers});
  std::vector<std::int64_t> drawn;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    // The entries of this round count for much more than all others together; those drawn last for nothing.
    const std::uint64_t first = memory.appended();
    for (std::uint64_t i = 0; i < more; ++i) append(1e6);
    for (const std::int64_t id : drawn) memory.set_weight(static_cast<std::uint64_t>(id), 0);
    for (std::uint64_t i = drawn.size(); i < more; ++i) memory.set_weight(first - 1 - i, 1);
    const stopwatch whole;
    train.refresh();
    out.refresh.push_back(whole.seconds());
    train.epoch(round);
    auto b = train.next();
    out.first.push_back(whole.seconds());
    std::uint64_t taken = 0;
    std::vector<std::int64_t> now;
    for (; b; b = train.next(), ++taken) {
      const std::int64_t* const ids = b->target.as<std::int64_t>();
      for (std::uint64_t i = 0; i < batch; ++i) {
        const auto id = static_cast<std::uint64_t>(ids[i]);
        out.same = out.same && id < memory.appended() && memory.appended() - id <= capacity;
        for (const std::int64_t d : drawn) out.same = out.same && d != ids[i];
        now.push_back(ids[i]);
      }
    }
    out.same = out.same && taken == batches;
    drawn = now;
    if (round % 10 == 0) {
      const stopwatch watch;
      wick::loader other(pipeline(memory), {.seed = 1, .workers = workers});
      other.epoch(round);
      const auto again = other.next();
      out.anew.push_back(watch.seconds());
      for (std::uint64_t i = 0; again && i < batch; ++i)
        out.same = out.same && again->target.as<std::int64_t>()[i] == now[i];
    }
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const auto o = wick_bench::options::parse(argc, argv, "the first batch of a round of a replay buffer");
  const std::uint64_t rounds = o.quick ? 20 : 200;
  std::string result;
  for (const std::uint64_t entries :
       {std::uint64_t{10'000}, std::uint64_t{100'000}, std::uint64_t{1'000'000}}) {
    if (o.quick && entries > 100'000) continue;
    const figures f = measure(entries, rounds, o.workers);
    if (!f.same) {
      std::printf("%llu entries: samples of other rounds\n", static_cast<unsigned long long>(entries));
      return 1;
    }
    std::printf(
        "%8llu entries: refresh() %.3f ms, first batch %.3f ms (slowest %.3f), with a new loader %.3f "
        "ms\n",
        static_cast<unsigned long long>(entries), 1e3 * wick_bench::median(f.refresh),
        1e3 * wick_bench::median(f.first), 1e3 * *std::max_element(f.first.begin(), f.first.end()),
        1e3 * wick_bench::median(f.anew));
    char text[64];
    if (entries == 100'000)
      std::snprintf(text, sizeof(text), " first_batch_ms=%.3f", 1e3 * wick_bench::median(f.first));
    else
      std::snprintf(text, sizeof(text), " first_batch_ms_of_%llu=%.3f",
                    static_cast<unsigned long long>(entries), 1e3 * wick_bench::median(f.first));
    result += text;
  }
  std::printf("RESULT replay%s\n", result.c_str());
}

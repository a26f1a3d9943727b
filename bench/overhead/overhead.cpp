// One round of 28 x 28 bytes a sample, in memory, shuffled, in batches of 256: run.sh compares rounds with
// the clocks, the report and the hang watch, without them, and with a trace.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include "support/options.hpp"
#include "support/temp_folder.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>

int main(int argc, char** argv) try {
  const auto o =
      wick_bench::options::parse(argc, argv, "One round of tiny samples: bash bench/run.sh overhead",
                                 {{"--side", "NAME", "all, bare (without the hang watch) or trace"}});
  const bool traced = o.more_or_empty("--side") == "trace", bare = o.more_or_empty("--side") == "bare";
  constexpr std::size_t samples = 60'000, row = 784;
  std::vector<std::uint8_t> pixels(samples * row);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<std::uint8_t>(i * 2654435761u >> 24);
  std::vector<std::int64_t> labels(samples);
  for (std::size_t i = 0; i < samples; ++i) labels[i] = static_cast<std::int64_t>(i % 10);
  wick::loader l(wick::in_memory(std::move(pixels), wick::shape{28, 28}, std::move(labels)) |
                     wick::shuffle() |
                     wick::map("label",
                               [](wick::sample<wick::memory_view, std::int64_t> s) {
                                 s.target = (s.target * 7 + 3) % 10;
                                 return s;
                               }) |
                     wick::array_batch(256),
                 {.seed = 1, .workers = o.workers, .hang_after = std::chrono::seconds(bare ? 0 : 120)});
  const wick_bench::temp_folder folder;
  if (traced) l.trace((folder.path() / "trace.json").string());
  std::int64_t sum = 0;
  const auto epochs = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t e = from; e < to; ++e) {
      for (auto& batch : l.epoch(e)) sum += batch.target.as<std::int64_t>()[0];
    }
  };
  epochs(0, 60);  // warm
  const std::uint64_t count = o.quick ? 20 : 2000;
  const wick_bench::stopwatch watch;
  epochs(60, 60 + count);
  const wick_bench::lap lap = watch.read();
  const double all = static_cast<double>(count * samples);
  std::printf("%.0f %.3f %lld\n", all / lap.wall, 1e9 * lap.cpu / all, static_cast<long long>(sum));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "overhead: %s\n", e.what());
  return 1;
}

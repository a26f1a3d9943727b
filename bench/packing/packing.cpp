// Padding: how much of packed rows is none of the samples', for lengths of three kinds, and what planning
// costs.
//
// Each row of the table is an epoch of a loader, counted. With --folder the lengths are written there, for
// peers that pack the same (run.sh does that with Grain).
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "support/options.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>

namespace {

struct texts {
  std::vector<std::uint32_t> lengths;
  std::uint64_t size() const noexcept { return lengths.size(); }
  std::uint32_t at(std::uint64_t i) const noexcept { return lengths[i]; }
  std::uint32_t length(std::uint64_t i) const noexcept { return lengths[i]; }
};

std::vector<std::uint32_t> lengths_of(const std::string& kind, std::size_t n, std::uint32_t row) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> texts(5.5, 0.9);
  std::uniform_int_distribution<std::uint32_t> any(1, row), small(100, 300),
      large(row * 6 / 10, row * 8 / 10);
  std::bernoulli_distribution is_small(0.8);
  std::vector<std::uint32_t> out(n);
  for (std::uint32_t& l : out) {
    if (kind == "lognormal")
      l = static_cast<std::uint32_t>(std::clamp(texts(random), 1.0, static_cast<double>(row)));
    else if (kind == "uniform")
      l = any(random);
    else
      l = is_small(random) ? small(random) : large(random);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = wick_bench::options::parse(
      argc, argv, "padding of pack() and the time that planning takes",
      {wick_bench::options::folder_option, {"--samples", "N", "samples an epoch; 10,000"}});
  const std::string asked = options.more_or_empty("--samples");
  const std::size_t n =
      asked.empty() ? (options.quick ? 1000 : 10000) : std::strtoul(asked.c_str(), nullptr, 10);
  constexpr std::uint32_t row = 2048;
  std::string result;
  std::printf("%zu samples, rows of %u\n%-10s %10s %8s %10s %14s\n", n, row, "lengths", "samples", "rows",
              "padding", "plan CPU ns");
  for (const std::string kind : {"lognormal", "uniform", "bimodal"}) {
    const std::vector<std::uint32_t> lengths = lengths_of(kind, n, row);
    if (!options.folder.empty()) {
      std::ofstream file(options.folder + "/" + kind, std::ios::binary);
      file.write(reinterpret_cast<const char*>(lengths.data()),
                 static_cast<std::streamsize>(lengths.size() * sizeof(std::uint32_t)));
    }
    const wick_bench::stopwatch watch;
    wick::loader train(
        texts{lengths} | wick::shuffle() |
            [](std::uint32_t length, wick::context&) { return std::vector<std::uint8_t>(length, 1); } |
            wick::array_pack(8, row),
        {.workers = options.workers});
    const double planned = watch.read().cpu;
    std::uint64_t rows = 0, tokens = 0, wanted = 0;
    for (auto& b : train.epoch(0)) {
      rows += static_cast<std::uint64_t>(b.values.extents()[0]);
      const auto* const segments = b.segments.as<std::int32_t>();
      for (std::int64_t i = 0; i < b.segments.extents().count(); ++i) tokens += segments[i] != 0 ? 1 : 0;
    }
    for (const std::uint32_t l : lengths) wanted += l;
    if (tokens != wanted) {
      std::fprintf(stderr, "packing: %s: %llu tokens of %llu are there\n", kind.c_str(),
                   static_cast<unsigned long long>(tokens), static_cast<unsigned long long>(wanted));
      return 1;
    }
    const double padding = 100 * (1 - static_cast<double>(tokens) / static_cast<double>(rows * row));
    std::printf("%-10s %10zu %8llu %9.4f%% %14.1f\n", kind.c_str(), n, static_cast<unsigned long long>(rows),
                padding, 1e9 * planned / static_cast<double>(n));
    char text[64];
    std::snprintf(text, sizeof text, " %s=%.4f", kind.c_str(), padding);
    result += text;
  }
  std::printf("RESULT packing%s\n", result.c_str());
}

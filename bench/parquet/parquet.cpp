// Two of 20 columns of a Parquet file, 256 floats and a label: wick, and pyarrow in Python.
//
// In order: whole row groups into NumPy, by as many threads. Shuffled by windows of 8 row groups, in batches
// of 256: in Python a map-style dataset, each row by its index, its group from a cache of 8, in the same kind
// of order; the same through PyTorch's DataLoader, where there is one; and as most programs have it, any row
// next. Sums are compared first. The file is in the page cache; wick keeps up to 23 of its 60 groups.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "support/options.hpp"
#include "support/python_peer.hpp"
#include "support/temp_folder.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>
#include <wick/tables/parquet.hpp>

namespace {

struct row {
  std::array<float, 256> embedding;
  std::int64_t label;
};

/// What a training loop sees of a batch at the least.
struct seen {
  std::int64_t rows = 0;
  double sum = 0;
  template <class Batch>
  void add(const Batch& batch) {
    const auto& [embedding, label] = batch;
    const std::int64_t n = label.extents()[0];
    const float* const e = embedding.template as<float>();
    for (std::int64_t i = 0; i < n; ++i) {
      sum += static_cast<double>(e[i * 256]) + static_cast<double>(e[i * 256 + 255]) +
             static_cast<double>(label.template as<std::int64_t>()[i]);
    }
    rows += n;
  }
};

template <class Loader>
seen epoch_of(Loader& loader, std::uint64_t epoch) {
  seen out;
  for (auto& batch : loader.epoch(epoch)) out.add(batch);
  return out;
}

int run(const wick_bench::options& o) {
  const char* const named = std::getenv("WICK_PEERS");
  const std::string python = named == nullptr ? "/usr/bin/python3" : std::string(named) + "/bin/python";
  const std::string script = std::string(WICK_BENCH_DIR) + "/parquet/peer.py";
  const wick_bench::temp_folder folder;
  const std::string file = (folder.path() / "rows.parquet").string(), workers = std::to_string(o.workers);
  if (const wick_bench::python_peer maker(python, script, {"make", file, workers}); !maker.ready()) {
    std::fprintf(stderr, "parquet: %s; name an environment with pyarrow and numpy: WICK_PEERS=DIR\n",
                 maker.about().c_str());
    return 1;
  }
  wick_bench::python_peer whole(python, script, {"whole", file, workers}),
      rows(python, script, {"rows", file, workers}), random(python, script, {"random", file, workers}),
      loader(python, script, {"loader", file, workers});

  const wick::parquet<row> source(file, {"embedding", "label"});
  const wick::loader_options options{.seed = 7, .workers = o.workers};
  wick::loader in_order(source | wick::read() | wick::array_batch(256), options);
  const wick::parquet<row> other(file, {"embedding", "label"});
  wick::loader shuffled(
      other | wick::block_shuffle(other.groups(), 8) | wick::read() | wick::array_batch(256), options);

  std::uint64_t order_epoch = 0, shuffle_epoch = 0;
  const double sums[] = {epoch_of(in_order, order_epoch++).sum, epoch_of(shuffled, shuffle_epoch++).sum,
                         std::atof(whole.ask("sum", 120'000).c_str()),
                         std::atof(rows.ask("sum", 120'000).c_str())};
  for (const double sum : sums) {
    if (!(std::abs(sum - sums[0]) < 1e-6 * std::abs(sums[0]))) {
      std::fprintf(stderr, "parquet: sums differ: %.9g and %.9g\n", sums[0], sum);
      return 1;
    }
  }
  std::printf("results are equal: the sums of all rows, all four\n%s, bytes read by wick: %.1f MB\n",
              whole.about().c_str(), static_cast<double>(source.bytes_read()) / 1e6);

  using wick_bench::contestant, wick_bench::lap, wick_bench::stopwatch;
  const int epochs = o.quick ? 1 : 2;
  const auto units = static_cast<double>(source.size()) * epochs;
  std::vector<contestant> all;
  const auto add = [&](const std::string& name, auto& loader, std::uint64_t& epoch) {
    all.push_back({name, units, [&, epochs] {
                     const stopwatch watch;
                     for (int e = 0; e < epochs; ++e) epoch_of(loader, epoch++);
                     return watch.read();
                   }});
  };
  const auto add_peer = [&](const std::string& name, wick_bench::python_peer& peer) {
    all.push_back({name, units, [&] { return peer.run(static_cast<std::size_t>(units)); }});
  };
  add("wick, in order", in_order, order_epoch);
  add_peer("pyarrow, row groups in order", whole);
  add("wick, shuffled", shuffled, shuffle_epoch);
  add_peer("Python, a dataset of rows, shuffled", rows);
  all.push_back({"the same, rows in random order", 48, [&] { return random.run(48); }});
  if (loader.ready())
    add_peer("the same by PyTorch's DataLoader", loader);
  else
    std::printf("no DataLoader: %s\n", loader.about().c_str());
  wick_bench::run_in_turns(all, o.rounds);
  print_table(all, "k rows/s", 1e3, "cpu ns/row", 1e9);
  std::printf("%s", shuffled.report().to_string().c_str());
  std::printf(
      "RESULT parquet in_order_krows_s=%.1f pyarrow_krows_s=%.1f ratio_in_order=%.3f shuffled_krows_s=%.1f "
      "dataset_krows_s=%.1f ratio_shuffled=%.2f ratio_random=%.0f cpu_ratio_in_order=%.3f "
      "cpu_ratio_shuffled=%.2f rounds=%d "
      "workers=%zu ratio_dataloader=%.2f\n",
      all[0].units_per_second() / 1e3, all[1].units_per_second() / 1e3, ratio(all[0], all[1]),
      all[2].units_per_second() / 1e3, all[3].units_per_second() / 1e3, ratio(all[2], all[3]),
      ratio(all[2], all[4]), cpu_ratio(all[0], all[1]), cpu_ratio(all[2], all[3]), o.rounds, o.workers,
      loader.ready() ? ratio(all[2], all[5]) : 0.0);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run(wick_bench::options::parse(
      argc, argv, "Two of 20 columns of a Parquet file, 256 floats and a label: wick, and pyarrow in Python",
      {}));
}

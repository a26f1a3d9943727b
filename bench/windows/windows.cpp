// Windows of 64 over 200,000 x 16 floats, shuffled, in batches of 256: wick, and loops written by hand.
//
// By hand, on one thread: memcpy of each window into the batch, with the windows' order worked out
// beforehand; torch::stack of views; index_select of an unfolded view. Bytes are compared first, and the
// memory that wick takes beside the series is measured.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>

#include "support/options.hpp"
#include "support/timing.hpp"
#include <wick/wick.hpp>

namespace {

constexpr std::int64_t rows = 200'000, width = 16, length = 64, batch_size = 256;
constexpr std::int64_t windows = rows - length + 1;
constexpr std::size_t window_floats = static_cast<std::size_t>(length * width);
constexpr std::uint64_t seed = 7;

/// What a training loop sees of a batch at the least.
struct seen {
  std::int64_t samples = 0;
  double sum = 0;
  void add(const at::Tensor& batch) {
    const auto* const p = static_cast<const float*>(batch.data_ptr());
    const std::int64_t n = batch.size(0);
    for (std::int64_t i = 0; i < n; ++i) {
      sum += static_cast<double>(p[static_cast<std::size_t>(i) * window_floats]) +
             static_cast<double>(p[static_cast<std::size_t>(i + 1) * window_floats - 1]);
    }
    samples += n;
  }
};

/// Bytes of this process as /proc says: VmRSS, resident now, or VmHWM, the most since clear_refs was written.
std::size_t resident(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":"))
      return 1024 * std::strtoull(line.c_str() + name.size() + 1, nullptr, 10);
  }
  return 0;
}

auto make_loader(const at::Tensor& series, std::size_t workers) {
  return wick::loader(wick::windows(series, length) | wick::shuffle() | wick::batch(batch_size),
                      {.seed = seed, .workers = workers});
}

using order = std::vector<std::int64_t>;
order order_of(std::uint64_t epoch) {
  order out(static_cast<std::size_t>(windows));
  const wick::detail::permutation at(windows, seed, epoch, 0);
  for (std::size_t p = 0; p < out.size(); ++p) out[p] = static_cast<std::int64_t>(at(p));
  return out;
}

/// Calls each(first position, number of samples) for every batch of an epoch.
template <class Each>
void for_each_batch(Each each) {
  for (std::int64_t first = 0; first < windows; first += batch_size) {
    each(first, first + batch_size <= windows ? batch_size : windows - first);
  }
}

template <class Each>
void by_memcpy(const at::Tensor& series, const order& epoch, Each each) {
  const auto* const from = static_cast<const float*>(series.data_ptr());
  for_each_batch([&](std::int64_t first, std::int64_t n) {
    const at::Tensor batch = at::empty({n, length, width}, at::kFloat);
    auto* const to = static_cast<float*>(batch.data_ptr());
    for (std::int64_t i = 0; i < n; ++i) {
      std::memcpy(to + static_cast<std::size_t>(i) * window_floats,
                  from + epoch[static_cast<std::size_t>(first + i)] * width, window_floats * sizeof(float));
    }
    each(batch);
  });
}

template <class Each>
void by_stack(const at::Tensor& series, const order& epoch, Each each) {
  std::vector<at::Tensor> views;
  for_each_batch([&](std::int64_t first, std::int64_t n) {
    views.clear();
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = epoch[static_cast<std::size_t>(first + i)];
      views.push_back(series.slice(0, at, at + length));
    }
    each(at::stack(views));
  });
}

template <class Each>
void by_unfold(const at::Tensor& series, order& epoch, Each each) {
  const at::Tensor unfolded = series.unfold(0, length, 1).transpose(1, 2);
  for_each_batch([&](std::int64_t first, std::int64_t n) {
    each(unfolded.index_select(0, at::from_blob(epoch.data() + first, {n}, at::kLong)));
  });
}

int run(const wick_bench::options& o) {
  const at::Tensor series = at::randn({rows, width}, at::kFloat);
  std::vector<order> orders;
  for (std::uint64_t e = 0; e < 4; ++e) orders.push_back(order_of(e));

  // The memory first, while nothing has been freed that could be used again.
  std::ofstream("/proc/self/clear_refs") << "5";
  const std::size_t before = resident("VmRSS");
  {
    auto loader = make_loader(series, o.workers);
    seen s;
    for (std::uint64_t e = 0; e < 2; ++e) {
      for (auto& batch : loader.epoch(e)) s.add(batch);
    }
  }
  const std::size_t most = resident("VmHWM");
  const double beside = most > before ? static_cast<double>(most - before) / 1e6 : 0;
  const double data = static_cast<double>(rows * width) * 4e-6;
  const double copied = static_cast<double>(windows) * static_cast<double>(window_floats) * 4e-6;
  std::printf("the series has %.1f MB, its windows %.0f MB; wick took %.1f MB beside it\n", data, copied,
              beside);

  auto loader = make_loader(series, o.workers);
  std::uint64_t epoch = 0;
  {
    bool equal = true;
    std::vector<at::Tensor> ours;
    for (auto& batch : loader.epoch(epoch++)) ours.push_back(batch);
    std::size_t b = 0;
    by_memcpy(series, orders[0], [&](const at::Tensor& t) { equal = equal && t.equal(ours.at(b++)); });
    equal = equal && b == ours.size();
    b = 0;
    by_stack(series, orders[0], [&](const at::Tensor& t) { equal = equal && t.equal(ours.at(b++)); });
    b = 0;
    by_unfold(series, orders[0], [&](const at::Tensor& t) { equal = equal && t.equal(ours.at(b++)); });
    if (!equal) {
      std::fprintf(stderr, "windows: the loops by hand don't give wick's batches\n");
      return 1;
    }
  }
  std::printf("results are equal: an epoch byte by byte, all four\n");

  using wick_bench::contestant, wick_bench::lap, wick_bench::stopwatch;
  const int epochs = o.quick ? 1 : 4;
  bool good = true;
  std::vector<contestant> all;
  const auto add = [&](std::string name, auto one_epoch) {
    all.push_back({std::move(name), static_cast<double>(epochs) * static_cast<double>(windows),
                   [&good, epochs, one_epoch] {
                     const stopwatch watch;
                     seen s;
                     for (int e = 0; e < epochs; ++e) one_epoch(e, s);
                     const lap took = watch.read();
                     good = good && s.samples == epochs * windows;
                     return took;
                   }});
  };
  add("wick, " + std::to_string(o.workers) + " workers", [&](int, seen& s) {
    for (auto& batch : loader.epoch(epoch++)) s.add(batch);
  });
  const auto at_epoch = [&](int e) -> order& { return orders[static_cast<std::size_t>(e) % orders.size()]; };
  add("by hand: memcpy",
      [&](int e, seen& s) { by_memcpy(series, at_epoch(e), [&](const at::Tensor& t) { s.add(t); }); });
  add("by hand: torch::stack of views",
      [&](int e, seen& s) { by_stack(series, at_epoch(e), [&](const at::Tensor& t) { s.add(t); }); });
  add("by hand: unfold, index_select",
      [&](int e, seen& s) { by_unfold(series, at_epoch(e), [&](const at::Tensor& t) { s.add(t); }); });
  wick_bench::run_in_turns(all, o.rounds);
  if (!good) {
    std::fprintf(stderr, "windows: a contestant did not give all windows\n");
    return 1;
  }
  print_table(all, "M windows/s", 1e6, "cpu ns/window", 1e9);
  std::printf("%s", loader.report().to_string().c_str());
  std::printf(
      "RESULT windows wick_mwindows_s=%.3f memcpy_mwindows_s=%.3f stack_mwindows_s=%.4f "
      "unfold_mwindows_s=%.4f ratio_to_memcpy=%.3f ratio_to_stack=%.2f ratio_to_unfold=%.2f "
      "cpu_ratio_to_memcpy=%.3f beside_data_mb=%.1f data_mb=%.1f rounds=%d workers=%zu\n",
      all[0].units_per_second() / 1e6, all[1].units_per_second() / 1e6, all[2].units_per_second() / 1e6,
      all[3].units_per_second() / 1e6, ratio(all[0], all[1]), ratio(all[0], all[2]), ratio(all[0], all[3]),
      cpu_ratio(all[0], all[1]), beside, data, o.rounds, o.workers);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run(wick_bench::options::parse(argc, argv,
                                        "Windows of 64 over 200,000 x 16 floats, shuffled, in batches of "
                                        "256: wick, and loops written by hand on one thread",
                                        {}));
}

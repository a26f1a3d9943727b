// Ten epochs of a data set that takes half a second to open: torch::data, kept and built each epoch, and
// wick.
//
// The training step takes twice as long as the workers need for a batch, so a loop waits at the boundaries of
// epochs alone. Another wick loader only takes batches, to see what a boundary adds to a batch.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

#include <torch/torch.h>

#include "support/options.hpp"
#include "support/timing.hpp"
#include "support/work.hpp"
#include <wick/wick.hpp>

namespace {

constexpr std::size_t batch_size = 32, batches = 20;
constexpr double sample_us = 250;
using milliseconds = std::chrono::duration<double, std::milli>;

double opening_ms = 500;

/// Opened by the first get(); a copy opens again, as what is open belongs to one thread.
class slow_to_open : public torch::data::datasets::Dataset<slow_to_open> {
 public:
  slow_to_open() = default;
  slow_to_open(const slow_to_open& other) : Dataset(other) {}
  slow_to_open(slow_to_open&&) = default;
  torch::data::Example<> get(std::size_t index) override {
    if (!open_) std::this_thread::sleep_for(milliseconds(opening_ms));
    open_ = true;
    wick_bench::work(sample_us);
    return {torch::full({16}, static_cast<float>(index)), torch::tensor(static_cast<std::int64_t>(index))};
  }
  c10::optional<std::size_t> size() const override { return batch_size * batches; }

 private:
  bool open_ = false;
};

/// What a loop waits for its batches, in milliseconds, after its first epoch.
struct waits {
  std::vector<double> boundary, within;
  std::int64_t sum = 0;  // of all targets
};

class loop {
 public:
  explicit loop(double step_ms) : step_ms_(step_ms) {}
  template <class Batches>
  void epoch(Batches&& from) {
    bool first = true;
    for (auto& batch : from) {
      const double waited = milliseconds(clock::now() - free_).count();
      if (!first_epoch_) (first ? out_.boundary : out_.within).push_back(waited);
      first = false;
      out_.sum += batch.target.sum().template item<std::int64_t>();
      if (step_ms_ > 0) std::this_thread::sleep_for(milliseconds(step_ms_));
      free_ = clock::now();
    }
    first_epoch_ = false;
  }
  const waits& result() const { return out_; }

 private:
  using clock = std::chrono::steady_clock;
  double step_ms_;
  bool first_epoch_ = true;
  clock::time_point free_ = clock::now();
  waits out_;
};

auto make_torch(std::size_t workers) {
  return torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      slow_to_open().map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions().batch_size(batch_size).workers(workers));
}
auto make_wick(std::size_t workers) {
  return wick::loader(
      wick::torch_data(slow_to_open()) | wick::shuffle() | wick::read() | wick::batch(batch_size),
      {.seed = 1, .workers = workers});
}

int run(const wick_bench::options& o) {
  const int epochs = o.quick ? 3 : 10;
  if (o.quick) opening_ms = 50;
  const double step_ms = 2 * sample_us * 1e-3 * batch_size / static_cast<double>(o.workers);
  const std::int64_t all = static_cast<std::int64_t>(batch_size * batches);
  std::vector<double> rebuilt, kept, wicks, bare, within;
  for (int r = 0; r < o.rounds; ++r) {
    loop a(step_ms), b(step_ms), c(step_ms), d(0);
    for (int e = 0; e < epochs; ++e) a.epoch(*make_torch(o.workers));
    const auto torch_loader = make_torch(o.workers);
    for (int e = 0; e < epochs; ++e) b.epoch(*torch_loader);
    auto loader = make_wick(o.workers), taken = make_wick(o.workers);
    for (int e = 0; e < epochs; ++e) c.epoch(loader);
    for (int e = 0; e < epochs; ++e) d.epoch(taken);
    for (const loop* l : {&a, &b, &c, &d}) {
      if (l->result().sum != epochs * all * (all - 1) / 2) {
        std::fprintf(stderr, "restart: an epoch had other samples\n");
        return 1;
      }
    }
    const auto add = [](std::vector<double>& to, const std::vector<double>& more) {
      to.insert(to.end(), more.begin(), more.end());
    };
    add(rebuilt, a.result().boundary);
    add(kept, b.result().boundary);
    add(wicks, c.result().boundary);
    add(bare, d.result().boundary);
    add(within, d.result().within);
  }
  using wick_bench::median;
  std::printf("waiting from the last batch of an epoch to the first of the next, median (largest):\n");
  const auto line = [&](const char* name, const std::vector<double>& v) {
    std::printf("  %-32s %9.3f ms (%.3f)\n", name, median(v), *std::max_element(v.begin(), v.end()));
  };
  line("torch::data, built each epoch", rebuilt);
  line("torch::data, kept", kept);
  line("wick", wicks);
  line("wick, a loop without a step", bare);
  line("its other batches", within);
  std::printf(
      "RESULT restart opening_ms=%.0f rebuilt_ms=%.3f kept_ms=%.3f wick_ms=%.3f boundary_of_batch=%.2f\n",
      opening_ms, median(rebuilt), median(kept), median(wicks), median(bare) / median(within));
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(wick_bench::options::parse(
      argc, argv, "Ten epochs of a data set that takes half a second to open, by torch::data and by wick."));
} catch (const std::exception& e) {
  std::fprintf(stderr, "restart: %s\n", e.what());
  return 1;
}

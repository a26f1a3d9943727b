// 11: windows over series: from the last 48 hours the next 12 of one column are forecast.
//
// Teaches: windows() over tensors copies nothing before the batch, however much the windows overlap; target()
// says what belongs to each; batch<T>(n) gives a struct with names of one's own; with_index() tells which
// windows are in a batch, here those with the largest errors.
//
//   11_series [--hours N] [--epochs N] [--batch N] [--workers N]
//
// Expected: the mean squared error of each epoch falls well below that of saying that nothing changes; then
// the five windows that were forecast worst, by their place in the series.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "arguments.hpp"
#include <wick/wick.hpp>

constexpr std::int64_t past_hours = 48, future_hours = 12;

/// A batch: the fields of a sample in their order, under names of one's own.
struct forecast {
  torch::Tensor past, future;  // [N, 48, 3], [N, 12]
};
struct checked_forecast {
  torch::Tensor past, future, index;
  std::vector<std::string> key;
};

/// What a meter says each hour, [hours, 3]: the load, which goes by the hour and the day of the week, the
/// temperature, and how long it is until midnight.
static torch::Tensor meter(std::int64_t hours, double phase) {
  const torch::Tensor hour = torch::arange(hours, torch::kDouble) + 24 * phase;
  const torch::Tensor day = (2 * M_PI / 24) * hour, week = (2 * M_PI / 168) * hour;
  const torch::Tensor temperature = torch::cos(day + 2) + 0.2 * torch::randn(hours, torch::kDouble);
  const torch::Tensor load = torch::sin(day) + 0.5 * torch::sin(week + phase) + 0.3 * temperature +
                             0.1 * torch::randn(hours, torch::kDouble);
  return torch::stack({load, temperature, hour.remainder(24) / 24}, 1).to(torch::kFloat);
}

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "", {{"hours", 2000}, {"epochs", 5}, {"batch", 64}, {"workers", {}}});
  const auto batch_size = static_cast<std::size_t>(args["batch"]);
  torch::manual_seed(1);

  // Three houses. The first column is to be forecast; a column is a view, and stays one.
  std::vector<torch::Tensor> houses, loads;
  for (const double phase : {0.0, 0.3, 0.7}) {
    houses.push_back(meter(args["hours"], phase));
    loads.push_back(houses.back().select(1, 0));
  }
  const auto windows = wick::windows(houses, past_hours).target(loads, future_hours);
  wick::loader train(windows | wick::shuffle() | wick::batch<forecast>(batch_size),
                     {.seed = 42, .workers = args.count("workers")});

  torch::nn::Sequential model(torch::nn::Flatten(), torch::nn::Linear(past_hours * 3, 64), torch::nn::ReLU(),
                              torch::nn::Linear(64, future_hours));
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-3));
  double naive = 0;
  for (std::uint64_t epoch = 0; epoch < static_cast<std::uint64_t>(args["epochs"]); ++epoch) {
    double error = 0;
    naive = 0;
    for (auto& batch : train.epoch(epoch)) {
      optimizer.zero_grad();
      const torch::Tensor loss = torch::mse_loss(model->forward(batch.past), batch.future);
      loss.backward();
      optimizer.step();
      const torch::Tensor last = batch.past.select(1, past_hours - 1).slice(1, 0, 1);  // as it is now
      const double share = static_cast<double>(batch.past.size(0)) / static_cast<double>(train.samples());
      error += share * loss.item<double>();
      naive += share * (last - batch.future).square().mean().item<double>();
    }
    std::cout << "epoch " << epoch << ": error " << error << " (" << naive << " if nothing changed)\n";
  }

  // Which windows are hard? With their indexes and keys in the batch, there is nothing to count.
  wick::loader check(windows | wick::with_index() | wick::batch<checked_forecast>(batch_size));
  std::vector<std::pair<float, std::string>> worst;
  const torch::NoGradGuard no_grad;
  for (auto& batch : check.epoch(0)) {
    const torch::Tensor errors = (model->forward(batch.past) - batch.future).square().mean(1);
    for (std::size_t i = 0; i < batch.key.size(); ++i) {
      worst.emplace_back(errors[static_cast<std::int64_t>(i)].item<float>(), batch.key[i]);
    }
  }
  std::sort(worst.rbegin(), worst.rend());
  worst.resize(std::min<std::size_t>(worst.size(), 5));
  std::cout << check.samples() << " windows; the hardest:\n";
  for (const auto& [error, key] : worst) std::cout << "  " << key << ": " << error << "\n";
} catch (const std::exception& e) {
  std::cerr << "11_series: " << e.what() << "\n";
  return 1;
}

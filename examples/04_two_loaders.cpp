// 04: two loaders, training and validation, on one executor.
//
// Teaches: loaders share the workers of an executor; each keeps its own window of batches, so the
// validation's first batches are ready when the training epoch ends, and the training's next ones are made
// while it is validated.
//
//   04_two_loaders FOLDER [--epochs N] [--limit N] [--workers N]
//
// FOLDER holds MNIST or Fashion-MNIST as it is distributed (train-images-idx3-ubyte.gz, …); Debian's package
// dataset-fashion-mnist puts it into /usr/share/datasets/fashion-mnist.
//
// Expected:
//   epoch 1: validation accuracy 84 %, first validation batch after 2 ms, first training batch after 2 ms
//   epoch 2: validation accuracy 86 %, first validation batch after 0.0 ms, first training batch after 0.0 ms
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>

#include <torch/torch.h>

#include "arguments.hpp"
#include <wick/wick.hpp>

static double milliseconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
}

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "FOLDER", {{"epochs", 2}, {"limit", 60'000}, {"workers", {}}});
  const std::string folder = args.positional();
  torch::manual_seed(1);

  wick::executor workers({.workers = args.count("workers")});
  wick::loader train(
      wick::idx(folder + "/train-images-idx3-ubyte.gz", folder + "/train-labels-idx1-ubyte.gz") |
          wick::shuffle() | wick::take(static_cast<std::uint64_t>(args["limit"])) | wick::batch(128) |
          wick::normalize(0.286, 0.353),
      {.seed = 1, .executor = &workers});
  wick::loader validation(
      wick::idx(folder + "/t10k-images-idx3-ubyte.gz", folder + "/t10k-labels-idx1-ubyte.gz") |
          wick::batch(500) | wick::normalize(0.286, 0.353),
      {.executor = &workers});

  torch::nn::Sequential model(torch::nn::Flatten(), torch::nn::Linear(784, 128), torch::nn::ReLU(),
                              torch::nn::Linear(128, 10));
  torch::optim::Adam optimizer(model->parameters());
  for (std::int64_t epoch = 0; epoch < args["epochs"]; ++epoch) {
    const auto e = static_cast<std::uint64_t>(epoch);
    auto begun = std::chrono::steady_clock::now();
    double train_first = -1, validation_first = -1;
    for (auto& batch : train.epoch(e)) {
      if (train_first < 0) train_first = milliseconds_since(begun);
      optimizer.zero_grad();
      torch::nn::functional::cross_entropy(model->forward(batch.data), batch.target).backward();
      optimizer.step();
    }

    const torch::NoGradGuard no_grad;
    std::int64_t right = 0;
    begun = std::chrono::steady_clock::now();
    for (auto& batch : validation.epoch(e)) {
      if (validation_first < 0) validation_first = milliseconds_since(begun);
      right += (model->forward(batch.data).argmax(1) == batch.target).sum().item<std::int64_t>();
    }
    std::printf(
        "epoch %lld: validation accuracy %.1f %%, first validation batch after %.1f ms, first training batch "
        "after %.1f ms\n",
        static_cast<long long>(epoch + 1),
        100.0 * static_cast<double>(right) / static_cast<double>(validation.samples()), validation_first,
        train_first);
    std::fflush(stdout);
  }
  std::cout << train.report() << validation.report();
} catch (const std::exception& e) {
  std::cerr << "04_two_loaders: " << e.what() << "\n";
  return 1;
}

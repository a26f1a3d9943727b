// 01: a hand-written LibTorch training loop, fed by wick from tar shards of PNGs.
//
// Teaches: a pipeline is one expression; a loader lives as long as the training; `for (auto& batch :
// train.epoch(e))` is all that the loop sees of it; report() says where the time went.
//
// bash examples/quickstart.sh makes the shards and runs this. By hand:
//   01_fashion_mnist SHARDS [--epochs N] [--batch N] [--workers N] [--limit N] [--seed N]
//
// Expected (2 cores, 2 epochs):
//   epoch 1: loss 0.46, test accuracy 87 %, … samples/s, 0 % of the time waiting for data
//   epoch 2: loss 0.31, test accuracy 88.6 %, …
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>

#include <torch/torch.h>

#include "arguments.hpp"
#include <wick/wick.hpp>

struct classifier : torch::nn::Module {
  classifier()
      : conv1(register_module("conv1",
                              torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 12, 3).stride(2).padding(1)))),
        conv2(register_module("conv2",
                              torch::nn::Conv2d(torch::nn::Conv2dOptions(12, 24, 3).stride(2).padding(1)))),
        hidden(register_module("hidden", torch::nn::Linear(24 * 7 * 7, 128))),
        out(register_module("out", torch::nn::Linear(128, 10))) {}

  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(conv2(torch::relu(conv1(x))));  // 28 x 28, 14 x 14, 7 x 7
    return out(torch::relu(hidden(x.flatten(1))));
  }

  torch::nn::Conv2d conv1, conv2;
  torch::nn::Linear hidden, out;
};

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "SHARDS",
                       {{"epochs", 2}, {"batch", 64}, {"workers", {}}, {"limit", 60'000}, {"seed", 42}});
  const std::string shards = args.positional();
  const auto device = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  torch::manual_seed(args["seed"]);

  // Two loaders on one executor: they share its workers.
  wick::executor workers({.workers = args.count("workers")});
  const auto to_pixels = wick::read() | wick::decode({.mode = wick::color::gray});
  wick::loader train(wick::tar(shards + "/train-*.tar") | wick::shuffle() |
                         wick::take(static_cast<std::uint64_t>(args["limit"])) | to_pixels |
                         wick::random_horizontal_flip() |
                         wick::batch(static_cast<std::size_t>(args["batch"])) | wick::pin() |
                         wick::transfer(device) | wick::normalize(0.286, 0.353),
                     {.seed = static_cast<std::uint64_t>(args["seed"]), .executor = &workers});
  wick::loader test(wick::tar(shards + "/t10k-*.tar") | to_pixels | wick::batch(500) |
                        wick::transfer(device) | wick::normalize(0.286, 0.353),
                    {.prefetch = 2, .prefetch_next_epoch = false, .executor = &workers});

  classifier model;
  model.to(device);
  torch::optim::Adam optimizer(model.parameters(), torch::optim::AdamOptions(2e-3));

  double accuracy = 0;
  for (std::int64_t epoch = 0; epoch < args["epochs"]; ++epoch) {
    model.train();
    const auto begun = std::chrono::steady_clock::now();
    torch::Tensor total = torch::zeros({}, device);
    std::int64_t seen = 0;
    for (auto& batch : wick::progress(train.epoch(static_cast<std::uint64_t>(epoch)),
                                      {.description = "epoch " + std::to_string(epoch + 1)})) {
      optimizer.zero_grad();
      const auto loss = torch::nn::functional::cross_entropy(model.forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      total += loss.detach() * batch.target.size(0);
      seen += batch.target.size(0);
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();

    model.eval();
    const torch::NoGradGuard no_grad;
    std::int64_t right = 0, all = 0;
    for (auto& batch : test.epoch(0)) {
      right += (model.forward(batch.data).argmax(1) == batch.target).sum().item<std::int64_t>();
      all += batch.target.size(0);
    }
    accuracy = 100.0 * static_cast<double>(right) / static_cast<double>(all);
    const wick::report report = train.report();
    std::printf(
        "epoch %lld: loss %.3f, test accuracy %.1f %%, %.0f samples/s, %.1f %% of the time waiting for "
        "data\n",
        static_cast<long long>(epoch + 1), total.item<double>() / static_cast<double>(seen), accuracy,
        static_cast<double>(seen) / seconds, 100 * report.wait_mean);
    std::fflush(stdout);
    if (epoch + 1 == args["epochs"]) std::cout << report;
  }
  std::printf("test accuracy %.1f %%\n", accuracy);
} catch (const std::exception& e) {
  std::cerr << "01_fashion_mnist: " << e.what() << "\n";
  return 1;
}

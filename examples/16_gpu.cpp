// 16: training on a GPU in half precision: the loop finds each batch there, as numbers of 16 bits.
//
// Teaches: channels-last batches, pin() and transfer(), normalize() to bfloat16 in one pass on the device,
// and what the report says of it. Without a GPU it trains on the CPU, in float32.
//
//   16_gpu FOLDER [--epochs N] [--batch N] [--size N] [--workers N]
//
// Expected: a line an epoch with the loss and the share of waiting; then the last epoch's report.
#include <cstdint>
#include <cstdio>
#include <iostream>

#include <torch/torch.h>

#include "arguments.hpp"
#include <wick/wick.hpp>

static torch::nn::Sequential make_model(std::int64_t classes) {
  using namespace torch::nn;
  const auto halve = [](std::int64_t in, std::int64_t out) {
    return Conv2d(Conv2dOptions(in, out, 3).stride(2).padding(1));
  };
  return Sequential(halve(3, 16), ReLU(), halve(16, 32), ReLU(), AdaptiveAvgPool2d(1), Flatten(),
                    Linear(32, classes));
}

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "FOLDER", {{"epochs", 3}, {"batch", 32}, {"size", 64}, {"workers", {}}});
  const bool gpu = torch::cuda::is_available();
  const auto device = gpu ? torch::kCUDA : torch::kCPU;
  const auto type = gpu ? torch::kBFloat16 : torch::kFloat;

  const wick::image_folder pictures(args.positional());
  wick::loader train(
      pictures | wick::shuffle() | wick::read() | wick::decode() |
          wick::random_resized_crop(static_cast<int>(args["size"])) | wick::random_horizontal_flip() |
          wick::batch(static_cast<std::size_t>(args["batch"]), {.layout = wick::layout::channels_last}) |
          wick::pin() | wick::transfer(device) |
          wick::normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, type),
      {.seed = 1, .workers = args.count("workers")});

  auto model = make_model(static_cast<std::int64_t>(pictures.classes().size()));
  model->to(device, type);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  for (std::int64_t epoch = 0; epoch < args["epochs"]; ++epoch) {
    auto sum = torch::zeros({}, torch::TensorOptions(device));
    for (auto& batch : train.epoch(static_cast<std::uint64_t>(epoch))) {
      optimizer.zero_grad();
      const auto loss =
          torch::nn::functional::cross_entropy(model->forward(batch.data).to(torch::kFloat), batch.target);
      loss.backward();
      optimizer.step();
      sum += loss.detach();  // on the device: item() would wait for each step
    }
    const wick::report report = train.report();  // of this epoch
    std::printf("epoch %lld: loss %.3f, %.1f %% of the time waiting for data\n",
                static_cast<long long>(epoch + 1), sum.item<double>() / static_cast<double>(train.batches()),
                100 * report.wait_mean);
    std::fflush(stdout);
    if (epoch + 1 == args["epochs"]) std::cout << report;
  }
} catch (const std::exception& e) {
  std::cerr << "16_gpu: " << e.what() << "\n";
  return 1;
}

// 02: the same loop on any folder of pictures, a class a sub-folder.
//
// Teaches: image_folder, a split that stays the same over runs, augmentation as a value that is composed
// once, geometry that is carried out in one pass, and what to do about damaged files: on_error::skip leaves
// them out, the failure log names them.
//
//   02_image_folder FOLDER [--epochs N] [--batch N] [--size N] [--workers N] [--seed N]
//
// Expected: a line an epoch with loss, accuracy on a tenth that was not trained on, samples/s and the share
// of waiting; then the stage table.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>

#include <torch/torch.h>

#include "arguments.hpp"
#include <wick/wick.hpp>

static torch::nn::Sequential make_model(std::int64_t classes) {
  using namespace torch::nn;
  const auto halve = [](std::int64_t in, std::int64_t out) {
    return Conv2d(Conv2dOptions(in, out, 3).stride(2).padding(1));
  };
  return Sequential(halve(3, 16), BatchNorm2d(16), ReLU(), halve(16, 32), BatchNorm2d(32), ReLU(),
                    halve(32, 64), BatchNorm2d(64), ReLU(),
                    AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({1, 1})), Flatten(), Linear(64, classes));
}

/// Damaged files were left out of their batches; each is named once.
template <class Loader>
static void name_left_out(const Loader& loader, std::size_t& named) {
  const auto& failed = loader.failure_log().entries();
  for (; named < failed.size(); ++named) {
    std::cerr << "left out: " << failed[named].key << ": " << failed[named].stage << ": "
              << failed[named].text << "\n";
  }
}

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "FOLDER",
                       {{"epochs", 3}, {"batch", 32}, {"size", 64}, {"workers", {}}, {"seed", 1}});
  const auto device = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  torch::manual_seed(args["seed"]);

  const wick::image_folder pictures(args.positional());
  const std::uint64_t held_out = std::max<std::uint64_t>(1, pictures.size() / 10);
  const int size = static_cast<int>(args["size"]);
  const auto batch_size =
      std::min<std::size_t>(static_cast<std::size_t>(args["batch"]), pictures.size() - held_out);

  const auto augment = wick::random_resized_crop(size) | wick::random_horizontal_flip() |
                       wick::color_jitter(0.2, 0.2, 0.2, 0.0);
  const auto to_device =
      wick::pin() | wick::transfer(device) | wick::normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225});

  wick::executor workers({.workers = args.count("workers"),
                          .nice = device == torch::kCUDA ? 15 : 0});  // below the loop that feeds a GPU
  wick::loader train(pictures | wick::shuffle_once(7) | wick::skip(held_out) | wick::shuffle() |
                         wick::read() | wick::decode() | augment |
                         wick::batch(batch_size, {.drop_last = true}) | to_device,
                     {.seed = static_cast<std::uint64_t>(args["seed"]),
                      .executor = &workers,
                      .on_error = wick::on_error::skip});
  wick::loader test(pictures | wick::shuffle_once(7) | wick::take(held_out) | wick::read() | wick::decode() |
                        wick::resize(size + size / 8) | wick::center_crop(size) | wick::batch(batch_size) |
                        to_device,
                    {.prefetch_next_epoch = false, .executor = &workers, .on_error = wick::on_error::skip});

  auto model = make_model(static_cast<std::int64_t>(pictures.classes().size()));
  model->to(device);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(2e-3));
  std::printf("%llu pictures of %zu classes, %llu held out\n",
              static_cast<unsigned long long>(pictures.size()), pictures.classes().size(),
              static_cast<unsigned long long>(held_out));

  std::size_t named_of_train = 0, named_of_test = 0;
  for (std::int64_t epoch = 0; epoch < args["epochs"]; ++epoch) {
    model->train();
    const auto begun = std::chrono::steady_clock::now();
    double total = 0;
    std::int64_t seen = 0;
    for (auto& batch : train.epoch(static_cast<std::uint64_t>(epoch))) {
      optimizer.zero_grad();
      const auto loss = torch::nn::functional::cross_entropy(model->forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      total += loss.item<double>() * static_cast<double>(batch.target.size(0));
      seen += batch.target.size(0);
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();

    model->eval();
    const torch::NoGradGuard no_grad;
    std::int64_t right = 0, all = 0;
    for (auto& batch : test.epoch(0)) {
      right += (model->forward(batch.data).argmax(1) == batch.target).sum().item<std::int64_t>();
      all += batch.target.size(0);
    }
    name_left_out(train, named_of_train);
    name_left_out(test, named_of_test);
    const wick::report report = train.report();
    std::printf(
        "epoch %lld: loss %.3f, accuracy %.1f %%, %.0f samples/s, %.1f %% of the time waiting for data\n",
        static_cast<long long>(epoch + 1), seen ? total / static_cast<double>(seen) : 0.0,
        all ? 100.0 * static_cast<double>(right) / static_cast<double>(all) : 0.0,
        static_cast<double>(seen) / seconds, 100 * report.wait_mean);
    std::fflush(stdout);
    if (epoch + 1 == args["epochs"]) std::cout << report;
  }
} catch (const std::exception& e) {
  std::cerr << "02_image_folder: " << e.what() << "\n";
  return 1;
}

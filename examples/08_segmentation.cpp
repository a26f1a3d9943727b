// 08: segmentation: a class for each pixel. Pictures and their masks lie in two folders.
//
// Teaches: zip() puts files of one name together; decode_mask() takes class numbers as they are stored; crops
// and flips move picture and mask alike, and never blend classes; color_jitter leaves the mask alone.
//
//   08_segmentation FOLDER [--epochs N] [--count N] [--batch N] [--workers N]
//
// Draws its pictures into FOLDER first. Expected: a falling loss, and the mean overlap (IoU) of the classes.
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

#include <torch/torch.h>

#include "arguments.hpp"
#include "shapes.hpp"
#include <wick/wick.hpp>

static torch::nn::Sequential make_model() {
  using namespace torch::nn;
  const auto layer = [](std::int64_t in, std::int64_t out) {
    return Conv2d(Conv2dOptions(in, out, 3).padding(1));
  };
  return Sequential(layer(3, 16), ReLU(), layer(16, 16), ReLU(), layer(16, 16), ReLU(),
                    Conv2d(Conv2dOptions(16, shapes::classes, 1)));
}

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "FOLDER", {{"epochs", 4}, {"count", 240}, {"batch", 16}, {"workers", {}}});
  const auto device = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  const std::string folder = args.positional();
  std::filesystem::create_directories(folder + "/img");
  std::filesystem::create_directories(folder + "/mask");
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(args["count"]); ++i) {
    const shapes::drawing drawn = shapes::draw(i);
    shapes::write_png(folder + "/img/" + std::to_string(i) + ".png", drawn.rgb, 3);
    shapes::write_png(folder + "/mask/" + std::to_string(i) + ".png", drawn.mask, 1);
  }

  wick::loader train(wick::zip(wick::files(folder + "/img/*.png"), wick::files(folder + "/mask/*.png")) |
                         wick::shuffle() | wick::read() | wick::decode() | wick::decode_mask() |
                         wick::random_resized_crop(64, {.scale = {0.4, 1.0}}) |
                         wick::random_horizontal_flip() | wick::color_jitter(0.2, 0.2) |
                         wick::batch(static_cast<std::size_t>(args["batch"])) | wick::pin() |
                         wick::transfer(device) | wick::normalize(0.5, 0.25),
                     {.seed = 1, .workers = args.count("workers")});

  torch::manual_seed(1);
  auto model = make_model();
  model->to(device);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(5e-3));
  for (std::int64_t epoch = 1; epoch <= args["epochs"]; ++epoch) {
    double loss_sum = 0;
    torch::Tensor both = torch::zeros({shapes::classes}), either = torch::zeros({shapes::classes});
    for (auto& batch : train.epoch(static_cast<std::uint64_t>(epoch))) {
      const torch::Tensor wanted = batch.target.to(torch::kLong);  // [N, 64, 64]
      const torch::Tensor found = model->forward(batch.data);      // [N, 3, 64, 64]
      const auto loss = torch::nn::functional::cross_entropy(found, wanted);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      loss_sum += loss.item<double>();
      const torch::Tensor best = found.argmax(1);
      for (std::int64_t c = 0; c < shapes::classes; ++c) {
        both[c] += ((best == c) & (wanted == c)).sum().cpu();
        either[c] += ((best == c) | (wanted == c)).sum().cpu();
      }
    }
    std::cout << "epoch " << epoch << ": loss " << loss_sum / static_cast<double>(train.batches()) << ", IoU "
              << (both / either).mean().item<double>() << "\n";
  }
} catch (const std::exception& e) {
  std::cerr << "08_segmentation: " << e.what() << "\n";
  return 1;
}

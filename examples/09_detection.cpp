// 09: detection: boxes and their labels, in memory beside pictures in files.
//
// Teaches: boxes go along with the picture's crops and flips; sanitize_boxes() takes away those of which too
// little is left; a callable turns what has no fixed number into what a batch can hold, here cells of a grid.
//
//   09_detection FOLDER [--epochs N] [--count N] [--batch N] [--workers N]
//
// Draws its pictures into FOLDER first. Expected: a falling loss, and how many boxes were found.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "arguments.hpp"
#include "shapes.hpp"
#include <wick/wick.hpp>

static constexpr int size = 64, grid = 8, cell = size / grid;

/// For each cell: whether a box has its center here, the way to its sides in cells, whether it is a square.
using cells = std::array<std::array<std::array<float, grid>, grid>, 6>;

static wick::sample<wick::lazy_image, cells> to_cells(wick::sample<wick::lazy_image, wick::boxes> s) {
  cells out{};
  for (std::size_t i = 0; i < s.target.size(); ++i) {
    const auto& [left, top, right, bottom] = s.target.xyxy[i];
    const auto at = [](float low, float high) { return std::min((low + high) / 2 / cell, grid - 0.01f); };
    const float x = at(left, right), y = at(top, bottom);
    const auto column = static_cast<std::size_t>(x), row = static_cast<std::size_t>(y);
    out[0][row][column] = 1;
    out[1][row][column] = x - left / cell;
    out[2][row][column] = y - top / cell;
    out[3][row][column] = x - static_cast<float>(column);
    out[4][row][column] = y - static_cast<float>(row);
    out[5][row][column] = s.target.labels[i] == 2 ? 1.0f : 0.0f;
  }
  return {std::move(s.data), out};
}

static torch::nn::Sequential make_model() {
  using namespace torch::nn;
  const auto layer = [](std::int64_t in, std::int64_t out, std::int64_t stride) {
    return Conv2d(Conv2dOptions(in, out, 3).padding(1).stride(stride));
  };
  return Sequential(layer(3, 16, 2), ReLU(), layer(16, 32, 2), ReLU(), layer(32, 48, 2), ReLU(),
                    layer(48, 48, 1), ReLU(), layer(48, 48, 1), ReLU(), Conv2d(Conv2dOptions(48, 6, 1)));
}

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "FOLDER",
                       {{"epochs", 12}, {"count", 400}, {"batch", 16}, {"workers", {}}});
  const auto device = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  const std::string folder = args.positional();
  std::filesystem::create_directories(folder);
  std::vector<wick::boxes> annotations;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(args["count"]); ++i) {
    shapes::drawing drawn = shapes::draw(i);
    shapes::write_png(folder + "/" + std::to_string(i) + ".png", drawn.rgb, 3);
    annotations.push_back(std::move(drawn.boxes));
  }

  wick::loader train(
      wick::zip(wick::files(folder + "/*.png"), wick::in_memory(std::move(annotations))) | wick::shuffle() |
          wick::read() | wick::decode() | wick::random_resized_crop(size, {.scale = {0.5, 1.0}}) |
          wick::random_horizontal_flip() | wick::sanitize_boxes({.min_size = 4, .min_visible = 0.3}) |
          to_cells | wick::batch(static_cast<std::size_t>(args["batch"])) | wick::pin() |
          wick::transfer(device) | wick::normalize(0.5, 0.25),
      {.seed = 1, .workers = args.count("workers")});

  torch::manual_seed(1);
  auto model = make_model();
  model->to(device);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(3e-3));
  using namespace torch::indexing;
  for (std::int64_t epoch = 1; epoch <= args["epochs"]; ++epoch) {
    double loss_sum = 0;
    std::int64_t right = 0, all = 0;
    for (auto& batch : train.epoch(static_cast<std::uint64_t>(epoch))) {
      const torch::Tensor wanted = batch.target;               // [N, 6, 8, 8]
      const torch::Tensor found = model->forward(batch.data);  // the same
      const torch::Tensor has_box = wanted.index({Slice(), 0}) > 0.5;
      const torch::Tensor here = found.permute({0, 2, 3, 1}).index({has_box}),
                          truth = wanted.permute({0, 2, 3, 1}).index({has_box});  // [boxes, 6]
      namespace F = torch::nn::functional;
      const auto loss =
          F::binary_cross_entropy_with_logits(found.index({Slice(), 0}), wanted.index({Slice(), 0}),
                                              F::BinaryCrossEntropyWithLogitsFuncOptions().pos_weight(
                                                  torch::full({1}, 8.0, found.options()))) +
          F::smooth_l1_loss(here.index({Slice(), Slice(1, 5)}), truth.index({Slice(), Slice(1, 5)})) +
          F::binary_cross_entropy_with_logits(here.index({Slice(), 5}), truth.index({Slice(), 5}));
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      loss_sum += loss.item<double>();
      // Found is a box that its cell tells of, of the right class.
      right += ((here.index({Slice(), 0}) > 0) &
                ((here.index({Slice(), 5}) > 0) == (truth.index({Slice(), 5}) > 0.5)))
                   .sum()
                   .item<std::int64_t>();
      all += truth.size(0);
    }
    std::cout << "epoch " << epoch << ": loss " << loss_sum / static_cast<double>(train.batches())
              << ", found " << 100 * right / std::max<std::int64_t>(1, all) << " % of " << all << " boxes\n";
  }
} catch (const std::exception& e) {
  std::cerr << "09_detection: " << e.what() << "\n";
  return 1;
}

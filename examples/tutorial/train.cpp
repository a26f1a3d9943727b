#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

#include <torch/torch.h>

#include <wick/wick.hpp>

int main(int argc, char** argv) try {
  if (argc != 2) throw wick::error("usage: train FOLDER, with the files of Fashion-MNIST");
  const std::string folder = argv[1];

  // What changes from epoch to epoch: the order, and where a picture is cropped and flipped.
  wick::loader train(
      wick::idx(folder + "/train-images-idx3-ubyte.gz", folder + "/train-labels-idx1-ubyte.gz") |
          wick::shuffle() | wick::to_image() | wick::random_crop(28, {.padding = 2}) |
          wick::random_horizontal_flip() | wick::batch(128) | wick::normalize(0.286, 0.353),
      {.seed = 42});
  wick::loader test(wick::idx(folder + "/t10k-images-idx3-ubyte.gz", folder + "/t10k-labels-idx1-ubyte.gz") |
                        wick::to_image() | wick::batch(500) | wick::normalize(0.286, 0.353),
                    {.prefetch_next_epoch = false});

  using namespace torch::nn;
  Sequential model(Conv2d(Conv2dOptions(1, 16, 3).padding(1)), ReLU(), MaxPool2d(2),
                   Conv2d(Conv2dOptions(16, 32, 3).padding(1)), ReLU(), MaxPool2d(2), Flatten(),
                   Linear(32 * 7 * 7, 10));
  torch::optim::Adam optimizer(model->parameters());

  if (std::filesystem::exists("model.pt")) {
    torch::load(model, "model.pt");
    train.load_state(wick::read_state("train.state"));
  }
  for (std::uint64_t epoch = train.current_epoch(); epoch < 3; ++epoch) {
    for (auto& batch : train.epoch(epoch)) {
      optimizer.zero_grad();
      const auto loss = functional::cross_entropy(model->forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
    }
    torch::save(model, "model.pt");
    wick::write_state("train.state", train.state());

    const torch::NoGradGuard no_grad;
    std::int64_t right = 0;
    for (auto& batch : test.epoch(0))
      right += (model->forward(batch.data).argmax(1) == batch.target).sum().item<std::int64_t>();
    std::cout << "epoch " << epoch << ": " << 100.0 * static_cast<double>(right) / 10'000 << " % right\n";
  }
  std::cout << train.report();
} catch (const std::exception& e) {
  std::cerr << e.what() << "\n";
  return 1;
}

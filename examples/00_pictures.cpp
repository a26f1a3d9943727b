// 00: the program of the tutorial's last part. A test compares the two.
#include <exception>
#include <iostream>

#include <torch/torch.h>

#include <wick/wick.hpp>

int main(int argc, char** argv) try {
  if (argc != 2)
    throw wick::error("usage: train FOLDER, where each class of pictures has a folder of its own");
  const auto device = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;

  const wick::image_folder pictures(argv[1]);
  wick::loader train(pictures | wick::shuffle() | wick::read() | wick::decode() |
                         wick::random_resized_crop(64) | wick::random_horizontal_flip() | wick::batch(32) |
                         wick::pin() | wick::transfer(device) |
                         wick::normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}),
                     {.seed = 42, .on_error = wick::on_error(wick::on_error::skip, {.rate = 0.1})});

  using namespace torch::nn;
  Sequential model(Conv2d(Conv2dOptions(3, 16, 3).stride(2)), ReLU(),
                   Conv2d(Conv2dOptions(16, 32, 3).stride(2)), ReLU(), AdaptiveAvgPool2d(1), Flatten(),
                   Linear(32, pictures.classes().size()));
  model->to(device);
  torch::optim::Adam optimizer(model->parameters());

  for (int epoch = 0; epoch < 5; ++epoch) {
    double sum = 0;
    for (auto& batch : train.epoch(epoch)) {
      optimizer.zero_grad();
      const auto loss = functional::cross_entropy(model->forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      sum += loss.item<double>();
    }
    std::cout << "epoch " << epoch << ": loss " << sum / train.batches() << std::endl;
  }
  std::cout << train.report();
} catch (const std::exception& e) {
  std::cerr << e.what() << "\n";
  return 1;
}

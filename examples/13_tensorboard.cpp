// 13: the loader's report in TensorBoard, beside the training's loss.
//
// Teaches: report().scalars() hands every figure to a function, under a name that TensorBoard sorts into
// groups; examples/tensorboard.hpp writes the event files in 100 lines, without TensorFlow.
//
//   13_tensorboard LOGDIR [--samples N] [--epochs N] [--batch N] [--workers N]
//
// Expected: a line for each epoch; then `tensorboard --logdir LOGDIR` shows train/loss, wick/wait,
// wick/samples_per_second, and for each stage wick/stage/NAME/busy.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string_view>

#include <torch/torch.h>

#include "arguments.hpp"
#include "tensorboard.hpp"
#include <wick/wick.hpp>

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "LOGDIR",
                       {{"samples", 20000}, {"epochs", 5}, {"batch", 64}, {"workers", {}}});
  torch::manual_seed(1);
  const torch::Tensor x = torch::randn({args["samples"], 16});
  const torch::Tensor y = (x.matmul(torch::randn({16, 1})) > 0).to(torch::kFloat);

  wick::loader train(wick::tensor_dataset<wick::memory_view>(x, y) | wick::shuffle() |
                         wick::batch(static_cast<std::size_t>(args["batch"])),
                     {.seed = 42, .workers = args.count("workers")});
  torch::nn::Linear model(16, 1);
  torch::optim::SGD optimizer(model->parameters(), 0.5);

  event_file events(args.positional());
  std::int64_t step = 0;
  for (std::uint64_t epoch = 0; epoch < static_cast<std::uint64_t>(args["epochs"]); ++epoch) {
    double last = 0;
    for (auto& batch : train.epoch(epoch)) {
      optimizer.zero_grad();
      const torch::Tensor loss =
          torch::binary_cross_entropy_with_logits(model->forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      last = loss.item<double>();
      events.add_scalar("train/loss", last, step++);
    }
    train.report().scalars(
        [&](std::string_view name, double value) { events.add_scalar(name, value, step); });
    events.flush();  // TensorBoard shows the epoch now
    std::cout << "epoch " << epoch << ": loss " << last << "\n";
  }
} catch (const std::exception& e) {
  std::cerr << "13_tensorboard: " << e.what() << "\n";
  return 1;
}

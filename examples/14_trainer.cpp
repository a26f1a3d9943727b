// 14: a trainer written as a class, with its loaders as members.
//
// Teaches: a loader's type says what it gives, wick::loader<wick::tensor_batch>, so it stands in a header, in
// a std::vector, and its pipeline is chosen at run time; `for (auto& batch : train_)` is the next epoch.
//
//   14_trainer [--samples N] [--epochs N] [--batch N] [--workers N] [--noise 0|1]
//
// Expected: a line for each epoch, with a loss that falls and accuracies that rise above 95 %.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>

#include "arguments.hpp"
#include "trainer.hpp"

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "",
                       {{"samples", 20'000}, {"epochs", 3}, {"batch", 64}, {"workers", {}}, {"noise", 0}});
  torch::manual_seed(1);
  trainer t({.samples = args["samples"],
             .batch = static_cast<std::size_t>(args["batch"]),
             .workers = args.count("workers"),
             .noise = args["noise"] != 0});
  for (std::int64_t epoch = 0; epoch < args["epochs"]; ++epoch) {
    std::cout << "epoch " << epoch << ": loss " << t.train() << ", accuracy";
    for (const double accuracy : t.validate()) std::cout << " " << 100 * accuracy << " %";
    std::cout << "\n";
  }
} catch (const std::exception& e) {
  std::cerr << "14_trainer: " << e.what() << "\n";
  return 1;
}

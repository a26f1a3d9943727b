// 06: a training that is interrupted at any moment, and resumes in the middle of its epoch.
//
// Teaches: one file has model, optimizer and loader; the loader's part is a few hundred bytes and counts the
// delivered batches, so that nothing is trained on twice or left out; Ctrl-C ends the step, writes the file
// and leaves.
//
//   06_checkpoint FOLDER [--epochs N] [--batch N] [--workers N] [--seed N]
//
// FOLDER holds MNIST or Fashion-MNIST as it is distributed. checkpoint.pt lies in the current folder.
//
// Expected: "resumes in epoch …" when there is a checkpoint; a line an epoch; after Ctrl-C "interrupted:
// checkpoint.pt is written; run the same command to resume". The last line is the same whether it was
// interrupted or not.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

#include <torch/torch.h>

#include "arguments.hpp"
#include <wick/wick.hpp>

static volatile std::sig_atomic_t interrupted = 0;

template <class Model, class Loader>
static void save(const std::filesystem::path& to, const Model& model,
                 const torch::optim::Optimizer& optimizer, const Loader& train) {
  torch::serialize::OutputArchive all, weights, moments;
  model->save(weights);
  optimizer.save(moments);
  all.write("model", weights);
  all.write("optimizer", moments);
  wick::write_state(all, train.state());
  const std::filesystem::path half =
      to.string() + ".new";  // the file is the old one or the new one, never half of it
  all.save_to(half.string());
  std::filesystem::rename(half, to);
}

template <class Model, class Loader>
static void load(const std::filesystem::path& from, Model& model, torch::optim::Optimizer& optimizer,
                 Loader& train) {
  torch::serialize::InputArchive all, weights, moments;
  all.load_from(from.string());
  all.read("model", weights);
  all.read("optimizer", moments);
  model->load(weights);
  optimizer.load(moments);
  train.load_state(
      wick::read_state(all));  // refuses the state of other data, another pipeline, seed or batch size
}

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "FOLDER", {{"epochs", 2}, {"batch", 64}, {"workers", {}}, {"seed", 42}});
  const std::filesystem::path checkpoint = "checkpoint.pt";
  torch::manual_seed(args["seed"]);
  at::set_num_threads(1);  // sums come out the same in every run

  const std::string folder = args.positional();
  wick::loader train(
      wick::idx(folder + "/train-images-idx3-ubyte.gz", folder + "/train-labels-idx1-ubyte.gz") |
          wick::shuffle() | wick::batch(static_cast<std::size_t>(args["batch"])) |
          wick::normalize(0.286, 0.353),
      {.seed = static_cast<std::uint64_t>(args["seed"]), .workers = args.count("workers")});
  torch::nn::Sequential model(torch::nn::Flatten(), torch::nn::Linear(784, 32), torch::nn::ReLU(),
                              torch::nn::Linear(32, 10));
  torch::optim::Adam optimizer(model->parameters());

  if (std::filesystem::exists(checkpoint)) {
    load(checkpoint, model, optimizer, train);
    std::cout << "resumes in epoch " << train.current_epoch() << "\n";
  }
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = 1; });

  for (std::uint64_t epoch = train.current_epoch(); epoch < static_cast<std::uint64_t>(args["epochs"]);
       ++epoch) {
    double sum = 0;
    std::int64_t steps = 0;
    train.epoch(epoch);  // the epoch of a loaded state resumes where the state stands
    try {
      while (auto batch = train.next([] { return !interrupted; })) {
        optimizer.zero_grad();
        const auto loss = torch::nn::functional::cross_entropy(model->forward(batch->data), batch->target);
        loss.backward();
        optimizer.step();
        sum += loss.item<double>();
        if (++steps == 1) std::cout << "epoch " << epoch << " is under way" << std::endl;
        if (interrupted) throw wick::cancelled();
      }
    } catch (const wick::cancelled&) {  // after a step, or while the loader waits for a batch
      save(checkpoint, model, optimizer, train);
      std::cout << "interrupted: " << checkpoint.string() << " is written; run the same command to resume\n";
      return 0;
    }
    std::cout << "epoch " << epoch << ": loss " << sum / static_cast<double>(steps) << " over " << steps
              << " steps\n";
    save(checkpoint, model, optimizer, train);
  }
  double weights = 0;
  for (const auto& p : model->parameters()) weights += p.abs().sum().item<double>();
  std::printf("trained: the weights add up to %.9f\n", weights);
} catch (const std::exception& e) {
  std::cerr << "06_checkpoint: " << e.what() << "\n";
  return 1;
}

// 15: data-parallel training on several ranks, started by torchrun, srun, or mpirun.
//
// Teaches: shard() takes rank and world size from the launcher, and gives each rank its slice of each global
// batch; a checkpoint of rank 0 has model, optimizer and loader, and any number of ranks resumes from it; the
// ranks' shares of the validation may differ by a sample, as nothing is summed before its end; wick-audit
// says from deliveries.log whether each sample came once.
//
//   torchrun --standalone --nproc-per-node 4 --no-python 15_ddp FOLDER
//            [--epochs N] [--batch N] [--workers N] [--every N] [--seed N]
//
// FOLDER holds MNIST or Fashion-MNIST as it is distributed. --batch is the global batch; --every how many
// steps lie between two checkpoints. checkpoint.pt and deliveries.log lie in the current folder. Kill a rank,
// or all, and start it again with another number of ranks: it resumes after the checkpoint. Without a
// launcher it runs on one rank. Two trainings at once on one machine take different STORE_PORTs (29511).
//
// Expected: "resumes in epoch …" when there is a checkpoint; for each epoch a line with loss and accuracy;
// the report of rank 0, and a line of each other rank that waits for data.
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "arguments.hpp"
#include "ranks.hpp"
#include <wick/wick.hpp>

static const std::filesystem::path checkpoint = "checkpoint.pt";

template <class Loader>
static void save(const torch::nn::Sequential& model, const torch::optim::Optimizer& optimizer,
                 const Loader& train) {
  torch::serialize::OutputArchive all, weights, moments;
  model->save(weights);
  optimizer.save(moments);
  all.write("model", weights);
  all.write("optimizer", moments);
  wick::write_state(all, train.state());
  // The file is the old one or the new one, never half of it.
  all.save_to("checkpoint.new");
  std::filesystem::rename("checkpoint.new", checkpoint);
}

template <class Loader>
static void load(torch::nn::Sequential& model, torch::optim::Optimizer& optimizer, Loader& train) {
  torch::serialize::InputArchive all, weights, moments;
  all.load_from(checkpoint.string());
  all.read("model", weights);
  all.read("optimizer", moments);
  model->load(weights);
  optimizer.load(moments);
  train.load_state(wick::read_state(all));
}

/// Sums the gradients of all ranks, with the loss and the number of samples, in one message. Returns the mean
/// loss of the global batch.
static double average_gradients(ranks& all, const torch::nn::Sequential& model, const torch::Tensor& loss,
                                std::int64_t samples) {
  std::vector<torch::Tensor> parts{loss.detach().reshape(1),
                                   torch::full({1}, static_cast<double>(samples), loss.options())};
  for (const auto& p : model->parameters()) parts.push_back(p.grad().flatten());
  torch::Tensor flat = torch::cat(parts);
  all.sum(flat);
  flat /= flat[1].clone();
  std::int64_t at = 2;
  for (const auto& p : model->parameters()) {
    p.mutable_grad().copy_(flat.slice(0, at, at + p.numel()).view_as(p));
    at += p.numel();
  }
  return flat[0].item<double>();
}

/// The share of pictures that the model names rightly.
template <class Loader>
static double accuracy(ranks& all, torch::nn::Sequential& model, Loader& validation) {
  const torch::NoGradGuard no_gradients;
  torch::Tensor right = torch::zeros({2}, torch::TensorOptions(torch::kFloat64));
  for (auto& batch : validation) {
    right[0] += model->forward(batch.data).argmax(1).eq(batch.target).sum().to(torch::kCPU);
    right[1] += batch.target.numel();
  }
  right = right.to(all.device());
  all.sum(right);  // once, when each rank has had its share, however large that is
  return (right[0] / right[1]).item<double>();
}

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "FOLDER",
                       {{"epochs", 3}, {"batch", 256}, {"workers", 1}, {"every", 50}, {"seed", 42}});
  ranks all;
  torch::manual_seed(args["seed"]);  // the same weights on all ranks
  at::set_num_threads(1);

  const std::string folder = args.positional();
  const auto workers = args.count("workers");
  const auto pictures = [&](const std::string& part) {
    return wick::idx(folder + "/" + part + "-images-idx3-ubyte.gz",
                     folder + "/" + part + "-labels-idx1-ubyte.gz");
  };
  // drop_last: each rank has a part of each batch, and so the same number of steps.
  wick::loader train(pictures("train") | wick::shuffle() | wick::shard() |
                         wick::batch(static_cast<std::size_t>(args["batch"]), {.drop_last = true}) |
                         wick::pin() | wick::transfer(all.device()) | wick::normalize(0.286, 0.353),
                     {.seed = static_cast<std::uint64_t>(args["seed"]),
                      .workers = workers,
                      .delivery_log_file = "deliveries.log",
                      .content_fingerprint = true});
  wick::loader validation(pictures("t10k") | wick::shard() | wick::batch(1000) | wick::pin() |
                              wick::transfer(all.device()) | wick::normalize(0.286, 0.353),
                          {.workers = workers});

  torch::nn::Sequential model(torch::nn::Flatten(), torch::nn::Linear(784, 32), torch::nn::ReLU(),
                              torch::nn::Linear(32, 10));
  model->to(all.device());
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  if (std::filesystem::exists(checkpoint)) {
    load(model, optimizer, train);
    if (all.rank() == 0)
      std::cout << "resumes in epoch " << train.current_epoch() << " on " << all.world() << " ranks"
                << std::endl;
  }

  for (auto epoch = train.current_epoch(); epoch < static_cast<std::uint64_t>(args["epochs"]); ++epoch) {
    double sum = 0;
    std::int64_t steps = 0;
    for (auto& batch : train.epoch(epoch)) {
      optimizer.zero_grad();
      // A sum over the samples: the ranks' shares of a batch may differ by one.
      const auto loss = torch::nn::functional::cross_entropy(
          model->forward(batch.data), batch.target,
          torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
      loss.backward();
      sum += average_gradients(all, model, loss, batch.target.numel());
      optimizer.step();
      if (++steps % args["every"] == 0 && all.rank() == 0) save(model, optimizer, train);
    }
    const double share = accuracy(all, model, validation);
    if (all.rank() != 0) continue;
    std::cout << "epoch " << epoch << ": loss " << sum / static_cast<double>(steps) << ", accuracy "
              << 100 * share << " %" << std::endl;
    save(model, optimizer, train);
  }

  const wick::report report = train.report();
  if (all.rank() == 0)
    std::cout << report;
  else if (report.wait_mean > 0.05)
    std::cout << "rank " << all.rank() << " waits for data " << 100 * report.wait_mean << " % of its time\n";
} catch (const std::exception& e) {
  std::cerr << "15_ddp: " << e.what() << "\n";
  return 1;
}

// 10: an agent that learns from what it has lived through: prioritized experience replay.
//
// Teaches: a replay_buffer is a source that grows while it is trained on; refresh() reads its size and its
// weights again between rounds of some batches; a batch's targets are its entries' ids, by which their
// weights are set.
//
// The agent walks along a corridor of cells, one to the left or to the right at a time, and finds a reward at
// the right end. It begins without knowing that, walks at random, and learns the value of a step (Watkins:
// "Learning from delayed rewards", 1989). What surprised it most is drawn most (Schaul et al.: "Prioritized
// experience replay", 2016).
//
//   10_replay [--rounds N] [--cells N] [--workers N] [--seed N]
//
// Expected: a line each ten rounds with the length of the last episode, which becomes shorter, and
// "learned: the way takes 11 steps".
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <tuple>
#include <utility>

#include <torch/torch.h>

#include "arguments.hpp"
#include <wick/wick.hpp>

/// What the agent has lived through in one step.
struct experience {
  std::int64_t cell, action;
  float reward;
  std::int64_t next;
  float goes_on;  // 0 where the episode ended
};

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "", {{"rounds", 60}, {"cells", 12}, {"workers", {}}, {"seed", 1}});
  const std::int64_t cells = args["cells"];
  torch::manual_seed(static_cast<std::uint64_t>(args["seed"]));
  wick::random_stream chance(static_cast<std::uint64_t>(args["seed"]), 0, 0, 0);
  torch::Tensor values = torch::zeros({cells, 2});  // of an action in a cell

  wick::replay_buffer<experience> memory(20'000);
  std::int64_t cell = 0, steps = 0, episode = 0;
  const auto best = [&](std::int64_t at) { return values[at].argmax().item<std::int64_t>(); };
  const auto play = [&](std::int64_t count, double at_random) {
    while (count-- > 0) {
      const auto action =
          chance.bernoulli(at_random) ? static_cast<std::int64_t>(chance.below(2)) : best(cell);
      const std::int64_t next = std::max<std::int64_t>(0, action == 0 ? cell - 1 : cell + 1);
      const bool there = next == cells - 1;
      memory.append({cell, action, there ? 1.0f : 0.0f, next, there ? 0.0f : 1.0f}, 1.0);
      ++steps;
      if (there) episode = std::exchange(steps, 0);
      cell = there ? 0 : next;
    }
  };
  play(1000, 1.0);  // a loader wants something to begin with

  constexpr std::size_t batch_size = 64;
  wick::loader train(memory.samples() | wick::weighted(memory.weights(), {.samples = 10 * batch_size}) |
                         wick::batch(batch_size),
                     {.seed = static_cast<std::uint64_t>(args["seed"]), .workers = args.count("workers")});

  for (std::int64_t round = 0; round < args["rounds"]; ++round) {
    play(200, 0.2);
    train.refresh();
    for (auto& batch : train.epoch(static_cast<std::uint64_t>(round))) {
      const auto& [at, action, reward, next, goes_on] = batch.data;
      const torch::Tensor goal = reward + 0.9 * goes_on * std::get<0>(values.index({next}).max(1));
      const torch::Tensor error = goal - values.index({at, action});
      values.index_put_({at, action}, 0.1 * error, /*accumulate=*/true);
      const torch::Tensor surprise = error.abs() + 0.01;
      for (std::int64_t i = 0; i < surprise.size(0); ++i) {
        memory.set_weight(static_cast<std::uint64_t>(batch.target[i].item<std::int64_t>()),
                          surprise[i].item<double>());
      }
    }
    if (round % 10 == 9)
      std::cout << "round " << round << ": the last episode took " << episode << " steps\n";
  }

  std::int64_t way = 0;
  for (std::int64_t at = 0; at != cells - 1 && way < 10 * cells; ++way)
    at += best(at) == 0 ? (at > 0 ? -1 : 0) : 1;
  std::cout << "learned: the way takes " << way << " steps\n";
} catch (const std::exception& e) {
  std::cerr << "10_replay: " << e.what() << "\n";
  return 1;
}

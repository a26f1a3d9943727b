// The class that 14_trainer.cpp trains with: loaders as members, in a header that says what they give and not
// how. Not a part of wick.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <torch/torch.h>

#include <wick/wick.hpp>

struct trainer_settings {
  std::int64_t samples = 20'000;
  std::size_t batch = 64;
  std::optional<std::size_t> workers = {};
  bool noise = false;  ///< whether training data are augmented
};

class trainer {
 public:
  explicit trainer(const trainer_settings& settings);

  /// Trains for one epoch, the next. Gives the mean loss.
  double train();
  /// The share of right answers on each validation set.
  std::vector<double> validate();

 private:
  using loader = wick::loader<wick::tensor_batch>;

  wick::executor workers_;  // before the loaders, which run on it
  loader train_;
  std::vector<loader> validation_;
  torch::nn::Linear model_{16, 1};
  torch::optim::SGD optimizer_;
};

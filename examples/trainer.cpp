// What trainer.hpp declares. The pipelines are known here alone.
#include "trainer.hpp"

#include <utility>

namespace {

torch::Tensor add_noise(const torch::Tensor& x, wick::context& c) {
  torch::Tensor out = x.clone();
  float* const values = out.data_ptr<float>();
  for (std::int64_t i = 0; i < out.numel(); ++i)
    values[i] += static_cast<float>(c.random().uniform(-0.3, 0.3));
  return out;
}

std::pair<torch::Tensor, torch::Tensor> make_data(std::int64_t samples, const torch::Tensor& truth) {
  torch::Tensor x = torch::randn({samples, 16});
  torch::Tensor y = (x.matmul(truth) > 0).to(torch::kFloat);
  return {std::move(x), std::move(y)};
}

}  // namespace

trainer::trainer(const trainer_settings& settings)
    : workers_({.workers = settings.workers}), optimizer_(model_->parameters(), 0.5) {
  const torch::Tensor truth = torch::randn({16, 1});
  const auto [x, y] = make_data(settings.samples, truth);
  // Both are loaders of tensor batches, so either can be train_.
  const auto source = wick::tensor_dataset<wick::memory_view>(x, y) | wick::shuffle();
  const wick::loader_options options{.seed = 42, .executor = &workers_};
  if (settings.noise)
    train_ = wick::loader(source | wick::batch(settings.batch) | wick::map("noise", add_noise), options);
  else
    train_ = wick::loader(source | wick::batch(settings.batch), options);

  for (const std::int64_t samples : {settings.samples / 10, settings.samples / 5}) {
    const auto [more_x, more_y] = make_data(samples, truth);
    validation_.push_back(wick::loader(
        wick::tensor_dataset<wick::memory_view>(more_x, more_y) | wick::batch(256), {.executor = &workers_}));
  }
}

double trainer::train() {
  double total = 0;
  for (auto& batch : train_) {
    optimizer_.zero_grad();
    const torch::Tensor loss =
        torch::binary_cross_entropy_with_logits(model_->forward(batch.data), batch.target);
    loss.backward();
    optimizer_.step();
    total += loss.item<double>();
  }
  return total / static_cast<double>(train_.batches());
}

std::vector<double> trainer::validate() {
  const torch::NoGradGuard no_grad;
  std::vector<double> out;
  for (loader& set : validation_) {
    std::int64_t right = 0;
    for (auto& batch : set)
      right += ((model_->forward(batch.data) > 0) == (batch.target > 0.5)).sum().item<std::int64_t>();
    out.push_back(static_cast<double>(right) / static_cast<double>(set.samples()));
  }
  return out;
}

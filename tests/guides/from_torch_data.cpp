// The code of docs/guides/from_torch_data.md. Compiled; a test compares the two.
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include <wick/wick.hpp>

namespace {

// A data set for torch::data.
class squares : public torch::data::Dataset<squares> {
 public:
  torch::data::Example<> get(std::size_t index) override {
    const auto i = static_cast<std::int64_t>(index);
    return {torch::full({4}, i), torch::full({}, i * i)};
  }
  torch::optional<std::size_t> size() const override { return 1000; }
};

[[maybe_unused]] void with_its_data_set(int epochs) {
  wick::loader loader(wick::torch_data(squares()) | wick::shuffle() | wick::read() | wick::batch(64));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (auto& batch : loader) {
      (void)batch.data;
    }
  }
}

// The same for wick: at() says what sample i is, and a stage makes it.
struct square_numbers {
  std::uint64_t size() const { return 1000; }
  std::int64_t at(std::uint64_t i) const { return static_cast<std::int64_t>(i); }
};

struct square {
  std::array<float, 4> data;
  std::int64_t target;
};

square make_square(std::int64_t i) {
  const auto f = static_cast<float>(i);
  return {{f, f, f, f}, i * i};
}

[[maybe_unused]] void with_torch_data(int epochs) {
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      squares().map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions().batch_size(64).workers(4));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (auto& batch : *loader) {
      (void)batch.data;
    }
  }
}

[[maybe_unused]] void with_wick(int epochs) {
  wick::loader loader(square_numbers() | wick::shuffle() | wick::map("square", make_square) | wick::batch(64),
                      {.seed = 1, .workers = 4});
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (auto& batch : loader.epoch(epoch)) {
      const auto& [data, target] = batch;
      (void)data, (void)target;
    }
  }
}

[[maybe_unused]] void with_tensors(const torch::Tensor& pixels, const torch::Tensor& labels) {
  wick::loader loader(wick::tensor_dataset(pixels, labels) | wick::shuffle() | wick::batch(64), {.seed = 1});
  for (auto& batch : loader.epoch(0)) {
    (void)batch.data, (void)batch.target;
  }
}

[[maybe_unused]] void with_augmented_tensors(const torch::Tensor& pictures, const torch::Tensor& labels) {
  wick::loader loader(wick::tensor_dataset(pictures, labels) | wick::shuffle() | wick::to_image() |
                          wick::random_crop(32, {.padding = 4}) | wick::random_horizontal_flip() |
                          wick::batch(128) | wick::normalize(0.5, 0.25),
                      {.seed = 1});
  for (auto& batch : loader.epoch(0)) {
    (void)batch.data, (void)batch.target;
  }
}

}  // namespace

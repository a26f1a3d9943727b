// The only file here that includes <torch/torch.h>: it takes half a minute to compile.
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <torch/torch.h>

#include "tiny/peers.hpp"

namespace tiny {

namespace {

/// As in LibTorch's own examples and MNIST data set.
class rows : public torch::data::datasets::Dataset<rows> {
 public:
  rows(torch::Tensor pixels, torch::Tensor targets)
      : pixels_(std::move(pixels)), targets_(std::move(targets)) {}
  torch::data::Example<> get(std::size_t index) override {
    const auto i = static_cast<std::int64_t>(index);
    return {pixels_[i], targets_[i]};
  }
  torch::optional<std::size_t> size() const override { return static_cast<std::size_t>(pixels_.size(0)); }

 private:
  torch::Tensor pixels_, targets_;
};

auto make_loader(const data_set& data, std::size_t workers) {
  return torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      rows(data.pixels, data.remapped).map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions().batch_size(batch_size).workers(workers));
}

}  // namespace

struct torch_data::state {
  decltype(make_loader(std::declval<const data_set&>(), 0)) loader;
};

torch_data::torch_data(const data_set& data, std::size_t workers)
    : state_(std::make_unique<state>(state{make_loader(data, workers)})) {}
torch_data::~torch_data() = default;

seen torch_data::epoch() {
  seen s;
  for (auto& batch : *state_->loader) {
    s.batch(batch.data.data_ptr<std::uint8_t>(), batch.target.data_ptr<std::int64_t>(),
            static_cast<std::uint64_t>(batch.target.size(0)));
  }
  return s;
}

digest torch_data::check() {
  digest d;
  for (auto& batch : *state_->loader) {
    d.batch(batch.data.data_ptr<std::uint8_t>(), batch.target.data_ptr<std::int64_t>(),
            static_cast<std::uint64_t>(batch.target.size(0)));
  }
  return d;
}

}  // namespace tiny

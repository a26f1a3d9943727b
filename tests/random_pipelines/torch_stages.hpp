// Sources and stages of LibTorch that the grammar of generate.py names.
#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "stages.hpp"
#include <wick/wick.hpp>

namespace random_pipelines {

inline at::Tensor numbers_of(std::uint64_t n, std::int64_t columns) {
  return torch::arange(static_cast<std::int64_t>(n) * columns, torch::kFloat32).view({-1, columns}).sin();
}
inline auto rows_of_tensors(const params& p) {
  return wick::tensor_dataset(numbers_of(p.samples, 4), torch::arange(static_cast<std::int64_t>(p.samples)));
}
/// Every second column, and another order of the axes: no row is packed.
inline auto strided_rows(const params& p) {
  const at::Tensor all = numbers_of(p.samples, 12).view({-1, 3, 4});
  return wick::tensor_dataset(all.permute({0, 2, 1}).slice(1, 0, 4, 2),
                              torch::arange(static_cast<std::int64_t>(p.samples)));
}
inline auto tensor_windows(const params& p) { return wick::windows(numbers_of(p.samples + 2, 2), 3); }

class example_set : public torch::data::datasets::Dataset<example_set> {
 public:
  explicit example_set(std::uint64_t n) : n_(n) {}
  torch::data::Example<> get(std::size_t i) override {
    return {torch::full({2, 3}, static_cast<float>(i)), torch::tensor(static_cast<std::int64_t>(i))};
  }
  c10::optional<std::size_t> size() const override { return n_; }

 private:
  std::uint64_t n_;
};
inline auto examples(const params& p) { return wick::torch_data(example_set(p.samples)); }

/// What a callable makes of a sample before batch().
inline constexpr auto to_tensor = [](const cell& c) {
  return wick::sample<at::Tensor>{torch::tensor({c.data[0], c.data[1], c.data[2]}), c.target};
};
/// After batch().
inline constexpr auto squared = [](auto batch) {
  wick::detail::for_each_tensor(batch, [](at::Tensor& t) { t = t.mul(t); });
  return batch;
};

}  // namespace random_pipelines

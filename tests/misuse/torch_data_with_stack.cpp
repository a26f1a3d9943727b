// A data set of torch::data that puts batches together itself. (By hand: <torch/torch.h> takes half a
// minute.)
#include <cstddef>
#include <optional>

#include <wick/core.hpp>
#include <wick/torch/torch_data.hpp>

// expect: wick: torch_data() takes data sets whose batch is a vector of examples
// expect: leave the collation (Stack) out

struct stacked {
  using BatchType = wick::sample<int>;
  using BatchRequestType = c10::ArrayRef<std::size_t>;
  BatchType get_batch(BatchRequestType) { return {}; }
  std::optional<std::size_t> size() const { return 10; }
};

int main() {
  wick::loader train(wick::torch_data(stacked()) | wick::read() | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

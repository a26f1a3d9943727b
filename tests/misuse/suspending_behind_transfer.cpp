// A stage after transfer() suspends.
#include <utility>
#include <vector>

#include <wick/core.hpp>
#include <wick/torch/tensor_batch.hpp>
#include <wick/torch/transfer.hpp>

// expect: wick: a batch stage that suspends can't be after transfer(); write it before it
// expect: or as a plain callable

int main() {
  using batch = wick::sample<at::Tensor, at::Tensor>;
  const auto slow = [](batch b) -> wick::task<batch> { co_return std::move(b); };
  wick::loader train(std::vector<wick::sample<float>>(10) | wick::shuffle() | wick::batch(4) |
                     wick::transfer(c10::kCUDA) | slow);
  for (auto& b : train.epoch(0)) static_cast<void>(b);
}

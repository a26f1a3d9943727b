// Memory is pinned for single samples.
#include <vector>

#include <wick/core.hpp>
#include <wick/torch/pin.hpp>
#include <wick/torch/tensor_batch.hpp>

// expect: wick: this stage works on batches, and the item is a single sample; write batch(n) before it
// expect: pin_stage

int main() {
  wick::loader train(std::vector<wick::sample<float>>(10) | wick::shuffle() | wick::pin() | wick::batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

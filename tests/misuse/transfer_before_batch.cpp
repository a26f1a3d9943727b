// Single samples are sent to the device.
#include <vector>

#include <wick/core.hpp>
#include <wick/torch/tensor_batch.hpp>
#include <wick/torch/transfer.hpp>

// expect: wick: this stage works on batches, and the item is a single sample; write batch(n) before it
// expect: transfer_stage

int main() {
  wick::loader train(std::vector<wick::sample<float>>(10) | wick::shuffle() | wick::transfer(c10::kCUDA) |
                     wick::batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

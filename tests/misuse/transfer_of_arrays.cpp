// Arrays are sent to the device.
#include <vector>

#include <wick/core.hpp>
#include <wick/torch/transfer.hpp>

// expect: wick: transfer() moves tensors, and array_batch(n) makes arrays
// expect: batch(n) in its place

int main() {
  wick::loader train(std::vector<wick::sample<float>>(10) | wick::shuffle() | wick::array_batch(4) |
                     wick::transfer(c10::kCUDA));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

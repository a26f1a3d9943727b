// Batches are made of batches.
#include <vector>

#include <wick/core.hpp>

// expect: wick: this pipeline is batched already
// expect: batch_stage<
int main() {
  wick::loader train(std::vector<wick::sample<float>>(10) | wick::shuffle() | wick::array_batch(4) |
                     [](wick::sample<wick::array, wick::array>& b) { b.data = {}; } | wick::array_batch(2));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch.data);
}

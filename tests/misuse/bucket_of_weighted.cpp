// What has other samples each epoch is bucketed.
#include <vector>

#include <wick/core.hpp>

// expect: wick: bucket() sorts the samples of all epochs by length once
// expect: shuffle() comes after them
int main() {
  wick::loader train(std::vector<std::vector<int>>(10) | wick::weighted(std::vector<double>(10, 1.0)) |
                     wick::bucket({.lengths = std::vector<std::uint32_t>(10)}) |
                     wick::array_batch(4, {.ragged = wick::pad_with(0)}));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch.lengths);
}

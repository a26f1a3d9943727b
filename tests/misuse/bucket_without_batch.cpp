// Samples of like length, one by one.
#include <vector>

#include <wick/core.hpp>

// expect: wick: bucket() groups samples for batches, and there are none
// expect: write batch(n, {.ragged = wick::pad_with(0)})
int main() {
  wick::loader train(std::vector<std::vector<int>>(10) |
                     wick::bucket({.lengths = std::vector<std::uint32_t>(10)}));
  for (auto& sample : train.epoch(0)) static_cast<void>(sample.size());
}

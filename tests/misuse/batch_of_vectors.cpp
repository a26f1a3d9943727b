// What has no fixed shape is batched.
#include <vector>

#include <wick/core.hpp>

// expect: wick: batch() can't put what came into a tensor
// expect: write group(n)
// expect: wick::sample<std::vector<int
int main() {
  wick::loader train(std::vector<wick::sample<std::vector<int>>>(10) | wick::shuffle() |
                     wick::array_batch(4) | [](wick::sample<wick::array, wick::array>& b) { b.data = {}; });
  for (auto& batch : train.epoch(0)) static_cast<void>(batch.data);
}

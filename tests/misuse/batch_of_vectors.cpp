// What has any length is batched.
#include <vector>

#include <wick/core.hpp>

// expect: has any length (std::vector)
// expect: write batch(n, {.ragged = wick::pad_with(0)})
// expect: wick::sample<std::vector<int
int main() {
  wick::loader train(std::vector<wick::sample<std::vector<int>>>(10) | wick::shuffle() |
                     wick::array_batch(4) | [](wick::sample<wick::array, wick::array>& b) { b.data = {}; });
  for (auto& batch : train.epoch(0)) static_cast<void>(batch.data);
}

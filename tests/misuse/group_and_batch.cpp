// Samples are grouped and batched.
#include <vector>

#include <wick/core.hpp>

// expect: wick: this pipeline is batched already
int main() {
  wick::loader train(wick::from(std::vector<float>(10)) | wick::group(4) | wick::array_batch(2));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

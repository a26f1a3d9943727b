// The right side of | can't be called at all.
#include <vector>

#include <wick/core.hpp>

// expect: wick: the right side of | is neither a stage nor callable
// expect: map_stage<int>
int main() {
  wick::loader train(wick::from(std::vector<float>(10)) | wick::take(5) | 224 | wick::array_batch(2));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

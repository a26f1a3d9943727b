// What stands behind | can't be called at all.
#include <vector>

#include <wick/core.hpp>

// expect: wick: this stage does not take what the stage before it gives
// expect: wick::detail::map_stage<int>
int main() {
  wick::loader train(wick::from(std::vector<float>(10)) | wick::take(5) | 224 | wick::array_batch(2));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

// Boxes without the picture that they lie in: a crop does not know of what.
#include <vector>

#include <wick/core.hpp>

// expect: wick: this stage does not take what the stage before it gives
int main() {
  wick::loader train(wick::in_memory(std::vector<wick::boxes>(8)) | wick::center_crop(4) | wick::group(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

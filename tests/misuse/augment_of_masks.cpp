// A mask without the picture that it belongs to: an augmentation changes colors, too.
#include <vector>

#include <wick/core.hpp>

// expect: wick: this stage does not take what the stage before it gives
// expect: rand_augment_stage
int main() {
  wick::loader train(wick::in_memory(std::vector<wick::mask>(8)) | wick::rand_augment() | wick::group(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

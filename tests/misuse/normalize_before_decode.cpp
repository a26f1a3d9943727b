// The bytes of files are normalized.
#include <wick/core.hpp>

// expect: wick: this stage takes a picture, and the item is bytes as they were read
// expect: write decode() before it
// expect: normalize_stage
int main() {
  wick::loader train(wick::files("photos/*.png") | wick::read() | wick::normalize(0.5, 0.5) |
                     wick::array_batch(8));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

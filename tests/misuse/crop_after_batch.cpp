// Batches are cropped: the stage comes after batch().
#include <wick/core.hpp>

// expect: wick: this stage takes a single picture, and the item is a batch; write it before batch(n)
// expect: random_resized_crop_stage
int main() {
  wick::loader train(wick::image_folder("photos") | wick::read() | wick::decode() | wick::array_batch(32) |
                     wick::random_resized_crop(224));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

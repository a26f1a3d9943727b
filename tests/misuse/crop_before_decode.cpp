// Pictures are cropped as they were read: decode() is missing.
#include <wick/core.hpp>

// expect: wick: this stage takes a picture, and the item is bytes as they were read
// expect: write decode() before it
// expect: random_resized_crop_stage
void step(wick::array, wick::array) {}

int main() {
  wick::loader train(wick::image_folder("photos") | wick::shuffle() | wick::read() |
                     wick::random_resized_crop(224) | wick::random_horizontal_flip() | wick::array_batch(32) |
                     [](wick::sample<wick::array, wick::array>&) {});
  for (auto& batch : train.epoch(0)) step(batch.data, batch.target);
}

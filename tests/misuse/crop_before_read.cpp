// Pictures are cropped where only their places on disk are known: read() and decode() are missing.
#include <wick/core.hpp>

// expect: wick: this stage takes a picture, and the item says only where its bytes lie
// expect: write read() | decode() before it
// expect: random_resized_crop_stage
// expect: wick::sample<wick::ext::file_range
void step(wick::array, wick::array) {}

int main() {
  wick::loader train(wick::image_folder("photos") | wick::shuffle() | wick::random_resized_crop(224) |
                     wick::random_horizontal_flip() | wick::array_batch(32) |
                     [](wick::sample<wick::array, wick::array>&) {});
  for (auto& batch : train.epoch(0)) step(batch.data, batch.target);
}

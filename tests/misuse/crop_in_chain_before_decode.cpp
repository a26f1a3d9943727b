// A chain has a stage that doesn't fit after the source: decode() is missing.
#include <wick/core.hpp>

// expect: wick: this stage takes a picture, and the item is bytes as they were read; write decode() before it
// expect: crop_in_chain_before_decode.cpp:
void step(wick::array, wick::array) {}

int main() {
  const auto augment = wick::random_horizontal_flip(0.5) | wick::random_resized_crop(224);
  wick::loader train(wick::image_folder("photos") | wick::read() | augment | wick::array_batch(32));
  for (auto& batch : train.epoch(0)) step(batch.data, batch.target);
}

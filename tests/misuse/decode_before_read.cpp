// What is decoded is a place on disk: read() is missing.
#include <wick/core.hpp>

// expect: wick: this stage takes bytes, and the item says only where they lie; write read() before it
// expect: decode_stage
void step(wick::array, wick::array) {}

int main() {
  wick::loader train(wick::image_folder("photos") | wick::decode() | wick::random_resized_crop(224) |
                     wick::array_batch(32));
  for (auto& batch : train.epoch(0)) step(batch.data, batch.target);
}

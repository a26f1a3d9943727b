// Files are batched as they were read.
#include <wick/core.hpp>

// expect: wick: batch() makes tensors, and the item is bytes as they were read
// expect: write decode() before it for pictures
// expect: wick::sample<wick::bytes
void step(wick::array, wick::array) {}

int main() {
  wick::loader train(wick::image_folder("photos") | wick::read() | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) step(batch.data, batch.target);
}

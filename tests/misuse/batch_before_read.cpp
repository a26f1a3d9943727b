// Places on disk are batched: read() is missing.
#include <wick/core.hpp>

// expect: wick: batch() makes tensors, and the item only says where bytes lie
// expect: write read() before it
// expect: wick::sample<wick::ext::file_range
void step(wick::array, wick::array) {}

int main() {
  wick::loader train(wick::image_folder("photos") | wick::shuffle() | wick::array_batch(32));
  for (auto& batch : train.epoch(0)) step(batch.data, batch.target);
}

// A cache after batch(): in each epoch other samples make a batch.
#include <wick/core.hpp>

// expect: wick: a cache keeps single samples, and the item is a batch; write it before batch(n)
int main() {
  wick::loader train(wick::image_folder("img") | wick::read() | wick::decode() | wick::center_crop(8) |
                     wick::array_batch(4) | wick::cache_in_memory());
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

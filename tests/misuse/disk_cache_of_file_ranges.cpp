// A cache on disk before read(): where a file lies is nothing to keep.
#include <wick/core.hpp>

// expect: wick: cache_on_disk() writes numbers, strings, bytes, pictures, masks, tensors, and vectors,
int main() {
  wick::loader train(wick::image_folder("img") | wick::cache_on_disk("cache") | wick::read() |
                     wick::decode() | wick::center_crop(8) | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

// A cache after a cache: only the first would ever be asked.
#include <wick/core.hpp>

// expect: wick: this pipeline has a cache already; write one of the two
int main() {
  wick::loader train(wick::image_folder("img") | wick::read() | wick::cache_on_disk("cache") |
                     wick::decode() | wick::center_crop(8) | wick::cache_in_memory() | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

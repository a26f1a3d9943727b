// A cache after mixup(): each sample would be mixed with the same other in all epochs.
#include <wick/core.hpp>

// expect: wick: with_others() (mixup, cutmix, mosaic) draws other samples in each epoch, which a cache
int main() {
  wick::loader train(wick::image_folder("img") | wick::read() | wick::decode() | wick::center_crop(8) |
                     wick::mixup(10) | wick::cache_in_memory() | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

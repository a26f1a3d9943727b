// A callable for batches stands where single samples pass: batch() is missing.
#include <vector>

#include <wick/core.hpp>

// expect: wick: this stage takes tensors or arrays, and the item is a single sample without any
// expect: write batch(n) before it
int main() {
  wick::loader train(wick::image_folder("photos") | wick::read() | wick::decode() |
                     wick::random_resized_crop(224) |
                     [](wick::sample<wick::array, wick::array> b) { return b; });
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

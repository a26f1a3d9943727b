// A crop of rows of tensors: they are arrays, of which it is not known yet that they are pictures.
#include <cstdint>
#include <string>
#include <vector>

#include <wick/core.hpp>

// expect: wick: this stage takes a picture, and the item is an array in memory
// expect: write to_image() before it
int main() {
  wick::loader train(wick::idx("train-images-idx3-ubyte", "train-labels-idx1-ubyte") | wick::shuffle() |
                     wick::random_crop(28, {.padding = 2}) | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

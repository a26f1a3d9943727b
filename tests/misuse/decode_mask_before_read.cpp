// Pictures and masks are decoded before anything is read.
#include <wick/core.hpp>

// expect: wick: this stage takes bytes, and the item says only where they lie; write read() before it
int main() {
  wick::loader train(wick::zip(wick::files("img/*"), wick::files("mask/*")) | wick::decode_mask() |
                     wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

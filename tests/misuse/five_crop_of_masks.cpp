// Five crops of a picture that has a mask: nothing says which of them the mask should be.
#include <wick/core.hpp>

// expect: wick: five_crop and multi_crop take a picture alone
// expect: leave them out before
int main() {
  wick::loader train(wick::zip(wick::files("img/*.png"), wick::files("mask/*.png")) | wick::read() |
                     wick::decode() | wick::decode_mask() | wick::five_crop(224) | wick::group(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

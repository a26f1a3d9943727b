// Pictures have different numbers of boxes, which have no place in a tensor.
#include <vector>

#include <wick/core.hpp>

// expect: wick: batch() makes tensors, and a field that came (see 'Item') has any length
// expect: write batch(n, {.ragged = wick::pad_with(0)}) to fill it up
int main() {
  wick::loader train(wick::zip(wick::files("img/*"), wick::in_memory(std::vector<wick::boxes>(8))) |
                     wick::read() | wick::decode() | wick::center_crop(4) | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

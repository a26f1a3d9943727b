// What plans by the lengths of single samples is given several as one.
#include <cstdint>
#include <vector>

#include <wick/core.hpp>

using row = std::vector<int>;

// expect: wick: with_others() (mixup, cutmix, mosaic) in a pipeline with bucket() or pack()
int main() {
  wick::loader train(std::vector<row>(10) | wick::bucket({.lengths = std::vector<std::uint32_t>(10)}) |
                     wick::with_others(1) | wick::join([](row own, std::vector<row>&) { return own; }) |
                     wick::array_batch(4, {.ragged = wick::pad_with(0)}));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch.lengths);
}

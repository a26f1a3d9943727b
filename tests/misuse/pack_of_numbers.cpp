// What has one shape is packed.
#include <vector>

#include <wick/core.hpp>

// expect: wick: pack() puts std::vector fields into rows, and the item has none
// expect: write batch(n)
int main() {
  wick::loader train(std::vector<wick::sample<float>>(10) | wick::shuffle() | wick::array_pack(4, 16));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch.segments);
}

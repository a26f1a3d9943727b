// A struct with more fields than can be taken apart is batched.
#include <vector>

#include <wick/core.hpp>

// expect: wick: batch() can't put the item into a tensor
// expect: plain structs of up to 8 fields
// expect: measurement
struct measurement {
  float a, b, c, d, e, f, g, h, i;
};

int main() {
  wick::loader train(wick::from(std::vector<measurement>(10)) | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

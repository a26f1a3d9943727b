// Batches are to be shuffled.
#include <vector>

#include <wick/core.hpp>

// expect: wick: an order stage (shuffle, shard, take, …) works on positions
int main() {
  wick::loader train(wick::from(std::vector<float>(10)) | wick::array_batch(2) | wick::shuffle());
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

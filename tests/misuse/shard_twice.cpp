// The data is shared among ranks twice.
#include <vector>

#include <wick/core.hpp>

// expect: wick: this pipeline is sharded already
int main() {
  wick::loader train(std::vector<float>(10) | wick::shard() | wick::shuffle() | wick::shard(0, 2) |
                     wick::array_batch(2));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

// The order is changed where samples have been read already.
#include <wick/core.hpp>

// expect: wick: an order stage (shuffle, shard, take, …) works on positions
// expect: write it directly after the source
// expect: shuffle_stage
void step(wick::array, wick::array) {}

int main() {
  wick::loader train(wick::image_folder("photos") | wick::read() | wick::shuffle() | wick::shard(0, 2) |
                     wick::decode() | wick::random_resized_crop(224) | wick::array_batch(32));
  for (auto& batch : train.epoch(0)) step(batch.data, batch.target);
}

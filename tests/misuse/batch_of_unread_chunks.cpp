// Chunks of files of tokens are batched where only their places are known: read() is missing.
#include <wick/core.hpp>

// expect: write read() before it
void step(wick::array, wick::array) {}

int main() {
  wick::loader train(wick::tokens("train.bin") | wick::chunks(64) | wick::shuffle() | wick::array_batch(32));
  for (auto& batch : train.epoch(0)) step(batch.data, batch.target);
}

// A stream of tokens is shuffled as if it had samples: chunks() is missing.
#include <wick/core.hpp>

// expect: wick: tokens() is one long stream, not samples
// expect: write chunks(length) directly after it
void step(wick::array, wick::array) {}

int main() {
  wick::loader train(wick::tokens("train.bin") | wick::shuffle() | wick::read() | wick::array_batch(32));
  for (auto& batch : train.epoch(0)) step(batch.data, batch.target);
}

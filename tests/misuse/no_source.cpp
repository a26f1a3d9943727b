// Stages alone are given to a loader.
#include <wick/core.hpp>

// expect: wick: a loader needs a source, and this is a chain of stages
// expect: write loader(source | chain)
void step(wick::array, wick::array) {}

int main() {
  wick::loader train(wick::shuffle() | wick::read() | wick::decode() | wick::array_batch(32), {.seed = 1});
  for (auto& batch : train.epoch(0)) step(batch.data, batch.target);
}

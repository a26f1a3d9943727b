// Pictures are normalized before batch() and after it: the second takes the first's numbers for levels.
#include <wick/core.hpp>

// expect: wick: this pipeline normalizes already; a second normalize() was found
int main() {
  wick::loader train(wick::files("img/*.png") | wick::read() | wick::decode() | wick::normalize(0.5, 0.5) |
                     wick::normalize(0.5, 0.5) | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

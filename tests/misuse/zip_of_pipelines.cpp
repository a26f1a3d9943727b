// Order stages stand in front of zip(), which would shuffle the parts of a sample apart.
#include <wick/core.hpp>

// expect: wick: zip() takes sources, and something else was found
// expect: order stages, read() and all else come after it
int main() {
  wick::loader train(wick::zip(wick::files("a/*") | wick::shuffle(), wick::files("b/*") | wick::shuffle()) |
                     wick::read() | wick::group(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

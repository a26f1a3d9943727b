// Memory is pinned that group() does not use.
#include <vector>

#include <wick/core.hpp>
#include <wick/torch/pin.hpp>

// expect: wick: pin() says in what memory batch(n) makes its batches
// expect: write batch(n) in its place, or leave pin() out

int main() {
  wick::loader train(std::vector<wick::sample<float>>(10) | wick::shuffle() | wick::group(4) | wick::pin());
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

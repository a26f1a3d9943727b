// with_index() comes after batch().
#include <vector>

#include <wick/core.hpp>

// expect: wick: with_index() says which sample it is, and the item is a batch
// expect: write it before batch(n)

int main() {
  wick::loader train(wick::from(std::vector<int>(10)) | wick::array_batch(4) | wick::with_index());
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

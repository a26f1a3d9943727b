// A list of indices is not a predicate.
#include <vector>

#include <wick/core.hpp>

// expect: wick: subset(predicate) asks with what the source gives
// expect: a list of indices is a std::vector<std::uint64_t>

int main() {
  wick::loader train(wick::from(std::vector<int>(10)) | wick::subset(std::vector<int>{1, 2}) |
                     wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

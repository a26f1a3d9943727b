// A lambda of `auto` means the data, and gets the whole sample.
#include <vector>

#include <wick/core.hpp>

// expect first: words
// expect: wick: a lambda of auto is given the whole sample<>
struct text {
  std::vector<int> words;
};

int main() {
  wick::loader train(std::vector<wick::sample<text>>(10) | wick::shuffle() |
                     [](auto item) { return static_cast<int>(item.words.size()); } | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

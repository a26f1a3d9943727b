// An error of the user's inside a lambda of `auto&`, which changes its item in place.
#include <vector>

#include <wick/core.hpp>

// expect first: width_of_text
struct text {
  std::vector<int> words;
};

int main() {
  wick::loader train(wick::from(std::vector<text>(10)) |
                     [](auto& item) { item.words.resize(item.width_of_text); } |
                     wick::map("count", [](auto&& item) { return static_cast<int>(item.words.size()); }) |
                     wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

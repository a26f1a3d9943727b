// An error of the user's inside a lambda of `auto`.
#include <vector>

#include <wick/core.hpp>

// expect first: width_of_text
// expect: if the error above is about that
struct text {
  std::vector<int> words;
};

int main() {
  wick::loader train(std::vector<wick::sample<text>>(10) | wick::shuffle() | [](auto item) {
    auto& words = item.data.words;
    return wick::sample<float>{static_cast<float>(words.width_of_text()), item.target};
  } | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

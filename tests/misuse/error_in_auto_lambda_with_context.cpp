// An error of the user's inside a lambda of `const auto&` that takes the context, too.
#include <vector>

#include <wick/core.hpp>

// expect first: randon
struct text {
  std::vector<int> words;
};

int main() {
  wick::loader train(wick::from(std::vector<text>(10)) | [](const auto& item, auto& context) {
    return item.words[context.randon().below(item.words.size())];
  } | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

// An error of the user's inside a lambda of `auto` with a state of its worker's.
#include <vector>

#include <wick/core.hpp>

// expect first: width_of_text
struct text {
  std::vector<int> words;
};

int main() {
  wick::loader train(
      wick::from(std::vector<text>(10)) |
      wick::per_worker([] { return 1; },
                       [](auto& state, auto item) { return state + item.words.width_of_text(); }) |
      wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

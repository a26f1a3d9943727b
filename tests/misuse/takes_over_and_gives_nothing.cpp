// A stage takes the item over and gives nothing back: nothing would be left for the next stage.
#include <string>
#include <vector>

#include <wick/core.hpp>

// expect: wick: this stage takes its item over and gives nothing back
// expect: return the item, or take it by reference
struct text {
  std::string words;
};

int main() {
  wick::loader train(
      wick::from(std::vector<text>(10)) | [](text&&) {} | [](const text&) { return 1; } |
      wick::array_batch(2));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

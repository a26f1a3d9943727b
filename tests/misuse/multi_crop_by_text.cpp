// A callable in multi_crop that takes something else than a picture.
#include <string>
#include <vector>

#include <wick/core.hpp>

// expect: wick: multi_crop takes stages of a picture: crops, flips, colors, callables
int main() {
  wick::loader train(
      wick::in_memory(std::vector<wick::image>(8)) |
      wick::multi_crop<2>(wick::center_crop(4) | [](const std::string& text) { return text; }) |
      wick::group(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

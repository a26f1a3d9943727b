// A view that is no picture any more.
#include <vector>

#include <wick/core.hpp>

// expect: wick: the stages given to multi_crop must give a picture back
int main() {
  wick::loader train(
      wick::in_memory(std::vector<wick::image>(8)) |
      wick::multi_crop<2>(wick::center_crop(4) | [](wick::image each) { return each.width(); }) |
      wick::group(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

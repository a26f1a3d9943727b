// A stage in multi_crop that waits for something.
#include <chrono>
#include <vector>

#include <wick/core.hpp>

wick::task<wick::image> wait(wick::image each, wick::context& context) {
  co_await wick::sleep_for(std::chrono::seconds(1), context);
  co_return each;
}

// expect: wick: no stage in multi_crop may suspend; write it before
int main() {
  wick::loader train(wick::in_memory(std::vector<wick::image>(8)) | wick::multi_crop<2>(wait) |
                     wick::group(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

// A view of rows is given to in_memory(), which takes what it reads over.
#include <cstdint>
#include <span>
#include <vector>

#include <wick/core.hpp>

// expect: wick: in_memory() takes a std::vector of numbers over
// expect: write in_memory(r.data(), row, targets)
int main() {
  std::vector<float> numbers(100);
  std::span<const float> view(numbers);
  wick::loader train(wick::in_memory(view, {10}, std::vector<std::int64_t>(10)) | wick::shuffle() |
                     wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

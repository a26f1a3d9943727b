// A view of numbers is given to in_memory(), which takes what it reads over.
#include <span>
#include <vector>

#include <wick/core.hpp>

// expect: wick: in_memory() takes a std::vector over, and a std::span or another range was found
// expect: write in_memory(std::vector(r.begin(), r.end()))
int main() {
  std::vector<float> numbers(100);
  std::span<const float> view(numbers);
  wick::loader train(wick::in_memory(view) | wick::shuffle() | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

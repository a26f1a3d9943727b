// A source whose at() is not const, given to a loader as it is.
#include <cstdint>

#include <wick/core.hpp>

// expect first: at() of this source ('S') isn't const, and all workers call it at once
// expect: write auto at(std::uint64_t i) const
struct numbers {
  int calls = 0;
  std::uint64_t size() const { return 10; }
  int at(std::uint64_t i) { return static_cast<int>(i) + ++calls; }
};

int main() {
  wick::loader train(numbers{});
  for (auto& x : train.epoch(0)) static_cast<void>(x);
}

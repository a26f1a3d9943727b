// Sources whose size() is not const, one after the other.
#include <cstdint>

#include <wick/core.hpp>

// expect first: size() of this source ('S') isn't const
// expect: write std::uint64_t size() const
struct numbers {
  std::uint64_t size() { return 10; }
  int at(std::uint64_t i) const { return static_cast<int>(i); }
};

int main() {
  wick::loader train(wick::concat(numbers{}, numbers{}) | wick::shuffle() | wick::group(4));
  for (auto& group : train.epoch(0)) static_cast<void>(group);
}

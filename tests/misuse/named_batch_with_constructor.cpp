// The struct of batch<T>(n) has a constructor, so that its fields can't be found.
#include <utility>
#include <vector>

#include <wick/core.hpp>

// expect: wick: batch<T>(n) fills the fields of T, and T isn't a plain struct of 1 to 8 fields
// expect: without constructors
// expect: steps
struct step {
  float observation, reward;
};
struct steps {
  explicit steps(wick::array a = {}, wick::array b = {}) : observation(std::move(a)), reward(std::move(b)) {}
  wick::array observation, reward;
};

int main() {
  wick::loader train(wick::from(std::vector<step>(10)) | wick::array_batch<steps>(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch.reward);
}

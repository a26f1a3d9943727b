// The struct of batch<T>(n) has one field fewer than the sample.
#include <array>
#include <vector>

#include <wick/core.hpp>

// expect: wick: batch<T>(n) puts the fields of a sample into those of T by their order, and T has not as many
// expect: write one for each
// expect: steps
struct step {
  std::array<float, 4> observation;
  float reward;
  bool done;
};
struct steps {
  wick::array observation, reward;
};

int main() {
  wick::loader train(wick::from(std::vector<step>(10)) | wick::array_batch<steps>(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch.reward);
}

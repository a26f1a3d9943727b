// The struct of batch<T>(n) has the types of a sample, not those of a batch.
#include <array>
#include <vector>

#include <wick/core.hpp>

// expect: one of T has another type than comes
// expect: in array_batch<T>(n) a wick::array, and one of strings a std::vector<std::string>
// expect: steps
struct step {
  std::array<float, 4> observation;
  float reward;
};
struct steps {
  wick::array observation;
  std::vector<float> reward;
};

int main() {
  wick::loader train(wick::from(std::vector<step>(10)) | wick::array_batch<steps>(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch.reward);
}

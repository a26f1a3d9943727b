// wick without LibTorch: the same loader, with batches in memory of wick's own.
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include <wick/core.hpp>

int main() {
  std::vector<std::int64_t> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0);
  wick::loader train(wick::in_memory(numbers) | wick::shuffle() | wick::array_batch(128), {.seed = 42});

  std::int64_t samples = 0, batches = 0;
  for (auto& batch : train.epoch(0)) {
    ++batches;
    samples += static_cast<std::int64_t>(batch.extents()[0]);
  }
  std::printf("wick %s: %lld samples in %lld batches\n", wick::version, static_cast<long long>(samples),
              static_cast<long long>(batches));
  return samples == 1000 ? 0 : 1;
}

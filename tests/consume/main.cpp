// What every consumer in this folder builds: from tensors to batches of tensors, by the public header alone.
#include <cstdint>
#include <cstdio>

#include <ATen/ops/arange.h>

#include <wick/wick.hpp>

int main() {
  const at::Tensor numbers = at::arange(1000);
  wick::loader train(wick::tensor_dataset(numbers, numbers) | wick::shuffle() | wick::batch(128),
                     {.seed = 42});

  std::int64_t samples = 0, batches = 0, sum = 0;
  for (auto& batch : train.epoch(0)) {
    ++batches;
    samples += batch.data.size(0);
    sum += batch.target.sum().item<std::int64_t>();
  }
  std::printf("wick %s: %lld samples in %lld batches\n", wick::version, static_cast<long long>(samples),
              static_cast<long long>(batches));
  return sum == 999 * 1000 / 2 ? 0 : 1;
}

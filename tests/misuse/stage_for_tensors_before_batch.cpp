// A callable for tensors stands where single samples pass: batch() is missing.
#include <wick/core.hpp>
#include <wick/torch/tensor_batch.hpp>

// expect: wick: this stage takes tensors or arrays, and the item is a single sample without any
// expect: write batch(n) before it
int main() {
  wick::loader train(wick::image_folder("photos") | wick::read() | wick::decode() |
                     wick::random_resized_crop(224) | [](const at::Tensor& pictures) { return pictures; });
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

// The code of docs/guides/caching.md. Compiled; a test compares the two.
#include <string>

#include <torch/torch.h>

#include <wick/wick.hpp>

namespace {

[[maybe_unused]] void cached(const std::string& folder) {
  wick::loader train(wick::image_folder(folder) | wick::shuffle() | wick::read() | wick::decode() |
                         wick::resize({.max_size = 320}) | wick::cache_in_memory() |
                         wick::random_resized_crop(224) | wick::random_horizontal_flip() | wick::batch(256),
                     {.seed = 42});
  for (int epoch = 0; epoch < 90; ++epoch) {
    for (auto& batch : train.epoch(epoch)) {
      (void)batch.data, (void)batch.target;
    }
  }
}

[[maybe_unused]] void on_disk(const std::string& folder) {
  wick::loader train(wick::image_folder(folder) | wick::shuffle() | wick::read() | wick::decode() |
                         wick::resize({.max_size = 320}) | wick::cache_on_disk("/scratch/photos") |
                         wick::random_resized_crop(224) | wick::random_horizontal_flip() | wick::batch(256),
                     {.seed = 42});
  for (auto& batch : train.epoch(0)) (void)batch.data;
}

}  // namespace

// A loader of pictures, as a program for training has it: what it costs to compile. A second one is added by
// -DTWO.
#include <cstdint>
#include <string>

#include <wick/core.hpp>

std::uint64_t train(const std::string& folder) {
  wick::loader loader(wick::image_folder(folder) | wick::shuffle() | wick::read() | wick::decode() |
                          wick::random_resized_crop(224) | wick::random_horizontal_flip() |
                          wick::array_batch(32),
                      {.seed = 42});
  std::uint64_t samples = 0;
  for (auto& batch : loader.epoch(0)) samples += static_cast<std::uint64_t>(batch.data.extents()[0]);
  return samples;
}

#ifdef TWO
std::uint64_t validate(const std::string& folder) {
  wick::loader loader(wick::image_folder(folder) | wick::read() | wick::decode() | wick::resize(256) |
                          wick::center_crop(224) | wick::array_batch(64),
                      {.seed = 42});
  std::uint64_t samples = 0;
  for (auto& batch : loader.epoch(0)) samples += static_cast<std::uint64_t>(batch.data.extents()[0]);
  return samples;
}
#endif

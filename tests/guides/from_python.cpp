// The code of docs/guides/from_python_dataloader.md. Compiled; a test compares the two.
#include <algorithm>
#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include <wick/wick.hpp>

namespace {

[[maybe_unused]] void usual(const std::string& root, c10::Device device) {
  const auto augment = wick::random_resized_crop(224) | wick::random_horizontal_flip();
  const auto to_device =
      wick::pin() | wick::transfer(device) | wick::normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225});

  wick::executor workers({.nice = 15});  // shared; below the loop that feeds the GPU
  wick::loader train(wick::image_folder(root + "/train") | wick::shuffle() | wick::shard() | wick::read() |
                         wick::decode() | augment | wick::batch(256, {.drop_last = true}) | to_device,
                     {.seed = 42, .executor = &workers});
  wick::loader val(wick::image_folder(root + "/val") | wick::shard() | wick::read() | wick::decode() |
                       wick::resize(256) | wick::center_crop(224) | wick::batch(256) | to_device,
                   {.executor = &workers});
  for (auto& batch : train.epoch(0)) (void)batch;
  for (auto& batch : val.epoch(0)) (void)batch;
}

[[maybe_unused]] void own_transform(const std::string& root) {
  const auto add_noise = [](wick::image picture, wick::context& context) {
    for (std::uint8_t& level : picture.pixels()) {
      level = static_cast<std::uint8_t>(std::clamp(level + 10 * context.random().normal(), 0.0, 255.0));
    }
    return picture;
  };
  wick::loader train(wick::image_folder(root) | wick::read() | wick::decode() | wick::resize(64, 64) |
                     add_noise | wick::batch(8));
  for (auto& batch : train.epoch(0)) (void)batch;
}

}  // namespace

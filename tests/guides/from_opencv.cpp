// The code of docs/guides/from_opencv.md. Compiled; a test compares the two.
#include <algorithm>
#include <cstdint>

#include <torch/torch.h>

#include <wick/wick.hpp>

namespace {

/// In place, as a cv::Mat is changed.
void equalize_range(wick::image& picture) {
  std::uint8_t least = 255, most = 0;
  const int row_bytes = picture.width() * picture.channels();
  for (int y = 0; y < picture.height(); ++y) {
    for (int x = 0; x < row_bytes; ++x) {
      least = std::min(least, picture.row(y)[x]);
      most = std::max(most, picture.row(y)[x]);
    }
  }
  if (least >= most) return;
  for (int y = 0; y < picture.height(); ++y) {
    for (int x = 0; x < row_bytes; ++x) {
      std::uint8_t& level = picture.row(y)[x];
      level = static_cast<std::uint8_t>(255 * (level - least) / (most - least));
    }
  }
}

[[maybe_unused]] void classify() {
  wick::loader train(wick::image_folder("train") | wick::shuffle() | wick::read() |
                         wick::decode({.orient = true}) | wick::resize(256, 256) | equalize_range |
                         wick::random_crop(224) | wick::random_horizontal_flip() | wick::batch(64) |
                         wick::normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}),
                     {.seed = 42});
  for (auto& batch : train.epoch(0)) (void)batch.data, (void)batch.target;
}

}  // namespace

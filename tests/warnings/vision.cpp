// A program of pictures that includes vision.hpp alone.
#include <wick/vision.hpp>

void train_detector(const wick::image& picture) {
  const auto decoded = [picture](int target) {
    wick::boxes found;
    found.xyxy.push_back({0, 0, 1, static_cast<float>(target)});
    return std::pair(wick::image(picture.width(), picture.height(), 3), found);
  };
  wick::loader train(wick::in_memory(std::vector<int>{1, 2, 3}) | wick::shuffle() | decoded |
                         wick::random_horizontal_flip() | wick::resize(8) | wick::to_float() |
                         wick::array_batch(2, {.ragged = wick::pad_with(0)}),
                     {.seed = 1});
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
  wick::loader files(wick::image_folder("photos") | wick::shard() | wick::read() | wick::decode() |
                     wick::random_resized_crop(8) | wick::to_float() | wick::array_batch(2));
  static_cast<void>(files.next());
}

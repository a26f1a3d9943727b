// The program of docs/guides/mixing.md.
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <wick/core.hpp>

struct text {
  std::string words;
};
using scene = wick::sample<wick::lazy_image, std::tuple<wick::boxes, wick::mask>>;
struct some_scenes {
  std::uint64_t size() const;
  scene at(std::uint64_t index) const;
};

void classes_of(const std::string& root, std::size_t classes);
void detection(const some_scenes& scenes);
void pairs(const std::vector<text>& texts);

void classes_of(const std::string& root, std::size_t classes) {
  wick::loader train(wick::image_folder(root) | wick::shuffle() | wick::read() | wick::decode() |
                     wick::random_resized_crop(224) | wick::mixup(classes, {.alpha = 0.2, .p = 0.5}) |
                     wick::cutmix(classes, {.p = 0.5}) | wick::to_float() | wick::array_batch(32));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

void detection(const some_scenes& scenes) {
  wick::loader train(scenes | wick::shuffle() | wick::mosaic(320) | wick::random_crop(320));
  for (auto& scene : train.epoch(0)) static_cast<void>(scene);
}

void pairs(const std::vector<text>& texts) {
  const auto pair = wick::with_others(1) | wick::join([](text own, std::vector<text>& others) {
                      for (const text& other : others) own.words += " " + other.words;
                      return own;
                    });
  wick::loader train(texts | wick::shuffle() | pair);
  for (auto& one : train.epoch(0)) static_cast<void>(one);
}

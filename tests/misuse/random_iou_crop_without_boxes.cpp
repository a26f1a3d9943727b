// random_iou_crop() crops around boxes.
#include <wick/core.hpp>

// expect: wick: random_iou_crop() crops around boxes, and the sample has none
// expect: zip(files(paths), in_memory(boxes))

int main() {
  wick::loader train(wick::image_folder("photos") | wick::read() | wick::decode() | wick::random_iou_crop() |
                     wick::resize(64, 64) | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

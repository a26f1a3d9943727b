// The code of docs/guides/detection.md. Compiled; a test compares the two.
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include <wick/wick.hpp>

namespace {

struct detections {
  torch::Tensor images;                                    // [N, 3, 640, 640]
  wick::padded<torch::Tensor> xyxy, labels, ids, visible;  // .values [N, L, 4], [N, L], …; .lengths [N]
};

[[maybe_unused]] void train(std::uint64_t epoch) {
  const wick::csv table("boxes.csv");
  const std::vector<std::string> paths = table.texts("path");
  const std::vector<std::int64_t> labels = table.integers("label");
  const auto sides = table.numbers({"left", "top", "right", "bottom"});
  std::map<std::string, wick::boxes> of_path;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const float* const side = sides.at(i).as<float>();
    wick::boxes& boxes = of_path[paths[i]];
    boxes.xyxy.push_back({side[0], side[1], side[2], side[3]});
    boxes.labels.push_back(labels[i]);
  }
  std::vector<std::string> pictures;
  std::vector<wick::boxes> annotations;
  for (auto& [path, boxes] : of_path) {
    pictures.push_back(path);
    annotations.push_back(std::move(boxes));
  }

  wick::loader train(wick::zip(wick::files(pictures), wick::in_memory(annotations)) | wick::shuffle() |
                         wick::read() | wick::decode() | wick::random_iou_crop() |
                         wick::random_horizontal_flip() | wick::letterbox(640) |
                         wick::sanitize_boxes({.min_size = 4, .min_visible = 0.3}) |
                         wick::normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}) |
                         wick::batch<detections>(16, {.ragged = wick::pad_with(-1)}),
                     {.seed = 42});
  for (auto& batch : train.epoch(epoch)) {
    const torch::Tensor objects = batch.labels.values >= 0;  // [N, L]: which are boxes, and no padding
    (void)objects;
  }
}

}  // namespace

// A program of tables that includes tables.hpp alone.
#include <wick/tables.hpp>

void train_classifier(std::vector<float> values) {
  wick::loader train(wick::in_memory(std::move(values), wick::shape{4}, std::vector<std::int64_t>{0, 1}) |
                     wick::shuffle() | wick::array_batch(2));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
  const wick::csv labels("labels.csv");
  static_cast<void>(labels);
}

// A program of time series that includes series.hpp alone.
#include <wick/series.hpp>

void train_forecast(std::vector<float> values) {
  wick::loader train(wick::windows(std::move(values), wick::shape{4}, 16) | wick::shuffle() |
                     wick::array_batch(2));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

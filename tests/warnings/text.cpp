// A program of text that includes text.hpp alone.
#include <wick/text.hpp>

void train_model() {
  wick::loader chunks(
      wick::tokens("train.bin") | wick::chunks(16) | wick::shuffle() | wick::read() | wick::array_batch(2),
      {.seed = 1});
  for (auto& batch : chunks.epoch(0)) static_cast<void>(batch);
  wick::loader packed(wick::in_memory(std::vector<std::vector<int>>{{1}, {2, 3}}) |
                      wick::array_pack(1, 4, {.lengths = {1, 2}}));
  static_cast<void>(packed.next());
}

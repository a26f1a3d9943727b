// A program of text that includes text.hpp alone.
#include <wick/text.hpp>

namespace {

// A source may count in any type of number.
struct few_texts {
  int size() const { return 2; }
  std::vector<int> at(std::uint64_t i) const { return std::vector<int>(i + 1); }
  int length(std::uint64_t i) const { return static_cast<int>(i) + 1; }
};

}  // namespace

void train_model() {
  wick::loader chunks(
      wick::tokens("train.bin") | wick::chunks(16) | wick::shuffle() | wick::read() | wick::array_batch(2),
      {.seed = 1});
  for (auto& batch : chunks.epoch(0)) static_cast<void>(batch);
  wick::loader packed(wick::in_memory(std::vector<std::vector<int>>{{1}, {2, 3}}) |
                      wick::array_pack(1, 4, {.lengths = {1, 2}}));
  static_cast<void>(packed.next());
  wick::loader rows(few_texts() | wick::array_pack(1, 4));
  static_cast<void>(rows.next());
  wick::loader batches(few_texts() | wick::bucket() | wick::array_batch(2, {.ragged = wick::pad_with(0)}));
  static_cast<void>(batches.next());
}

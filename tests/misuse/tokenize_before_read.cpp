// A tokenizer is given what says only where a line lies: read() is missing.
#include <cstdint>
#include <string_view>

#include <wick/core.hpp>

// expect: wick: this stage takes bytes, and the item says only where they lie
// expect: write read() before it
int main() {
  wick::loader train(wick::lines("corpus/*.txt") | wick::shuffle() | [](std::string_view text) {
    return static_cast<std::int64_t>(text.size());
  } | wick::array_batch(32));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

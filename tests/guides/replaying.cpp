// The code of docs/guides/replaying.md. Compiled; a test compares the two.
#include <cstdint>
#include <fstream>
#include <iostream>

#include <wick/wick.hpp>

namespace {

[[maybe_unused]] void loss_has_jumped() {
  wick::loader train(wick::image_folder("photos/train") | wick::shuffle() | wick::shard() | wick::read() |
                         wick::decode() | wick::random_resized_crop(224) | wick::random_horizontal_flip() |
                         wick::mixup(1000) | wick::batch(256),
                     {.seed = 42, .on_error = wick::on_error::replace});

  const std::uint64_t epoch = 48'211 / train.batches(), number = 48'211 % train.batches();
  auto batch = train.replay(epoch, number);  // the tensors of that step
  const wick::receipt made_of = train.receipt(epoch, number);
  for (const auto& s : made_of.samples) std::cout << s.slot << ": " << s.key << '\n';
  std::ofstream("step_48211.json") << made_of.to_json();
}

}  // namespace

// The code of docs/guides/seek.md. Compiled; a test compares the two.
#include <iostream>
#include <string>

#include <wick/wick.hpp>

namespace {

[[maybe_unused]] void loss_has_jumped() {
  auto photos = wick::image_folder("photos/train") | wick::shuffle() | wick::shard(0, 1) | wick::read() |
                wick::decode() | wick::random_resized_crop(224) | wick::random_horizontal_flip();
  wick::loader again(photos | wick::with_index() | wick::batch(256),
                     {.seed = 42, .on_error = wick::on_error::replace});

  again.seek(48'211 / again.batches(), 48'211 % again.batches());
  auto batch = again.next();  // the tensors of that step
  for (const std::string& key : batch->target.key) std::cout << key << '\n';
}

}  // namespace

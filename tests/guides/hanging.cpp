// The code of docs/guides/hanging.md. Compiled; a test compares the two.
#include <chrono>
#include <ostream>
#include <string>

#include <wick/wick.hpp>

namespace {

using namespace std::chrono_literals;

[[maybe_unused]] void watched(std::ostream& log) {
  wick::loader train(
      wick::image_folder("photos/train") | wick::shuffle() | wick::shard() | wick::read() | wick::decode() |
          wick::random_resized_crop(224) | wick::batch(256),
      {.hang_after = 30s, .on_hang = [&log](const std::string& text) { log << text << std::flush; }});
}

}  // namespace

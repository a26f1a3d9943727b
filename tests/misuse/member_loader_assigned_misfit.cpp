// A stage that doesn't fit, in the pipeline of a loader that is assigned to a member.
#include <wick/core.hpp>

// expect first: wick: this stage takes a picture, and the item is bytes as they were read
// expect: write decode() before it
struct trainer {
  wick::loader<wick::sample<wick::array, wick::array>> train;
  void begin() {
    train =
        wick::loader(wick::image_folder("photos") | wick::read() | wick::resize(224) | wick::array_batch(32));
  }
};

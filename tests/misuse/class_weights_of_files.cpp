// Weights of the classes of files, which have none before they are read.
#include <wick/core.hpp>

// expect first: wick: class_weights() needs the labels before anything is read
// expect: give it a function of an item
int main() {
  const wick::files photos("photos/*.jpg");
  wick::loader train(photos | wick::weighted(wick::class_weights(photos)) | wick::read() | wick::group(4));
  for (auto& group : train.epoch(0)) static_cast<void>(group);
}

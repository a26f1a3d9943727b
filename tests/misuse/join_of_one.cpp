// A callable of a single item is to join several.
#include <vector>

#include <wick/core.hpp>

// expect: wick: join() takes a callable of the item and the others
int main() {
  wick::loader train(std::vector<int>(10) | wick::with_others(1) | wick::join([](int own) { return own; }));
  for (auto& one : train.epoch(0)) static_cast<void>(one);
}

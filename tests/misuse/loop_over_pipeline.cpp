// A pipeline is looped over, without a loader.
#include <vector>

#include <wick/core.hpp>

// expect: wick: a pipeline says what is done and does nothing; make a loader of it
int main() {
  for (auto& batch : std::vector<wick::sample<float>>(10) | wick::shuffle() | wick::array_batch(4))
    static_cast<void>(batch);
}

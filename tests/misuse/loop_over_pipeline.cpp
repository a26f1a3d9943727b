// A pipeline is looped over, without a loader.
#include <vector>

#include <wick/core.hpp>

// expect first: wick: a pipeline only describes what to do; make a loader of it
// expect: for (auto& batch : train)
int main() {
  for (auto& batch : std::vector<wick::sample<float>>(10) | wick::shuffle() | wick::array_batch(4))
    static_cast<void>(batch);
}

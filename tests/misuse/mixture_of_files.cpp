// The weights of what is no mix are asked for.
#include <cstdio>
#include <vector>

#include <wick/core.hpp>

// expect: wick: edit(), replay_edits(), mixture() are for a mix() with batch(n)
int main() {
  wick::loader train(std::vector<float>(100) | wick::array_batch(4));
  for (const wick::source_weight& s : train.mixture()) std::puts(s.name.c_str());
}

// The weights of a mix are edited, and the mix is shuffled as a whole.
#include <vector>

#include <wick/core.hpp>

// expect: wick: edit(), replay_edits(), mixture() are for a mix() with batch(n)
// expect: shuffle the mix's sources instead
int main() {
  const std::vector<float> web(100), books(100);
  wick::loader train(
      wick::mix(wick::weighted_source{web, 1, "web"}, wick::weighted_source{books, 1, "books"}) |
      wick::shuffle() | wick::array_batch(4));
  train.edit({{"web", 2}});
}

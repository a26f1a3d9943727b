// A stage of the user's takes another type than the one that comes.
#include <vector>

#include <wick/core.hpp>

// expect: wick: this stage does not take what the stage before it gives
// expect: wick::sample<tokens
// expect: map_stage<token_ids (*)(word)>
struct tokens {};
struct token_ids {
  int ids[16];
};
struct word {};
token_ids look_up(word);
using item = wick::sample<tokens>;

int main() {
  wick::loader train(std::vector<item>(10) | wick::shuffle() | wick::map("look_up", look_up) |
                     [](token_ids t) { return t; } | wick::array_batch(32));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch.target);
}

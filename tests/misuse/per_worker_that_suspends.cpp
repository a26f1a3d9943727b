// A stage with a state of its worker's suspends, and would wake up on another.
#include <vector>

#include <wick/core.hpp>

// expect: wick: a per_worker stage can't suspend
// expect: the waiting in a stage of its own
struct tokenizer {};
wick::task<int> tokenize(tokenizer&, float, wick::context&);

int main() {
  wick::loader train(wick::from(std::vector<float>(10)) |
                     wick::per_worker([] { return tokenizer(); }, tokenize) | [](int x) { return x; } |
                     wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

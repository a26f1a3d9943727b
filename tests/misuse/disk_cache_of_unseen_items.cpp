// A cache on disk of a source's items that say nothing of themselves: a changed one would be served as it
// was.
#include <vector>

#include <wick/core.hpp>

struct row {
  float a, b, c, d, e, f, g, h, i;
};

// expect: wick: cache_on_disk() can't see what this item of the source is made of
int main() {
  wick::loader train(wick::in_memory(std::vector<row>(4)) | [](const row& r) { return r.a; } |
                     wick::cache_on_disk("cache") | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

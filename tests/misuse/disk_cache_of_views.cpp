// A view of an array in memory is to be kept on disk.
#include <cstdint>
#include <vector>

#include <wick/core.hpp>

// expect: wick: cache_on_disk() keeps what takes work to make
// expect: is a view of an array that is in memory; leave the cache out
int main() {
  wick::loader train(wick::in_memory(std::vector<float>(40), {4}, std::vector<std::int64_t>(10)) |
                     wick::cache_on_disk("cache") | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

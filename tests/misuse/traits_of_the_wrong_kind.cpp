// The traits of a stage of samples announce what only stages of batches have.
#include <vector>

#include <wick/core.hpp>

// expect: wick: has_slab_memory, has_around, has_deliver, and has_feeds_device are for stages of batches
// expect: doubled
struct doubled {
  static constexpr wick::ext::stage_traits traits{.name = "doubled", .has_deliver = true};
  float operator()(float x) const { return 2 * x; }
  void deliver(float&) const {}
};

int main() {
  wick::loader train(wick::from(std::vector<float>(10)) | wick::shuffle() | doubled{} | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

// A stage that works on batches stands where single samples pass.
#include <string_view>
#include <vector>

#include <wick/core.hpp>

// expect: wick: this stage works on batches, and the item is a single sample; write batch(n) before it
// expect: to_device
struct to_device {
  static constexpr wick::ext::stage_traits traits{.name = "to_device", .kind = wick::ext::stage_kind::batch};
  wick::sample<wick::array, wick::array> operator()(wick::sample<wick::array, wick::array> b) { return b; }
};

int main() {
  wick::loader train(std::vector<wick::sample<float>>(10) | wick::shuffle() | to_device{} |
                     wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch.data);
}

// A hook is there and not listed: wick would not call it.
#include <cstdint>
#include <string_view>
#include <vector>

#include <wick/core.hpp>

// expect: wick: this stage has a member of a hook's name (Hook, in the lines beside this) and does not list
// expect: hook::fingerprint
// expect: scaled
struct scaled {
  using stage_kind = wick::on_data;
  static constexpr std::string_view name = "scaled";
  float operator()(float x) const { return factor * x; }
  std::uint64_t fingerprint() const { return static_cast<std::uint64_t>(factor); }
  float factor = 2;
};

int main() {
  wick::loader train(wick::from(std::vector<float>(10)) | wick::shuffle() | scaled{} | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

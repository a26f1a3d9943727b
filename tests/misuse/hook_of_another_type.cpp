// A hook has another type than it should: a state could not tell the stage's parameters.
#include <string>
#include <string_view>
#include <vector>

#include <wick/core.hpp>

// expect: wick: stage_hooks of this stage lists a hook (Hook, in the lines beside this), and its member is
// expect: hook::fingerprint
// expect: scaled
struct scaled {
  using stage_kind = wick::on_data;
  using stage_hooks = wick::hooks<wick::hook::fingerprint>;
  static constexpr std::string_view name = "scaled";
  float operator()(float x) const { return factor * x; }
  std::string fingerprint() const { return std::to_string(factor); }
  float factor = 2;
};

int main() {
  wick::loader train(wick::from(std::vector<float>(10)) | wick::shuffle() | scaled{} | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

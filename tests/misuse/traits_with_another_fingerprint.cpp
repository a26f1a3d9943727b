// The traits announce a fingerprint, and the member has another type: a state couldn't compare parameters.
#include <string>
#include <vector>

#include <wick/core.hpp>

// expect: wick: the traits of this stage ('S', in the lines beside this) say has_fingerprint
// expect: scaled
struct scaled {
  static constexpr wick::ext::stage_traits traits{
      .name = "scaled", .kind = wick::ext::stage_kind::data, .has_fingerprint = true};
  float operator()(float x) const { return factor * x; }
  std::string fingerprint() const { return std::to_string(factor); }
  float factor = 2;
};

int main() {
  wick::loader train(wick::from(std::vector<float>(10)) | wick::shuffle() | scaled{} | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

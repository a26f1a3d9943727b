// The traits announce a note, and the member is misspelled: the stage would say nothing in the report.
#include <string>
#include <vector>

#include <wick/core.hpp>

// expect: wick: the traits of this stage ('S', in the lines beside this) say has_note
// expect: doubled
struct doubled {
  static constexpr wick::ext::stage_traits traits{
      .name = "doubled", .kind = wick::ext::stage_kind::data, .has_note = true};
  float operator()(float x) const { return 2 * x; }
  std::string notes() const { return "twice as much"; }
};

int main() {
  wick::loader train(wick::from(std::vector<float>(10)) | wick::shuffle() | doubled{} | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

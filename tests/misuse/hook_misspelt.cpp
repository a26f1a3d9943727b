// A hook's name is misspelt: the stage would say nothing in the report.
#include <string>
#include <string_view>
#include <vector>

#include <wick/core.hpp>

// expect: wick: stage_hooks of this stage lists a hook (Hook, in the lines beside this), and its member is
// expect: hook::note
// expect: doubled
struct doubled {
  using stage_kind = wick::on_data;
  using stage_hooks = wick::hooks<wick::hook::note>;
  static constexpr std::string_view name = "doubled";
  float operator()(float x) const { return 2 * x; }
  std::string notes() const { return "twice as much"; }
};

int main() {
  wick::loader train(wick::from(std::vector<float>(10)) | wick::shuffle() | doubled{} | wick::array_batch(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}

// What the mistakes beside this file look like when they are none. It must compile.
#include <cstdint>
#include <string>
#include <vector>

#include <wick/core.hpp>

struct caption {
  std::vector<int> words;
};
struct row {
  float box[4];
  std::string name;
  int label;
};

void step(wick::array, wick::array) {}

int main() {
  wick::loader pictures(wick::image_folder("photos") | wick::shuffle() | wick::shard(0, 2) | wick::read() |
                        wick::decode() | wick::random_resized_crop(224) | wick::array_batch(32) |
                        [](wick::sample<wick::array, wick::array> b) { return b; });
  for (auto& batch : pictures.epoch(0)) step(batch.data, batch.target);

  const auto captions = wick::from(std::vector<caption>(100));
  wick::loader groups(
      captions | [](const caption&) {} | wick::group(8) | [](std::vector<caption> g) { return g; });
  for (auto& group : groups.epoch(0)) static_cast<void>(group);

  wick::loader rows(captions | wick::per_worker([] { return 1; }, [](int&, caption&&) { return row{}; }) |
                        [](row r, wick::context&) -> wick::task<row> { co_return r; } | wick::array_batch(8));
  for (auto& batch : rows.epoch(0)) static_cast<void>(batch);
}

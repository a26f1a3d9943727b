#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/picture.hpp"
#include <wick/core.hpp>

namespace wick_test::geometry_stages_tests {

namespace {

struct scene {
  wick::image picture;
  wick::mask classes;
  wick::boxes objects;
  std::int64_t number;
};
struct row {
  wick::image picture;
  wick::mask classes;
  std::array<float, 4> first;
  std::int64_t number;
};

scene made(std::int64_t number) {
  const auto i = static_cast<int>(number);
  const auto seed = static_cast<std::uint64_t>(i) + 1;
  return {photo(40 + i % 5, 30 + i % 3, 3, seed),
          wick::mask(photo(40 + i % 5, 30 + i % 3, 1, seed)),
          {.xyxy = {{2, 2, 20, 25}, {15, 10, 38, 28}}},
          number};
}

}  // namespace

TEST_CASE("turned, tilted and framed batches are the same at any number of workers and ranks") {
  std::vector<std::int64_t> set(24);
  std::iota(set.begin(), set.end(), 0);
  const auto rows = [&](std::size_t ranks, std::size_t workers) {
    std::set<std::vector<float>> out;  // number, box, levels
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      wick::loader l(
          wick::in_memory(set) | wick::shuffle() | wick::shard(rank, ranks) |
              [](std::int64_t number) { return made(number); } | wick::random_iou_crop() |
              wick::random_affine(20, {.scale = {0.8, 1.2}}) | wick::random_rotation(9, {.expand = true}) |
              wick::random_perspective(0.3, {.p = 0.5}) | wick::letterbox(24) |
              [](scene s) {
                const auto first = s.objects.empty() ? std::array<float, 4>{} : s.objects.xyxy[0];
                return row{std::move(s.picture), std::move(s.classes), first, s.number};
              } |
              wick::array_batch(8),
          {.seed = 3, .workers = workers});
      for (auto& batch : l.epoch(1)) {
        const auto& [pictures, masks, boxes, numbers] = batch;
        REQUIRE(pictures.extents()[1] * pictures.extents()[2] * pictures.extents()[3] == 24 * 24 * 3);
        for (std::size_t i = 0; i < static_cast<std::size_t>(numbers.extents()[0]); ++i) {
          std::vector<float> all{static_cast<float>(numbers.template as<std::int64_t>()[i])};
          const float* const box = boxes.template as<float>() + i * 4;
          all.insert(all.end(), box, box + 4);
          const auto* const levels = pictures.template as<std::uint8_t>() + i * 24 * 24 * 3;
          all.insert(all.end(), levels, levels + std::ptrdiff_t{24} * 24 * 3);
          const auto* const classes = masks.template as<std::uint8_t>() + i * 24 * 24;
          all.insert(all.end(), classes, classes + std::ptrdiff_t{24} * 24);
          out.insert(std::move(all));
        }
      }
    }
    return out;
  };
  const auto one = rows(1, 1);
  CHECK(one.size() == 24);
  CHECK(rows(1, 4) == one);
  CHECK(rows(2, 4) == one);
  CHECK(rows(4, 1) == one);
}

}  // namespace wick_test::geometry_stages_tests

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/peak_memory.hpp"
#include "../transforms/stages.hpp"
#include <wick/batch/batch.hpp>
#include <wick/image/decode.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/memory.hpp>
#include <wick/transforms/affine.hpp>
#include <wick/transforms/crop.hpp>
#include <wick/transforms/flip.hpp>
#include <wick/transforms/jitter.hpp>
#include <wick/transforms/multi_crop.hpp>
#include <wick/transforms/normalize.hpp>

namespace wick_test::multi_crop_tests {

using wick::image;
using wick::lazy_image;

namespace {

image cut(const image& from, int left, int top, int width, int height) {
  image out(width, height, from.channels());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width * from.channels(); ++x)
      out.row(y)[x] = from.row(top + y)[left * from.channels() + x];
  }
  return out;
}

template <class Stage>
auto views(Stage& stage, lazy_image picture, std::uint64_t position = 0) {
  wick::context c = context_at(position);
  return stage(std::move(picture), c);
}

}  // namespace

TEST_CASE("five_crop gives torchvision's five") {
  const image p = photo(41, 30);
  auto stage = wick::five_crop(12, 17);
  const auto five = views(stage, p);
  CHECK(five[0].pixels() == cut(p, 0, 0, 17, 12));
  CHECK(five[1].pixels() == cut(p, 24, 0, 17, 12));
  CHECK(five[2].pixels() == cut(p, 0, 18, 17, 12));
  CHECK(five[3].pixels() == cut(p, 24, 18, 17, 12));
  CHECK(five[4].pixels() == cut(p, 12, 9, 17, 12));
  auto all = wick::five_crop(30, 41);
  for (const lazy_image& each : views(all, p)) CHECK(each.pixels() == p);
  CHECK_FALSE(message_of([&] {
                auto large = wick::five_crop(31);
                return views(large, p)[0].width();
              }).empty());
  CHECK(contains(message_of([] { return wick::five_crop(0); }), "five_crop", "at least 1"));
  CHECK(wick::five_crop(3, 4).fingerprint() != wick::five_crop(4, 3).fingerprint());
}

TEST_CASE("crops of an encoded, changed and normalized picture are those of its pixels") {
  const std::string png = encode_png(photo(50, 40));
  wick::context c = context_at(0);
  lazy_image p = wick::horizontal_flip()(wick::decode()(as_bytes(png), c), c);
  image flipped = lazy_image(wick::horizontal_flip()(photo(50, 40), c)).pixels();
  auto stage = wick::five_crop(20);
  auto five = views(stage, wick::normalize(0.5, 0.25)(std::move(p), c));
  CHECK(numbers(five[1]) == numbers(after(wick::normalize(0.5, 0.25), cut(flipped, 30, 0, 20, 20))));
}

TEST_CASE("multi_crop gives views that each draw for themselves, the same at the same position") {
  const image p = photo(60, 50);
  auto stage = wick::multi_crop<4>(wick::random_resized_crop(16) | wick::random_horizontal_flip() |
                                   wick::color_jitter(0.4, 0.4));
  std::set<std::vector<int>> seen;
  for (std::uint64_t position = 0; position < 20; ++position) {
    const auto four = views(stage, p, position), again = views(stage, p, position);
    static_assert(std::is_same_v<decltype(four), const std::array<lazy_image, 4>>);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(four[i].width() == 16);
      CHECK(four[i].pixels() == again[i].pixels());
      seen.insert(levels(four[i].pixels()));
    }
  }
  CHECK(seen.size() == 80);
}

TEST_CASE("multi_crop takes several kinds of views, and callables") {
  const image p = photo(60, 50);
  int calls = 0;
  auto stage = wick::multi_crop<2, 3>(
      wick::center_crop(20), wick::center_crop(10, 12) | [&calls](const image& each) {
        ++calls;
        return cut(each, 1, 2, 3, 4);
      });
  const auto [large, small] = views(stage, p);
  CHECK(calls == 3);
  CHECK(large.size() == 2);
  REQUIRE(small.size() == 3);
  CHECK(large[1].pixels() == cut(p, 20, 15, 20, 20));
  CHECK(small[2].pixels() == cut(p, 25, 22, 3, 4));
}

TEST_CASE("the views of a large picture take no memory for pixels of their own") {
  const image p = photo(2400, 1600);
  const std::size_t once = p.pixels().size();
  const auto taken = [&](auto stage) {
    return memory_taken_by([&] {
      for (const lazy_image& each : views(stage, p)) CHECK_FALSE(each.pixels().empty());  // p is copied once
    });
  };
  CHECK(taken(wick::five_crop(32)) < 2 * once);
  CHECK(taken(wick::multi_crop<8>(wick::random_resized_crop(32))) < 2 * once);
}

TEST_CASE("a view whose pixels are overwritten leaves the others alone") {
  const image p = photo(60, 50);
  int calls = 0;
  auto stage = wick::multi_crop<3>([&](image each) {
    CHECK(each == p);
    ++calls;
    for (auto& level : each.pixels()) level = 0;
    return each;
  });
  for (const lazy_image& each : views(stage, p)) CHECK(each.pixels() == flat(60, 50, 3, 0));
  CHECK(calls == 3);
  auto turned = wick::multi_crop<2, 1>(wick::random_rotation({1, 30}), wick::center_crop(50, 60));
  CHECK(std::get<1>(views(turned, p))[0].pixels() == p);
}

TEST_CASE("count and stages of multi_crop are in its fingerprint") {
  const auto of = [](const auto& stage) { return stage.fingerprint(); };
  CHECK(std::set<std::uint64_t>{
            of(wick::multi_crop<2>(wick::center_crop(8))), of(wick::multi_crop<3>(wick::center_crop(8))),
            of(wick::multi_crop<2>(wick::center_crop(9))), of(wick::multi_crop<2>(wick::random_crop(8))),
            of(wick::multi_crop<2>(wick::center_crop(8) | wick::random_horizontal_flip())),
            of(wick::multi_crop<2, 2>(wick::center_crop(8), wick::center_crop(8)))}
            .size() == 6);
}

TEST_CASE("views are columns of a batch, the same at any number of workers and ranks") {
  std::vector<wick::sample<image, std::int64_t>> set;
  for (int i = 0; i < 16; ++i) set.push_back({photo(30, 25, 3, static_cast<std::uint64_t>(i) + 1), i});
  const auto rows = [&](std::size_t ranks, std::size_t workers) {
    std::set<std::vector<std::uint8_t>> out;  // label, then the views
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      wick::loader l(wick::in_memory(set) | wick::shuffle() | wick::shard(rank, ranks) |
                         wick::multi_crop<2>(wick::random_resized_crop(8)) | wick::random_horizontal_flip() |
                         wick::array_batch(4),
                     {.seed = 3, .workers = workers});
      for (auto& batch : l.epoch(1)) {
        const auto& [first, second] = batch.data;
        REQUIRE(first.extents().count() == batch.target.extents()[0] * 192);
        for (std::size_t i = 0; i < static_cast<std::size_t>(batch.target.extents()[0]); ++i) {
          std::vector<std::uint8_t> row{
              static_cast<std::uint8_t>(batch.target.template as<std::int64_t>()[i])};
          for (const auto* each : {&first, &second}) {
            const auto* const from = each->template as<std::uint8_t>() + i * 192;
            row.insert(row.end(), from, from + 192);
          }
          CHECK_FALSE(std::equal(row.begin() + 1, row.begin() + 193, row.begin() + 193));
          out.insert(std::move(row));
        }
      }
    }
    return out;
  };
  const auto one = rows(1, 1);
  CHECK(one.size() == 16);
  CHECK(rows(1, 4) == one);
  CHECK(rows(4, 1) == one);
}

}  // namespace wick_test::multi_crop_tests

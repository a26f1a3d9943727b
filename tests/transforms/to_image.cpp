// Arrays in memory that become pictures and masks.
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/memory_view.hpp>
#include <wick/transforms/crop.hpp>
#include <wick/transforms/flip.hpp>
#include <wick/transforms/to_image.hpp>

namespace wick_test::to_image_tests {

using wick::dtype;
using wick::layout;
using wick::memory_view;
using wick::sample;
using wick::shape;
using wick::detail::row_format;

namespace {

/// Rows that count up.
struct rows {
  rows(std::uint64_t n, const shape& each, dtype type = dtype::uint8)
      : format(each, type), numbers(n * format.bytes), count(n) {
    std::iota(numbers.begin(), numbers.end(), std::uint8_t{0});
  }
  memory_view row(std::uint64_t i) const {
    return {reinterpret_cast<const std::byte*>(numbers.data()) + i * format.bytes, format};
  }
  row_format format;
  std::vector<std::uint8_t> numbers;
  std::uint64_t count;
};

/// A source of a row, and its number or a row of other ones.
struct labeled {
  const rows* of;
  std::uint64_t size() const { return of->count; }
  sample<memory_view, std::int64_t> at(std::uint64_t i) const {
    return {of->row(i), static_cast<std::int64_t>(i)};
  }
};
struct paired {
  const rows *pictures, *masks;
  std::uint64_t size() const { return pictures->count; }
  sample<memory_view, memory_view> at(std::uint64_t i) const { return {pictures->row(i), masks->row(i)}; }
};

wick::image made(const rows& of, const wick::to_image_options& options = {}) {
  wick::context c = context_at(0);
  return wick::to_image(options)(of.row(0), c).pixels();
}
std::string refused(const shape& each, dtype type = dtype::uint8,
                    const wick::to_image_options& options = {}) {
  return message_of([&] { return made(rows(1, each, type), options); });
}

}  // namespace

TEST_CASE("an array becomes the picture that it is, whichever axis its channels have") {
  const wick::image gray = made(rows(1, {2, 3}));
  CHECK(gray.extents() == shape{2, 3, 1});
  CHECK(gray.row(1)[2] == 5);
  const wick::image last = made(rows(1, {5, 6, 3}));
  CHECK(last.extents() == shape{5, 6, 3});
  CHECK(last.row(1)[3] == 1 * 18 + 3);
  const wick::image first = made(rows(1, {3, 5, 6}));
  CHECK(first.extents() == shape{5, 6, 3});
  for (int c = 0; c < 3; ++c) CHECK(first.row(2)[4 * 3 + c] == c * 30 + 2 * 6 + 4);
  CHECK(made(rows(1, {1, 5, 6})).extents() == shape{5, 6, 1});
  // Where both axes could be it, the option says which.
  CHECK(made(rows(1, {3, 8, 4}), {.layout = layout::nchw}).extents() == shape{8, 4, 3});
  CHECK(made(rows(1, {3, 8, 4}), {.layout = layout::nhwc}).extents() == shape{3, 8, 4});
  CHECK(made(rows(1, {3, 8, 4}), {.layout = layout::channels_last}).extents() == shape{3, 8, 4});
  CHECK(made(rows(1, {5, 6, 3}), {.layout = layout::channels_last}).extents() == shape{5, 6, 3});
}

TEST_CASE("what is no picture is refused with its shape or type") {
  CHECK(contains(refused({3, 8, 4}), "[3, 8, 4]", "first axis", "layout"));
  CHECK(contains(refused({7}), "[7]", "isn't a picture"));
  CHECK(contains(refused({5, 6, 7}), "[5, 6, 7]", "1 to 4 channels"));
  CHECK(contains(refused({5, 6, 3}, dtype::uint8, {.layout = layout::nchw}), "[5, 6, 3]"));
  CHECK(contains(refused({2, 2, 2, 3}), "isn't a picture"));
  CHECK(contains(refused({8, 8}, dtype::float32), "float32", "uint8"));
}

TEST_CASE("rows in memory are cropped, flipped and batched as decoded pictures are") {
  const rows of(10, {3, 8, 8});
  wick::loader l(
      labeled{&of} | wick::to_image() | wick::horizontal_flip() | wick::center_crop(4) | wick::array_batch(5),
      {.workers = 2});
  const auto batch = l.next();
  REQUIRE(batch);
  REQUIRE(batch->data.extents() == shape{5, 3, 4, 4});
  const auto* got = batch->data.as<std::uint8_t>();
  for (std::int64_t i = 0; i < 5; ++i) {
    for (int c = 0; c < 3; ++c) {
      for (int y = 0; y < 4; ++y) {
        for (int x = 0; x < 4; ++x) {
          const auto expected = static_cast<std::uint8_t>(i * 192 + c * 64 + (y + 2) * 8 + (7 - (x + 2)));
          REQUIRE(got[((i * 3 + c) * 4 + y) * 4 + x] == expected);
        }
      }
    }
  }
}

TEST_CASE("a mask in memory follows its picture") {
  const rows pictures(6, {8, 8}), masks(6, {8, 8});
  wick::loader l(paired{&pictures, &masks} | wick::to_image() | wick::to_mask() | wick::random_crop(4) |
                     wick::random_horizontal_flip() | wick::array_batch(6),
                 {.seed = 3});
  const auto batch = l.next();
  REQUIRE(batch);
  CHECK(batch->data.extents() == shape{6, 1, 4, 4});
  CHECK(batch->target.extents() == shape{6, 4, 4});
  for (int i = 0; i < 96; ++i)
    CHECK(batch->data.as<std::uint8_t>()[i] == batch->target.as<std::uint8_t>()[i]);
  CHECK(contains(message_of([] {
                   wick::context c = context_at(0);
                   return wick::to_mask()(rows(1, {5, 6, 3}).row(0), c);
                 }),
                 "3 channels"));
  CHECK(wick::to_image().fingerprint() != wick::to_image({.layout = layout::nhwc}).fingerprint());
}

}  // namespace wick_test::to_image_tests

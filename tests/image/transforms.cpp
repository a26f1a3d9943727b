#include <string>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/picture.hpp"
#include <wick/image/transforms.hpp>

using namespace wick_test;

namespace {

/// A training chain by hand, as the loader runs it: every stage with its number.
template <class... Stage>
std::vector<std::uint8_t> run(const std::string& file, std::uint64_t seed, std::uint64_t epoch,
                              std::uint64_t position, const Stage&... stage) {
  wick::context ctx = context_at(position, seed, epoch);
  std::uint32_t number = 0;
  ctx.enter(number++);
  wick::lazy_image p = wick::decode()(as_bytes(file), ctx);
  ((ctx.enter(number++), p = stage(std::move(p), ctx)), ...);
  std::vector<std::uint8_t> slot(static_cast<std::size_t>(p.extents().count()) * wick::size_of(p.type()));
  p.write_to({reinterpret_cast<std::byte*>(slot.data()), false});
  return slot;
}

}  // namespace

TEST_CASE(
    "a training chain gives the same bytes for the same seed, epoch and position, and others for others") {
  const std::string file = encode_jpeg(photo(120, 90));
  const auto chain = [&](std::uint64_t seed, std::uint64_t epoch, std::uint64_t position) {
    return run(file, seed, epoch, position, wick::random_resized_crop(32), wick::random_horizontal_flip(),
               wick::color_jitter(0.4, 0.4, 0.4, 0.1), wick::random_grayscale(), wick::normalize(0.5, 0.5));
  };
  const auto once = chain(1, 2, 3);
  CHECK(once.size() == 32 * 32 * 3 * 4);
  CHECK(chain(1, 2, 3) == once);
  CHECK_FALSE(chain(2, 2, 3) == once);
  CHECK_FALSE(chain(1, 3, 3) == once);
  CHECK_FALSE(chain(1, 2, 4) == once);
}

TEST_CASE("two stages of a kind draw from streams of their own") {
  const std::string file = encode_png(photo(8, 8));
  int same = 0;
  const auto straight = run(file, 1, 0, 0);
  for (std::uint64_t position = 0; position < 400; ++position) {
    same +=
        run(file, 1, 0, position, wick::random_horizontal_flip(), wick::random_horizontal_flip()) == straight;
  }
  CHECK(std::abs(same - 200) < 60);  // one stream for both would give 400
}

TEST_CASE("the evaluation chain is resize, crop and nothing by chance") {
  const std::string file = encode_jpeg(photo(120, 90));
  const auto chain = [&](std::uint64_t position) {
    return run(file, position, position, position, wick::resize(48), wick::center_crop(40));
  };
  CHECK(chain(0).size() == 40 * 40 * 3);
  CHECK(chain(0) == chain(99));
}

#include <cstring>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/pixels/image.hpp>

namespace wick_test::image_tests {

TEST_CASE("a picture writes itself interleaved or planar") {
  const wick::image p = photo(5, 4);
  CHECK(p.extents() == wick::shape{4, 5, 3});
  CHECK(p.type() == wick::dtype::uint8);
  std::vector<std::uint8_t> interleaved(60), planar(60);
  p.write_to({reinterpret_cast<std::byte*>(interleaved.data()), false});
  p.write_to({reinterpret_cast<std::byte*>(planar.data()), true});
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 5; ++x) {
      for (int c = 0; c < 3; ++c) {
        const std::uint8_t v = p.row(y)[x * 3 + c];
        CHECK(interleaved[static_cast<std::size_t>((y * 5 + x) * 3 + c)] == v);
        CHECK(planar[static_cast<std::size_t>((c * 4 + y) * 5 + x)] == v);
      }
    }
  }
}

TEST_CASE("a copy is a picture of its own, a move takes the pixels along") {
  wick::image a = photo(64, 300);
  wick::image b = a;
  CHECK(a == b);
  b.data()[0] ^= 1;
  CHECK_FALSE(a == b);
  const std::uint8_t* const pixels = a.data();
  const wick::image c = std::move(a);
  CHECK(c.data() == pixels);
  b = c;
  CHECK(b == c);
  wick::image empty;
  CHECK(empty.empty());
  CHECK(wick::image(empty).empty());
  CHECK(wick::image(0, 7, 3).empty());
}

TEST_CASE("sides and channels that make no picture are refused by name") {
  CHECK(contains(message_of([] { return wick::image(-1, 5, 3); }), "-1 x 5", "3 channels"));
  CHECK(contains(message_of([] { return wick::image(1, 5, 5); }), "5 channels", "1 to 4"));
}

TEST_CASE("blocks that a thread drops serve its next pictures, and never two at once") {
  std::vector<wick::image> held;
  for (int round = 0; round < 50; ++round) {
    const int width = 100 + round * 7 % 50;
    held.push_back(flat(width, 200, 3, round));
    if (held.size() > 5) held.erase(held.begin() + round % 4);
    for (const wick::image& p : held) {
      const int level = p.pixels().front();
      CHECK(p == flat(p.width(), p.height(), 3, level));
    }
  }
  for (std::size_t bytes = 1; bytes < 100'000'000; bytes = bytes * 3 + 1) {
    const std::size_t size = wick::detail::block_size(bytes);
    CHECK(size >= bytes);
    CHECK(size <= bytes + bytes / 8 + 4096);
    CHECK(wick::detail::block_size(size) == size);
  }
}

}  // namespace wick_test::image_tests

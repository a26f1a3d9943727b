#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/batch/batch.hpp>
#include <wick/batch/detail/collate.hpp>

namespace wick_test::collate_tests {

using wick::array;
using wick::dtype;
using wick::layout;
using wick::shape;

namespace {

template <class Item>
using column = wick::detail::column_of<Item, wick::detail::array_output>;

std::shared_ptr<wick::detail::slab_pool> new_pool() {
  return std::make_shared<wick::detail::slab_pool>(std::make_shared<wick::detail::host_slab_memory>(), 8);
}

/// The samples as a batch, put into their slots last one first.
template <class Item>
auto collate(std::vector<Item> items, layout order = layout::channels_last) {
  column<Item> c;
  c.begin(items.size(), order, new_pool());
  for (std::size_t i = items.size(); i-- > 0;) c.put(i, std::move(items[i]));
  CHECK(!c.first_misfit(items.size(), {}));
  return c.finish(items.size());
}

template <class T>
std::vector<T> values(const array& a) {
  const T* const p = a.as<T>();
  return std::vector<T>(p, p + a.extents().count());
}

constexpr int height = 3, width = 5, channels = 2;
std::uint8_t pixel(int n, int c, int y, int x) {
  return static_cast<std::uint8_t>(((n * 7 + c) * 11 + y) * 13 + x);
}

struct picture {
  static constexpr bool is_picture = true;
  int number;
  shape extents() const { return {height, width, channels}; }
  dtype type() const { return dtype::uint8; }
  void write_to(wick::ext::slot s) const {
    for (int c = 0; c < channels; ++c) {
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
          const int at = s.planar ? (c * height + y) * width + x : (y * width + x) * channels + c;
          s.data[at] = static_cast<std::byte>(pixel(number, c, y, x));
        }
      }
    }
  }
};

/// A vector that says its shape when it is asked.
struct row {
  std::vector<float> v;
  shape extents() const { return {static_cast<std::int64_t>(v.size())}; }
  dtype type() const { return dtype::float32; }
  void write_to(wick::ext::slot s) const { std::copy(v.begin(), v.end(), reinterpret_cast<float*>(s.data)); }
};

/// The same bytes with another element type now and then.
struct moody {
  bool whole;
  shape extents() const { return {2}; }
  dtype type() const { return whole ? dtype::int32 : dtype::float32; }
  void write_to(wick::ext::slot s) const { std::memset(s.data, 0, 8); }
};

struct box {
  float corners[4];
  int label;
};
struct grid {
  std::uint8_t cells[2][3];
};
struct caption_batch {
  array tokens;
  std::vector<std::string> texts;
};
struct caption {
  using batch_type = caption_batch;
  std::array<int, 2> tokens;
  std::string text;
};

}  // namespace

TEST_CASE("numbers of any type become a column of that type") {
  CHECK(values<int>(collate<int>({3, 1, 2})) == std::vector<int>{3, 1, 2});
  CHECK(values<float>(collate<float>({0.5f, -1})) == std::vector<float>{0.5f, -1});
  CHECK(values<double>(collate<double>({1e300})) == std::vector<double>{1e300});
  CHECK(values<std::int64_t>(collate<std::int64_t>({-5, 1ll << 40})) ==
        std::vector<std::int64_t>{-5, 1ll << 40});
  CHECK(values<std::uint8_t>(collate<std::uint8_t>({255, 0})) == std::vector<std::uint8_t>{255, 0});
  const array whole = collate<int>({1, 2});
  CHECK(whole.extents() == shape{2});
  CHECK(whole.strides() == shape{1});
  CHECK(whole.type() == dtype::int32);
}

TEST_CASE("bools become a byte each") {
  const array b = collate<bool>({true, false, true});
  CHECK(b.type() == dtype::boolean);
  CHECK(b.bytes() == 3);
  CHECK(b.as<bool>()[0]);
  CHECK(!b.as<bool>()[1]);
}

TEST_CASE("nested arrays become dimensions") {
  using matrix = std::array<std::array<std::int16_t, 3>, 2>;
  const array m = collate<matrix>({matrix{{{1, 2, 3}, {4, 5, 6}}}, matrix{{{7, 8, 9}, {10, 11, 12}}}});
  CHECK(m.extents() == shape{2, 2, 3});
  CHECK(m.strides() == shape{6, 3, 1});
  CHECK(values<std::int16_t>(m) == std::vector<std::int16_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
}

TEST_CASE("a sample of six dimensions has a batch of seven") {
  using deep = std::array<std::array<std::array<std::array<std::array<std::array<char, 1>, 2>, 1>, 3>, 1>, 1>;
  CHECK(collate<deep>(std::vector<deep>(4)).extents() == shape{4, 1, 1, 3, 1, 2, 1});
}

TEST_CASE("a sample<> becomes a sample<> of columns, nested ones too") {
  using inner = wick::sample<int, float>;
  auto b = collate<wick::sample<inner, bool>>({{{1, 1.5f}, true}, {{2, 2.5f}, false}});
  static_assert(std::is_same_v<decltype(b), wick::sample<wick::sample<array, array>, array>>);
  CHECK(values<int>(b.data.data) == std::vector<int>{1, 2});
  CHECK(values<float>(b.data.target) == std::vector<float>{1.5f, 2.5f});
  CHECK(!b.target.as<bool>()[1]);
}

TEST_CASE("tuples, pairs and plain structs become tuples of columns") {
  auto t = collate<std::tuple<int, std::string, float>>({{1, "a", 0.5f}, {2, "b", 1.5f}});
  static_assert(std::is_same_v<decltype(t), std::tuple<array, std::vector<std::string>, array>>);
  CHECK(values<int>(std::get<0>(t)) == std::vector<int>{1, 2});
  CHECK(std::get<1>(t) == std::vector<std::string>{"a", "b"});
  auto p = collate<std::pair<int, bool>>({{1, true}});
  static_assert(std::is_same_v<decltype(p), std::tuple<array, array>>);
  auto [corners, labels] = collate<box>({{{1, 2, 3, 4}, 7}, {{5, 6, 7, 8}, 9}});
  CHECK(corners.extents() == shape{2, 4});
  CHECK(values<float>(corners) == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(values<int>(labels) == std::vector<int>{7, 9});
  auto [cells] = collate<grid>({{{{1, 2, 3}, {4, 5, 6}}}});
  CHECK(cells.extents() == shape{1, 2, 3});
}

TEST_CASE("a struct that names its batch_type becomes that") {
  auto b = collate<caption>({{{1, 2}, "a cat"}, {{3, 4}, "a dog"}});
  static_assert(std::is_same_v<decltype(b), caption_batch>);
  CHECK(values<int>(b.tokens) == std::vector<int>{1, 2, 3, 4});
  CHECK(b.texts == std::vector<std::string>{"a cat", "a dog"});
}

TEST_CASE("two views of a picture become two columns") {
  auto [left, right] = collate<std::array<picture, 2>>({{picture{0}, picture{1}}, {picture{2}, picture{3}}});
  CHECK(left.as<std::uint8_t>()[0] == pixel(0, 0, 0, 0));
  CHECK(right.as<std::uint8_t>()[0] == pixel(1, 0, 0, 0));
}

TEST_CASE("strings become a vector of them, in order") {
  CHECK(collate<std::string>({"x", "", "a longer one that does not fit into the object"}) ==
        std::vector<std::string>{"x", "", "a longer one that does not fit into the object"});
}

TEST_CASE("whatever the layout, extents and strides lead to the same pixels") {
  for (const layout order : {layout::channels_last, layout::nchw, layout::nhwc}) {
    const array b = collate<picture>({{0}, {1}, {2}, {3}}, order);
    CHECK(b.type() == dtype::uint8);
    const bool last = order == layout::nhwc;
    CHECK(b.extents() == (last ? shape{4, height, width, channels} : shape{4, channels, height, width}));
    const shape s = b.strides();
    int wrong = 0;
    for (int n = 0; n < 4; ++n) {
      for (int c = 0; c < channels; ++c) {
        for (int y = 0; y < height; ++y) {
          for (int x = 0; x < width; ++x) {
            const std::int64_t at =
                n * s[0] + (last ? y * s[1] + x * s[2] + c * s[3] : c * s[1] + y * s[2] + x * s[3]);
            wrong += b.as<std::uint8_t>()[at] != pixel(n, c, y, x);
          }
        }
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("in memory, channels_last is N H W C and nchw is contiguous") {
  const array last = collate<picture>({{0}}, layout::channels_last),
              first = collate<picture>({{0}}, layout::nchw);
  CHECK(last.strides() == shape{height * width * channels, 1, width * channels, channels});
  CHECK(last.as<std::uint8_t>()[1] == pixel(0, 1, 0, 0));
  CHECK(first.strides() == shape{channels * height * width, height * width, width, 1});
  CHECK(first.as<std::uint8_t>()[1] == pixel(0, 0, 0, 1));
}

TEST_CASE("a value that says its shape writes itself into its slot") {
  const array b = collate<row>({{{1, 2, 3}}, {{4, 5, 6}}});
  CHECK(b.extents() == shape{2, 3});
  CHECK(values<float>(b) == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("values without elements make a batch without bytes") {
  const array b = collate<row>({row{}, row{}});
  CHECK(b.extents() == shape{2, 0});
  CHECK(b.bytes() == 0);
}

TEST_CASE("another shape than the first sample's is found, whichever came first, and named with both") {
  for (const std::size_t first_to_come : {0, 2}) {
    column<row> c;
    c.begin(3, layout::channels_last, new_pool());
    c.put(first_to_come, first_to_come == 0 ? row{{1, 2}} : row{{1, 2, 3}});
    for (std::size_t i = 0; i < 3; ++i) {
      if (i != first_to_come) c.put(i, i == 2 ? row{{1, 2, 3}} : row{{1, 2}});
    }
    const auto found = c.first_misfit(3, {});
    REQUIRE(found);
    CHECK(found->slot == 2);
    CHECK(wick_test::contains(found->text, "shape [3] of float32", "first sample has [2] of float32",
                              "group()"));
  }
}

TEST_CASE("a sample that failed is neither the measure nor a misfit") {
  column<row> c;
  c.begin(4, layout::channels_last, new_pool());
  c.put(1, row{{1, 2}});
  c.put(2, row{{1, 2}});
  CHECK(!c.first_misfit(4, {0, 3}));
  c.put(3, row{{1}});
  const auto found = c.first_misfit(4, {0});
  REQUIRE(found);
  CHECK(found->slot == 3);
  CHECK(wick_test::contains(found->text, "first sample has [2]"));
}

TEST_CASE("another element type than the first sample's is a misfit too") {
  column<moody> c;
  c.begin(2, layout::channels_last, new_pool());
  c.put(0, moody{true});
  c.put(1, moody{false});
  const auto found = c.first_misfit(2, {});
  REQUIRE(found);
  CHECK(wick_test::contains(found->text, "[2] of float32", "[2] of int32"));
}

TEST_CASE("of several fields' misfits the lowest sample is named") {
  column<std::tuple<row, row>> c;
  c.begin(3, layout::channels_last, new_pool());
  c.put(0, {row{{1}}, row{{1}}});
  c.put(1, {row{{1}}, row{{1, 2}}});
  c.put(2, {row{{1, 2, 3}}, row{{1}}});
  const auto found = c.first_misfit(3, {});
  REQUIRE(found);
  CHECK(found->slot == 1);
}

TEST_CASE("a batch that is not full has only its samples, in memory for all") {
  column<int> c;
  c.begin(8, layout::channels_last, new_pool());
  for (std::size_t i = 0; i < 3; ++i) c.put(i, static_cast<int>(i));
  const array b = c.finish(3);
  CHECK(b.extents() == shape{3});
  CHECK(values<int>(b) == std::vector<int>{0, 1, 2});
}

TEST_CASE(
    "a batch without samples has extent 0 and the same shape and type however often the column was used") {
  column<std::array<float, 2>> fixed;
  column<row> asked;
  const auto pool = new_pool();
  fixed.begin(4, layout::channels_last, pool);
  CHECK(fixed.finish(0).extents() == shape{0, 2});
  asked.begin(4, layout::channels_last, pool);
  const array before = asked.finish(0);
  CHECK(before.bytes() == 0);
  asked.begin(4, layout::channels_last, pool);
  asked.put(0, row{{1, 2, 3}});
  asked.finish(1);
  asked.begin(4, layout::channels_last, pool);
  const array after = asked.finish(0);
  CHECK(after.extents() == before.extents());
  CHECK(after.type() == before.type());
}

TEST_CASE("a column is used for batch after batch, and a dropped one gives its memory back") {
  column<int> c;
  const auto pool = new_pool();
  for (int round = 0; round < 10; ++round) {
    c.begin(100, layout::channels_last, pool);
    for (std::size_t i = 0; i < 100; ++i) c.put(i, static_cast<int>(i) + round);
    if (round % 3 == 1) {
      c.drop();
    } else {
      CHECK(c.finish(100).as<int>()[99] == 99 + round);
    }
  }
  CHECK(pool->allocations() == 1);
}

TEST_CASE("many threads put samples into one batch, each into its slot") {
  using item = wick::sample<std::array<std::uint32_t, 16>, std::string>;
  for (int round = 0; round < 20; ++round) {
    column<item> c;
    constexpr std::size_t n = 512, threads = 4;
    c.begin(n, layout::channels_last, new_pool());
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads; ++t) {
      all.emplace_back([&c, t] {
        for (std::size_t i = t; i < n; i += threads) {
          item s{{}, std::to_string(i)};
          s.data.fill(static_cast<std::uint32_t>(i));
          c.put(i, std::move(s));
        }
      });
    }
    for (auto& t : all) t.join();
    const auto b = c.finish(n);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
      wrong += b.target[i] != std::to_string(i);
      for (std::size_t k = 0; k < 16; ++k) wrong += b.data.as<std::uint32_t>()[i * 16 + k] != i;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("many threads put the first sample of a batch at once, of a shape that is known or said by each") {
  // What ThreadSanitizer watches: a thread that comes a little later must not read what the first is writing.
  constexpr std::size_t threads = 3;
  for (int round = 0; round < 200; ++round) {
    column<std::array<std::uint32_t, 4>> known;
    column<row> said;
    known.begin(threads, layout::channels_last, new_pool());
    said.begin(threads, layout::channels_last, new_pool());
    std::atomic<std::size_t> here{0};
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        here.fetch_add(1);
        while (here.load() != threads) std::this_thread::yield();
        std::array<std::uint32_t, 4> a{};
        a.fill(static_cast<std::uint32_t>(t));
        known.put(t, std::move(a));
        said.put(t, row{{static_cast<float>(t), 1}});
      });
    }
    for (auto& t : all) t.join();
    CHECK(!known.first_misfit(threads, {}));
    CHECK(!said.first_misfit(threads, {}));
    const auto k = known.finish(threads), s = said.finish(threads);
    for (std::size_t t = 0; t < threads; ++t) {
      CHECK(k.as<std::uint32_t>()[t * 4 + 3] == t);
      CHECK(s.as<float>()[t * 2] == static_cast<float>(t));
    }
  }
}

}  // namespace wick_test::collate_tests

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/eventually.hpp"
#include "../support/message_of.hpp"
#include "numbers.hpp"
#include <wick/loader/loader.hpp>
#include <wick/pixels/image.hpp>
#include <wick/torch/tensor_batch.hpp>

namespace wick_test::tensor_batch_tests {

namespace {

using wick_test::contains;
using wick_test::message_of;
using numbers = wick_test::plain_numbers;
using picture_batch = wick::sample<at::Tensor, at::Tensor>;

constexpr int height = 5, width = 7;

/// Another one for every i; all pixels and channels differ.
std::uint8_t value_of(std::int64_t i, int y, int x, int c) {
  return static_cast<std::uint8_t>(i * 89 + y * 29 + x * 7 + c * 3);
}
wick::image picture(std::int64_t i, int channels) {
  wick::image out(width, height, channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) out.row(y)[x * channels + c] = value_of(i, y, x, c);
    }
  }
  return out;
}
auto labelled_pictures(std::uint64_t n, int channels = 3) {
  return wick::from(numbers{n}) | [channels](std::int64_t i) {
    return wick::sample<wick::image, std::int64_t>{picture(i, channels), i * i};
  };
}

/// Whether `data` and `target` hold the samples first, first + 1, …; pictures as [N, C, H, W] or [N, H, W,
/// C].
bool holds(const picture_batch& batch, std::int64_t first, int channels, bool nhwc = false) {
  const auto* const base = static_cast<const std::uint8_t*>(batch.data.data_ptr());
  const auto* const labels = static_cast<const std::int64_t*>(batch.target.data_ptr());
  const at::IntArrayRef step = batch.data.strides();
  for (std::int64_t i = 0; i < batch.target.size(0); ++i) {
    if (labels[i] != (first + i) * (first + i)) return false;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        for (int c = 0; c < channels; ++c) {
          const std::int64_t at = nhwc ? i * step[0] + y * step[1] + x * step[2] + c * step[3]
                                       : i * step[0] + c * step[1] + y * step[2] + x * step[3];
          if (base[at] != value_of(first + i, y, x, c)) return false;
        }
      }
    }
  }
  return true;
}

template <class T>
std::vector<T> values(const at::Tensor& t) {
  const auto* const data = static_cast<const T*>(t.data_ptr());
  return std::vector<T>(data, data + t.numel());
}

}  // namespace

TEST_CASE("pictures become uint8 [N, C, H, W], contiguous, labels int64 [N]") {
  for (const int channels : {1, 2, 3, 4}) {
    for (const std::size_t workers : {1, 2, 3}) {
      wick::loader loader(labelled_pictures(22, channels) | wick::batch(8), {.workers = workers});
      static_assert(std::is_same_v<decltype(loader)::value_type, picture_batch>);
      std::int64_t first = 0;
      for (auto& batch : loader.epoch(0)) {
        const std::int64_t n = std::min<std::int64_t>(8, 22 - first);
        CHECK((batch.data.scalar_type() == at::kByte));
        CHECK((batch.data.sizes() == at::IntArrayRef({n, channels, height, width})));
        CHECK(batch.data.is_contiguous());
        CHECK((batch.data.view({n, -1}).size(1) == channels * height * width));  // as models of old do
        CHECK((batch.target.scalar_type() == at::kLong));
        CHECK((batch.target.sizes() == at::IntArrayRef({n})));
        CHECK(batch.target.is_contiguous());
        CHECK(batch.data.device().is_cpu());
        CHECK_FALSE(batch.data.requires_grad());
        CHECK(holds(batch, first, channels));
        first += n;
      }
      CHECK(first == 22);
    }
  }
}

TEST_CASE("the layout that is asked for is the one in memory") {
  for (const int channels : {1, 3}) {
    wick::loader last(labelled_pictures(6, channels) |
                      wick::batch(4, {.layout = wick::layout::channels_last}));
    const picture_batch channels_last = last.next().value();
    CHECK((channels_last.data.sizes() == at::IntArrayRef({4, channels, height, width})));
    CHECK((channels_last.data.strides() ==
           at::IntArrayRef({height * width * channels, 1, width * channels, channels})));
    CHECK(channels_last.data.is_contiguous(at::MemoryFormat::ChannelsLast));
    CHECK(holds(channels_last, 0, channels));

    wick::loader interleaved(labelled_pictures(6, channels) | wick::batch(4, {.layout = wick::layout::nhwc}));
    const picture_batch nhwc = interleaved.next().value();
    CHECK((nhwc.data.sizes() == at::IntArrayRef({4, height, width, channels})));
    CHECK(nhwc.data.is_contiguous());
    CHECK(holds(nhwc, 0, channels, /*nhwc=*/true));
  }
}

TEST_CASE("a batch is a tensor like any other: views, in-place changes and copies work") {
  wick::loader loader(labelled_pictures(64) | wick::batch(8), {.workers = 2});
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::int64_t first = 0;
    for (auto& batch : loader.epoch(epoch)) {
      // What the loop does to it can't be seen in any later batch.
      CHECK(holds(batch, first, 3));
      CHECK(batch.data.contiguous().equal(batch.data));
      batch.data.fill_(255);
      batch.target.add_(1);
      first += 8;
    }
  }
}

TEST_CASE("a plain struct becomes a tuple of its fields' tensors") {
  struct box {
    std::array<float, 4> corners;
    bool hard;
  };
  struct record {
    std::int32_t id;
    box where;
    std::pair<double, std::uint8_t> scores;
    std::array<std::array<std::int16_t, 3>, 2> grid;
    std::string name;
  };
  wick::loader loader(wick::from(numbers{5}) | [](std::int64_t i) {
    const auto f = static_cast<float>(i);
    const auto s = static_cast<std::int16_t>(i);
    return record{static_cast<std::int32_t>(i),
                  {{f, f + 1, f + 2, f + 3}, i % 2 == 0},
                  {0.5 * static_cast<double>(i), static_cast<std::uint8_t>(i + 100)},
                  {{{s, s, s}, {0, 1, s}}},
                  "row " + std::to_string(i)};
  } | wick::batch(3));
  using tensors = std::tuple<at::Tensor, at::Tensor>;
  static_assert(
      std::is_same_v<decltype(loader)::value_type,
                     std::tuple<at::Tensor, tensors, tensors, at::Tensor, std::vector<std::string>>>);
  for (std::int64_t first = 0; first < 5; first += 3) {
    const auto batch = loader.next().value();
    const auto& [id, where, scores, grid, name] = batch;
    const std::int64_t n = std::min<std::int64_t>(3, 5 - first);
    CHECK((id.scalar_type() == at::kInt));
    CHECK((id.sizes() == at::IntArrayRef({n})));
    CHECK((std::get<0>(where).sizes() == at::IntArrayRef({n, 4})));
    CHECK((std::get<0>(where).scalar_type() == at::kFloat));
    CHECK((std::get<1>(where).scalar_type() == at::kBool));
    CHECK((std::get<0>(scores).scalar_type() == at::kDouble));
    CHECK((std::get<1>(scores).scalar_type() == at::kByte));
    CHECK((grid.sizes() == at::IntArrayRef({n, 2, 3})));
    CHECK((grid.scalar_type() == at::kShort));
    REQUIRE(name.size() == static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t i = first + k;
      const auto at = static_cast<std::size_t>(k);
      CHECK(values<std::int32_t>(id)[at] == i);
      CHECK(values<float>(std::get<0>(where))[4 * at + 3] == static_cast<float>(i + 3));
      CHECK(values<bool>(std::get<1>(where))[at] == (i % 2 == 0));
      CHECK(values<double>(std::get<0>(scores))[at] == 0.5 * static_cast<double>(i));
      CHECK(values<std::uint8_t>(std::get<1>(scores))[at] == i + 100);
      CHECK(values<std::int16_t>(grid)[6 * at + 5] == i);
      CHECK(name[at] == "row " + std::to_string(i));
    }
  }
  CHECK_FALSE(loader.next().has_value());
}

namespace {
struct detection_batch {
  at::Tensor picture, count;
};
struct detection {
  using batch_type = detection_batch;
  wick::image picture;
  std::int64_t count;
};
}  // namespace

TEST_CASE("concatenated fields are flat tensors with offsets, as embedding_bag() takes them") {
  wick::loader loader(wick::from(numbers{6}) | [](std::int64_t i) {
    return wick::sample<std::vector<std::int64_t>>{std::vector<std::int64_t>(static_cast<std::size_t>(i), i),
                                                   i};
  } | wick::batch(6, {.ragged = wick::concatenated}));
  static_assert(
      std::is_same_v<decltype(loader)::value_type, wick::sample<wick::jagged<at::Tensor>, at::Tensor>>);
  const auto batch = loader.next().value();
  CHECK(values<std::int64_t>(batch.data.values) ==
        std::vector<std::int64_t>{1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5});
  CHECK(values<std::int64_t>(batch.data.offsets) == std::vector<std::int64_t>{0, 0, 1, 3, 6, 10, 15});
  CHECK(values<std::int64_t>(batch.target) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("a struct that names its batch_type becomes that, with its names") {
  wick::loader loader(wick::from(numbers{4}) | [](std::int64_t i) {
    return detection{picture(i, 3), i * i};
  } | wick::batch(4));
  const detection_batch batch = loader.next().value();
  CHECK(holds({batch.picture, batch.count}, 0, 3));
}

TEST_CASE("a struct of tensors that batch<T>(n) names is filled in the order of the fields") {
  struct step {
    std::array<float, 3> observation;
    struct {
      std::int64_t action;
      bool done;
    } taken;
    std::string note;
  };
  struct steps {
    at::Tensor observation, action, done;
    std::vector<std::string> note;
  };
  wick::loader loader(
      wick::from(numbers{5}) |
      [](std::int64_t i) {
        return step{{static_cast<float>(i)}, {i * i, i == 3}, "note " + std::to_string(i)};
      } |
      wick::batch<steps>(5) |
      [](steps batch) {
        batch.action.add_(1);
        return batch;
      });
  static_assert(std::is_same_v<decltype(loader)::value_type, steps>);
  const steps batch = loader.next().value();
  CHECK((batch.observation.sizes() == at::IntArrayRef({5, 3})));
  CHECK(values<float>(batch.observation)[12] == 4.0f);
  CHECK(values<std::int64_t>(batch.action) == std::vector<std::int64_t>{1, 2, 5, 10, 17});
  CHECK(values<bool>(batch.done) == std::vector<bool>{false, false, false, true, false});
  CHECK(batch.note[4] == "note 4");
}

TEST_CASE("numbers alone become one tensor, and samples of samples their like") {
  {
    wick::loader loader(wick::from(numbers{3}) | wick::batch(3));
    static_assert(std::is_same_v<decltype(loader)::value_type, at::Tensor>);
    CHECK(values<std::int64_t>(loader.next().value()) == std::vector<std::int64_t>{0, 1, 2});
  }
  wick::loader loader(wick::from(numbers{3}) | [](std::int64_t i) {
    return wick::sample<std::tuple<float>, wick::sample<bool, std::array<double, 2>>>{
        {static_cast<float>(i)}, {i == 1, {0.0, static_cast<double>(i)}}};
  } | wick::batch(3));
  const auto batch = loader.next().value();
  CHECK(values<float>(std::get<0>(batch.data)) == std::vector<float>{0, 1, 2});
  CHECK(values<bool>(batch.target.data) == std::vector<bool>{false, true, false});
  CHECK(values<double>(batch.target.target) == std::vector<double>{0, 0, 0, 1, 0, 2});
}

TEST_CASE("a short last batch is short, or left out with drop_last") {
  for (const std::uint64_t n : {1u, 9u, 10u, 11u, 19u, 20u}) {
    wick::loader all(labelled_pictures(n) | wick::batch(10));
    std::vector<std::int64_t> sizes;
    for (auto& batch : all.epoch(0)) {
      CHECK(holds(batch, static_cast<std::int64_t>(10 * sizes.size()), 3));
      sizes.push_back(batch.data.size(0));
      CHECK(batch.target.size(0) == sizes.back());
    }
    CHECK(sizes.size() == (n + 9) / 10);
    CHECK(sizes.back() == static_cast<std::int64_t>((n - 1) % 10 + 1));
    if (n < 10) {
      CHECK(contains(
          message_of([&] {
            return wick::loader(labelled_pictures(n) | wick::batch(10, {.drop_last = true})).batches();
          }),
          "make no full batch of 10"));
      continue;
    }
    wick::loader full(labelled_pictures(n) | wick::batch(10, {.drop_last = true}));
    CHECK(full.batches() == n / 10);
    std::uint64_t batches = 0;
    for (auto& batch : full.epoch(0)) {
      CHECK(batch.data.size(0) == 10);
      ++batches;
    }
    CHECK(batches == n / 10);
  }
}

TEST_CASE("memory goes back with the tensor: however many epochs, no more of it is needed") {
  constexpr std::size_t ahead = 3;
  std::atomic<std::uint64_t> made{0};
  wick::loader loader(wick::from(numbers{80}) |
                          [&](std::int64_t i) {
                            made.fetch_add(1);
                            return wick::sample<wick::image, std::int64_t>{picture(i, 3), i * i};
                          } |
                          wick::batch(8),
                      {.workers = 2, .prefetch = ahead});
  {
    // The most there can be: one batch in the loop's hands, all others made.
    const picture_batch held = loader.next().value();
    REQUIRE(wick_test::eventually([&] { return made >= (ahead + 1) * 8; }));
    CHECK(loader.slab_allocations() == 2 * (ahead + 1));
  }
  for (std::uint64_t epoch = 1; epoch < 8; ++epoch) {
    for (auto& batch : loader.epoch(epoch)) CHECK(batch.data.defined());
    CHECK(loader.slab_allocations() == 2 * (ahead + 1));
  }
}

TEST_CASE("tensors that the loop keeps are not written to while the loader continues, and outlive it") {
  std::vector<picture_batch> kept;
  at::Tensor view;
  {
    wick::loader loader(labelled_pictures(100) | wick::batch(10), {.workers = 2, .prefetch = 2});
    for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
      for (auto& batch : loader.epoch(epoch)) {
        if (kept.size() < 10) {
          kept.push_back(batch);
          if (kept.size() == 3) view = batch.data.select(0, 4);
        }
      }
      for (std::size_t i = 0; i < kept.size(); ++i)
        CHECK(holds(kept[i], static_cast<std::int64_t>(10 * i), 3));
    }
  }
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(holds(kept[i], static_cast<std::int64_t>(10 * i), 3));
  kept.clear();
  // A view of one picture keeps the memory of all.
  REQUIRE(view.defined());
  CHECK(static_cast<const std::uint8_t*>(view.data_ptr())[0] == value_of(24, 0, 0, 0));
  CHECK((view.sizes() == at::IntArrayRef({3, height, width})));
}

TEST_CASE("tensors may die on any thread, also while the loader works and after it has gone") {
  std::vector<std::thread> droppers;
  {
    wick::loader loader(labelled_pictures(400) | wick::batch(4), {.workers = 2});
    int n = 0;
    std::vector<picture_batch> some;
    for (auto& batch : loader.epoch(0)) {
      some.push_back(std::move(batch));
      if (++n % 25 == 0) {
        droppers.emplace_back([mine = std::exchange(some, {}), n]() mutable {
          for (std::size_t i = 0; i < mine.size(); ++i) {
            const auto first = static_cast<std::int64_t>(4 * (static_cast<std::size_t>(n) - mine.size() + i));
            if (!holds(mine[i], first, 3)) std::abort();
            mine[i] = {};
          }
        });
      }
    }
  }
  for (std::thread& t : droppers) t.join();
  CHECK(droppers.size() == 4);
}

TEST_CASE("what is in a batch does not depend on workers or prefetch") {
  const auto bytes_of = [](wick::loader_options options) {
    options.seed = 5;
    wick::loader loader(
        numbers{60} | wick::shuffle() |
            [](std::int64_t i) {
              return wick::sample<wick::image, std::int64_t>{picture(i, 3), i};
            } |
            wick::batch(7),
        options);
    std::string all;
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      for (auto& batch : loader.epoch(epoch)) {
        all.append(static_cast<const char*>(batch.data.data_ptr()), batch.data.nbytes());
        all.append(static_cast<const char*>(batch.target.data_ptr()), batch.target.nbytes());
      }
    }
    return all;
  };
  const std::string one = bytes_of({.workers = 1, .prefetch = 1});
  CHECK(one.size() == 2 * 60 * (height * width * 3 + 8));
  CHECK((bytes_of({.workers = 2, .prefetch = 5}) == one));
  CHECK((bytes_of({.workers = 4, .prefetch = 2}) == one));
}

TEST_CASE("samples of another shape are an error that names the first of them, whichever came first") {
  for (const std::size_t workers : {1, 2, 4}) {
    wick::loader loader(
        wick::from(numbers{40}) |
            [](std::int64_t i) {
              const bool odd = i == 17 || i == 13 || i == 19;
              return wick::sample<wick::image, std::int64_t>{wick::image(odd ? 3 : 7, 5, 3), i};
            } |
            wick::batch(10),
        {.workers = workers});
    CHECK(loader.next().has_value());
    try {
      (void)loader.next();
      CHECK(false);
    } catch (const wick::sample_error& e) {
      CHECK(e.key() == "row-13");
      CHECK(e.position() == 13);
      CHECK(e.stage() == "batch");
      CHECK(contains(e.what(), "row-13: batch: shape [5, 3, 3] of uint8",
                     "first sample has [5, 7, 3] of uint8", "resize", "group()"));
    }
    CHECK(loader.next().has_value());
    CHECK(loader.next().has_value());
    CHECK_FALSE(loader.next().has_value());
  }
}

TEST_CASE("a rank that gets nothing of a short last batch gets tensors without rows") {
  wick::loader loader(numbers{9} | wick::shard(0, 2) | [](std::int64_t i) {
    return wick::sample<std::array<float, 3>, std::int64_t>{{}, i};
  } | wick::batch(8));
  CHECK(loader.next()->data.size(0) == 4);
  const auto last = loader.next().value();
  CHECK((last.data.sizes() == at::IntArrayRef({0, 3})));
  CHECK((last.data.scalar_type() == at::kFloat));
  CHECK((last.target.sizes() == at::IntArrayRef({0})));
  CHECK((last.target.scalar_type() == at::kLong));
}

TEST_CASE("a batch begins where vector loads like it") {
  wick::loader loader(labelled_pictures(8) | wick::batch(3));
  for (auto& batch : loader.epoch(0)) {
    CHECK(reinterpret_cast<std::uintptr_t>(batch.data.data_ptr()) % 64 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(batch.target.data_ptr()) % 64 == 0);
  }
}

}  // namespace wick_test::tensor_batch_tests

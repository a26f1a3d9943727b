// What stands before a cache runs once a sample, and batches are the same whatever it keeps.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "cached.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/base/detail/cpus.hpp>
#include <wick/core.hpp>

namespace wick_test::cache_in_memory_tests {

TEST_CASE("what stands before it runs once a sample, and what comes after it in every epoch") {
  const counted before, behind;
  const numbers source{200};
  wick::loader l(
      source | wick::shuffle() | before | wick::cache_in_memory() | behind | wick::map("draw", add_random) |
          wick::array_batch(16),
      // The first of the next epoch may be among those that are still being made: they are made twice.
      {.seed = 2, .workers = 3, .prefetch_next_epoch = false});
  std::vector<batches> epochs;
  for (std::uint64_t e = 0; e < 3; ++e) epochs.push_back(targets_of(l, e));
  CHECK(*before.runs == 200);
  CHECK(*source.asked == 200);
  CHECK(*behind.runs == 600);
  CHECK(epochs[0] != epochs[1]);
  wick::loader without(numbers{200} | wick::shuffle() | counted() |
                           wick::cache_in_memory({.bytes = nothing}) | counted() |
                           wick::map("draw", add_random) | wick::array_batch(16),
                       {.seed = 2, .workers = 1});
  for (std::uint64_t e = 0; e < 3; ++e) CHECK(targets_of(without, e) == epochs[e]);
}

TEST_CASE("where they don't fit, a fixed part of the samples is kept") {
  const counted before;
  constexpr std::size_t room = 60'000;
  wick::loader l(numbers{1000} | wick::shuffle() | before | wick::cache_in_memory({.bytes = room}) |
                     wick::array_batch(10),
                 {.workers = 2, .prefetch_next_epoch = false});
  std::uint64_t runs[4] = {};
  for (std::uint64_t e = 0; e < 4; ++e) {
    const std::uint64_t until = *before.runs;
    CHECK(targets_of(l, e).size() == 100);
    runs[e] = *before.runs - until;
  }
  CHECK(runs[0] == 1000);
  CHECK(runs[1] > 0);
  CHECK(runs[1] < 1000);
  CHECK(runs[2] == runs[1]);
  CHECK(runs[3] == runs[1]);
  const std::string notes = [&] {
    std::string all;
    for (const std::string& note : l.report().notes) all += note + "\n";
    return all;
  }();
  CHECK(contains(notes, "cache_in_memory keeps " + std::to_string(1000 - runs[1]) + " of 1000 samples",
                 "it is full"));
}

TEST_CASE("threads that add at the same time keep no more than there is room for, and each sample once") {
  using wick::detail::memory_cache;
  constexpr std::uint64_t samples = 20'000;
  constexpr std::size_t each = 100, room = 400'000;
  memory_cache cache(samples, room);
  std::atomic<std::uint64_t> added{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < samples && cache.reserve(each); ++i)
        cache.add(i, wick::detail::owned<memory_cache::entry>(new memory_cache::kept<std::uint64_t>(i)),
                  each);
    });
  }
  for (std::thread& t : threads) t.join();
  for (std::uint64_t i = 0; i < samples; ++i) {
    const auto* const found = static_cast<const memory_cache::kept<std::uint64_t>*>(cache.find(i, 0));
    if (found == nullptr) continue;
    ++added;
    REQUIRE(found->item == i);
  }
  CHECK(added > 2'000);
  CHECK(added * each < room);
  CHECK(cache.find(samples, 0) == nullptr);
  CHECK(contains(cache.note(), "keeps " + std::to_string(added) + " of 20000", "it is full"));
}

TEST_CASE("pictures come out the same whatever is kept, at any number of workers, and after any stage") {
  const folder of(24);
  const auto same = [](const auto& make) {
    const auto expected = prints(make(nothing), {.workers = 1});
    CHECK(expected[0] != expected[1]);
    for (const std::optional<std::size_t> room : {std::optional<std::size_t>(), {40'000}}) {
      for (const std::size_t workers : {1, 2, 4}) CHECK(prints(make(room), {.workers = workers}) == expected);
    }
  };
  SUBCASE("after read()") {
    same([&](std::optional<std::size_t> room) {
      return of.source() | wick::shuffle() | wick::read() | wick::cache_in_memory({.bytes = room}) |
             wick::decode() | wick::random_resized_crop(16) | wick::random_horizontal_flip() |
             wick::array_batch(5);
    });
  }
  SUBCASE("after decode()") {
    same([&](std::optional<std::size_t> room) {
      return of.source() | wick::shuffle() | wick::read() | wick::decode() |
             wick::cache_in_memory({.bytes = room}) | wick::random_resized_crop(16) |
             wick::color_jitter(0.4, 0.4) | wick::array_batch(5);
    });
  }
  SUBCASE("after a resize, before mixup") {
    same([&](std::optional<std::size_t> room) {
      return of.source() | wick::shuffle() | wick::read() | wick::decode() | wick::resize({.max_size = 24}) |
             wick::cache_in_memory({.bytes = room}) | wick::random_resized_crop(12) | wick::mixup(1) |
             wick::array_batch(5);
    });
  }
}

TEST_CASE("after read() of several parts, masks are kept with their pictures") {
  const folder of(12);
  const auto make = [&](std::optional<std::size_t> room) {
    const std::string all = of.dir.path().string() + "/a/*.png";
    return wick::zip(wick::files(all), wick::files(all)) | wick::shuffle() | wick::read() | wick::decode() |
           wick::map("mask",
                     [](wick::sample<wick::lazy_image, wick::bytes> s) {
                       const int width = s.data.width(), height = s.data.height();
                       wick::image numbers(width, height, 1);
                       for (int i = 0; i < width * height; ++i)
                         numbers.data()[i] = static_cast<std::uint8_t>(i);
                       return wick::sample<wick::lazy_image, wick::mask>{std::move(s.data),
                                                                         wick::mask(std::move(numbers))};
                     }) |
           wick::cache_in_memory({.bytes = room}) | wick::random_resized_crop(16) |
           wick::random_horizontal_flip() | wick::array_batch(5);
  };
  const auto expected = prints(make(nothing), {.workers = 1});
  CHECK(prints(make({}), {.workers = 2}) == expected);
  CHECK(prints(make(20'000), {.workers = 2}) == expected);
}

TEST_CASE("stages that suspend run once a sample, too, before it and after it") {
  const counted_slowly before, behind;
  wick::loader l(
      numbers{120} | wick::shuffle() | before | wick::cache_in_memory() | behind | wick::array_batch(8),
      {.seed = 3, .workers = 2, .prefetch_next_epoch = false});
  wick::loader plain(numbers{120} | wick::shuffle() | wick::array_batch(8), {.seed = 3});
  for (std::uint64_t e = 0; e < 3; ++e) CHECK(targets_of(l, e) == targets_of(plain, e));
  CHECK(*before.runs == 120);
  CHECK(*behind.runs == 360);
}

TEST_CASE("a cache of no bytes is refused") {
  CHECK(message_of([] { return wick::cache_in_memory({.bytes = 0}).frozen(); }) ==
        "cache_in_memory: .bytes is 0, which keeps nothing; leave it out, or the stage");
}

TEST_CASE("a stage before it that draws random numbers is refused, unless it is to be frozen") {
  const auto make = [](bool frozen) {
    return numbers{40} | wick::shuffle() | wick::map("draw", add_random) |
           wick::cache_in_memory({.freeze_random = frozen}) | wick::array_batch(40);
  };
  wick::loader refused(make(false));
  CHECK(contains(message_of([&] { return refused.next(); }), "cache_in_memory", "the 2nd stage",
                 "draws random numbers", "before that stage"));
  const auto sorted = [&](std::uint64_t seed, std::uint64_t e) {
    wick::loader frozen(make(true), {.seed = seed});
    for (std::uint64_t before = 0; before < e; ++before) targets_of(frozen, before);
    auto all = targets_of(frozen, e).at(0);
    std::sort(all.begin(), all.end());
    return all;
  };
  CHECK(sorted(4, 0) == sorted(4, 1));
  CHECK(sorted(4, 0) == sorted(5, 2));
}

TEST_CASE("frozen numbers end at the cache: a sample that is made draws after it as one that is kept") {
  const auto batches_of = [](std::optional<std::size_t> room) {
    wick::loader l(wick::from(numbers{40}) | wick::map("draw", add_random) |
                       wick::cache_in_memory({.bytes = room, .freeze_random = true}) |
                       wick::map("again", add_random) | wick::array_batch(8),
                   {.seed = 4, .workers = 2});
    std::vector<batches> all;
    for (std::uint64_t e = 0; e < 3; ++e) all.push_back(targets_of(l, e));
    return all;
  };
  const auto made = batches_of(nothing);
  CHECK(made == batches_of({}));
  CHECK(made[1] != made[2]);
}

TEST_CASE("samples that fail before it are not kept, and fail again") {
  wick::loader l(numbers{60} |
                     wick::map("broken",
                               [](cell c) {
                                 if (c.target % 10 == 3) throw wick::error("it is broken");
                                 return c;
                               }) |
                     wick::cache_in_memory() | wick::array_batch(10),
                 {.workers = 2, .prefetch_next_epoch = false, .on_error = wick::on_error::skip});
  for (std::uint64_t e = 0; e < 3; ++e) {
    std::size_t samples = 0;
    for (const auto& batch : targets_of(l, e)) samples += batch.size();
    CHECK(samples == 54);
  }
  CHECK(l.failure_log().entries().size() == 18);
}

TEST_CASE("a batch is made again to the byte from cached samples") {
  wick::loader l(numbers{80} | wick::shuffle() | wick::cache_in_memory() | wick::map("draw", add_random) |
                     wick::array_batch(8),
                 {.seed = 6, .workers = 2});
  const batches first = targets_of(l, 0);
  l.epoch(1);
  for (std::uint64_t b = 0; b < 10; ++b) {
    l.seek(0, b);
    const auto again = l.next();
    REQUIRE(again);
    const std::int64_t* const t = again->target.as<std::int64_t>();
    CHECK(first[b] == batches::value_type(t, t + 8));
  }
}

namespace {

/// A source whose samples change at refresh().
struct changing {
  std::shared_ptr<std::atomic<std::int64_t>> now = std::make_shared<std::atomic<std::int64_t>>(0);
  std::int64_t view = 0;
  void refresh() { view = *now; }
  std::uint64_t size() const { return 20; }
  cell at(std::uint64_t i) const { return {{}, 100 * view + static_cast<std::int64_t>(i)}; }
};

}  // namespace

TEST_CASE("refresh() empties it, and each loader has one of its own") {
  const changing source;
  const auto cached = wick::from(source) | wick::cache_in_memory();
  wick::loader l(cached | wick::array_batch(20), {.workers = 2});
  CHECK(targets_of(l, 0)[0][7] == 7);
  *source.now = 3;
  l.refresh();
  CHECK(targets_of(l, 1)[0][7] == 307);
  wick::loader other(numbers{20} | wick::skip(10) | wick::cache_in_memory() | wick::array_batch(10));
  CHECK(targets_of(other, 0)[0][0] == 10);
}

namespace {

/// Parts that can only be moved, in a struct.
struct scene {
  wick::lazy_image picture;
  std::vector<wick::mask> masks;
  std::optional<wick::boxes> objects;
  std::string name;
};

}  // namespace

TEST_CASE("structs, vectors and optionals of parts are kept, and their bytes are counted") {
  wick::context c = context_at(0);
  scene s{photo(20, 10), {}, wick::boxes{.xyxy = {{0, 0, 2, 2}}, .labels = {7}}, std::string(100, 'n')};
  for (int i = 0; i < 3; ++i) s.masks.emplace_back(wick::image(20, 10, 1));
  wick::detail::settle(s);
  CHECK(wick::detail::bytes_beside(s) >= 20 * 10 * 3 + 3 * 200 + 16 + 8 + 100);
  CHECK(wick::detail::bytes_beside(s) < 4'000);
  const scene again = wick::detail::cloning<scene>::of(s);
  CHECK(again.picture.pixels() == s.picture.pixels());
  CHECK(again.masks.size() == 3);
  CHECK(again.objects->labels == std::vector<std::int64_t>{7});
  CHECK(again.name == s.name);
}

TEST_CASE("a picture is kept decoded, cropped and resized as planned, without its file") {
  wick::context c = context_at(0);
  wick::lazy_image picture = wick::decode()(as_bytes(encode_png(photo(40, 30))), c);
  picture = wick::resize({.max_size = 20})(std::move(picture), c);
  wick::detail::settle(picture);
  CHECK(picture.kept_bytes() == 20 * 15 * 3);
  const wick::lazy_image again = wick::detail::cloning<wick::lazy_image>::of(picture);
  CHECK(again.pixels() == picture.pixels());
}

TEST_CASE("what is kept shares its pixels: a sample that is changed leaves them as they were") {
  const folder of(6);
  wick::loader l(of.source() | wick::read() | wick::decode() | wick::cache_in_memory() |
                     [](wick::image picture) {
                       for (std::uint8_t& level : picture.pixels())
                         level = static_cast<std::uint8_t>(level / 2);
                       return picture;
                     } |
                     wick::center_crop(10) | wick::array_batch(6),
                 {.workers = 1, .content_fingerprint = true});
  std::vector<std::uint64_t> all;
  for (std::uint64_t e = 0; e < 3; ++e) {
    for (auto& batch : l.epoch(e)) all.push_back(batch.data.as<std::uint8_t>()[0]);
  }
  CHECK(all[0] == all[1]);
  CHECK(all[1] == all[2]);
}

TEST_CASE("all caches of a machine that have no bound of their own share a quarter of its memory") {
  using wick::detail::memory_cache;
  ::unsetenv("LOCAL_WORLD_SIZE");
  const std::uint64_t alone = wick::detail::default_cache_memory();
  CHECK(alone == wick::detail::available_memory() / 4);
  ::setenv("LOCAL_WORLD_SIZE", "8", 1);
  CHECK(wick::detail::default_cache_memory() == alone / 8);
  memory_cache train(1000, std::nullopt);
  const auto large = static_cast<std::size_t>(alone / 8 / 10 * 6);
  CHECK(train.reserve(large));  // of room, not of memory
  {
    memory_cache validation(1000, std::nullopt), bounded(1000, large + 4096);
    CHECK_FALSE(validation.reserve(large));
    CHECK(bounded.reserve(large));
  }
  train.give_back(large);
  memory_cache next(1000, std::nullopt);
  CHECK(next.reserve(large));
  ::unsetenv("LOCAL_WORLD_SIZE");
}

}  // namespace wick_test::cache_in_memory_tests

#include "loader/replayed.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/picture.hpp"
#include "support/sanitized.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>

using namespace wick_test;
using wick::on_error;

TEST_CASE(
    "1,000 random batches with augmentation, mixing, replacement and resume are made again to the byte") {
  const pictures all(66);
  int made = 0;
  for (const auto& [world, workers] : {std::pair{1, 1}, {1, 4}, {2, 2}, {3, 3}}) {
    const shaky first_fails;
    const auto make = [&](auto shard) {
      return all | wick::shuffle() | shard | wick::map("shaky", first_fails) | wick::decode() |
             wick::random_resized_crop(16) | wick::random_horizontal_flip() | wick::color_jitter(0.4, 0.4) |
             wick::mixup(10, {.p = 0.6}) | wick::array_batch(12);
    };
    training run(make,
                 {.seed = 5,
                  .workers = static_cast<std::size_t>(workers),
                  .on_error = on_error(on_error::retry(1).then(on_error::replace))},
                 {.world = static_cast<std::uint64_t>(world),
                  .workers = static_cast<std::size_t>(workers),
                  .replays = rounds(250, 100)});
    made += run.run();
  }
  CHECK(made >= rounds(1000, 400));
}

TEST_CASE("batches of stages that don't suspend, with gaps, are made again to the byte") {
  const pictures all(66);
  const auto make = [&](auto shard) {
    return all | wick::shuffle() | shard | wick::decode() | wick::random_crop(14) |
           wick::random_vertical_flip() |
           wick::filter([](const auto&, wick::context& c) { return c.random().below(9) != 0; }) |
           wick::random_erasing({.noise = true}) | wick::array_batch(12, {.pad_last = true});
  };
  for (const std::uint64_t world : {1, 3}) {
    training run(make, {.seed = 8, .workers = 3, .on_error = on_error(on_error::skip)},
                 {.world = world, .replays = rounds(150, 60)});
    run.run();
  }
}

TEST_CASE("a batch that fails throws the same when it is made again") {
  const pictures all(44);
  const auto make = [&](auto shard) {
    return all | wick::shuffle() | shard | wick::decode() | wick::random_resized_crop(8) |
           wick::array_batch(4);
  };
  training run(make, {.seed = 2, .workers = 2}, {.world = 2, .replays = 60, .whole = false, .epochs = 2});
  run.run();
}

TEST_CASE("bucketed, packed, filtered and mixed streams are made again to the byte") {
  const wick::loader_options options{.seed = 11, .workers = 3, .on_error = on_error(on_error::replace)};
  SUBCASE("bucketed") {
    const auto make = [](auto shard) {
      return texts{300} | wick::shuffle() | wick::bucket({.tokens = 900, .multiple = 4}) | shard |
             wick::map("tokenize", tokenize) | ragged;
    };
    for (const std::uint64_t world : {1, 2}) training(make, options, {.world = world, .whole = false}).run();
  }
  SUBCASE("packed") {
    const auto make = [](auto shard) {
      return texts{300} | wick::shuffle() | shard | wick::map("tokenize", tokenize) |
             wick::array_pack(8, 96, {.pad = wick::pad_with(-7)});
    };
    for (const std::uint64_t world : {1, 2}) training(make, options, {.world = world, .whole = false}).run();
  }
  SUBCASE("filtered") {
    const auto make = [](auto shard) {
      return texts{300} | wick::shuffle() | shard | wick::map("tokenize", tokenize) |
             wick::filter([](const tokens& t, wick::context& c) {
               return t.target % 5 != 0 && c.random().below(8) != 0;
             }) |
             ragged;
    };
    for (const std::uint64_t world : {1, 2}) training(make, options, {.world = world, .whole = false}).run();
  }
}

namespace {

struct some_edits {
  template <class Loader>
  void operator()(Loader& l, std::uint64_t epoch, std::uint64_t number) const {
    const struct {
      std::uint64_t epoch, batch;
      std::vector<wick::source_weight> weights;
    } all[] = {{0, 3, {{"code", 1}}},
               {0, 7, {{"books", 0}}},
               {1, 0, {{"books", 2}, {"code", 0}}},
               {1, 5, {{"web", 0.5}}}};
    for (const auto& e : all) {
      if (e.epoch == epoch && e.batch == number)
        l.set_mix_weights(e.weights, {.at_epoch = e.epoch, .at_batch = e.batch});
    }
  }
};

}  // namespace

TEST_CASE("batches of a mixture that was edited are made again with the weights that held there") {
  const auto make = [](auto shard) {
    return wick::mix(wick::mix_until::all_exhausted,
                     wick::weighted_source{texts{150} | wick::shuffle(), 1, "web"},
                     wick::weighted_source{texts{100, 1000} | wick::shuffle(), 0.5, "books"},
                     wick::weighted_source{texts{40, 2000}, 0, "code"}) |
           shard | wick::map("tokenize", tokenize) | ragged;
  };
  for (const std::uint64_t world : {1, 2}) {
    training(make, {.seed = 4, .workers = 2, .on_error = on_error(on_error::replace)},
             {.world = world, .replays = 150, .whole = false}, some_edits{})
        .run();
  }
}

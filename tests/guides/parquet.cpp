// The code of docs/guides/parquet.md. Compiled; a test compares the two.
#include <array>
#include <cstdint>

#include <torch/torch.h>

#include <wick/tables/parquet.hpp>
#include <wick/wick.hpp>

namespace {

struct row {
  std::array<float, 256> embedding;
  std::int64_t label;
};

[[maybe_unused]] void examples() {
  const wick::parquet<row> rows("train-*.parquet", {"embedding", "label"});
  wick::loader train(rows | wick::block_shuffle(rows.groups(), 8) | wick::read() | wick::batch(256),
                     {.seed = 42});
  for (auto& batch : train.epoch(0)) (void)batch;

  const wick::parquet<wick::sample<wick::bytes, std::int64_t>> pictures("data/train-*.parquet",
                                                                        {"image.bytes", "label"});
  wick::loader photos(pictures | wick::block_shuffle(pictures.groups(), 16) | wick::read() | wick::decode() |
                          wick::random_resized_crop(224) | wick::batch(256),
                      {.seed = 42});
  for (auto& batch : photos.epoch(0)) (void)batch;

  const wick::parquet<row> recent("train-*.parquet", {"embedding", "label"},
                                  {.where = {.column = "year", .min = 2020, .max = 2026}});
  (void)recent;
}

}  // namespace

// The code of docs/guides/lists.md. Compiled; a test compares the two.
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <torch/torch.h>

#include <wick/wick.hpp>

namespace {

struct position {
  std::array<std::int8_t, 64> board;
  float value;
};

struct cifar {
  std::uint8_t label;
  std::array<std::array<std::array<std::uint8_t, 32>, 32>, 3> planes;
};

[[maybe_unused]] void structs_in_files() {
  wick::loader positions(wick::records<position>(wick::files("games-*.bin"), {.header = 16}) |
                             wick::shuffle() | wick::read() | wick::decode_raw<position>() |
                             wick::batch(1024),
                         {.seed = 42});
  for (auto& batch : positions.epoch(0)) (void)std::get<0>(batch);
  wick::loader pictures(wick::records<cifar>(wick::files("data_batch_*.bin")) | wick::shuffle() |
                            wick::read() | wick::decode_raw<cifar>() |
                            [](const cifar& c) {
                              return wick::sample{c.planes, std::int64_t{c.label}};
                            } |
                            wick::to_image() | wick::random_crop(32, {.padding = 4}) |
                            wick::random_horizontal_flip() | wick::batch(128),
                        {.seed = 42});
  for (auto& batch : pictures.epoch(0)) (void)batch.data, (void)batch.target;
}

[[maybe_unused]] void files_in_csv() {
  const wick::csv table("train.csv");
  wick::loader train(wick::zip(table.files("path"), wick::in_memory(table.integers("label"))) |
                         wick::shuffle() | wick::read() | wick::decode() | wick::random_resized_crop(224) |
                         wick::batch(256),
                     {.seed = 42});
  for (auto& batch : train.epoch(0)) (void)batch.data, (void)batch.target;
  const wick::csv validation = table.where("split", "val");  // its rows alone, as a table
  (void)validation;
}

[[maybe_unused]] void numbers_in_csv() {
  const wick::csv passengers("passengers.csv", {.empty_number = NAN});
  wick::loader rows(
      wick::zip(passengers.numbers({"age", "fare"}), wick::in_memory(passengers.integers("survived"))) |
          wick::shuffle() | wick::batch(64),
      {.seed = 42});
  for (auto& batch : rows.epoch(0)) (void)batch.data, (void)batch.target;
}

[[maybe_unused]] void arrays_of_numpy() {
  wick::loader arrays(wick::zip(wick::npy("x.npy"), wick::npy("y.npy")) | wick::shuffle() | wick::batch(64),
                      {.seed = 42});
  const wick::npy packed("data.npz", "x");
  const wick::safetensors tensor("data.safetensors", "x");
  for (auto& batch : arrays.epoch(0)) (void)batch.data, (void)packed, (void)tensor;
}

[[maybe_unused]] void lists_in_memory() {
  const std::vector<std::string> paths{"img/0001.jpg", "img/0002.jpg"};
  const std::vector<std::int64_t> labels{3, 0};
  wick::loader listed(wick::zip(wick::files(paths), wick::in_memory(labels)) | wick::shuffle() |
                          wick::read() | wick::decode() | wick::random_resized_crop(224) | wick::batch(2),
                      {.seed = 42});
  for (auto& batch : listed.epoch(0)) (void)batch.data, (void)batch.target;
}

}  // namespace

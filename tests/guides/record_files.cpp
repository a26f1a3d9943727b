// The code of docs/guides/record_files.md. Compiled; a test compares the two.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <torch/torch.h>

#include <wick/sources/lmdb.hpp>
#include <wick/wick.hpp>

namespace {

[[maybe_unused]] void examples() {
  const auto take = [](const wick::tf_example& e) {
    return wick::sample<wick::bytes, std::int64_t>{e.data("image/encoded"), e.integer("image/class/label")};
  };
  wick::loader train(wick::tfrecords("train-*.tfrecord") | wick::shuffle() | wick::read() |
                         wick::decode_tf_example() | take | wick::decode() | wick::random_resized_crop(224) |
                         wick::batch(256),
                     {.seed = 42});
  for (auto& batch : train.epoch(0)) (void)batch;
}

[[maybe_unused]] void lmdb() {
  const auto with_class = [](wick::sample<wick::bytes, wick::bytes> s) {
    const auto* const digits = reinterpret_cast<const char*>(s.target.data());
    return wick::sample<wick::bytes, std::int64_t>{std::move(s.data),
                                                   std::stoll(std::string(digits, s.target.size()))};
  };
  const auto number = [](std::string_view key) { return std::string(key.substr(key.find('-') + 1)); };
  wick::loader train(wick::zip(number, wick::lmdb("train.lmdb", {.prefix = "image-"}),
                               wick::lmdb("train.lmdb", {.prefix = "label-"})) |
                         wick::shuffle() | wick::read() | with_class | wick::decode() |
                         wick::random_resized_crop(224) | wick::batch(256),
                     {.seed = 42});
  for (auto& batch : train.epoch(0)) (void)batch;
}

wick::ext::record_frame frame(std::span<const std::byte> head) {
  std::uint32_t length = 0;
  if (head.size() < sizeof length) throw wick::error("the file ends within a length");
  std::memcpy(&length, head.data(), sizeof length);
  return {.offset = sizeof length, .length = length, .size = sizeof length + length};
}

[[maybe_unused]] void framed() {
  const auto parse = [](const wick::bytes& record) { return static_cast<std::int64_t>(record.size()); };
  wick::loader train(wick::records(wick::files("train-*.bin"), 4, frame) | wick::shuffle() | wick::read() |
                         parse | wick::batch(64),
                     {.seed = 42});
  for (auto& batch : train.epoch(0)) (void)batch;
}

}  // namespace

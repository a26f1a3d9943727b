// README's pipeline, with each cache and without one: what a training makes of its batches.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/zeros.h>

#include "../support/doctest.hpp"
#include "../support/picture.hpp"
#include "../support/temp_dir.hpp"
#include <wick/cache/cache_in_memory.hpp>
#include <wick/cache/cache_on_disk.hpp>
#include <wick/image/decode.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/image_folder.hpp>
#include <wick/torch/normalize_tensors.hpp>
#include <wick/torch/pin.hpp>
#include <wick/torch/tensor_batch.hpp>
#include <wick/torch/transfer.hpp>
#include <wick/transforms/crop.hpp>
#include <wick/transforms/flip.hpp>

namespace wick_test::training_tests {

namespace {

using wick_test::temp_dir;

/// In place of a cache.
struct no_cache {
  template <class Item>
  Item operator()(Item item) const {
    return item;
  }
};

/// Dark pictures and bright ones.
void write_pictures(const temp_dir& dir) {
  for (int i = 0; i < 40; ++i) {
    wick::image picture = wick_test::photo(20 + i % 3, 18, 3, static_cast<std::uint64_t>(i));
    const bool bright = i % 2 != 0;
    for (int y = 0; y < picture.height(); ++y) {
      for (int x = 0; x < picture.width() * 3; ++x) {
        auto& level = picture.row(y)[x];
        level = static_cast<std::uint8_t>(level / 2 + (bright ? 127 : 0));
      }
    }
    dir.write((bright ? "photos/bright/" : "photos/dark/") + std::to_string(i) + ".png",
              wick_test::encode_png(picture));
  }
}

/// The loss of each batch of three epochs of a linear model.
template <class Cache>
std::vector<float> trained(const temp_dir& dir, Cache cache) {
  const at::Device device(at::hasCUDA() ? at::kCUDA : at::kCPU);
  wick::loader train(wick::image_folder((dir / "photos").string()) | wick::shuffle() | wick::read() |
                         wick::decode() | std::move(cache) | wick::random_resized_crop(12) |
                         wick::random_horizontal_flip() | wick::batch(8) | wick::pin() |
                         wick::transfer(device) |
                         wick::normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}),
                     {.seed = 42, .workers = 2});
  at::Tensor weight = at::zeros({3 * 12 * 12, 2}, at::TensorOptions(device)).requires_grad_();
  std::vector<float> losses;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (auto& batch : train.epoch(epoch)) {
      const at::Tensor loss = at::cross_entropy_loss(batch.data.flatten(1).matmul(weight), batch.target);
      loss.backward();
      const at::NoGradGuard guard;
      weight.sub_(weight.grad(), 0.01);
      weight.mutable_grad().zero_();
      losses.push_back(loss.template item<float>());
    }
  }
  return losses;
}

}  // namespace

TEST_CASE("a model learns from pinned and transferred batches, and the same with each cache") {
  const temp_dir dir;
  write_pictures(dir);
  const std::vector<float> losses = trained(dir, no_cache{});
  REQUIRE(losses.size() == 15);
  CHECK(losses.front() > 0.6f);
  CHECK(losses.back() < 0.4f);
  CHECK(trained(dir, wick::cache_in_memory()) == losses);
  CHECK(trained(dir, wick::cache_on_disk((dir / "cache").string())) == losses);
  CHECK(trained(dir, wick::cache_on_disk((dir / "cache").string())) == losses);  // all of it from the disk
}

}  // namespace wick_test::training_tests

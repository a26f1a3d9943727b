// normalize() after transfer(): its kernels, constants and streams, on a device that the tests hold.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/ops/full.h>
#include <c10/core/StreamGuard.h>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "fake_device.hpp"
#include <wick/loader/loader.hpp>
#include <wick/sources/memory.hpp>
#include <wick/torch/normalize_tensors.hpp>
#include <wick/torch/tensor_batch.hpp>
#include <wick/torch/transfer.hpp>

namespace wick_test::normalize_on_device_tests {

namespace {

namespace fake = wick_test::fake;
using fake::what;
using wick_test::contains;
using wick_test::message_of;

/// 40 pictures [3, 2, 2], and batches of ten of them.
auto colors() {
  std::vector<std::uint8_t> levels(40 * 12);
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = static_cast<std::uint8_t>(i * 7);
  return wick::in_memory(std::move(levels), {3, 2, 2}, std::vector<std::int64_t>(40));
}
auto colors(wick::layout layout) { return colors() | wick::batch(10, {.layout = layout}); }

struct labeled_pictures {
  at::Tensor picture, label;
};

}  // namespace

TEST_CASE(
    "normalize() on a device is one kernel a batch, from bytes to the type that is asked for, in the layout "
    "of the batch; its constants are copied once") {
  const wick::channel_values mean{0.4, 0.5, 0.6}, deviation{0.2, 0.25, 0.3};
  for (const wick::layout layout : {wick::layout::nchw, wick::layout::channels_last}) {
    for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) {
      wick::loader on_cpu(colors(layout) | wick::normalize(mean, deviation));
      wick::loader loader(
          colors(layout) | wick::transfer(fake::device()) | wick::normalize(mean, deviation, type),
          {.workers = 2, .prefetch_next_epoch = false});
      fake::forget_log();
      std::size_t batches = 0;
      for (auto& batch : loader.epoch(0)) {
        const at::Tensor expected = on_cpu.next().value().data;
        CHECK((batch.data.scalar_type() == type));
        CHECK((batch.data.strides() == expected.strides()));
        REQUIRE(fake::finish_all());
        const at::Tensor found = fake::read(batch.data).to(at::kFloat);
        const float bound = type == at::kFloat ? 1e-6f : type == at::kHalf ? 2e-3f : 2e-2f;
        CHECK(found.sub(expected).abs().max().item<float>() < bound);
        ++batches;
      }
      CHECK(batches == 4);
      CHECK(fake::count(what::kernel) == batches);
      CHECK(fake::count(what::copy) == 2 * batches + 2);  // pictures and targets; means and deviations
      CHECK(fake::count(what::host_wait) == 0);
    }
  }
  REQUIRE(fake::finish_all());
}

TEST_CASE("normalize() to a type is a function of tensors too, for a field of a batch that is a struct") {
  const wick::channel_values mean{0.4, 0.5, 0.6}, deviation{0.2, 0.25, 0.3};
  wick::loader on_cpu(colors() | wick::batch(10) | wick::normalize(mean, deviation));
  const auto of_field = [f = wick::normalize(mean, deviation, at::kHalf)](labeled_pictures b) {
    b.picture = f(b.picture);
    return b;
  };
  wick::loader loader(colors() | wick::batch<labeled_pictures>(10) | wick::transfer(fake::device()) |
                          wick::map("to_half", of_field),
                      {.prefetch_next_epoch = false});
  fake::forget_log();
  std::size_t batches = 0;
  for (const labeled_pictures& batch : loader.epoch(0)) {
    const at::Tensor expected = on_cpu.next().value().data;
    CHECK((batch.picture.scalar_type() == at::kHalf));
    REQUIRE(fake::finish_all());
    CHECK(fake::read(batch.picture).to(at::kFloat).sub(expected).abs().max().item<float>() < 2e-3f);
    ++batches;
  }
  CHECK(batches == 4);
  CHECK(fake::count(what::kernel) == batches);
  CHECK(fake::count(what::copy) == 2 * batches + 2);  // the constants are copied once
}

TEST_CASE("a copy of a pipeline, and a batch of another shape, get constants of their own") {
  const auto pipe = colors(wick::layout::nchw) | wick::transfer(fake::device()) |
                    wick::normalize({0.4, 0.5, 0.6}, {0.2, 0.25, 0.3});
  wick::loader a(pipe, {.prefetch_next_epoch = false}), b(pipe, {.prefetch_next_epoch = false});
  fake::forget_log();
  for (auto* const one : {&a, &b}) {
    while (one->next()) {
    }
  }
  CHECK(fake::count(what::copy) == 2 * (2 * 4 + 2));
  for (const fake::entry& used : fake::log()) {  // each loader's kernels and copies are on its own stream
    if (used.kind == what::kernel) CHECK(used.stream != 0);
  }
  REQUIRE(fake::finish_all());
}

TEST_CASE("one normalize() serves batches of any shape, type and stream") {
  const wick::detail::normalize_stage stage = wick::normalize(0.5, 0.25);
  wick::context c(wick::detail::place{});
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{4, 2}, {4, 2, 2}, {}}) {
    for (const at::ScalarType type : {at::kByte, at::kFloat}) {
      const at::Tensor levels = at::full(shape, type == at::kByte ? 51 : 0.2, type).to(fake::device());
      const at::Tensor there = apply_stage(stage, levels, c);
      REQUIRE(fake::finish_all());
      const at::Tensor found = fake::read(there);
      CHECK((found.sizes() == shape));
      CHECK(found.sub(at::full(shape, -1.2)).abs().max().item<float>() < 1e-6f);
    }
  }
  const wick::detail::normalize_stage of_channels = wick::normalize({0.5, 0.25, 0.125}, {0.25, 0.5, 0.25});
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{5, 3}, {2, 3, 4, 5}, {2, 4, 3}}) {
    const at::Tensor levels = at::full(shape, 51, at::kByte);
    const at::Tensor there = apply_stage(of_channels, levels.to(fake::device()), c);
    REQUIRE(fake::finish_all());
    const at::Tensor found = fake::read(there), expected = apply_stage(of_channels, levels, c);
    REQUIRE((found.sizes() == expected.sizes()));
    CHECK(found.sub(expected).abs().max().item<float>() < 1e-6f);
  }
  // What one stream has not copied yet another doesn't read.
  const wick::detail::normalize_stage other = wick::normalize(0.5, 0.25);
  const c10::Stream held = fake::make_stream(), free = fake::make_stream();
  const at::Tensor levels = at::full({4}, 51, at::kByte).to(fake::device());
  fake::gate gate(held);
  {
    const c10::StreamGuard on(held);
    static_cast<void>(apply_stage(other, levels, c));
  }
  at::Tensor found;
  {
    const c10::StreamGuard on(free);
    found = apply_stage(other, levels, c);
  }
  REQUIRE(fake::finish(free));
  CHECK(fake::read(found).sub(at::full({4}, -1.2)).abs().max().item<float>() < 1e-6f);
  gate.open();
  REQUIRE(fake::finish_all());
}

TEST_CASE("normalize() to another type is another stage for a state") {
  const auto to = [](at::ScalarType type) { return wick::normalize(0.5, 0.25, type).fingerprint(); };
  CHECK(to(at::kHalf) != to(at::kBFloat16));
  CHECK(to(at::kHalf) != wick::normalize(0.5, 0.5, at::kHalf).fingerprint());
  CHECK(to(at::kHalf) == to(at::kHalf));
}

TEST_CASE("normalize() to a type that is no floating-point number is refused") {
  CHECK(contains(message_of([] { return wick::normalize(0.5, 0.25, at::kByte).fingerprint(); }),
                 "normalize: to Byte", "torch::kHalf"));
}

}  // namespace wick_test::normalize_on_device_tests

// transfer() and normalize() on a real GPU; without one, a word.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/Allocator.h>
#include <torch/torch.h>
#if __has_include(<c10/core/CachingDeviceAllocator.h>)
#include <c10/core/CachingDeviceAllocator.h>
#endif

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include <wick/wick.hpp>

namespace {

using wick::layout;
using wick_test::contains;
using wick_test::message_of;

const c10::Device gpu(torch::kCUDA, 0);
bool there() {
  if (torch::cuda::is_available()) return true;
  MESSAGE("skipped: Torch has no GPU here (LibTorch ", TORCH_VERSION, ")");
  return false;
}

/// Batches of 32 pictures [3, 64, 48], of 1,000; a target is the picture's number.
auto pictures(layout in) {
  std::vector<std::uint8_t> levels(std::size_t{1000} * 3 * 64 * 48);
  std::uint32_t random = 1;
  for (std::uint8_t& level : levels)
    level = static_cast<std::uint8_t>((random = random * 1664525 + 1013904223) >> 24);
  std::vector<std::int64_t> targets(1000);
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<std::int64_t>(i);
  return wick::in_memory(std::move(levels), {3, 64, 48}, std::move(targets)) | wick::shuffle() |
         wick::batch(32, {.layout = in});
}

const wick::channel_values mean{0.485, 0.456, 0.406}, deviation{0.229, 0.224, 0.225};

/// Something for the GPU that takes far longer than a copy, and no memory.
class work {
 public:
  void operator()() {
    for (int i = 0; i < 20; ++i) at::mm_out(product_, square_, square_);
  }

 private:
  const at::Tensor square_ = torch::rand({4096, 4096}, torch::TensorOptions(gpu));
  at::Tensor product_ = torch::empty_like(square_);
};

}  // namespace

TEST_CASE("batches on the GPU are those of the CPU, in each type and layout, while the GPU is busy") {
  if (!there()) return;
  work keep_busy;
  for (const layout in : {layout::nchw, layout::channels_last}) {
    for (const at::ScalarType type : {torch::kFloat, torch::kHalf, torch::kBFloat16}) {
      wick::loader expected(pictures(in) | wick::normalize(mean, deviation), {.seed = 3});
      wick::loader loader(
          pictures(in) | wick::pin() | wick::transfer(gpu) | wick::normalize(mean, deviation, type),
          {.seed = 3});
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        loader.epoch(epoch);
        expected.epoch(epoch);
        std::vector<wick::tensor_batch> kept;
        keep_busy();
        while (auto batch = loader.next()) {
          CHECK(batch->data.device() == gpu);
          CHECK((batch->data.scalar_type() == type));
          kept.push_back(std::move(*batch));
          if (kept.size() % 8 == 0) keep_busy();
        }
        for (const auto& batch : kept) {
          const auto cpu = expected.next();
          REQUIRE(cpu);
          CHECK((batch.data.strides() == cpu->data.strides()));
          CHECK(batch.target.cpu().equal(cpu->target));
          const double bound = type == torch::kFloat ? 1e-6 : type == torch::kHalf ? 2e-3 : 2e-2;
          CHECK(batch.data.cpu().to(torch::kFloat).sub(cpu->data).abs().max().item<double>() < bound);
        }
        CHECK_FALSE(expected.next());
      }
    }
  }
}

TEST_CASE("a batch that the loop drops at once is not written over before the GPU has read it") {
  if (!there()) return;
  wick::loader loader(pictures(layout::nchw) | wick::pin() | wick::transfer(gpu), {.seed = 3, .prefetch = 8});
  wick::loader expected(pictures(layout::nchw), {.seed = 3});
  work keep_busy;
  std::vector<at::Tensor> sums, wanted;
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
    loader.epoch(epoch);
    expected.epoch(epoch);
    while (auto batch = loader.next()) {
      keep_busy();  // so that the sum is computed long after the batch is dropped here
      sums.push_back(batch->data.sum(torch::kLong));
    }
    while (auto batch = expected.next()) wanted.push_back(batch->data.sum(torch::kLong));
  }
  REQUIRE(sums.size() == wanted.size());
  for (std::size_t i = 0; i < sums.size(); ++i) CHECK(sums[i].cpu().equal(wanted[i]));
}

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
TEST_CASE("a loop that launches far ahead of the GPU doesn't fill its memory with batches") {
  if (!there()) return;
  constexpr std::size_t prefetch = 3, ahead = 6;
  wick::loader loader(
      pictures(layout::nchw) | wick::pin() | wick::transfer(gpu) | wick::normalize(mean, deviation),
      {.seed = 3, .prefetch = prefetch});
  work keep_busy;
  auto* const memory = at::getDeviceAllocator(torch::kCUDA);
  constexpr auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  keep_busy();
  torch::cuda::synchronize();
  const std::int64_t before = memory->getDeviceStats(0).active_bytes[all].current;
  memory->resetPeakStats(0);
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    loader.epoch(epoch);
    while (auto batch = loader.next()) keep_busy();
  }
  const std::int64_t most = memory->getDeviceStats(0).active_bytes[all].peak - before;
  const double batches = static_cast<double>(most) / (32.0 * 3 * 64 * 48 * (1 + sizeof(float)));
  INFO("at most ", batches, " batches on the GPU");
  CHECK(batches < static_cast<double>(prefetch + ahead));
  CHECK(batches > 1);
}
#endif

TEST_CASE("a loader may go at any batch, with copies under way") {
  if (!there()) return;
  for (int i = 0; i < 50; ++i) {
    wick::loader loader(pictures(layout::channels_last) | wick::pin() | wick::transfer(gpu) |
                            wick::normalize(mean, deviation, torch::kHalf),
                        {.seed = static_cast<std::uint64_t>(i)});
    for (int taken = 0; taken < i % 4; ++taken) REQUIRE(loader.next());
  }
}

TEST_CASE("a device index that is not there is an error that says so") {
  if (!there()) return;
  CHECK(contains(message_of([] { return wick::transfer(c10::Device(torch::kCUDA, 63)).device(); }),
                 "transfer: there is no cuda:63"));
}

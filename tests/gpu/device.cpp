// transfer() and normalize() on a real GPU. Without one, a word and 0.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <torch/torch.h>

#include <wick/wick.hpp>

namespace {

using wick::layout;

const char* what_is_tried = "";
void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(std::string(what_is_tried) + ": " + what);
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

/// Something for the GPU that takes far longer than a copy.
void keep_busy(const at::Tensor& square) {
  for (int i = 0; i < 20; ++i) at::mm(square, square);
}

void same_batches_as_on_the_cpu(c10::Device gpu) {
  for (const layout in : {layout::nchw, layout::channels_last}) {
    for (const at::ScalarType type : {torch::kFloat, torch::kHalf, torch::kBFloat16}) {
      wick::loader expected(pictures(in) | wick::normalize(mean, deviation, torch::kFloat), {.seed = 3});
      wick::loader loader(
          pictures(in) | wick::pin() | wick::transfer(gpu) | wick::normalize(mean, deviation, type),
          {.seed = 3});
      const at::Tensor square = torch::rand({4096, 4096}, torch::TensorOptions(gpu));
      for (int epoch = 0; epoch < 3; ++epoch) {
        loader.epoch(epoch);
        expected.epoch(epoch);
        std::vector<wick::sample<at::Tensor, at::Tensor>> kept;
        keep_busy(square);
        while (auto batch = loader.next()) {
          expect(batch->data.device() == gpu && batch->data.scalar_type() == type, "device or type");
          kept.push_back(std::move(*batch));
          if (kept.size() % 8 == 0) keep_busy(square);
        }
        for (const auto& batch : kept) {
          const auto cpu = expected.next().value();
          expect(batch.data.strides() == cpu.data.strides(), "strides");
          expect(batch.target.cpu().equal(cpu.target), "targets");
          const double bound = type == torch::kFloat ? 1e-6 : type == torch::kHalf ? 2e-3 : 2e-2;
          const double worst = batch.data.cpu().to(torch::kFloat).sub(cpu.data).abs().max().item<double>();
          expect(worst < bound, "levels differ by " + std::to_string(worst));
        }
        expect(!expected.next(), "fewer batches than on the CPU");
      }
    }
  }
}

/// A batch's memory goes to others as soon as the loop drops it: they must not write over what is read.
void dropped_at_once(c10::Device gpu) {
  wick::loader loader(pictures(layout::nchw) | wick::pin() | wick::transfer(gpu), {.seed = 3, .prefetch = 8});
  wick::loader expected(pictures(layout::nchw), {.seed = 3});
  const at::Tensor square = torch::rand({4096, 4096}, torch::TensorOptions(gpu));
  std::vector<at::Tensor> sums, wanted;
  for (int epoch = 0; epoch < 5; ++epoch) {
    loader.epoch(epoch);
    expected.epoch(epoch);
    while (auto batch = loader.next()) {
      keep_busy(square);  // so that the sum is computed long after the batch is dropped here
      sums.push_back(batch->data.sum(torch::kLong));
    }
    while (auto batch = expected.next()) wanted.push_back(batch->data.sum(torch::kLong));
  }
  expect(sums.size() == wanted.size(), "batches are missing");
  for (std::size_t i = 0; i < sums.size(); ++i)
    expect(sums[i].cpu().equal(wanted[i]), "batch " + std::to_string(i) + " was written over");
}

void loaders_go_in_mid_epoch(c10::Device gpu) {
  for (int i = 0; i < 50; ++i) {
    auto pipe = pictures(layout::channels_last) | wick::pin() | wick::transfer(gpu) |
                wick::normalize(mean, deviation, torch::kHalf);
    wick::loader loader(std::move(pipe), {.seed = static_cast<std::uint64_t>(i)});
    for (int taken = 0; taken < i % 4; ++taken) static_cast<void>(loader.next());
  }
}

void a_device_that_is_not_there(c10::Device gpu) {
  try {
    static_cast<void>(wick::transfer(c10::Device(gpu.type(), 63)));
  } catch (const wick::error& e) {
    expect(std::string(e.what()).find("there is no " + gpu.str().substr(0, 4)) != std::string::npos,
           e.what());
    return;
  }
  expect(false, "index 63 was taken");
}

}  // namespace

int main() try {
  if (!torch::cuda::is_available()) {
    std::printf("tests/gpu: skipped: Torch has no GPU here (LibTorch %s)\n", TORCH_VERSION);
    return 0;
  }
  const c10::Device gpu(torch::kCUDA, 0);
  const std::pair<const char*, void (*)(c10::Device)> tests[] = {
      {"batches on the GPU are those of the CPU", same_batches_as_on_the_cpu},
      {"batches that are dropped at once", dropped_at_once},
      {"loaders that go in mid-epoch", loaders_go_in_mid_epoch},
      {"a device that is not there", a_device_that_is_not_there}};
  for (const auto& [what, test] : tests) {
    what_is_tried = what;
    test(gpu);
    std::printf("passed: %s\n", what);
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "failed: %s\n", e.what());
  return 1;
}

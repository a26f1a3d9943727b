// What a step on a GPU loses when its batches come from wick: a ResNet-50 in bfloat16, channels-last.
//
// Two sides in turns: the same step on batches that lie on the device already, and on those of a loader that
// crops and flips pictures in memory, copies them there, and normalizes them. Then normalize() against a copy
// that moves as many bytes. Without a GPU it says so.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "support/options.hpp"
#include "support/timing.hpp"
#include <wick/wick.hpp>

namespace {

using namespace torch::nn;

Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1) {
  return Conv2d(Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

/// Deep Residual Learning for Image Recognition (arXiv 1512.03385), figure 5, right; the stride is on the
/// 3 x 3.
class bottleneck_module : public Module {
 public:
  bottleneck_module(std::int64_t in, std::int64_t middle, std::int64_t stride) {
    const std::int64_t out = 4 * middle;
    path_ = register_module("path", Sequential(convolution(in, middle, 1), BatchNorm2d(middle), ReLU(),
                                               convolution(middle, middle, 3, stride), BatchNorm2d(middle),
                                               ReLU(), convolution(middle, out, 1), BatchNorm2d(out)));
    if (in != out || stride != 1) {
      shortcut_ = register_module("shortcut", Sequential(convolution(in, out, 1, stride), BatchNorm2d(out)));
    }
  }
  at::Tensor forward(const at::Tensor& x) {
    return at::relu(path_->forward(x) + (shortcut_.is_empty() ? x : shortcut_->forward(x)));
  }

 private:
  Sequential path_, shortcut_{nullptr};
};
TORCH_MODULE_IMPL(bottleneck, bottleneck_module);

Sequential resnet(const std::vector<int>& blocks) {
  Sequential net(convolution(3, 64, 7, 2), BatchNorm2d(64), ReLU(),
                 MaxPool2d(MaxPool2dOptions(3).stride(2).padding(1)));
  std::int64_t in = 64, middle = 64;
  for (std::size_t s = 0; s < blocks.size(); ++s, middle *= 2) {
    for (int b = 0; b < blocks[s]; ++b) {
      net->push_back(bottleneck(in, middle, s > 0 && b == 0 ? 2 : 1));
      in = 4 * middle;
    }
  }
  net->push_back(AdaptiveAvgPool2d(1));
  net->push_back(Flatten());
  net->push_back(Linear(in, 1000));
  return net;
}

/// Pictures of 256 x 256 with smooth colors, a few of which repeat.
struct made_pictures {
  std::uint64_t count;
  std::vector<at::Tensor> levels;

  explicit made_pictures(std::uint64_t n) : count(n) {
    for (int i = 0; i < 32; ++i) levels.push_back(torch::randint(256, {3, 256, 256}, torch::kByte));
  }
  std::uint64_t size() const { return count; }
  wick::sample<at::Tensor, std::int64_t> at(std::uint64_t i) const {
    return {levels[i % levels.size()], static_cast<std::int64_t>(i % 1000)};
  }
  std::string key(std::uint64_t i) const { return std::to_string(i); }
};

class training {
 public:
  training(c10::Device device, at::ScalarType type, bool small)
      : net_(resnet(small ? std::vector<int>{1, 1} : std::vector<int>{3, 4, 6, 3})),
        optimizer_((net_->to(device, type), net_->parameters()),
                   torch::optim::SGDOptions(0.01).momentum(0.9)),
        loss_(torch::zeros({}, torch::TensorOptions(device))) {
    for (auto& p : net_->parameters()) {
      if (p.dim() == 4) p.set_data(p.contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
  void step(const at::Tensor& pictures, const at::Tensor& labels) {
    optimizer_.zero_grad();
    const at::Tensor loss = functional::cross_entropy(net_->forward(pictures).to(torch::kFloat), labels);
    loss.backward();
    optimizer_.step();
    loss_ += loss.detach();
  }
  /// Waits for the device.
  double finish() { return std::exchange(loss_, torch::zeros_like(loss_)).item<double>(); }

 private:
  Sequential net_;
  torch::optim::SGD optimizer_;
  at::Tensor loss_;
};

/// Milliseconds of f() on the device, when it has many to do.
template <class F>
double milliseconds(c10::Device device, int times, F f) {
  const auto wait = [&] { return torch::zeros({}, torch::TensorOptions(device)).item<float>(); };
  f();
  wait();
  const wick_bench::stopwatch watch;
  for (int i = 0; i < times; ++i) f();
  wait();
  return 1e3 * watch.seconds() / times;
}

/// normalize() reads a byte and writes a number of 16 bits: three bytes, as a copy of one and a half.
void compare_with_copy(c10::Device device, at::ScalarType type, const std::vector<std::int64_t>& shape,
                       int rounds) {
  const at::Tensor levels =
      torch::randint(256, shape, torch::kByte).to(device).contiguous(at::MemoryFormat::ChannelsLast);
  const auto bytes = levels.numel() * static_cast<std::int64_t>(1 + c10::elementSize(type)) / 2;
  const at::Tensor some = torch::empty({bytes}, torch::TensorOptions(device).dtype(torch::kByte));
  const auto normalize = wick::normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, type);
  std::vector<double> by_wick, by_copy;
  for (int r = 0; r < rounds; ++r) {
    by_wick.push_back(milliseconds(device, 50, [&] { normalize(levels); }));
    by_copy.push_back(milliseconds(device, 50, [&] { some.clone(); }));
  }
  const double ms = wick_bench::median(by_wick), copied = wick_bench::median(by_copy);
  std::printf("normalize() to %s: %.3f ms; a copy that moves as many bytes: %.3f ms\n", c10::toString(type),
              ms, copied);
  std::printf("RESULT gpu_normalize type=%s ms=%.4f ratio=%.3f gb_per_s=%.0f\n", c10::toString(type), ms,
              ms / copied, 2e-6 * static_cast<double>(bytes) / ms);
}

int run(const wick_bench::options& o) {
  const std::string wanted = o.more.contains("--device") ? o.more.at("--device") : "cuda";
  if (wanted != "cpu" && !wanted.starts_with("cuda"))
    throw wick::error("--device is " + wanted + "; give cuda, cuda:1, or cpu");
  const c10::Device device(wanted);
  if (device.is_cuda() && !torch::cuda::is_available()) {
    std::printf("gpu: skipped: Torch has no GPU here (LibTorch %s); --device cpu --quick only tries it\n",
                TORCH_VERSION);
    std::printf("RESULT gpu skipped=1\n");
    return 0;
  }
  const auto type = device.is_cpu() ? torch::kFloat : torch::kBFloat16;
  const auto batch = static_cast<std::size_t>(o.quick ? 8 : 256);
  const int size = o.quick ? 32 : 224, steps = o.quick ? 3 : 40;

  wick::loader train(wick::from(made_pictures(batch * 100'000)) | wick::to_image() |
                         wick::random_resized_crop(size) | wick::random_horizontal_flip() |
                         wick::batch(batch, {.layout = wick::layout::channels_last}) | wick::pin() |
                         wick::transfer(device) |
                         wick::normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, type),
                     {.seed = 1, .workers = o.workers});
  train.epoch(0);
  std::vector<std::pair<at::Tensor, at::Tensor>> there;
  for (int i = 0; i < 8; ++i) {
    auto b = train.next().value();
    there.emplace_back(b.data.clone(), b.target.clone());
  }
  training model(device, type, o.quick);
  const auto resident = [&] {
    for (int i = 0; i < steps; ++i)
      model.step(there[static_cast<std::size_t>(i) % 8].first, there[static_cast<std::size_t>(i) % 8].second);
    return model.finish();
  };
  const auto loaded = [&] {
    for (int i = 0; i < steps; ++i) {
      auto b = train.next().value();
      model.step(b.data, b.target);
    }
    return model.finish();
  };
  resident();  // chooses kernels
  loaded();
  std::vector<double> alone, fed;
  for (int r = 0; r < o.rounds; ++r) {
    const wick_bench::stopwatch first;
    resident();
    alone.push_back(first.seconds() / steps);
    const wick_bench::stopwatch second;
    loaded();
    fed.push_back(second.seconds() / steps);
  }
  const double on_device = wick_bench::median(alone), with_wick = wick_bench::median(fed);
  std::printf("%s, batches of %zu, %zu workers: a step takes %.2f ms on data there, %.2f ms with wick\n",
              device.str().c_str(), batch, o.workers, 1e3 * on_device, 1e3 * with_wick);
  std::printf("RESULT gpu device=%s step_ms=%.3f ratio=%.4f pictures_per_s=%.0f\n", device.str().c_str(),
              1e3 * with_wick, with_wick / on_device, static_cast<double>(batch) / with_wick);
  for (const auto to : {torch::kBFloat16, torch::kHalf, torch::kFloat})
    compare_with_copy(device, to, {static_cast<std::int64_t>(batch), 3, size, size}, o.rounds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(wick_bench::options::parse(argc, argv,
                                        "What a step on a GPU loses when its batches come from wick.",
                                        {{"--device", "TEXT", "cuda (the default), cuda:1, or cpu"}}));
} catch (const std::exception& e) {
  std::fprintf(stderr, "gpu: %s\n", e.what());
  return 1;
}

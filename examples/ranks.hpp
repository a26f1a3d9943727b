// The processes of one training, as a launcher starts them, and sums over them. Not a part of wick.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <torch/torch.h>

#ifndef USE_C10D_GLOO  // LibTorch's own CMake files define these, and USE_C10D_NCCL where there is NCCL
#define USE_C10D_GLOO
#endif
#ifndef USE_DISTRIBUTED
#define USE_DISTRIBUTED
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif
#include <wick/pipeline/ranks.hpp>

class ranks {
 public:
  /// By the launcher's variables (wick::ranks()) and MASTER_ADDR. The ranks meet at a port of rank 0's
  /// machine, STORE_PORT: torchrun's own at MASTER_PORT wants LibTorch of torchrun's version.
  ranks() {
    const int own = rank(), all = world();
    if (all == 1) return;
    c10d::TCPStoreOptions how;
    how.port = static_cast<std::uint16_t>(number("STORE_PORT", 29511));
    how.isServer = own == 0;
    how.numWorkers = all;
    const auto store = c10::make_intrusive<c10d::TCPStore>(text("MASTER_ADDR", "127.0.0.1"), how);
#ifdef USE_C10D_NCCL
    if (device().is_cuda()) {
      group_ = std::make_unique<c10d::ProcessGroupNCCL>(store, own, all);
      return;
    }
#endif
    const auto options = c10d::ProcessGroupGloo::Options::create();
    const std::string interface = text("GLOO_SOCKET_IFNAME", "");
    options->devices.push_back(interface.empty()
                                   ? c10d::ProcessGroupGloo::createDefaultDevice()
                                   : c10d::ProcessGroupGloo::createDeviceForInterface(interface));
    group_ = std::make_unique<c10d::ProcessGroupGloo>(store, own, all, options);
  }

  int rank() const { return static_cast<int>(here_.rank); }
  int world() const { return static_cast<int>(here_.world); }
  torch::Device device() const {
    if (!torch::cuda::is_available()) return torch::kCPU;
    return {torch::kCUDA, static_cast<torch::DeviceIndex>(here_.local_rank)};
  }

  /// Replaces `t` by its sum over the ranks. All ranks call it, in the same order.
  void sum(torch::Tensor& t) {
    if (!group_) return;
    std::vector<torch::Tensor> tensors{t};
    group_->allreduce(tensors)->wait();
  }

 private:
  static std::string text(const char* name, const char* otherwise) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : otherwise;
  }
  static int number(const char* name, int otherwise) {
    const std::string value = text(name, std::to_string(otherwise).c_str());
    try {
      return std::stoi(value);
    } catch (const std::exception&) {
      throw std::invalid_argument(std::string(name) + " is '" + value + "', and should be a number");
    }
  }

  const wick::process_ranks here_ = wick::ranks();
#if TORCH_VERSION_MAJOR >= 2
  using group = c10d::Backend;
#else
  using group = c10d::ProcessGroup;
#endif
  std::unique_ptr<group> group_;
};

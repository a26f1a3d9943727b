// The processes of one training, as torchrun starts them, and sums over them. Not a part of wick.
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

class ranks {
 public:
  /// By RANK, WORLD_SIZE, LOCAL_RANK and MASTER_ADDR; one process where they are not set. The ranks meet at a
  /// port of rank 0's machine, STORE_PORT: torchrun's own at MASTER_PORT wants LibTorch of torchrun's
  /// version.
  ranks() {
    if (rank_ < 0 || rank_ >= world_)
      throw std::invalid_argument("RANK is " + std::to_string(rank_) + ", and WORLD_SIZE " +
                                  std::to_string(world_) + ": ranks count from 0");
    if (world_ == 1) return;
    c10d::TCPStoreOptions how;
    how.port = static_cast<std::uint16_t>(number("STORE_PORT", 29511));
    how.isServer = rank_ == 0;
    how.numWorkers = world_;
    const auto store = c10::make_intrusive<c10d::TCPStore>(text("MASTER_ADDR", "127.0.0.1"), how);
#ifdef USE_C10D_NCCL
    if (device().is_cuda()) {
      group_ = std::make_unique<c10d::ProcessGroupNCCL>(store, rank_, world_);
      return;
    }
#endif
    const auto options = c10d::ProcessGroupGloo::Options::create();
    const std::string interface = text("GLOO_SOCKET_IFNAME", "");
    options->devices.push_back(interface.empty()
                                   ? c10d::ProcessGroupGloo::createDefaultDevice()
                                   : c10d::ProcessGroupGloo::createDeviceForInterface(interface));
    group_ = std::make_unique<c10d::ProcessGroupGloo>(store, rank_, world_, options);
  }

  int rank() const { return rank_; }
  int world() const { return world_; }
  torch::Device device() const {
    if (!torch::cuda::is_available()) return torch::kCPU;
    return {torch::kCUDA, static_cast<torch::DeviceIndex>(number("LOCAL_RANK", 0))};
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

  int rank_ = number("RANK", 0), world_ = number("WORLD_SIZE", 1);
#if TORCH_VERSION_MAJOR >= 2
  using group = c10d::Backend;
#else
  using group = c10d::ProcessGroup;
#endif
  std::unique_ptr<group> group_;
};

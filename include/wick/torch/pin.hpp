/// \file
/// pin(): batches are written into page-locked memory, from which a device copies without the host's help.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>  // what empty.h includes needs it complete first: clang, C++20 and LibTorch 1.13
#include <ATen/ops/empty.h>
#include <c10/core/TensorOptions.h>

#include <wick/flow/context.hpp>
#include <wick/flow/slab.hpp>
#include <wick/flow/stage.hpp>
#include <wick/torch/tensor.hpp>

namespace wick {

/// Blocks from Torch's own page-locked allocator; ordinary memory where there is no accelerator.
class pinned_slab_memory final : public slab_memory {
 public:
  pinned_slab_memory() noexcept {
    try {
      (void)at::empty({1}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
      pins_ = true;
    } catch (const std::exception&) {  // Torch says so when there is no accelerator, or none that pins
    }
  }
  bool pins() const noexcept { return pins_; }

  std::byte* allocate(std::size_t bytes) override {
    if (!pins_) return host_.allocate(bytes);
    at::Tensor block =
        at::empty({static_cast<std::int64_t>(bytes)}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
    auto* const data = static_cast<std::byte*>(block.data_ptr());
    std::lock_guard lock(mutex_);
    blocks_.emplace(data, std::move(block));
    return data;
  }
  void release(std::byte* data, std::size_t bytes) noexcept override {
    if (!pins_) return host_.release(data, bytes);
    std::lock_guard lock(mutex_);
    blocks_.erase(data);
  }

 private:
  bool pins_ = false;
  host_slab_memory host_;
  std::mutex mutex_;
  std::unordered_map<std::byte*, at::Tensor> blocks_;
};

class pin_stage {
 public:
  using stage_kind = on_batch;
  static constexpr std::string_view name = "pin";

  /// The loader takes the memory of its batches from here: nothing is copied to be pinned.
  std::shared_ptr<wick::slab_memory> slab_memory() {
    if (memory_ == nullptr) memory_ = std::make_shared<pinned_slab_memory>();
    return memory_;
  }
  std::string note() const {
    return memory_ != nullptr && !memory_->pins() ? "pin: Torch has no accelerator here; batches are in ordinary memory"
                                                  : "";
  }
  template <class Batch>
  Batch operator()(Batch batch, context&) const {
    return batch;
  }

 private:
  std::shared_ptr<pinned_slab_memory> memory_;
};
static_assert(stage_of<pin_stage, on_batch>);

/// Puts the batches into page-locked memory, so that transfer() can copy them while the device computes. Without an
/// accelerator they stay in ordinary memory, and the report says so.
inline pin_stage pin() { return {}; }

}  // namespace wick

/// \file
/// pin(): batches are written into page-locked memory, from which a device copies without the host's help.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>  // what empty.h includes needs it complete first: clang, C++20 and LibTorch 1.13
#include <ATen/ops/empty.h>
#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>
#include <c10/core/TensorOptions.h>

#include <wick/batch/detail/slab.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/stage.hpp>
#include <wick/torch/tensor.hpp>

namespace wick {

namespace detail {

/// Blocks from Torch's own page-locked allocator, which gets them back as soon as they are dropped: it knows
/// which streams copy from a block, and gives it out again only when these are done. Ordinary memory where
/// there is no accelerator.
class pinned_slab_memory final : public slab_memory {
 public:
  /// Torch pins through the context of some device; where there is none yet it makes one, on the current
  /// device of the thread that asks. That is the thread here, which has set its device, and not a worker.
  pinned_slab_memory() noexcept {
    try {
      const at::Tensor some = at::empty({1}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
      allocator_ = some.storage().allocator();
    } catch (const std::exception&) {  // Torch says so when there is no accelerator, or none that pins
    }
  }
  bool pins() const noexcept { return allocator_ != nullptr; }
  bool recycles() const noexcept override { return pins(); }

  memory_block allocate(std::size_t bytes) override {
    if (!pins()) return host_.allocate(bytes);
    c10::DataPtr block = allocator_->allocate(bytes);
    if (block.get() == nullptr) throw std::bad_alloc();
    auto* const data = static_cast<std::byte*>(block.get());
    const c10::DeleterFnPtr free = block.get_deleter();
    return {data, block.release_context(), free};
  }

 private:
  c10::Allocator* allocator_ = nullptr;  // it lives as long as the process
  host_slab_memory host_;
};

class pin_stage {
 public:
  using stage_kind = on_batch;
  using stage_hooks = hooks<hook::note, hook::check, hook::slab_memory>;
  static constexpr std::string_view name = "pin";

  template <class, class... Before>
  static consteval bool check() {
    constexpr bool blocks = !(requires { Before::keeps_samples; } || ...);
    static_assert(blocks,
                  "wick: pin() says in what memory batch(n) makes its batches, and group(n) makes none, its "
                  "samples stay "
                  "where they are; write batch(n) in its place, or leave pin() out");
    return blocks;
  }

  /// The loader takes the memory of its batches from here: nothing is copied to be pinned.
  std::shared_ptr<wick::detail::slab_memory> slab_memory() {
    if (memory_ == nullptr) memory_ = std::make_shared<pinned_slab_memory>();
    return memory_;
  }
  std::string note() const {
    return memory_ != nullptr && !memory_->pins()
               ? "pin: Torch has no accelerator here; batches are in ordinary memory"
               : "";
  }
  template <class Batch>
  Batch operator()(Batch batch, context&) const {
    return batch;
  }

 private:
  std::shared_ptr<pinned_slab_memory> memory_;
};

}  // namespace detail

/// Puts the batches into page-locked memory, so that transfer() can copy them while the device computes; or
/// the loop itself, by `batch.data.to(torch::kCUDA, /*non_blocking=*/true)`. The batch may be dropped at
/// once: what the device has yet to read is not written before that, as with any pinned tensor of Torch's.
/// Without an accelerator batches stay in ordinary memory, and the report says so.
inline detail::pin_stage pin() { return {}; }

}  // namespace wick

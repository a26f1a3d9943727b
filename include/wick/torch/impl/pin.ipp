// Implements torch/pin.hpp. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <exception>
#include <new>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>  // empty.h's includes need it complete: clang, C++20 and LibTorch 1.13
#include <ATen/ops/empty.h>
#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>
#include <c10/core/TensorOptions.h>

#include <wick/torch/pin.hpp>

namespace wick::inline v0_1::detail {

class pinned_slab_memory final : public slab_memory {
 public:
  /// Torch pins through some device's context. Without one, it makes one on the calling thread's current
  /// device, so this runs on the thread that has set its device, not on a worker.
  pinned_slab_memory() noexcept {
    try {
      const at::Tensor some = at::empty({1}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
      allocator_ = some.storage().allocator();
    } catch (const std::exception&) {  // no accelerator, or none that pins memory
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
  c10::Allocator* allocator_ = nullptr;  // lives as long as the process
  host_slab_memory host_;
};

std::shared_ptr<slab_memory> make_pinned_memory() { return std::make_shared<pinned_slab_memory>(); }

}  // namespace wick::detail

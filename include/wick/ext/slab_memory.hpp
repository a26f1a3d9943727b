/// \file
/// Where the memory of batches comes from.
#pragma once

#include <cstddef>

namespace wick::inline v0_1 {

/// A block of memory, and what frees it: `free(context)`, once, on any thread.
struct memory_block {
  std::byte* data = nullptr;
  void* context = nullptr;
  void (*free)(void* context) = nullptr;
};

/// Where blocks come from: ordinary memory here, pinned memory in torch/. May be called from any thread.
class slab_memory {
 public:
  virtual ~slab_memory() = default;
  /// \throws std::bad_alloc
  virtual memory_block allocate(std::size_t bytes) = 0;
  /// True for memory that itself keeps what is freed, since it alone knows when a block may be written again:
  /// a device may still be reading it. A pool then keeps no block, and a block may be freed when this object
  /// is gone.
  virtual bool recycles() const noexcept { return false; }
};

}  // namespace wick

// The allocator of batches' memory.
#pragma once

#include <cstddef>

namespace wick::inline v0_1::ext {

/// A block of memory, and the call that frees it: `free(context)`, once, on any thread.
struct memory_block {
  std::byte* data = nullptr;
  void* context = nullptr;
  void (*free)(void* context) = nullptr;
};

/// Allocates blocks: ordinary memory here, pinned memory in torch/. Any thread may call it.
class slab_memory {
 public:
  virtual ~slab_memory() = default;
  /// \throws std::bad_alloc
  virtual memory_block allocate(std::size_t bytes) = 0;
  /// True for memory that keeps freed blocks itself, since it alone knows when a block may be written again:
  /// a device may still be reading it. A pool then keeps no blocks, and a block may be freed after this
  /// object is gone.
  virtual bool recycles() const noexcept { return false; }
};

}  // namespace wick::ext

namespace wick::inline v0_1::detail {
using namespace ext;
}  // namespace wick::detail

// Page-locked memory for the fake device, with what Torch's caching host allocator promises and no more: a
// block that was freed is given out again when the streams that were seen to copy from it are done with what
// they had then. It knows a block by the context of a tensor's storage or by the block's first byte, as
// Torch does (record_event in ATen/core/CachingHostAllocator.h), and takes powers of two.
#pragma once

#include <cstddef>

#include <c10/core/Stream.h>

namespace wick_test::fake {

/// While one lives, Torch has memory to pin. One at a time.
class pinning {
 public:
  pinning();
  pinning(const pinning&) = delete;
  pinning& operator=(const pinning&) = delete;
  ~pinning();

  /// False where this Torch has an accelerator of its own, which it asks first, or none can be added.
  static bool possible();
};

/// A copy between the device and memory that begins at `data`, of a storage with this context, was put on
/// `s`. False when that is no page-locked memory.
bool record_copy(const void* data, void* context, c10::Stream s);
bool is_pinned(const void* data);

struct pinned_statistics {
  std::size_t bytes = 0;  // of all blocks, free ones too: nothing is given back to the system
  std::size_t blocks = 0;
  std::size_t out = 0;     // blocks that are not freed
  std::size_t reused = 0;  // how often a block was given out again
  std::size_t faults = 0;  // copies from blocks that were freed
};
pinned_statistics pinned();

}  // namespace wick_test::fake

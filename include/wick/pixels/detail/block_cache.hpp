// Memory for pixels: each thread keeps the last large blocks it released, so that decoding image after image
// doesn't ask the kernel for pages. Holds pixels from the decoder to the batch's slot.
#pragma once

#include <array>
#include <cstddef>

namespace wick::inline v0_1::detail {

struct block_header {
  std::size_t capacity;  // bytes after the header
};

inline constexpr std::size_t block_header_bytes = 64;
inline constexpr std::size_t smallest_kept_block = std::size_t{1} << 15;
inline constexpr std::size_t most_kept_bytes = std::size_t{64} << 20;  // per thread

/// Rounds sizes up to eight steps per doubling, so that images of similar sizes share blocks.
constexpr std::size_t block_size(std::size_t bytes) noexcept {
  if (bytes < smallest_kept_block) return bytes;
  std::size_t step = smallest_kept_block / 8;
  while (step * 16 < bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

inline thread_local bool block_cache_gone =
    false;  // trivially destructible: may be read after the cache is destroyed

/// Released blocks of one thread, oldest first.
struct block_cache {
  std::array<block_header*, 12> blocks{};
  std::size_t count = 0;
  std::size_t bytes = 0;

  block_cache() = default;
  block_cache(const block_cache&) = delete;
  block_cache& operator=(const block_cache&) = delete;
  ~block_cache();
  block_header* remove(std::size_t i) noexcept;
  /// The smallest block that holds `size` and wastes at most three quarters of itself.
  block_header* take(std::size_t size) noexcept;
  void give(block_header* block) noexcept;
};

/// Null if nothing is kept: while the thread exits, and under AddressSanitizer, which must see each free.
[[gnu::noinline]] block_cache* this_thread_blocks() noexcept;

/// Like malloc; aligned to 16 bytes. Null if there is no memory.
void* allocate_block(std::size_t bytes) noexcept;

/// Like free, from any thread.
void release_block(void* data) noexcept;

/// Like realloc.
void* resize_block(void* data, std::size_t bytes) noexcept;

}  // namespace wick::detail

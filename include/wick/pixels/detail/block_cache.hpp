/// \file
/// Memory for pixels: each thread keeps the last large blocks it dropped, so that decoding picture after
/// picture asks the kernel for no pages. Where pixels lie from the decoder to the batch's slot.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace wick::detail {

struct block_header {
  std::size_t capacity;  // bytes behind the header
};

inline constexpr std::size_t block_header_bytes = 64;
inline constexpr std::size_t smallest_kept_block = std::size_t{1} << 15;
inline constexpr std::size_t most_kept_bytes = std::size_t{64} << 20;  // a thread

/// Sizes come in eight steps a doubling, so that pictures of nearly one size share blocks.
constexpr std::size_t block_size(std::size_t bytes) noexcept {
  if (bytes < smallest_kept_block) return bytes;
  std::size_t step = smallest_kept_block / 8;
  while (step * 16 < bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

inline thread_local bool block_cache_gone =
    false;  // trivially destructible: may be read after the cache went

/// Dropped blocks of one thread, oldest first.
struct block_cache {
  std::array<block_header*, 12> blocks{};
  std::size_t count = 0;
  std::size_t bytes = 0;

  block_cache() = default;
  block_cache(const block_cache&) = delete;
  block_cache& operator=(const block_cache&) = delete;
  ~block_cache() {
    while (count != 0) std::free(remove(0));
    block_cache_gone = true;
  }
  block_header* remove(std::size_t i) noexcept {
    block_header* const block = blocks[i];
    bytes -= block->capacity;
    for (--count; i < count; ++i) blocks[i] = blocks[i + 1];
    return block;
  }
  /// The smallest block that holds `size` and wastes at most three quarters of itself.
  block_header* take(std::size_t size) noexcept {
    std::size_t best = count;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t capacity = blocks[i]->capacity;
      if (capacity >= size && capacity / 4 <= size && (best == count || capacity < blocks[best]->capacity))
        best = i;
    }
    return best == count ? nullptr : remove(best);
  }
  void give(block_header* block) noexcept {
    while (count != 0 && (count == blocks.size() || bytes + block->capacity > most_kept_bytes))
      std::free(remove(0));
    blocks[count++] = block;
    bytes += block->capacity;
  }
};

/// Null where nothing is kept: when the thread is ending, and under AddressSanitizer, which must see each
/// free.
[[gnu::noinline]] inline block_cache* this_thread_blocks() noexcept {
#if defined(__SANITIZE_ADDRESS__)
  return nullptr;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return nullptr;
#endif
#endif
  if (block_cache_gone) return nullptr;
  static thread_local block_cache blocks;
  return &blocks;
}

/// As malloc; aligned to 16 bytes. Null when there is no memory.
inline void* allocate_block(std::size_t bytes) noexcept {
  if (bytes > static_cast<std::size_t>(-1) / 2) return nullptr;
  const std::size_t size = block_size(bytes);
  block_header* block = nullptr;
  if (size >= smallest_kept_block) {
    if (block_cache* kept = this_thread_blocks()) block = kept->take(size);
  }
  if (block == nullptr) {
    void* const memory = std::malloc(block_header_bytes + size);
    if (memory == nullptr) return nullptr;
    block = ::new (memory) block_header{size};
  }
  return reinterpret_cast<std::byte*>(block) + block_header_bytes;
}

/// As free, on any thread.
inline void release_block(void* data) noexcept {
  if (data == nullptr) return;
  auto* const block = reinterpret_cast<block_header*>(static_cast<std::byte*>(data) - block_header_bytes);
  if (block->capacity >= smallest_kept_block && block->capacity <= most_kept_bytes) {
    if (block_cache* kept = this_thread_blocks()) return kept->give(block);
  }
  std::free(block);
}

/// As realloc.
inline void* resize_block(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return allocate_block(bytes);
  const std::size_t capacity =
      reinterpret_cast<block_header*>(static_cast<std::byte*>(data) - block_header_bytes)->capacity;
  if (bytes <= capacity) return data;
  void* const larger = allocate_block(bytes);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, data, capacity);
  release_block(data);
  return larger;
}

}  // namespace wick::detail

// Implements pixels/detail/block_cache.hpp. Included in exactly one file of a program.
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>

#include <wick/pixels/detail/block_cache.hpp>

namespace wick::inline v0_1::detail {

block_cache::~block_cache() {
  while (count != 0) std::free(remove(0));
  block_cache_gone = true;
}

block_header* block_cache::remove(std::size_t i) noexcept {
  block_header* const block = blocks[i];
  bytes -= block->capacity;
  for (--count; i < count; ++i) blocks[i] = blocks[i + 1];
  return block;
}

block_header* block_cache::take(std::size_t size) noexcept {
  std::size_t best = count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t capacity = blocks[i]->capacity;
    if (capacity >= size && capacity / 4 <= size && (best == count || capacity < blocks[best]->capacity))
      best = i;
  }
  return best == count ? nullptr : remove(best);
}

void block_cache::give(block_header* block) noexcept {
  while (count != 0 && (count == blocks.size() || bytes + block->capacity > most_kept_bytes))
    std::free(remove(0));
  blocks[count++] = block;
  bytes += block->capacity;
}

block_cache* this_thread_blocks() noexcept {
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

void* allocate_block(std::size_t bytes) noexcept {
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

void release_block(void* data) noexcept {
  if (data == nullptr) return;
  auto* const block = reinterpret_cast<block_header*>(static_cast<std::byte*>(data) - block_header_bytes);
  if (block->capacity >= smallest_kept_block && block->capacity <= most_kept_bytes) {
    if (block_cache* kept = this_thread_blocks()) return kept->give(block);
  }
  std::free(block);
}

void* resize_block(void* data, std::size_t bytes) noexcept {
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

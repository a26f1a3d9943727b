// The memory of a libjpeg decompressor, kept from image to image: libjpeg itself frees all of it after each
// one. Only for libjpeg_turbo.ipp, which includes jpeglib.h before this.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace wick::inline v0_1::detail {

/// A jpeg_memory_mgr. The decompressor itself is still allocated by libjpeg's own manager. All of an image's
/// memory, including its tables, which libjpeg would keep, comes from one block that is kept and grows to the
/// largest total so far. Under AddressSanitizer, each request is a block of its own, freed with the image, so
/// that a use after free is found.
///
/// libjpeg calls these functions, and they leave it through error_exit, a longjmp: they must not have
/// destructors to run.
struct jpeg_memory {
  jpeg_memory_mgr mgr;  // must be first: libjpeg knows this struct by it
  jpeg_memory_mgr* own;

  struct chunk {
    chunk* next;
    std::size_t size, used;
  };
  chunk* chunks;
  std::size_t wanted;  // the next block's size, unless the request is larger

  struct coefficients {  // a "virtual array", always in memory
    JBLOCKARRAY rows;
    JDIMENSION blocks, count;
    bool zeroed;
    coefficients* next;
  };
  coefficients* arrays;

  static constexpr std::size_t unit = 64;  // libjpeg-turbo wants 32; its loops write up to 64 at once
  static constexpr std::size_t first_block = std::size_t{1} << 18, most_kept = std::size_t{64} << 20;

  /// Call right after jpeg_create_decompress.
  void install(j_common_ptr info) noexcept {
    own = info->mem;
    mgr = *own;
    chunks = nullptr;
    arrays = nullptr;
    wanted = first_block;
    mgr.alloc_small = &allocate;
    mgr.alloc_large = &allocate;
    mgr.alloc_sarray = &allocate_samples;
    mgr.alloc_barray = &allocate_blocks;
    mgr.request_virt_sarray = &refuse_samples;
    mgr.request_virt_barray = &request_blocks;
    mgr.realize_virt_arrays = &realize;
    mgr.access_virt_barray = &access_blocks;
    mgr.free_pool = &free_pool;
    mgr.self_destruct = &destroy;
    info->mem = &mgr;
  }

 private:
  static jpeg_memory& of(j_common_ptr info) noexcept { return *reinterpret_cast<jpeg_memory*>(info->mem); }
  static constexpr std::size_t header() noexcept { return unit; }
  static bool each_alone() noexcept {
#if defined(__SANITIZE_ADDRESS__)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    return true;
#endif
#endif
    return false;
  }
  [[noreturn]] static void fail(j_common_ptr info, int code) {
    info->err->msg_code = code;
    (*info->err->error_exit)(info);
    std::abort();  // error_exit doesn't return
  }

  static void* allocate(j_common_ptr info, int, std::size_t size) {
    jpeg_memory& self = of(info);
    if (size > static_cast<std::size_t>(-1) / 4) fail(info, JERR_OUT_OF_MEMORY);
    size = (size + unit - 1) / unit * unit;
    chunk* block = self.chunks;
    if (block == nullptr || block->size - block->used < size) {
      const std::size_t capacity = each_alone() ? size : std::max(size, self.wanted);
      void* const memory = std::aligned_alloc(unit, header() + capacity);
      if (memory == nullptr) fail(info, JERR_OUT_OF_MEMORY);
      block = ::new (memory) chunk{self.chunks, capacity, 0};
      self.chunks = block;
    }
    auto* const out = reinterpret_cast<unsigned char*>(block) + header() + block->used;
    block->used += size;
    return out;
  }
  template <class Row>
  static Row* allocate_rows(j_common_ptr info, int pool, std::size_t row_bytes, JDIMENSION count) {
    auto* const rows = static_cast<Row*>(allocate(info, pool, count * sizeof(Row)));
    row_bytes = (row_bytes + unit - 1) / unit * unit;
    auto* const data = static_cast<unsigned char*>(allocate(info, pool, row_bytes * count));
    for (JDIMENSION i = 0; i < count; ++i) rows[i] = reinterpret_cast<Row>(data + row_bytes * i);
    return rows;
  }
  static JSAMPARRAY allocate_samples(j_common_ptr info, int pool, JDIMENSION width, JDIMENSION count) {
    return allocate_rows<JSAMPROW>(info, pool, width * sizeof(JSAMPLE), count);
  }
  static JBLOCKARRAY allocate_blocks(j_common_ptr info, int pool, JDIMENSION blocks, JDIMENSION count) {
    return allocate_rows<JBLOCKROW>(info, pool, blocks * sizeof(JBLOCK), count);
  }
  static jvirt_sarray_ptr refuse_samples(j_common_ptr info, int, boolean, JDIMENSION, JDIMENSION,
                                         JDIMENSION) {
    fail(info, JERR_NOT_COMPILED);  // used only for color palettes
  }
  static jvirt_barray_ptr request_blocks(j_common_ptr info, int pool, boolean zeroed, JDIMENSION blocks,
                                         JDIMENSION count, JDIMENSION) {
    auto* const array = static_cast<coefficients*>(allocate(info, pool, sizeof(coefficients)));
    jpeg_memory& self = of(info);
    *array = {nullptr, blocks, count, zeroed != 0, self.arrays};
    self.arrays = array;
    return reinterpret_cast<jvirt_barray_ptr>(array);
  }
  static void realize(j_common_ptr info) {
    for (coefficients* a = of(info).arrays; a != nullptr; a = a->next) {
      if (a->rows != nullptr) continue;
      a->rows = allocate_blocks(info, JPOOL_IMAGE, a->blocks, a->count);
      if (!a->zeroed) continue;
      for (JDIMENSION i = 0; i < a->count; ++i) std::memset(a->rows[i], 0, a->blocks * sizeof(JBLOCK));
    }
  }
  static JBLOCKARRAY access_blocks(j_common_ptr info, jvirt_barray_ptr array, JDIMENSION start,
                                   JDIMENSION count, boolean) {
    const auto* const a = reinterpret_cast<const coefficients*>(array);
    if (a->rows == nullptr || start > a->count || count > a->count - start)
      fail(info, JERR_BAD_VIRTUAL_ACCESS);
    return a->rows + start;
  }
  static void free_pool(j_common_ptr info, int pool) {
    jpeg_memory& self = of(info);
    if (pool == JPOOL_PERMANENT) return;  // freed with the decompressor
    self.arrays = nullptr;
    std::size_t total = 0;
    for (const chunk* c = self.chunks; c != nullptr; c = c->next) total += c->size;
    if (!each_alone() && self.chunks != nullptr && self.chunks->next == nullptr && total <= most_kept) {
      self.chunks->used = 0;
      return;
    }
    // Several blocks: the next image gets one block that would have been large enough.
    self.wanted = std::clamp(total, first_block, most_kept) / unit * unit;
    self.release();
  }
  void release() noexcept {
    while (chunks != nullptr) std::free(std::exchange(chunks, chunks->next));
  }
  static void destroy(j_common_ptr info) {
    jpeg_memory& self = of(info);
    self.release();
    info->mem = self.own;
    (*self.own->self_destruct)(info);
  }
};

}  // namespace wick::detail

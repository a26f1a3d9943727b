// stb_image itself. Included in exactly one file of a program.
#pragma once

#include <wick/codec/detail/decode_limits.hpp>
#include <wick/pixels/detail/block_cache.hpp>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wuseless-cast"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wcast-align"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#pragma GCC diagnostic ignored "-Wduplicated-branches"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#endif

namespace wick::inline v0_1::detail {

inline thread_local bool stb_memory_is_cleared = false;
inline thread_local stb_limit* stb_limited_by = nullptr;

inline bool stb_may_have(std::size_t size) noexcept {
  if (stb_limited_by == nullptr || size <= stb_limited_by->bytes) return true;
  stb_limited_by->exceeded = true;
  return false;
}

/// Small blocks are always cleared: they hold tables, which a damaged file may use without defining them.
inline void* stb_memory(std::size_t size) noexcept {
  if (!stb_may_have(size)) return nullptr;
  void* const out = allocate_block(size);
  if (out != nullptr && (stb_memory_is_cleared || size < smallest_kept_block)) std::memset(out, 0, size);
  return out;
}

inline void* stb_resized(void* data, std::size_t size) noexcept {
  return stb_may_have(size) ? resize_block(data, size) : nullptr;
}

}  // namespace wick::detail

#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_NO_ZLIB
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_ASSERT(x) ((void)0)  // damaged files trigger them
#define STBI_MALLOC(size) ::wick::detail::stb_memory(size)
#define STBI_REALLOC(data, size) ::wick::detail::stb_resized(data, size)
#define STBI_FREE(data) ::wick::detail::release_block(data)
#if defined(__ARM_NEON) || defined(__aarch64__)
#define STBI_NEON
#endif
// stb_image copies empty chunks from and to null, which memcpy doesn't allow.
#include <string.h>
#pragma push_macro("memcpy")
#undef memcpy
#define memcpy(to, from, size) ((size) == 0 ? (to) : memcpy(to, from, size))
// Up to 2.27, when a scan ends within a code, stb_image shifts a 0 by more than 31 bits. The result is 0 on
// any machine.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((no_sanitize("shift-exponent"))), apply_to = function)
#endif
#if __has_include(<stb_image.h>)
#include <stb_image.h>
#else
#include <stb/stb_image.h>
#endif
#if defined(__clang__)
#pragma clang attribute pop
#endif
#pragma pop_macro("memcpy")
#ifndef STBI_THREAD_LOCAL
#error "wick: stb_image before 2.26 keeps its failure reason in a plain global; install a newer libstb-dev"
#endif
#undef STB_IMAGE_IMPLEMENTATION
#undef STB_IMAGE_STATIC

#include <wick/codec/impl/stb_jpeg.ipp>

namespace wick::inline v0_1::detail {

std::uint8_t* stb_load(const std::byte* encoded, int size, int channels, int& width, int& height,
                       const char*& why, stb_limit& limit, bool cleared) noexcept {
  int stored = 0;
  stb_memory_is_cleared = cleared;
  stb_limited_by = &limit;
  stbi_uc* const pixels = stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(encoded), size, &width,
                                                &height, &stored, channels);
  stb_limited_by = nullptr;
  if (pixels == nullptr) {
    const char* const reason = stbi_failure_reason();
    why = reason != nullptr ? reason : "no reason";
  }
  return pixels;
}

std::uint8_t* stb_load_jpeg(const std::byte* encoded, int size, jpeg_color_model colors, int channels,
                            int& width, int& height, const char*& why, stb_limit& limit,
                            bool cleared) noexcept {
  stb_memory_is_cleared = cleared;
  stb_limited_by = &limit;
  stbi__context context{};
  stbi__start_mem(&context, reinterpret_cast<const stbi_uc*>(encoded), size);
  auto* const jpeg = static_cast<stbi__jpeg*>(stb_memory(sizeof(stbi__jpeg)));
  if (jpeg == nullptr) {
    stb_limited_by = nullptr;
    why = "outofmem";
    return nullptr;
  }
  jpeg->s = &context;
  stbi__setup_jpeg(jpeg);
  std::uint8_t* const pixels = stb_jpeg_pixels(*jpeg, colors, channels, why);
  stbi__cleanup_jpeg(jpeg);
  stb_limited_by = nullptr;
  release_block(jpeg);
  width = static_cast<int>(context.img_x);
  height = static_cast<int>(context.img_y);
  return pixels;
}

}  // namespace wick::detail

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

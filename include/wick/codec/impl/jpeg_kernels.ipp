// The inner loops of the JPEG decoder for every possible instruction set. Included in exactly one file of a
// program.
#pragma once

#if defined(__x86_64__)
#include <wick/codec/impl/jpeg_avx512_kernels.ipp>
#include <wick/codec/impl/jpeg_x86_kernels.ipp>
#elif defined(__aarch64__)
#include <wick/codec/impl/jpeg_neon_kernels.ipp>
#endif

namespace wick::inline v0_1::detail {

std::span<const jpeg_kernels* const> available_jpeg_kernels() noexcept {
  struct list {
    const jpeg_kernels* sets[3] = {&portable_jpeg_kernels};
    std::size_t count = 1;
    list() noexcept {
#if defined(__x86_64__)
      if (__builtin_cpu_supports("avx2")) sets[count++] = &avx2_jpeg_kernels;
      if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
          __builtin_cpu_supports("avx512vbmi"))
        sets[count++] = &avx512_jpeg_kernels;
#elif defined(__aarch64__)
      sets[count++] = &neon_jpeg_kernels;
#endif
    }
  };
  static const list all;
  return {all.sets, all.count};
}

const jpeg_kernels& best_jpeg_kernels() noexcept {
  static const jpeg_kernels& best = *available_jpeg_kernels().back();
  return best;
}

}  // namespace wick::detail

// The inner loops of the resize for every possible instruction set, in one portable build. Included in
// exactly one file of a program, with stb_image.
#pragma once

#include <wick/pixels/detail/resample_kernels.hpp>
#include <wick/pixels/impl/portable_kernels.ipp>
#if defined(__x86_64__) || defined(__i386__)
#include <wick/pixels/impl/x86_kernels.ipp>
#elif defined(__aarch64__)
#include <wick/pixels/impl/neon_kernels.ipp>
#endif

namespace wick::inline v0_1::detail {

void blend_many_rows(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                     std::int16_t* out, std::size_t n) noexcept {
  blend_many_rows_portable(rows, weights, taps, out, n);
}

std::span<const resample_kernels* const> available_kernels() noexcept {
  struct list {
    const resample_kernels* sets[4] = {&portable_kernels};
    std::size_t count = 1;
    list() noexcept {
#if defined(__x86_64__) || defined(__i386__)
      if (__builtin_cpu_supports("ssse3")) sets[count++] = &ssse3_kernels;
      if (__builtin_cpu_supports("avx2")) sets[count++] = &avx2_kernels;
      if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
          __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni"))
        sets[count++] = &avx512_kernels;
#elif defined(__aarch64__)
      sets[count++] = &neon_kernels;
#endif
    }
  };
  static const list all;
  return {all.sets, all.count};
}

const resample_kernels& best_kernels() noexcept {
  static const resample_kernels& best = *available_kernels().back();
  return best;
}

}  // namespace wick::detail

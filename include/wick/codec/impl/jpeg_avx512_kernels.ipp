// The color loops of the JPEG decoder for x86 with AVX-512 (Ice Lake, Zen 4, and later): 64 pixels at a
// time.
#pragma once

#include <wick/codec/impl/jpeg_x86_kernels.ipp>

namespace wick::inline v0_1::detail {

#define WICK_AVX512 __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512vbmi")))
#define WICK_AVX512_INLINE WICK_AVX512 __attribute__((always_inline)) inline

namespace jpeg_avx512 {

WICK_AVX512_INLINE __m512i load(const void* from) noexcept { return _mm512_loadu_si512(from); }
WICK_AVX512_INLINE __m512i words(short v) noexcept { return _mm512_set1_epi16(v); }

WICK_AVX512_INLINE __m512i bytes_as_words(const std::uint8_t* from) noexcept {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
/// Three times `near` plus `far`, for 32 samples.
WICK_AVX512_INLINE __m512i four_of(const std::uint8_t* near, const std::uint8_t* far) noexcept {
  return _mm512_add_epi16(_mm512_mullo_epi16(bytes_as_words(near), words(3)), bytes_as_words(far));
}

/// Indices into two registers: the word before each one of the second, and the word after each one of the
/// first.
struct neighbors {
  std::array<std::int16_t, 32> before, behind;
};
alignas(64) inline constexpr neighbors neighbors_of_words = [] {
  neighbors out{};
  for (std::size_t i = 0; i < 32; ++i) {
    out.before[i] = static_cast<std::int16_t>(31 + i);
    out.behind[i] = static_cast<std::int16_t>(1 + i);
  }
  return out;
}();

/// For bytes 64 k to 64 k + 63 of the output: their indices in red and green, and in blue, 64 pixels each.
struct triples {
  std::array<std::array<std::uint8_t, 64>, 3> red_green, blue;
  std::array<std::uint64_t, 3> are_blue;
};
alignas(64) inline constexpr triples triples_of_64 = [] {
  triples out{};
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < 64; ++i) {
      const std::size_t pixel = (64 * k + i) / 3, channel = (64 * k + i) % 3;
      out.red_green[k][i] = static_cast<std::uint8_t>(pixel + (channel == 1 ? 64 : 0));
      out.blue[k][i] = static_cast<std::uint8_t>(pixel);
      if (channel == 2) out.are_blue[k] |= std::uint64_t{1} << i;
    }
  }
  return out;
}();

/// See dct_avx2::part.
WICK_AVX512_INLINE __m512i part(__m512i doubled, short by) noexcept {
  return _mm512_mulhrs_epi16(_mm512_mulhi_epi16(doubled, words(by)), words(1 << 14));
}
/// Rounds 65536ths to integers. Masked, since g++ 12 warns about undefined values in the other intrinsic.
WICK_AVX512_INLINE __m512i rounded(__m512i v) noexcept {
  return _mm512_maskz_srai_epi32(0xFFFF, _mm512_add_epi32(v, _mm512_set1_epi32(1 << 15)), 16);
}
struct pixels {
  __m512i red, green, blue;
};
/// 32 pixels, 16 bits each. The same arithmetic as dct_avx2::pixels_to_rgb.
WICK_AVX512_INLINE pixels pixels_of(__m512i level, __m512i cb, __m512i cr) noexcept {
  const __m512i b = _mm512_sub_epi16(cb, words(128)), r = _mm512_sub_epi16(cr, words(128));
  const __m512i b2 = _mm512_add_epi16(b, b), r2 = _mm512_add_epi16(r, r);
  const __m512i by = _mm512_set1_epi32(((65536 - 46802) * 65536) | (-22554 & 0xFFFF));
  const __m512i sum = _mm512_packs_epi32(rounded(_mm512_madd_epi16(_mm512_unpacklo_epi16(b, r), by)),
                                         rounded(_mm512_madd_epi16(_mm512_unpackhi_epi16(b, r), by)));
  return {_mm512_add_epi16(level, _mm512_add_epi16(r, part(r2, 26345))),
          _mm512_add_epi16(level, _mm512_sub_epi16(sum, r)),
          _mm512_add_epi16(level, _mm512_add_epi16(b2, part(b2, -14942)))};
}

}  // namespace jpeg_avx512

/// Writes up to jpeg_slack bytes after the row.
WICK_AVX512 inline void widen_between_avx512(const std::uint8_t* near, const std::uint8_t* far,
                                             std::uint8_t* out, std::size_t n) {
  using namespace jpeg_avx512;
  const __m512i behind_of = load(neighbors_of_words.behind.data()),
                before_of = load(neighbors_of_words.before.data());
  __m512i last = four_of(near - 32, far - 32), now = four_of(near, far);
  for (std::size_t i = 0; i < n; i += 32) {
    const __m512i next = four_of(near + i + 32, far + i + 32);
    const __m512i before = _mm512_permutex2var_epi16(last, before_of, now),
                  behind = _mm512_permutex2var_epi16(now, behind_of, next);
    const __m512i at = _mm512_mullo_epi16(now, words(3));
    const __m512i even = _mm512_srli_epi16(_mm512_add_epi16(_mm512_add_epi16(at, before), words(8)), 4),
                  odd = _mm512_srli_epi16(_mm512_add_epi16(_mm512_add_epi16(at, behind), words(7)), 4);
    _mm512_storeu_si512(out + 2 * i, _mm512_or_si512(even, _mm512_slli_epi16(odd, 8)));
    last = now;
    now = next;
  }
}

WICK_AVX512 inline void to_rgb_avx512(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                                      std::uint8_t* out, std::size_t n) {
  using namespace jpeg_avx512;
  const __m512i zero = _mm512_setzero_si512();
  for (std::size_t i = 0; i < n; i += 64) {  // jpeg_slack covers reads past n
    const __m512i level = load(y + i), b = load(cb + i), r = load(cr + i);
    const pixels first = pixels_of(_mm512_unpacklo_epi8(level, zero), _mm512_unpacklo_epi8(b, zero),
                                   _mm512_unpacklo_epi8(r, zero)),
                 second = pixels_of(_mm512_unpackhi_epi8(level, zero), _mm512_unpackhi_epi8(b, zero),
                                    _mm512_unpackhi_epi8(r, zero));
    const __m512i red = _mm512_packus_epi16(first.red, second.red),
                  green = _mm512_packus_epi16(first.green, second.green),
                  blue = _mm512_packus_epi16(first.blue, second.blue);
    for (std::size_t k = 0; k < 3; ++k) {
      const __m512i two = _mm512_permutex2var_epi8(red, load(triples_of_64.red_green[k].data()), green);
      const __m512i all = _mm512_mask_permutexvar_epi8(two, triples_of_64.are_blue[k],
                                                       load(triples_of_64.blue[k].data()), blue);
      const std::size_t at = 3 * i + 64 * k, left = 3 * n > at ? 3 * n - at : 0;
      _mm512_mask_storeu_epi8(out + at, left < 64 ? (std::uint64_t{1} << left) - 1 : ~std::uint64_t{0}, all);
    }
  }
}

inline constexpr jpeg_kernels avx512_jpeg_kernels{
    "avx512", &to_8_avx2, &to_4_avx2, &to_2_avx2, &widen_avx2, &widen_between_avx512, &to_rgb_avx512};

#undef WICK_AVX512
#undef WICK_AVX512_INLINE

}  // namespace wick::detail

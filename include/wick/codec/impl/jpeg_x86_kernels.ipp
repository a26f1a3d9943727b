// The color loops of the JPEG decoder for x86 with AVX2. The inverse DCTs are in jpeg_x86_dct.ipp.
#pragma once

#include <wick/codec/impl/jpeg_x86_dct.ipp>

namespace wick::inline v0_1::detail {

#define WICK_AVX2 __attribute__((target("avx2")))
#define WICK_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

namespace dct_avx2 {

WICK_AVX2_INLINE __m256i load(const void* from) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
WICK_AVX2_INLINE void store(void* to, __m256i v) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), v);
}
WICK_AVX2_INLINE __m256i bytes_as_words(const std::uint8_t* from) noexcept {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
WICK_AVX2_INLINE wide as_words(__m256i v, __m256i zero) noexcept {
  return {_mm256_unpacklo_epi8(v, zero), _mm256_unpackhi_epi8(v, zero)};
}
/// For each pair of bytes: (3 * first + second + `half`) / 4.
WICK_AVX2_INLINE __m256i quarters(__m256i pairs, short half) noexcept {
  const __m256i four_times = _mm256_maddubs_epi16(pairs, _mm256_set1_epi16(0x0103));
  return _mm256_srli_epi16(_mm256_add_epi16(four_times, _mm256_set1_epi16(half)), 2);
}
/// Three times `near` plus `far`.
WICK_AVX2_INLINE __m256i four_of(const std::uint8_t* near, const std::uint8_t* far) noexcept {
  return _mm256_add_epi16(_mm256_mullo_epi16(bytes_as_words(near), _mm256_set1_epi16(3)),
                          bytes_as_words(far));
}

}  // namespace dct_avx2

WICK_AVX2 inline void widen_avx2(const std::uint8_t* in, std::uint8_t* out, std::size_t n) {
  using namespace dct_avx2;
  std::size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m256i at = load(in + i), before = load(in + i - 1), behind = load(in + i + 1);
    const __m256i even_low = quarters(_mm256_unpacklo_epi8(at, before), 1),
                  even_high = quarters(_mm256_unpackhi_epi8(at, before), 1),
                  odd_low = quarters(_mm256_unpacklo_epi8(at, behind), 2),
                  odd_high = quarters(_mm256_unpackhi_epi8(at, behind), 2);
    const __m256i low = _mm256_or_si256(even_low, _mm256_slli_epi16(odd_low, 8)),
                  high = _mm256_or_si256(even_high, _mm256_slli_epi16(odd_high, 8));
    store(out + 2 * i, _mm256_permute2x128_si256(low, high, 0x20));
    store(out + 2 * i + 32, _mm256_permute2x128_si256(low, high, 0x31));
  }
  widen_from(i, in, out, n);
}

WICK_AVX2 inline void widen_between_avx2(const std::uint8_t* near, const std::uint8_t* far, std::uint8_t* out,
                                         std::size_t n) {
  using namespace dct_avx2;
  const __m256i three = _mm256_set1_epi16(3), seven = _mm256_set1_epi16(7), eight = _mm256_set1_epi16(8);
  std::size_t i = 0;
  __m256i last = four_of(near - 16, far - 16), now = four_of(near, far);
  for (; i + 16 <= n; i += 16) {
    const __m256i next = four_of(near + i + 16, far + i + 16);
    const __m256i before = _mm256_alignr_epi8(now, _mm256_permute2x128_si256(last, now, 0x21), 14),
                  behind = _mm256_alignr_epi8(_mm256_permute2x128_si256(now, next, 0x21), now, 2);
    const __m256i at = _mm256_mullo_epi16(now, three);
    const __m256i even = _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(at, before), eight), 4),
                  odd = _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(at, behind), seven), 4);
    store(out + 2 * i, _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
    last = now;
    now = next;
  }
  widen_between_from(i, near, far, out, n);
}

namespace dct_avx2 {

/// Half of `doubled` times `by` / 65536, rounded.
WICK_AVX2_INLINE __m256i part(__m256i doubled, short by) noexcept {
  const __m256i product = _mm256_mulhi_epi16(doubled, _mm256_set1_epi16(by));
  return _mm256_mulhrs_epi16(product, _mm256_set1_epi16(1 << 14));
}
/// 16 output bytes from the 16 pixels in each half: byte k of all is channel k % 3 of pixel k / 3.
template <int Lot>
WICK_AVX2_INLINE __m256i triples(__m256i r, __m256i g, __m256i b) noexcept {
  alignas(16) static constexpr auto order = [] {
    std::array<std::array<std::int8_t, 16>, 3> of{};
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < 16; ++i) {
        const int k = 16 * Lot + i;
        of[static_cast<std::size_t>(c)][static_cast<std::size_t>(i)] =
            static_cast<std::int8_t>(k % 3 == c ? k / 3 : -1);
      }
    }
    return of;
  }();
  const auto* const at = reinterpret_cast<const __m128i*>(order.data());
  return _mm256_or_si256(
      _mm256_or_si256(_mm256_shuffle_epi8(r, _mm256_broadcastsi128_si256(_mm_load_si128(at))),
                      _mm256_shuffle_epi8(g, _mm256_broadcastsi128_si256(_mm_load_si128(at + 1)))),
      _mm256_shuffle_epi8(b, _mm256_broadcastsi128_si256(_mm_load_si128(at + 2))));
}

/// 32 pixels to 96 bytes. Constants have at most 16 bits: 1.402 = 1 + 26345 / 65536 and 1.772 =
/// 2 - 14942 / 65536, each rounded as half of the doubled product. Pixels 0 to 7 and 16 to 23 come first, and
/// the others second, in the order of the unpack and pack instructions.
WICK_AVX2_INLINE void pixels_to_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                                    std::uint8_t* out) noexcept {
  const __m256i zero = _mm256_setzero_si256(), middle = _mm256_set1_epi16(128),
                half = _mm256_set1_epi32(1 << 15);
  const wide level = as_words(load(y), zero), blues = as_words(load(cb), zero),
             reds = as_words(load(cr), zero);
  __m256i red[2], green[2], blue[2];
  for (int h = 0; h < 2; ++h) {
    const __m256i l = h == 0 ? level.low : level.high,
                  b = _mm256_sub_epi16(h == 0 ? blues.low : blues.high, middle),
                  r = _mm256_sub_epi16(h == 0 ? reds.low : reds.high, middle);
    const __m256i b2 = _mm256_add_epi16(b, b), r2 = _mm256_add_epi16(r, r);
    red[h] = _mm256_add_epi16(l, _mm256_add_epi16(r, part(r2, 26345)));
    blue[h] = _mm256_add_epi16(l, _mm256_add_epi16(b2, part(b2, -14942)));
    const wide br = dot(interleaved(b, r), pair(-22554, 65536 - 46802));
    const __m256i sum = packed<16>({_mm256_add_epi32(br.low, half), _mm256_add_epi32(br.high, half)});
    green[h] = _mm256_add_epi16(l, _mm256_sub_epi16(sum, r));
  }
  const __m256i r = _mm256_packus_epi16(red[0], red[1]), g = _mm256_packus_epi16(green[0], green[1]),
                b = _mm256_packus_epi16(blue[0], blue[1]);
  const __m256i first = triples<0>(r, g, b), second = triples<1>(r, g, b), third = triples<2>(r, g, b);
  store(out, _mm256_permute2x128_si256(first, second, 0x20));
  store(out + 32, _mm256_permute2x128_si256(third, first, 0x30));
  store(out + 64, _mm256_permute2x128_si256(second, third, 0x31));
}

}  // namespace dct_avx2

WICK_AVX2 inline void to_rgb_avx2(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                                  std::uint8_t* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + 32 <= n; i += 32) dct_avx2::pixels_to_rgb(y + i, cb + i, cr + i, out + 3 * i);
  if (i == n) return;
  std::uint8_t rest[96];
  dct_avx2::pixels_to_rgb(y + i, cb + i, cr + i, rest);  // jpeg_slack covers the reads
  std::memcpy(out + 3 * i, rest, 3 * (n - i));
}

inline constexpr jpeg_kernels avx2_jpeg_kernels{"avx2",      &to_8_avx2,          &to_4_avx2,  &to_2_avx2,
                                                &widen_avx2, &widen_between_avx2, &to_rgb_avx2};

#undef WICK_AVX2
#undef WICK_AVX2_INLINE

}  // namespace wick::detail

// The inverse DCTs of the JPEG decoder for x86 with AVX2: two blocks at a time, one in each half of a
// register.
#pragma once

#include <array>
#include <cstring>
#include <immintrin.h>

#include <wick/codec/impl/jpeg_portable_kernels.ipp>

namespace wick::inline v0_1::detail {

#define WICK_AVX2 __attribute__((target("avx2")))
#define WICK_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

namespace dct_avx2 {

/// Constants for pairs of values, in madd's layout.
WICK_AVX2_INLINE __m256i pair(int first, int second) noexcept {
  return _mm256_set1_epi32((second * 65536) | (first & 0xFFFF));
}
/// 32-bit numbers, from the first and second four values of each half.
struct wide {
  __m256i low, high;
};
WICK_AVX2_INLINE wide interleaved(__m256i a, __m256i b) noexcept {
  return {_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)};
}
WICK_AVX2_INLINE wide dot(const wide& in, __m256i by) noexcept {
  return {_mm256_madd_epi16(in.low, by), _mm256_madd_epi16(in.high, by)};
}
WICK_AVX2_INLINE wide plus(const wide& a, const wide& b) noexcept {
  return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}
WICK_AVX2_INLINE wide minus(const wide& a, const wide& b) noexcept {
  return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
}
/// v times 2 to the 16 - Down, plus the rounding term of the last shift.
template <int Down>
WICK_AVX2_INLINE wide scaled(__m256i v, __m256i half) noexcept {
  const wide up = interleaved(_mm256_setzero_si256(), v);
  return {_mm256_add_epi32(_mm256_srai_epi32(up.low, Down), half),
          _mm256_add_epi32(_mm256_srai_epi32(up.high, Down), half)};
}
template <int Shift>
WICK_AVX2_INLINE __m256i packed(const wide& v) noexcept {
  return _mm256_packs_epi32(_mm256_srai_epi32(v.low, Shift), _mm256_srai_epi32(v.high, Shift));
}

/// dct::pass_of_8 for the eight columns of two blocks. With `Half`, the last four of the eight values are
/// zero, and constants that would be multiplied in sequence are combined.
template <int Shift, bool Half>
WICK_AVX2_INLINE void pass_of_8(__m256i (&v)[8]) noexcept {
  using namespace dct;
  const __m256i half = _mm256_set1_epi32(1 << (Shift - 1));
  const wide v26 = interleaved(v[2], Half ? _mm256_setzero_si256() : v[6]);
  const wide e3 = dot(v26, pair(c0_541 + c0_765, c0_541)), e2 = dot(v26, pair(c0_541, c0_541 - c1_847));
  wide e0, e1, o0, o1, o2, o3;
  if constexpr (Half) {
    e0 = e1 = scaled<16 - bits>(v[0], half);
    const wide v31 = interleaved(v[3], v[1]);
    o0 = dot(v31, pair(c1_175 - c1_961, c1_175 - c0_899));
    o1 = dot(v31, pair(c1_175 - c2_562, c1_175 - c0_390));
    o2 = dot(v31, pair(c3_072 - c2_562 + c1_175 - c1_961, c1_175));
    o3 = dot(v31, pair(c1_175, c1_501 - c0_899 + c1_175 - c0_390));
  } else {
    e0 = scaled<16 - bits>(_mm256_add_epi16(v[0], v[4]), half);
    e1 = scaled<16 - bits>(_mm256_sub_epi16(v[0], v[4]), half);
    const wide z = interleaved(_mm256_add_epi16(v[7], v[3]), _mm256_add_epi16(v[5], v[1]));
    const wide s3 = dot(z, pair(c1_175 - c1_961, c1_175)), s4 = dot(z, pair(c1_175, c1_175 - c0_390));
    const wide v71 = interleaved(v[7], v[1]), v53 = interleaved(v[5], v[3]);
    o0 = plus(dot(v71, pair(c0_298 - c0_899, -c0_899)), s3);
    o3 = plus(dot(v71, pair(-c0_899, c1_501 - c0_899)), s4);
    o1 = plus(dot(v53, pair(c2_053 - c2_562, -c2_562)), s4);
    o2 = plus(dot(v53, pair(-c2_562, c3_072 - c2_562)), s3);
  }
  const wide t0 = plus(e0, e3), t1 = plus(e1, e2), t2 = minus(e1, e2), t3 = minus(e0, e3);
  v[0] = packed<Shift>(plus(t0, o3));
  v[7] = packed<Shift>(minus(t0, o3));
  v[1] = packed<Shift>(plus(t1, o2));
  v[6] = packed<Shift>(minus(t1, o2));
  v[2] = packed<Shift>(plus(t2, o1));
  v[5] = packed<Shift>(minus(t2, o1));
  v[3] = packed<Shift>(plus(t3, o0));
  v[4] = packed<Shift>(minus(t3, o0));
}

/// Transposes two blocks.
WICK_AVX2_INLINE void transpose(__m256i (&v)[8]) noexcept {
  __m256i a[8], b[8];
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = _mm256_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
    a[2 * i + 1] = _mm256_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {  // rows 4 i to 4 i + 3
    for (int j = 0; j < 2; ++j) {
      b[4 * i + 2 * j] = _mm256_unpacklo_epi32(a[4 * i + j], a[4 * i + 2 + j]);
      b[4 * i + 2 * j + 1] = _mm256_unpackhi_epi32(a[4 * i + j], a[4 * i + 2 + j]);
    }
  }
  for (int j = 0; j < 4; ++j) {
    v[2 * j] = _mm256_unpacklo_epi64(b[j], b[4 + j]);
    v[2 * j + 1] = _mm256_unpackhi_epi64(b[j], b[4 + j]);
  }
}

/// Row r of two blocks; the second is `apart` coefficients after the first.
WICK_AVX2_INLINE __m256i row(const std::int16_t* block, std::size_t apart, int r) noexcept {
  const auto* const first = reinterpret_cast<const __m128i*>(block + 8 * r);
  const auto* const second = reinterpret_cast<const __m128i*>(block + apart + 8 * r);
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(first)), _mm_loadu_si128(second), 1);
}
WICK_AVX2_INLINE __m256i times(__m256i v, const std::int16_t* table, int r) noexcept {
  const __m128i by = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 8 * r));
  return _mm256_mullo_epi16(v, _mm256_broadcastsi128_si256(by));
}
/// Sets all bits of each half whose block is zero in `any`.
WICK_AVX2_INLINE __m256i flat_halves(__m256i any) noexcept {
  const __m256i zero = _mm256_cmpeq_epi64(any, _mm256_setzero_si256());
  return _mm256_and_si256(zero, _mm256_shuffle_epi32(zero, 0x4E));
}

/// Stores two rows of each of two blocks, or of one block if both halves hold the same one.
WICK_AVX2_INLINE void store_rows(__m256i two, bool one_block, std::uint8_t* to, std::size_t stride) noexcept {
  if (one_block) {
    const __m128i rows = _mm256_castsi256_si128(two);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), rows);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + stride), _mm_unpackhi_epi64(rows, rows));
    return;
  }
  const __m256i side_by_side = _mm256_permute4x64_epi64(two, 0xD8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(side_by_side));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + stride), _mm256_extracti128_si256(side_by_side, 1));
}

/// Transposes columns of 16 bits to rows of bytes, and stores them.
WICK_AVX2_INLINE void store_columns(const __m256i (&v)[8], bool one_block, std::uint8_t* out,
                                    std::size_t stride) noexcept {
  __m256i a[4], b[4];
  for (int i = 0; i < 4; ++i) a[i] = _mm256_packs_epi16(v[i], v[i + 4]);  // columns i and i + 4
  b[0] = _mm256_unpacklo_epi8(a[0], a[2]);                                // 0 2, rows 0 to 7
  b[1] = _mm256_unpackhi_epi8(a[0], a[2]);                                // 4 6
  b[2] = _mm256_unpacklo_epi8(a[1], a[3]);                                // 1 3
  b[3] = _mm256_unpackhi_epi8(a[1], a[3]);                                // 5 7
  const __m256i left_upper = _mm256_unpacklo_epi8(b[0], b[2]), left_lower = _mm256_unpackhi_epi8(b[0], b[2]),
                right_upper = _mm256_unpacklo_epi8(b[1], b[3]),
                right_lower = _mm256_unpackhi_epi8(b[1], b[3]);
  const __m256i rows[4] = {
      _mm256_unpacklo_epi32(left_upper, right_upper), _mm256_unpackhi_epi32(left_upper, right_upper),
      _mm256_unpacklo_epi32(left_lower, right_lower), _mm256_unpackhi_epi32(left_lower, right_lower)};
  const __m256i middle = _mm256_set1_epi8(static_cast<char>(0x80));
  for (std::size_t i = 0; i < 4; ++i)
    store_rows(_mm256_xor_si256(rows[i], middle), one_block, out + 2 * i * stride, stride);
}

/// Stores two blocks in which only the DC coefficient is nonzero; `v` has it in each half.
WICK_AVX2_INLINE void store_averages(__m256i v, bool one_block, std::uint8_t* out,
                                     std::size_t stride) noexcept {
  constexpr int shift = dct::more_bits + 3;
  const __m256i rounded = _mm256_srai_epi16(_mm256_adds_epi16(v, _mm256_set1_epi16(1 << (shift - 1))), shift);
  const __m256i levels =
      _mm256_xor_si256(_mm256_packs_epi16(rounded, rounded), _mm256_set1_epi8(static_cast<char>(0x80)));
  const __m256i everywhere = _mm256_shuffle_epi8(levels, _mm256_setzero_si256());
  for (std::size_t i = 0; i < 4; ++i) store_rows(everywhere, one_block, out + 2 * i * stride, stride);
}

/// Transforms two blocks; `apart` 0: one block, in both halves.
WICK_AVX2_INLINE void blocks_to_8(const std::int16_t* block, std::size_t apart, const std::int16_t* table,
                                  std::uint8_t* out, std::size_t stride) noexcept {
  __m256i v[8];
  for (int r = 0; r < 8; ++r) v[r] = row(block, apart, r);
  const __m256i lower = _mm256_or_si256(_mm256_or_si256(v[4], v[5]), _mm256_or_si256(v[6], v[7]));
  const __m256i any = _mm256_or_si256(_mm256_or_si256(_mm256_or_si256(v[1], v[2]), v[3]), lower);
  const __m256i flat = flat_halves(any), all = _mm256_or_si256(any, v[0]);
  const int kind = _mm256_movemask_epi8(flat);
  v[0] = times(v[0], table, 0);
  const __m256i as_they_are = _mm256_slli_epi16(v[0], dct::more_bits);
  if (kind == -1) {
    if (_mm256_testz_si256(all, _mm256_set_epi64x(-1, ~0xFFFFll, -1, ~0xFFFFll)) != 0)
      return store_averages(as_they_are, apart == 0, out, stride);
    for (int r = 0; r < 8; ++r) v[r] = as_they_are;
  } else {
    constexpr int shift = dct::bits - dct::more_bits;
    for (int r = 1; r < 4; ++r) v[r] = times(v[r], table, r);
    if (_mm256_testz_si256(lower, lower) != 0) {
      pass_of_8<shift, true>(v);
    } else {
      for (int r = 4; r < 8; ++r) v[r] = times(v[r], table, r);
      pass_of_8<shift, false>(v);
    }
    if (kind != 0) {
      for (int r = 0; r < 8; ++r) v[r] = _mm256_blendv_epi8(v[r], as_they_are, flat);
    }
  }
  transpose(v);
  constexpr int last_shift = dct::bits + dct::more_bits + 3;
  if (_mm256_testz_si256(all, _mm256_set_epi64x(-1, 0, -1, 0)) != 0) {  // the right columns are zero
    pass_of_8<last_shift, true>(v);
  } else {
    pass_of_8<last_shift, false>(v);
  }
  store_columns(v, apart == 0, out, stride);
}

WICK_AVX2_INLINE void blocks_to_4(const std::int16_t* block, std::size_t apart, const std::int16_t* table,
                                  std::uint8_t* out, std::size_t stride) noexcept {
  using namespace dct;
  const __m256i zero = _mm256_setzero_si256();
  __m256i v[8], any = zero;
  for (int r = 0; r < 8; ++r) {
    if (r == 4) continue;
    v[r] = row(block, apart, r);
    if (r != 0) any = _mm256_or_si256(any, v[r]);
    v[r] = times(v[r], table, r);
  }
  const __m256i flat = flat_halves(any), as_they_are = _mm256_slli_epi16(v[0], more_bits);
  const __m256i of26 = pair(c1_847, -c0_765), o0_13 = pair(c1_061, -c2_172), o0_57 = pair(c1_451, -c0_211),
                o2_13 = pair(c2_562, c0_899), o2_57 = pair(-c0_601, -c0_509);
  constexpr int shift = bits - more_bits + 1, last_shift = bits + more_bits + 4;
  const wide e0 = scaled<16 - bits - 1>(v[0], _mm256_set1_epi32(1 << (shift - 1)));
  const wide e2 = dot(interleaved(v[2], v[6]), of26), v13 = interleaved(v[1], v[3]),
             v57 = interleaved(v[5], v[7]);
  const wide o0 = plus(dot(v13, o0_13), dot(v57, o0_57)), o2 = plus(dot(v13, o2_13), dot(v57, o2_57));
  const wide t0 = plus(e0, e2), t1 = minus(e0, e2);
  __m256i h[4] = {packed<shift>(plus(t0, o2)), packed<shift>(plus(t1, o0)), packed<shift>(minus(t1, o0)),
                  packed<shift>(minus(t0, o2))};
  for (__m256i& r : h) r = _mm256_blendv_epi8(r, as_they_are, flat);
  // Columns, two in each half: 0 1, 2 3, 4 5, 6 7.
  const __m256i a0 = _mm256_unpacklo_epi16(h[0], h[1]), a1 = _mm256_unpackhi_epi16(h[0], h[1]),
                a2 = _mm256_unpacklo_epi16(h[2], h[3]), a3 = _mm256_unpackhi_epi16(h[2], h[3]);
  const __m256i c01 = _mm256_unpacklo_epi32(a0, a2), c23 = _mm256_unpackhi_epi32(a0, a2),
                c45 = _mm256_unpacklo_epi32(a1, a3), c67 = _mm256_unpackhi_epi32(a1, a3);
  const __m256i f0 = _mm256_add_epi32(_mm256_srai_epi32(_mm256_unpacklo_epi16(zero, c01), 16 - bits - 1),
                                      _mm256_set1_epi32(1 << (last_shift - 1))),
                f2 = _mm256_madd_epi16(_mm256_unpacklo_epi16(c23, c67), of26);
  const __m256i c13 = _mm256_unpackhi_epi16(c01, c23), c57 = _mm256_unpackhi_epi16(c45, c67);
  const __m256i p0 = _mm256_add_epi32(_mm256_madd_epi16(c13, o0_13), _mm256_madd_epi16(c57, o0_57)),
                p2 = _mm256_add_epi32(_mm256_madd_epi16(c13, o2_13), _mm256_madd_epi16(c57, o2_57));
  const __m256i u0 = _mm256_add_epi32(f0, f2), u1 = _mm256_sub_epi32(f0, f2);
  const __m256i d02 = packed<last_shift>({_mm256_add_epi32(u0, p2), _mm256_sub_epi32(u1, p0)}),
                d13 = packed<last_shift>({_mm256_add_epi32(u1, p0), _mm256_sub_epi32(u0, p2)});
  const __m256i d01 = _mm256_unpacklo_epi16(d02, d13), d23 = _mm256_unpackhi_epi16(d02, d13);
  const __m256i levels =
      _mm256_xor_si256(_mm256_packs_epi16(_mm256_unpacklo_epi32(d01, d23), _mm256_unpackhi_epi32(d01, d23)),
                       _mm256_set1_epi8(static_cast<char>(0x80)));  // four rows of four samples a block
  std::uint8_t rows[32];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(rows),
                      _mm256_permutevar8x32_epi32(levels, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
  for (std::size_t r = 0; r < 4; ++r) std::memcpy(out + r * stride, rows + 8 * r, apart == 0 ? 4 : 8);
}

/// Transforms two blocks to 2 x 2 samples each.
WICK_AVX2_INLINE void blocks_to_2(const std::int16_t* block, std::size_t apart, const std::int16_t* table,
                                  std::uint8_t* out, std::size_t stride) noexcept {
  using namespace dct;
  __m256i v[8];
  for (const int r : {0, 1, 3, 5, 7}) v[r] = times(row(block, apart, r), table, r);
  constexpr int shift = bits - more_bits + 2, last_shift = bits + more_bits + 5;
  const wide even = scaled<16 - bits - 2>(v[0], _mm256_set1_epi32(1 << (shift - 1)));
  const wide odd = plus(dot(interleaved(v[1], v[3]), pair(c3_624, -c1_272)),
                        dot(interleaved(v[5], v[7]), pair(c0_850, -c0_720)));
  const wide upper = plus(even, odd), lower = minus(even, odd);
  // Values 1, 3, 5, and 7 of each row, each in the second half of a pair.
  const __m256i by = _mm256_set_epi16(-c0_720, 0, c0_850, 0, -c1_272, 0, c3_624, 0, -c0_720, 0, c0_850, 0,
                                      -c1_272, 0, c3_624, 0);
  const __m256i sums = _mm256_hadd_epi32(_mm256_madd_epi16(packed<shift>(upper), by),
                                         _mm256_madd_epi16(packed<shift>(lower), by));
  const __m256i odds = _mm256_hadd_epi32(sums, sums);
  const __m256i firsts = _mm256_srai_epi32(_mm256_unpacklo_epi32(upper.low, lower.low), shift);
  const __m256i evens =
      _mm256_add_epi32(_mm256_slli_epi32(firsts, bits + 2), _mm256_set1_epi32(1 << (last_shift - 1)));
  const __m256i levels = _mm256_srai_epi32(
      _mm256_unpacklo_epi32(_mm256_add_epi32(evens, odds), _mm256_sub_epi32(evens, odds)), last_shift);
  const __m256i words = _mm256_packs_epi32(levels, levels);
  const __m256i bytes =
      _mm256_xor_si256(_mm256_packs_epi16(words, words), _mm256_set1_epi8(static_cast<char>(0x80)));
  const int first = _mm256_extract_epi32(bytes, 0), second = _mm256_extract_epi32(bytes, 4);
  const std::uint32_t rows[2] = {
      (static_cast<std::uint32_t>(first) & 0xFFFF) | static_cast<std::uint32_t>(second) << 16,
      static_cast<std::uint32_t>(first) >> 16 | (static_cast<std::uint32_t>(second) & 0xFFFF0000)};
  for (std::size_t r = 0; r < 2; ++r) std::memcpy(out + r * stride, &rows[r], apart == 0 ? 2 : 4);
}

}  // namespace dct_avx2

WICK_AVX2 inline void to_2_avx2(const std::int16_t* blocks, std::size_t count, const std::int16_t* table,
                                std::uint8_t* out, std::size_t stride) {
  for (; count >= 2; count -= 2, blocks += 128, out += 4)
    dct_avx2::blocks_to_2(blocks, 64, table, out, stride);
  if (count != 0) dct_avx2::blocks_to_2(blocks, 0, table, out, stride);
}

WICK_AVX2 inline void to_8_avx2(const std::int16_t* blocks, std::size_t count, const std::int16_t* table,
                                std::uint8_t* out, std::size_t stride) {
  for (; count >= 2; count -= 2, blocks += 128, out += 16)
    dct_avx2::blocks_to_8(blocks, 64, table, out, stride);
  if (count != 0) dct_avx2::blocks_to_8(blocks, 0, table, out, stride);
}

WICK_AVX2 inline void to_4_avx2(const std::int16_t* blocks, std::size_t count, const std::int16_t* table,
                                std::uint8_t* out, std::size_t stride) {
  for (; count >= 2; count -= 2, blocks += 128, out += 8)
    dct_avx2::blocks_to_4(blocks, 64, table, out, stride);
  if (count != 0) dct_avx2::blocks_to_4(blocks, 0, table, out, stride);
}

#undef WICK_AVX2
#undef WICK_AVX2_INLINE

}  // namespace wick::detail

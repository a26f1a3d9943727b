// The inner loops of the JPEG decoder for 64-bit ARM.
#pragma once

#include <arm_neon.h>
#include <cstring>

#include <wick/codec/impl/jpeg_portable_kernels.ipp>

namespace wick::inline v0_1::detail {

namespace dct_neon {

/// 32-bit numbers for eight columns.
struct wide {
  int32x4_t low, high;
};
inline wide plus(const wide& a, const wide& b) noexcept {
  return {vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)};
}
inline wide minus(const wide& a, const wide& b) noexcept {
  return {vsubq_s32(a.low, b.low), vsubq_s32(a.high, b.high)};
}
/// a * x + b * y.
inline wide dot(int a, int16x8_t x, int b, int16x8_t y) noexcept {
  const auto first = static_cast<std::int16_t>(a), second = static_cast<std::int16_t>(b);
  return {vmlal_n_s16(vmull_n_s16(vget_low_s16(x), first), vget_low_s16(y), second),
          vmlal_n_s16(vmull_n_s16(vget_high_s16(x), first), vget_high_s16(y), second)};
}
/// v times 2 to the `By`, plus the rounding term of the last shift.
template <int By>
inline wide scaled(int16x8_t v, int half) noexcept {
  const int32x4_t more = vdupq_n_s32(half);
  return {vaddq_s32(vshll_n_s16(vget_low_s16(v), By), more),
          vaddq_s32(vshll_n_s16(vget_high_s16(v), By), more)};
}
template <int Shift>
inline int16x8_t packed(const wide& v) noexcept {
  return vcombine_s16(vqmovn_s32(vshrq_n_s32(v.low, Shift)), vqmovn_s32(vshrq_n_s32(v.high, Shift)));
}

/// dct::pass_of_8 for eight columns.
template <int Shift>
inline void pass_of_8(int16x8_t (&v)[8]) noexcept {
  using namespace dct;
  constexpr int half = 1 << (Shift - 1);
  const wide e3 = dot(c0_541 + c0_765, v[2], c0_541, v[6]), e2 = dot(c0_541, v[2], c0_541 - c1_847, v[6]),
             e0 = scaled<bits>(vaddq_s16(v[0], v[4]), half), e1 = scaled<bits>(vsubq_s16(v[0], v[4]), half);
  const int16x8_t z3 = vaddq_s16(v[7], v[3]), z4 = vaddq_s16(v[5], v[1]);
  const wide s3 = dot(c1_175 - c1_961, z3, c1_175, z4), s4 = dot(c1_175, z3, c1_175 - c0_390, z4);
  const wide o0 = plus(dot(c0_298 - c0_899, v[7], -c0_899, v[1]), s3),
             o1 = plus(dot(c2_053 - c2_562, v[5], -c2_562, v[3]), s4),
             o2 = plus(dot(-c2_562, v[5], c3_072 - c2_562, v[3]), s3),
             o3 = plus(dot(-c0_899, v[7], c1_501 - c0_899, v[1]), s4);
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

/// dct::pass_to_4 for eight columns, or for the left four.
template <int Shift>
inline void pass_to_4(int16x8_t (&v)[8]) noexcept {
  using namespace dct;
  const wide e0 = scaled<bits + 1>(v[0], 1 << (Shift - 1)), e2 = dot(c1_847, v[2], -c0_765, v[6]);
  const wide o0 = plus(dot(c1_061, v[1], -c2_172, v[3]), dot(c1_451, v[5], -c0_211, v[7])),
             o2 = plus(dot(c2_562, v[1], c0_899, v[3]), dot(-c0_601, v[5], -c0_509, v[7]));
  const wide t0 = plus(e0, e2), t1 = minus(e0, e2);
  v[0] = packed<Shift>(plus(t0, o2));
  v[1] = packed<Shift>(plus(t1, o0));
  v[2] = packed<Shift>(minus(t1, o0));
  v[3] = packed<Shift>(minus(t0, o2));
}

inline int16x8_t words(int32x4_t v) noexcept { return vreinterpretq_s16_s32(v); }
inline int32x4_t pairs(int16x8_t v) noexcept { return vreinterpretq_s32_s16(v); }
inline int64x2_t fours(int16x8_t v) noexcept { return vreinterpretq_s64_s16(v); }

inline void transpose(int16x8_t (&v)[8]) noexcept {
  int16x8_t a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = vtrn1q_s16(v[i], v[i + 1]);
    a[i + 1] = vtrn2q_s16(v[i], v[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int j = 0; j < 2; ++j) {
      b[i + j] = words(vtrn1q_s32(pairs(a[i + j]), pairs(a[i + j + 2])));
      b[i + j + 2] = words(vtrn2q_s32(pairs(a[i + j]), pairs(a[i + j + 2])));
    }
  }
  for (int i = 0; i < 4; ++i) {
    v[i] = vreinterpretq_s16_s64(vtrn1q_s64(fours(b[i]), fours(b[i + 4])));
    v[i + 4] = vreinterpretq_s16_s64(vtrn2q_s64(fours(b[i]), fours(b[i + 4])));
  }
}

/// Reads a block and multiplies it by its table. True if all of the rows selected by the bits of `rows` are
/// zero.
inline bool dequantize(const std::int16_t* block, const std::int16_t* table, unsigned rows,
                       int16x8_t (&v)[8]) noexcept {
  int16x8_t any = vdupq_n_s16(0);
  for (unsigned r = 0; r < 8; ++r) {
    const int16x8_t row = vld1q_s16(block + 8 * r);
    if ((rows >> r & 1) != 0) any = vorrq_s16(any, row);
    v[r] = vmulq_s16(row, vld1q_s16(table + 8 * r));
  }
  return vmaxvq_u16(vreinterpretq_u16_s16(any)) == 0;
}
inline void spread_first_row(int16x8_t (&v)[8]) noexcept {
  v[0] = vshlq_n_s16(v[0], dct::more_bits);
  for (int r = 1; r < 8; ++r) v[r] = v[0];
}
inline uint8x8_t samples(int16x8_t v) noexcept {
  return veor_u8(vreinterpret_u8_s8(vqmovn_s16(v)), vdup_n_u8(0x80));
}

}  // namespace dct_neon

inline void to_8_neon(const std::int16_t* blocks, std::size_t count, const std::int16_t* table,
                      std::uint8_t* out, std::size_t stride) {
  for (; count != 0; --count, blocks += 64, out += 8) {
    int16x8_t v[8];
    if (dct_neon::dequantize(blocks, table, 0xFE, v)) {
      dct_neon::spread_first_row(v);
    } else {
      dct_neon::pass_of_8<dct::bits - dct::more_bits>(v);
    }
    dct_neon::transpose(v);
    dct_neon::pass_of_8<dct::bits + dct::more_bits + 3>(v);
    dct_neon::transpose(v);
    for (std::size_t r = 0; r < 8; ++r) vst1_u8(out + r * stride, dct_neon::samples(v[r]));
  }
}

inline void to_4_neon(const std::int16_t* blocks, std::size_t count, const std::int16_t* table,
                      std::uint8_t* out, std::size_t stride) {
  for (; count != 0; --count, blocks += 64, out += 4) {
    int16x8_t v[8];
    if (dct_neon::dequantize(blocks, table, 0xEE, v)) {
      dct_neon::spread_first_row(v);
    } else {
      dct_neon::pass_to_4<dct::bits - dct::more_bits + 1>(v);
    }
    for (int r = 4; r < 8; ++r) v[r] = v[0];
    dct_neon::transpose(v);
    dct_neon::pass_to_4<dct::bits + dct::more_bits + 4>(v);
    for (int r = 4; r < 8; ++r) v[r] = v[0];
    dct_neon::transpose(v);
    for (std::size_t r = 0; r < 4; ++r) {
      std::uint8_t row[8];
      vst1_u8(row, dct_neon::samples(v[r]));
      std::memcpy(out + r * stride, row, 4);
    }
  }
}

inline void widen_neon(const std::uint8_t* in, std::uint8_t* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const uint16x8_t three = vmull_u8(vld1_u8(in + i), vdup_n_u8(3));
    const uint16x8_t before = vaddw_u8(three, vld1_u8(in + i - 1)),
                     behind = vaddw_u8(three, vld1_u8(in + i + 1));
    vst2_u8(out + 2 * i, {{vshrn_n_u16(vaddq_u16(before, vdupq_n_u16(1)), 2), vrshrn_n_u16(behind, 2)}});
  }
  widen_from(i, in, out, n);
}

inline void widen_between_neon(const std::uint8_t* near, const std::uint8_t* far, std::uint8_t* out,
                               std::size_t n) {
  std::size_t i = 0;
  const auto between = [&](std::ptrdiff_t by) {
    const std::ptrdiff_t k = static_cast<std::ptrdiff_t>(i) + by;
    return vaddw_u8(vmull_u8(vld1_u8(near + k), vdup_n_u8(3)), vld1_u8(far + k));
  };
  for (; i + 8 <= n; i += 8) {
    const uint16x8_t three = vmulq_n_u16(between(0), 3);
    const uint16x8_t before = vaddq_u16(three, between(-1)), behind = vaddq_u16(three, between(1));
    vst2_u8(out + 2 * i, {{vrshrn_n_u16(before, 4), vshrn_n_u16(vaddq_u16(behind, vdupq_n_u16(7)), 4)}});
  }
  widen_between_from(i, near, far, out, n);
}

namespace dct_neon {

/// Half of `doubled` times `by` / 65536, rounded: the high half of the doubled product, shifted right by one.
inline int16x8_t part(int16x8_t doubled, int by) noexcept {
  const auto factor = static_cast<std::int16_t>(by);
  const int16x8_t product = vcombine_s16(vshrn_n_s32(vmull_n_s16(vget_low_s16(doubled), factor), 16),
                                         vshrn_n_s32(vmull_n_s16(vget_high_s16(doubled), factor), 16));
  return vrshrq_n_s16(product, 1);
}

/// Eight pixels.
inline uint8x8x3_t pixels_to_rgb(const std::uint8_t* y, const std::uint8_t* cb,
                                 const std::uint8_t* cr) noexcept {
  const int16x8_t middle = vdupq_n_s16(128), level = vreinterpretq_s16_u16(vmovl_u8(vld1_u8(y))),
                  b = vsubq_s16(vreinterpretq_s16_u16(vmovl_u8(vld1_u8(cb))), middle),
                  r = vsubq_s16(vreinterpretq_s16_u16(vmovl_u8(vld1_u8(cr))), middle);
  const int16x8_t b2 = vaddq_s16(b, b), r2 = vaddq_s16(r, r);
  const wide mixed = dot(-22554, b, 65536 - 46802, r);
  const int16x8_t green = vcombine_s16(vrshrn_n_s32(mixed.low, 16), vrshrn_n_s32(mixed.high, 16));
  return {{vqmovun_s16(vaddq_s16(level, vaddq_s16(r, part(r2, 26345)))),
           vqmovun_s16(vaddq_s16(level, vsubq_s16(green, r))),
           vqmovun_s16(vaddq_s16(level, vaddq_s16(b2, part(b2, -14942))))}};
}

}  // namespace dct_neon

inline void to_rgb_neon(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                        std::uint8_t* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) vst3_u8(out + 3 * i, dct_neon::pixels_to_rgb(y + i, cb + i, cr + i));
  if (i == n) return;
  std::uint8_t rest[24];
  vst3_u8(rest, dct_neon::pixels_to_rgb(y + i, cb + i, cr + i));  // jpeg_slack covers the reads
  std::memcpy(out + 3 * i, rest, 3 * (n - i));
}

inline constexpr jpeg_kernels neon_jpeg_kernels{"neon",      &to_8_neon,          &to_4_neon,  &to_2_portable,
                                                &widen_neon, &widen_between_neon, &to_rgb_neon};

}  // namespace wick::detail

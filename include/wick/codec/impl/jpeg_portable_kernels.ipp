// The inner loops of the JPEG decoder in plain C++. The other sets use them, too, for the end of a row. The
// inverse DCT is that of Loeffler, Ligtenberg, and Moschytz ("Practical fast 1-D DCT algorithms with 11
// multiplications", 1989) with 13-bit constants, columns first, like libjpeg's "islow" method. The reduced
// sizes omit the upper half, or three quarters, of its last stage. Intermediate values have 16 bits, as in
// libjpeg-turbo's vector code, so that out-of-range coefficients give the same samples, too.
#pragma once

#include <algorithm>

#include <wick/codec/detail/jpeg_kernels.hpp>

namespace wick::inline v0_1::detail {

/// Cosines and their sums, times 8192.
namespace dct {
inline constexpr int bits = 13, more_bits = 2;  // more_bits: fractional bits between the two passes
inline constexpr int c0_298 = 2446, c0_390 = 3196, c0_541 = 4433, c0_765 = 6270, c0_899 = 7373, c1_175 = 9633,
                     c1_501 = 12299, c1_847 = 15137, c1_961 = 16069, c2_053 = 16819, c2_562 = 20995,
                     c3_072 = 25172;
inline constexpr int c0_211 = 1730, c0_509 = 4176, c0_601 = 4926, c0_720 = 5906, c0_850 = 6967, c1_061 = 8697,
                     c1_272 = 10426, c1_451 = 11893, c2_172 = 17799, c3_624 = 29692;

/// The low 16 bits; and the nearest 16-bit number.
inline std::int16_t low(std::int32_t v) noexcept { return static_cast<std::int16_t>(v); }
inline std::int16_t nearest(std::int32_t v) noexcept {
  return static_cast<std::int16_t>(std::clamp(v, -32768, 32767));
}
inline std::int16_t shifted(std::uint32_t v, int by) noexcept {
  return nearest(static_cast<std::int32_t>(v + (1u << (by - 1))) >> by);
}
inline std::uint8_t sample(std::int16_t v) noexcept {
  return static_cast<std::uint8_t>(std::clamp<int>(v, -128, 127) + 128);
}
/// a * x + b * y, modulo 2^32.
inline std::uint32_t dot(int a, std::int16_t x, int b, std::int16_t y) noexcept {
  return static_cast<std::uint32_t>(a * x) + static_cast<std::uint32_t>(b * y);
}
inline std::uint32_t scaled(std::int16_t v, int by) noexcept {
  return static_cast<std::uint32_t>(std::int32_t{v} * (1 << by));
}

/// Eight values, `step` apart, in place.
inline void pass_of_8(std::int16_t* v, std::size_t step, int shift) noexcept {
  const std::int16_t a0 = v[0], a1 = v[step], a2 = v[2 * step], a3 = v[3 * step], a4 = v[4 * step],
                     a5 = v[5 * step], a6 = v[6 * step], a7 = v[7 * step];
  const std::uint32_t e3 = dot(c0_541 + c0_765, a2, c0_541, a6), e2 = dot(c0_541, a2, c0_541 - c1_847, a6),
                      e0 = scaled(low(a0 + a4), bits), e1 = scaled(low(a0 - a4), bits);
  const std::int16_t z3 = low(a7 + a3), z4 = low(a5 + a1);
  const std::uint32_t s3 = dot(c1_175 - c1_961, z3, c1_175, z4), s4 = dot(c1_175, z3, c1_175 - c0_390, z4);
  const std::uint32_t o0 = dot(c0_298 - c0_899, a7, -c0_899, a1) + s3,
                      o1 = dot(c2_053 - c2_562, a5, -c2_562, a3) + s4,
                      o2 = dot(-c2_562, a5, c3_072 - c2_562, a3) + s3,
                      o3 = dot(-c0_899, a7, c1_501 - c0_899, a1) + s4;
  v[0] = shifted(e0 + e3 + o3, shift);
  v[step] = shifted(e1 + e2 + o2, shift);
  v[2 * step] = shifted(e1 - e2 + o1, shift);
  v[3 * step] = shifted(e0 - e3 + o0, shift);
  v[4 * step] = shifted(e0 - e3 - o0, shift);
  v[5 * step] = shifted(e1 - e2 - o1, shift);
  v[6 * step] = shifted(e1 + e2 - o2, shift);
  v[7 * step] = shifted(e0 + e3 - o3, shift);
}

/// Transforms eight values to four, without using the fifth.
inline void pass_to_4(const std::int16_t* v, std::size_t step, std::int16_t* out, std::size_t out_step,
                      int shift) noexcept {
  const std::int16_t a1 = v[step], a2 = v[2 * step], a3 = v[3 * step], a5 = v[5 * step], a6 = v[6 * step],
                     a7 = v[7 * step];
  const std::uint32_t e0 = scaled(v[0], bits + 1), e2 = dot(c1_847, a2, -c0_765, a6);
  const std::uint32_t o0 = dot(c1_061, a1, -c2_172, a3) + dot(c1_451, a5, -c0_211, a7),
                      o2 = dot(c2_562, a1, c0_899, a3) + dot(-c0_601, a5, -c0_509, a7);
  out[0] = shifted(e0 + e2 + o2, shift);
  out[out_step] = shifted(e0 - e2 + o0, shift);
  out[2 * out_step] = shifted(e0 - e2 - o0, shift);
  out[3 * out_step] = shifted(e0 + e2 - o2, shift);
}

/// Whether the rows of a block selected by the bits of `rows` are all zero.
inline bool zeros(const std::int16_t* block, unsigned rows) noexcept {
  int any = 0;
  for (std::size_t r = 1; r < 8; ++r) {
    if ((rows >> r & 1) == 0) continue;
    for (std::size_t c = 0; c < 8; ++c) any |= block[8 * r + c];
  }
  return any == 0;
}
}  // namespace dct

inline void to_8_portable(const std::int16_t* blocks, std::size_t count, const std::int16_t* table,
                          std::uint8_t* out, std::size_t stride) {
  for (; count != 0; --count, blocks += 64, out += 8) {
    std::int16_t v[64];
    for (std::size_t i = 0; i < 64; ++i) v[i] = dct::low(blocks[i] * table[i]);
    if (dct::zeros(blocks, 0xFE)) {
      for (std::size_t i = 64; i-- != 0;) v[i] = dct::low(v[i % 8] * (1 << dct::more_bits));
    } else {
      for (std::size_t c = 0; c < 8; ++c) dct::pass_of_8(v + c, 8, dct::bits - dct::more_bits);
    }
    for (std::size_t r = 0; r < 8; ++r) dct::pass_of_8(v + 8 * r, 1, dct::bits + dct::more_bits + 3);
    for (std::size_t r = 0; r < 8; ++r) {
      for (std::size_t c = 0; c < 8; ++c) out[r * stride + c] = dct::sample(v[8 * r + c]);
    }
  }
}

inline void to_4_portable(const std::int16_t* blocks, std::size_t count, const std::int16_t* table,
                          std::uint8_t* out, std::size_t stride) {
  for (; count != 0; --count, blocks += 64, out += 4) {
    std::int16_t v[64], half[32], done[16];
    for (std::size_t i = 0; i < 64; ++i) v[i] = dct::low(blocks[i] * table[i]);
    if (dct::zeros(blocks, 0xEE)) {
      for (std::size_t i = 0; i < 32; ++i) half[i] = dct::low(v[i % 8] * (1 << dct::more_bits));
    } else {
      for (std::size_t c = 0; c < 8; ++c)
        dct::pass_to_4(v + c, 8, half + c, 8, dct::bits - dct::more_bits + 1);
    }
    for (std::size_t r = 0; r < 4; ++r)
      dct::pass_to_4(half + 8 * r, 1, done + 4 * r, 1, dct::bits + dct::more_bits + 4);
    for (std::size_t r = 0; r < 4; ++r) {
      for (std::size_t c = 0; c < 4; ++c) out[r * stride + c] = dct::sample(done[4 * r + c]);
    }
  }
}

/// 2 x 2 samples a block.
inline void to_2_portable(const std::int16_t* blocks, std::size_t count, const std::int16_t* table,
                          std::uint8_t* out, std::size_t stride) {
  using namespace dct;
  for (; count != 0; --count, blocks += 64, out += 2) {
    const auto at = [&](std::size_t r, std::size_t c) { return low(blocks[8 * r + c] * table[8 * r + c]); };
    std::int32_t upper[8] = {}, lower[8] = {};
    for (const std::size_t c : {0, 1, 3, 5, 7}) {
      const std::uint32_t even = scaled(at(0, c), bits + 2), odd = dot(c3_624, at(1, c), -c1_272, at(3, c)) +
                                                                   dot(c0_850, at(5, c), -c0_720, at(7, c));
      constexpr int by = bits - more_bits + 2;
      upper[c] = static_cast<std::int32_t>(even + odd + (1u << (by - 1))) >> by;
      lower[c] = static_cast<std::int32_t>(even - odd + (1u << (by - 1))) >> by;
    }
    const auto row = [&](const std::int32_t* v, std::uint8_t* to) {
      const std::uint32_t even = static_cast<std::uint32_t>(v[0]) << (bits + 2),
                          odd = dot(c3_624, nearest(v[1]), -c1_272, nearest(v[3])) +
                                dot(c0_850, nearest(v[5]), -c0_720, nearest(v[7]));
      to[0] = sample(shifted(even + odd, bits + more_bits + 5));
      to[1] = sample(shifted(even - odd, bits + more_bits + 5));
    };
    row(upper, out);
    row(lower, out + stride);
  }
}

/// 1 x 1 sample a block. Like libjpeg, it uses only ten bits of an out-of-range value.
inline void to_1(const std::int16_t* blocks, std::size_t count, const std::int16_t* table, std::uint8_t* out,
                 std::size_t) {
  for (; count != 0; --count, blocks += 64, ++out) {
    const int level = ((blocks[0] * table[0] + 4) >> 3) & 1023;
    *out = static_cast<std::uint8_t>(std::clamp(level < 512 ? level + 128 : level - 896, 0, 255));
  }
}

inline void widen_from(std::size_t i, const std::uint8_t* in, std::uint8_t* out, std::size_t n) noexcept {
  for (; i < n; ++i) {
    const std::uint8_t* const at = in + i;
    out[2 * i] = static_cast<std::uint8_t>((3 * at[0] + at[-1] + 1) >> 2);
    out[2 * i + 1] = static_cast<std::uint8_t>((3 * at[0] + at[1] + 2) >> 2);
  }
}
inline void widen_portable(const std::uint8_t* in, std::uint8_t* out, std::size_t n) {
  widen_from(0, in, out, n);
}

inline void widen_between_from(std::size_t i, const std::uint8_t* near, const std::uint8_t* far,
                               std::uint8_t* out, std::size_t n) noexcept {
  for (; i < n; ++i) {
    const auto at = [&](std::ptrdiff_t by) {
      const std::ptrdiff_t k = static_cast<std::ptrdiff_t>(i) + by;
      return 3 * near[k] + far[k];
    };
    out[2 * i] = static_cast<std::uint8_t>((3 * at(0) + at(-1) + 8) >> 4);
    out[2 * i + 1] = static_cast<std::uint8_t>((3 * at(0) + at(1) + 7) >> 4);
  }
}
inline void widen_between_portable(const std::uint8_t* near, const std::uint8_t* far, std::uint8_t* out,
                                   std::size_t n) {
  widen_between_from(0, near, far, out, n);
}

/// ITU-R BT.601 as in JFIF, with 16 fractional bits.
inline void to_rgb_portable(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                            std::uint8_t* out, std::size_t n) {
  constexpr std::size_t lot = 32;
  constexpr int half = 1 << 15;
  for (std::size_t i = 0; i < n; i += lot) {
    std::uint8_t rgb[3][lot];
    for (std::size_t k = 0; k < lot; ++k) {  // jpeg_slack covers reads past n
      const int level = y[i + k], blue = cb[i + k] - 128, red = cr[i + k] - 128;
      const int r = level + ((91881 * red + half) >> 16),
                g = level + ((-22554 * blue - 46802 * red + half) >> 16),
                b = level + ((116130 * blue + half) >> 16);
      rgb[0][k] = static_cast<std::uint8_t>(std::clamp(r, 0, 255));
      rgb[1][k] = static_cast<std::uint8_t>(std::clamp(g, 0, 255));
      rgb[2][k] = static_cast<std::uint8_t>(std::clamp(b, 0, 255));
    }
    const std::size_t count = std::min(lot, n - i);
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t c = 0; c < 3; ++c) out[3 * (i + k) + c] = rgb[c][k];
    }
  }
}

inline constexpr jpeg_kernels portable_jpeg_kernels{"portable",      &to_8_portable,  &to_4_portable,
                                                    &to_2_portable,  &widen_portable, &widen_between_portable,
                                                    &to_rgb_portable};

}  // namespace wick::detail

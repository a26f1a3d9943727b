/// \file
/// The inner loops of the JPEG decoder: what they compute, to the bit, and how the fastest set for this
/// machine is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace wick::inline v0_1::detail {

/// How many bytes a kernel may read in front of a row's first sample, and after its last one. After a
/// widened row it may write as many.
inline constexpr std::size_t jpeg_slack = 64;

/// One set of loops. All sets give the same bytes, which are those of libjpeg-turbo's code for x86-64.
struct jpeg_kernels {
  /// Blocks of 64 coefficients in natural order, one after the other, times the quantization table, to
  /// samples: the blocks lie side by side in rows that are `stride` bytes apart.
  using inverse_dct = void (*)(const std::int16_t* blocks, std::size_t count, const std::int16_t* table,
                               std::uint8_t* out, std::size_t stride);

  std::string_view name;
  inverse_dct to_8;  ///< 8 x 8 samples a block: the accurate integer method
  inverse_dct to_4;  ///< 4 x 4 samples a block
  inverse_dct to_2;  ///< 2 x 2 samples a block
  /// Twice as many samples a row: three quarters of the nearer one, a quarter of the other. Looks at in[-1]
  /// and in[n].
  void (*widen)(const std::uint8_t* in, std::uint8_t* out, std::size_t n);
  /// The same of a row whose samples are three quarters of `near`, a quarter of `far`.
  void (*widen_between)(const std::uint8_t* near, const std::uint8_t* far, std::uint8_t* out, std::size_t n);
  /// YCbCr to RGB. Writes exactly 3 * n bytes.
  void (*to_rgb)(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::uint8_t* out,
                 std::size_t n);
};

/// What this machine can run, the portable set first, the fastest last.
std::span<const jpeg_kernels* const> available_jpeg_kernels() noexcept;
/// The fastest. Chosen once a process.
const jpeg_kernels& best_jpeg_kernels() noexcept;

}  // namespace wick::detail

// The inner loops of the JPEG decoder: their exact results, and the choice of the fastest set for this
// machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace wick::inline v0_1::detail {

/// How many bytes a kernel may read before a row's first sample and after its last one. It may write as many
/// after a widened row.
inline constexpr std::size_t jpeg_slack = 64;

/// One set of loops. All sets give the same bytes as libjpeg-turbo's code for x86-64.
struct jpeg_kernels {
  /// Dequantizes consecutive blocks of 64 coefficients in natural order, and transforms them to samples.
  /// Writes the blocks side by side, in rows `stride` bytes apart.
  using inverse_dct = void (*)(const std::int16_t* blocks, std::size_t count, const std::int16_t* table,
                               std::uint8_t* out, std::size_t stride);

  std::string_view name;
  inverse_dct to_8;  ///< 8 x 8 samples a block: the accurate integer method
  inverse_dct to_4;  ///< 4 x 4 samples a block
  inverse_dct to_2;  ///< 2 x 2 samples a block
  /// Doubles the number of samples in a row: 3/4 of the nearer sample plus 1/4 of the other. Reads in[-1] and
  /// in[n].
  void (*widen)(const std::uint8_t* in, std::uint8_t* out, std::size_t n);
  /// The same for a row whose samples are 3/4 of `near` plus 1/4 of `far`.
  void (*widen_between)(const std::uint8_t* near, const std::uint8_t* far, std::uint8_t* out, std::size_t n);
  /// YCbCr to RGB. Writes exactly 3 * n bytes.
  void (*to_rgb)(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::uint8_t* out,
                 std::size_t n);
};

/// The sets that this machine can run, from the portable one to the fastest.
std::span<const jpeg_kernels* const> available_jpeg_kernels() noexcept;
/// The fastest set. Chosen once per process.
const jpeg_kernels& best_jpeg_kernels() noexcept;

}  // namespace wick::detail

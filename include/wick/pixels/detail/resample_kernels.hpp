/// \file
/// The inner loops of the resize: what they compute, to the bit, and how the fastest set for this machine is
/// found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace wick::inline v0_1::detail {

/// Weights are fixed-point numbers with this many bits after the point; those of one output sum to exactly
/// 1, so a constant picture stays what it is.
inline constexpr int weight_bits = 14;
inline constexpr int weight_one = 1 << weight_bits;

/// Between the two passes a value is a 16-bit number with this many bits after the point, level 128 being 0:
/// bicubic's overshoot fits, and so does a product with its rounding in one instruction (pmulhrsw, sqrdmulh).
inline constexpr int row_bits = 7;

/// Up to this many source rows each product is rounded for itself, which is off by at most 1/256 of a level
/// each; more of them are summed up in 32 bits and rounded once.
inline constexpr int most_rounded_taps = 32;

/// Values that a kernel may read after the last pixel of a row, and bytes it may write after the last quad.
inline constexpr std::size_t kernel_slack = 64;

/// How a row becomes narrower or wider. Output x is the sum over j < 2 * pairs of the source
/// pixel at first[x] + j * channels times its weight; weights that are not needed are 0.
struct column_table {
  int count = 0;                        ///< outputs; the tables are padded to a multiple of eight
  int pairs = 0;                        ///< of source pixels, for each output
  int channels = 0;                     ///< 1 to 4
  const std::int32_t* first = nullptr;  ///< in values: the pixel's number times the channels
  /// For each two outputs, or four with `picks`, and each pair of source pixels four times the two weights of
  /// each of these outputs, so that one load serves every channel.
  const std::int16_t* weights = nullptr;
  /// For kernels with `picks`; null where four outputs reach over more than `picked_values` values. For each
  /// four outputs: the first value that they need, and, counted from there, the places of the eight values of
  /// each output's first pair.
  const std::int32_t* pick_from = nullptr;
  const std::int16_t* picks = nullptr;
};
inline constexpr int picked_values = 32;

/// One set of loops. All sets give the same bytes.
struct resample_kernels {
  std::string_view name;
  /// out[i] = sum over k < taps of ((rows[k][i] - 128) * weights[k] + 64) >> 7, for i < n. Up to
  /// most_rounded_taps.
  void (*blend_rows)(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                     std::int16_t* out, std::size_t n);
  /// quads[4 * x + c] = the level of channel c of output x, rounded once and clamped; channels that are not
  /// there are anything.
  void (*blend_columns)(const std::int16_t* row, const column_table& columns, std::uint8_t* quads);
  /// Quads of three channels, side by side without the fourth byte. Writes exactly 3 * n bytes.
  void (*pack_triples)(const std::uint8_t* quads, std::uint8_t* out, std::size_t n);
  /// Channel c of n quads to planes[c], for c < channels. Writes exactly n bytes each.
  void (*split_planes)(const std::uint8_t* quads, std::uint8_t* const* planes, int channels, std::size_t n);
  /// It picks the pixels of four outputs from one load, where column_table says how.
  bool picks = false;
};

// Defined in pixels/impl/resample_kernels.ipp, which is compiled once, with stb_image:
// optimized whatever the program's build type, for all instruction sets at once.

/// As blend_rows, for any number of rows: exact sums, rounded once.
void blend_many_rows(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                     std::int16_t* out, std::size_t n) noexcept;

/// What this machine can run, the portable set first, the fastest last.
std::span<const resample_kernels* const> available_kernels() noexcept;
/// The fastest. Chosen once a process.
const resample_kernels& best_kernels() noexcept;

}  // namespace wick::detail

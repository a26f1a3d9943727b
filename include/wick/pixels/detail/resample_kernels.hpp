// The inner loops of the resize: their exact results, and the choice of the fastest set for this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace wick::inline v0_1::detail {

/// Weights are fixed-point numbers with this many fractional bits. The weights of one output sum to exactly
/// 1, so a constant image doesn't change.
inline constexpr int weight_bits = 14;
inline constexpr int weight_one = 1 << weight_bits;

/// Between the two passes, a value has 16 bits, this many of them fractional, and level 128 is 0. That leaves
/// room for bicubic's overshoot, and for multiplying and rounding in one instruction (pmulhrsw, sqrdmulh).
inline constexpr int row_bits = 7;

/// Up to this many source rows, each product is rounded on its own, with an error of at most 1/256 of a
/// level. More rows are summed in 32 bits and rounded once.
inline constexpr int most_rounded_taps = 32;

/// Values that a kernel may read after a row's last pixel, and bytes it may write after the last quad.
inline constexpr std::size_t kernel_slack = 64;

/// Describes how to resize a row. Output x is the sum over j < 2 * pairs of the source pixel at
/// first[x] + j * channels times its weight; unused weights are 0.
struct column_table {
  int count = 0;                        ///< outputs; the tables are padded to a multiple of eight
  int pairs = 0;                        ///< of source pixels per output
  int channels = 0;                     ///< 1 to 4
  const std::int32_t* first = nullptr;  ///< in values: the pixel's number times the channels
  /// For each group of two outputs (four with `picks`) and each pair of source pixels: each output's two
  /// weights, repeated four times, so that one load serves every channel.
  const std::int16_t* weights = nullptr;
  /// For kernels with `picks`; null if four outputs span more than `picked_values` values. For each group of
  /// four outputs: the first value they need, and, relative to it, the positions of the eight values of each
  /// output's first pair.
  const std::int32_t* pick_from = nullptr;
  const std::int16_t* picks = nullptr;
};
inline constexpr int picked_values = 32;

/// One set of loops. All sets give the same bytes.
struct resample_kernels {
  std::string_view name;
  /// out[i] = sum over k < taps of ((rows[k][i] - 128) * weights[k] + 64) >> 7, for i < n. At most
  /// most_rounded_taps taps.
  void (*blend_rows)(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                     std::int16_t* out, std::size_t n);
  /// quads[4 * x + c] = the level of channel c of output x, rounded once and clamped; missing channels are
  /// unspecified.
  void (*blend_columns)(const std::int16_t* row, const column_table& columns, std::uint8_t* quads);
  /// Packs quads to triples, without the fourth byte. Writes exactly 3 * n bytes.
  void (*pack_triples)(const std::uint8_t* quads, std::uint8_t* out, std::size_t n);
  /// Writes channel c of n quads to planes[c], for c < channels. Writes exactly n bytes each.
  void (*split_planes)(const std::uint8_t* quads, std::uint8_t* const* planes, int channels, std::size_t n);
  /// Whether it picks the pixels of four outputs from one load; see column_table.
  bool picks = false;
};

// Defined in pixels/impl/resample_kernels.ipp, which is compiled once, with stb_image: optimized in any build
// type, and for all instruction sets.

/// Like blend_rows, for any number of rows: exact sums, rounded once.
void blend_many_rows(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                     std::int16_t* out, std::size_t n) noexcept;

/// The sets that this machine can run, from the portable one to the fastest.
std::span<const resample_kernels* const> available_kernels() noexcept;
/// The fastest set. Chosen once per process.
const resample_kernels& best_kernels() noexcept;

}  // namespace wick::detail

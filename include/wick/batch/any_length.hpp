// Fields of any length in a batch: padded rows, concatenated values, or rows of several samples.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1 {

/// A field of any length in a batch: the samples' rows, each padded to the longest, and their lengths.
template <class Column>
struct padded {
  Column values;   ///< [N, L, …]: each sample's own values, then the padding
  Column lengths;  ///< [N] int64
};

/// A field of any length in a batch, without padding: the samples' values, one after another. Sample i has
/// values[offsets[i]] to values[offsets[i + 1]], the form that EmbeddingBag (`include_last_offset`), graph
/// batches, and Torch's jagged tensors take.
template <class Column>
struct jagged {
  Column values;   ///< [sum of the lengths, …]
  Column offsets;  ///< [N + 1] int64: from 0 to the sum of the lengths
};

/// Rows of several samples each, for attention that keeps the samples apart: with a mask made from
/// `segments`, or with `cu_seqlens` for kernels of variable length. A sample that was left out
/// (on_error::skip) leaves padding in its place.
template <class Values, class Column>
struct packed {
  Values values;      ///< std::vector fields as [R, L, …]; the others as [D, …], in the samples' order
  Column segments;    ///< [R, L] int32: the value's sample in its row, counted from 1; 0 in the padding
  Column positions;   ///< [R, L] int32: the value's number in its sample, from 0; 0 in the padding
  Column cu_seqlens;  ///< [S + 1] int32: the ends of segments in the flattened rows, from 0 to R · L; padding
                      ///< between samples, or at the end of a row, is a segment of its own
  std::int64_t max_seqlen;  ///< the length of the longest of these segments
};

namespace detail {

template <class Column>
inline constexpr bool is_column<padded<Column>> = is_column<Column>;
template <class Column>
inline constexpr bool is_column<jagged<Column>> = is_column<Column>;
template <class Values, class Column>
inline constexpr bool is_column<packed<Values, Column>> = true;

}  // namespace detail

/// The type of `concatenated`. It has no default constructor, so that batch()'s options with .ragged differ
/// from those without.
struct row_concatenation {
  explicit constexpr row_concatenation(int) noexcept {}
};
/// For `.ragged` of batch(): std::vector fields, of numbers or of std::array of numbers, become jagged<>, one
/// sample after another: `batch(32, {.ragged = wick::concatenated})`.
inline constexpr row_concatenation concatenated{0};

/// The value that pads rows, and the multiple that their length is rounded up to.
struct row_padding {
  double real;
  std::int64_t whole;
  bool is_whole;
  std::uint64_t multiple;

  /// There is no default constructor, so that batch()'s options with .ragged differ from those without.
  row_padding(double r, std::int64_t w, bool is, std::uint64_t m) noexcept
      : real(r), whole(w), is_whole(is), multiple(m) {}

  /// \throws wick::error when E can't represent the value
  template <class E>
  E as() const {
    if constexpr (std::is_floating_point_v<E>) {
      return static_cast<E>(real);
    } else {
      if (!is_whole || static_cast<std::int64_t>(static_cast<E>(whole)) != whole) {
        throw error("pad_with(" + (is_whole ? std::to_string(whole) : std::to_string(real)) +
                    "): a field of " + std::string(to_string(detail::dtype_of<E>())) + " has no such number");
      }
      return static_cast<E>(whole);
    }
  }
};

}  // namespace wick

/// \file
/// What fields of any length become in a batch: rows that are filled up, or rows of several samples.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1 {

/// A field of any length in a batch: the samples' rows, each filled up to the longest, and how long each is.
template <class Column>
struct padded {
  Column values;   ///< [N, L, …], behind each sample's own values the padding
  Column lengths;  ///< [N] int64
};

/// A field of any length in a batch, without padding: the samples' values one after the other. Sample i has
/// values[offsets[i]] to values[offsets[i + 1]], as EmbeddingBag (`include_last_offset`), graph batches, and
/// Torch's jagged tensors take them.
template <class Column>
struct jagged {
  Column values;   ///< [sum of the lengths, …]
  Column offsets;  ///< [N + 1] int64: from 0 to the sum of the lengths
};

/// Rows of several samples each, for attention that keeps them apart: by `segments` as a mask, or by
/// `cu_seqlens` for kernels of variable length. A sample that was left out (on_error::skip) is padding where
/// it would have been.
template <class Values, class Column>
struct packed {
  Values values;      ///< std::vector fields as [R, L, …]; the others as [D, …], in the samples' order
  Column segments;    ///< [R, L] int32: which sample of its row, from 1 on; 0 is padding
  Column positions;   ///< [R, L] int32: which value of its sample, from 0 on; 0 in the padding
  Column cu_seqlens;  ///< [S + 1] int32: from 0 to R · L, where in the rows, one behind the other, a segment
                      ///< ends; what is padding between samples and at the end of a row is one of its own
  std::int64_t max_seqlen;  ///< the longest of these segments
};

namespace detail {

template <class Column>
inline constexpr bool is_column<padded<Column>> = is_column<Column>;
template <class Column>
inline constexpr bool is_column<jagged<Column>> = is_column<Column>;
template <class Values, class Column>
inline constexpr bool is_column<packed<Values, Column>> = true;

}  // namespace detail

/// The type of `concatenated`. It has no default, so that batch()'s options with .ragged differ from those
/// without.
struct row_concatenation {
  explicit constexpr row_concatenation(int) noexcept {}
};
/// For `.ragged` of batch(): std::vector fields, of numbers or of std::array of numbers, come as jagged<>,
/// one after the other: `batch(32, {.ragged = wick::concatenated})`.
inline constexpr row_concatenation concatenated{0};

/// What fills up rows, and to which multiple.
struct row_padding {
  double real;
  std::int64_t whole;
  bool is_whole;
  std::uint64_t multiple;

  /// Not made of nothing: by that batch()'s options with .ragged differ from those without.
  row_padding(double r, std::int64_t w, bool is, std::uint64_t m) noexcept
      : real(r), whole(w), is_whole(is), multiple(m) {}

  /// \throws wick::error when E has no such number
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

// Batches of samples whose fields have any length: padded to the longest, or concatenated.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <wick/batch/batch.hpp>
#include <wick/batch/detail/named_fields.hpp>
#include <wick/batch/detail/ragged_column.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1 {

/// Options of pad_with().
struct pad_with_options {
  /// Lengths are rounded up to a multiple of this: kernels favor some widths, and compiled models want few.
  std::uint64_t multiple = 1;
};

/// Like batch_options, with the padding of fields of any length.
struct ragged_batch_options {
  bool drop_last = false;
  wick::layout layout = wick::layout::nchw;
  bool pad_last = false;
  /// The padding of the fields of any length: pad_with(0).
  row_padding ragged;
};

/// Like batch_options, with fields of any length concatenated.
struct jagged_batch_options {
  bool drop_last = false;
  wick::layout layout = wick::layout::nchw;
  bool pad_last = false;
  row_concatenation ragged;  ///< `concatenated`
};

namespace detail {

/// The meaning of a value of `.ragged`: the layout and padding that columns get, and the output that they
/// make.
template <class How>
struct ragged_kind;
template <>
struct ragged_kind<row_padding> {
  template <class Output>
  using output = ragged_output<Output>;
  static ragged_order order(layout of, const row_padding& how) noexcept { return {of, how}; }
  static std::uint64_t fingerprint(std::uint64_t base, const row_padding& how) noexcept {
    return fingerprint_hash::of(base, how.real, how.whole, how.multiple);
  }
};
template <>
struct ragged_kind<row_concatenation> {
  template <class Output>
  using output = jagged_output<Output>;
  static jagged_order order(layout of, const row_concatenation&) noexcept { return {of}; }
  static std::uint64_t fingerprint(std::uint64_t base, const row_concatenation&) noexcept {
    return fingerprint_hash::of(base, 1);
  }
};

/// Makes batches in which fields of any length are padded or concatenated.
template <class Output, class Named = void, class How = row_padding>
class ragged_batch_stage : public batch_stage<Output, Named> {
  using base = batch_stage<Output, Named>;
  using kind = ragged_kind<How>;
  using output_type = typename kind::template output<Output>;

 public:
  /// \throws wick::error when size is 0
  template <class Options>
  ragged_batch_stage(std::size_t size, const Options& options)
      : base(size, {.drop_last = options.drop_last, .layout = options.layout, .pad_last = options.pad_last}),
        how_(options.ragged) {}
  std::uint64_t fingerprint() const noexcept { return kind::fingerprint(base::fingerprint(), how_); }
  auto order() const noexcept { return kind::order(base::order(), how_); }

  template <class Item>
  using collator = std::conditional_t<std::is_void_v<Named>, column_of<Item, output_type>,
                                      named_columns<Item, output_type, Named>>;
  template <class Item>
  using batch_of = typename collator<Item>::output;

  template <class Item>
  static consteval bool check() {
    if constexpr (can_pad<Item>::value)
      return check_named<Named, Item, output_type>();
    else
      return base::template check<Item>();
  }

 private:
  How how_;
};
template <class Output, class Named = void>
using jagged_batch_stage = ragged_batch_stage<Output, Named, row_concatenation>;

}  // namespace detail

/// For `.ragged` of batch(): std::vector fields, of numbers or of std::array of numbers, are padded with
/// `value` to the longest of the batch, and become padded<>. \throws wick::error when the multiple is 0
template <class Value>
  requires std::is_arithmetic_v<Value>
row_padding pad_with(Value value, pad_with_options options = {}) {
  if (options.multiple == 0) throw error("pad_with: a length can't be a multiple of 0; 1 leaves it as it is");
  constexpr bool whole = std::integral<Value>;
  std::int64_t as_whole = 0;
  if constexpr (whole) as_whole = static_cast<std::int64_t>(value);
  return {static_cast<double>(value), as_whole, whole, options.multiple};
}

/// Like array_batch() above, but std::vector fields become padded<array>: array_batch(8, {.ragged =
/// pad_with(0)}). Each rank pads to the longest of its own share. \throws wick::error when size is 0
inline detail::ragged_batch_stage<detail::array_output> array_batch(std::size_t size,
                                                                    ragged_batch_options options) {
  return {size, options};
}
/// The same as a struct of yours, in which fields of any length are padded<array>.
template <class Named>
detail::ragged_batch_stage<detail::array_output, Named> array_batch(std::size_t size,
                                                                    ragged_batch_options options) {
  return {size, options};
}

/// Like array_batch() above, but std::vector fields become jagged<array>: array_batch(8, {.ragged =
/// concatenated}). \throws wick::error when size is 0
inline detail::jagged_batch_stage<detail::array_output> array_batch(std::size_t size,
                                                                    jagged_batch_options options) {
  return {size, options};
}
/// The same as a struct of yours, in which fields of any length are jagged<array>.
template <class Named>
detail::jagged_batch_stage<detail::array_output, Named> array_batch(std::size_t size,
                                                                    jagged_batch_options options) {
  return {size, options};
}

}  // namespace wick

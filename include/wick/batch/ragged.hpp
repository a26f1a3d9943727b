/// \file
/// Batches of samples whose fields have any length: filled up to the longest.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <wick/batch/batch.hpp>
#include <wick/batch/detail/named_fields.hpp>
#include <wick/batch/detail/ragged_column.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/fingerprint.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1 {

/// Options of pad_with().
struct pad_with_options {
  /// Lengths are rounded up to a multiple of this: kernels like some widths, and compiled models few.
  std::uint64_t multiple = 1;
};

/// As batch_options, and what is done about fields of any length.
struct ragged_batch_options {
  bool drop_last = false;
  wick::layout layout = wick::layout::nchw;
  bool pad_last = false;
  /// What fills up the fields of any length: pad_with(0).
  row_padding ragged;
};

namespace detail {

/// Makes batches in which fields of any length are padded.
template <class Output, class Named = void>
class ragged_batch_stage : public batch_stage<Output, Named> {
  using base = batch_stage<Output, Named>;

 public:
  /// \throws wick::error when size is 0
  ragged_batch_stage(std::size_t size, const ragged_batch_options& options)
      : base(size, {.drop_last = options.drop_last, .layout = options.layout, .pad_last = options.pad_last}),
        pad_(options.ragged) {}
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash::of(base::fingerprint(), pad_.real, pad_.whole, pad_.multiple);
  }
  ragged_order order() const noexcept { return {base::order(), pad_}; }

  template <class Item>
  using collator = std::conditional_t<std::is_void_v<Named>, column_of<Item, ragged_output<Output>>,
                                      named_columns<Item, ragged_output<Output>, Named>>;
  template <class Item>
  using batch_of = typename collator<Item>::output;

  template <class Item>
  static consteval bool check() {
    if constexpr (can_pad<Item>::value)
      return check_named<Named, Item, ragged_output<Output>>();
    else
      return base::template check<Item>();
  }

 private:
  row_padding pad_;
};
static_assert(
    column<column_of<std::vector<int>, ragged_output<array_output>>, std::vector<int>, ragged_order>);

}  // namespace detail

/// For `.ragged` of batch(): std::vector fields, of numbers or of std::array of numbers, are filled up with
/// `value` to the longest of the batch, and come as padded<>. \throws wick::error when a multiple is 0
template <class Value>
  requires std::is_arithmetic_v<Value>
row_padding pad_with(Value value, pad_with_options options = {}) {
  if (options.multiple == 0) throw error("pad_with: a length can't be a multiple of 0; 1 leaves it as it is");
  constexpr bool whole = std::integral<Value>;
  std::int64_t as_whole = 0;
  if constexpr (whole) as_whole = static_cast<std::int64_t>(value);
  return {static_cast<double>(value), as_whole, whole, options.multiple};
}

/// As array_batch() above, where std::vector fields become padded<array>: array_batch(8, {.ragged =
/// pad_with(0)}). Each rank fills up to the longest of its own share. \throws wick::error when size is 0
inline detail::ragged_batch_stage<detail::array_output> array_batch(std::size_t size,
                                                                    ragged_batch_options options) {
  return {size, options};
}
/// And as a struct of yours whose fields of any length are padded<array>.
template <class Named>
detail::ragged_batch_stage<detail::array_output, Named> array_batch(std::size_t size,
                                                                    ragged_batch_options options) {
  return {size, options};
}

}  // namespace wick

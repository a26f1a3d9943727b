/// \file
/// Batches of rows that hold samples of any length, one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/batch.hpp>
#include <wick/batch/detail/fields.hpp>
#include <wick/batch/detail/packed_column.hpp>
#include <wick/batch/detail/ragged_column.hpp>
#include <wick/batch/ragged.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1 {

/// What pack() does with a sample that is longer than a row.
enum class too_long : unsigned char {
  fail,      ///< the loader throws an error that names it
  truncate,  ///< its beginning fills a row
  split,     ///< it is cut into full rows and a rest, and goes through the stages once for each piece
};

/// Options of pack().
struct pack_options {
  /// Leave out the last batch of an epoch when it has fewer rows.
  bool drop_last = false;
  /// The padding where there is no sample.
  row_padding pad = pad_with(0);
  wick::too_long too_long = wick::too_long::fail;
  /// The length that each sample of the source has when it reaches pack(). Empty: the source gives the
  /// lengths with `length(i)`.
  std::vector<std::uint32_t> lengths = {};
};

namespace detail {

/// The layout and padding that columns get when a batch begins, without the places of samples.
struct row_order {
  layout order;
  row_padding pad;
  std::uint32_t row;
};

template <class T>
struct has_ragged : std::bool_constant<ragged<T>> {};
template <composite T>
struct has_ragged<T> {
  static constexpr bool value = []<class... F>(std::type_identity<std::tuple<F...>>) {
    return (has_ragged<F>::value || ...);
  }(std::type_identity<typename field_types<T>::type>{});
};

/// Makes batches of rows, with columns that Output makes.
template <class Output>
class pack_stage {
 public:
  static constexpr stage_traits traits{.name = "pack",
                                       .kind = stage_kind::batching,
                                       .has_fingerprint = true,
                                       .has_check = true,
                                       .packs = true};
  /// The epoch's plan says which samples make up a row.

  /// \throws wick::error
  pack_stage(std::size_t rows, std::size_t length, pack_options options)
      : rows_(rows),
        length_(static_cast<std::uint32_t>(length)),
        options_(std::move(options)),
        fingerprint_(fingerprint_hash()
                         .add(fingerprint_hash::of(options_.drop_last, options_.pad.real, options_.pad.whole,
                                                   options_.too_long, length_))
                         .add(options_.lengths.data(), options_.lengths.size() * sizeof(std::uint32_t))
                         .value()) {
    checked("pack", rows, {});
    if (length == 0) throw error("pack: a row has at least one place");
    if (options_.pad.multiple != 1)
      throw error(
          "pack: all rows have the length that it is given; write pad_with(value), without .multiple");
    if (length >= limit || rows >= limit / length) {
      throw error("pack: a batch of " + std::to_string(rows) + " rows of " + std::to_string(length) +
                  " has more places than cu_seqlens can count, which is int32; make it smaller");
    }
    lengths_ = std::make_shared<const std::vector<std::uint32_t>>(std::move(options_.lengths));
  }
  std::size_t size() const noexcept { return rows_; }
  bool drop_last() const noexcept { return options_.drop_last; }
  bool pad_last() const noexcept { return false; }
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }
  row_order order() const noexcept { return {layout::nchw, options_.pad, length_}; }
  std::uint32_t row_length() const noexcept { return length_; }
  bool truncates() const noexcept { return options_.too_long == too_long::truncate; }
  bool splits() const noexcept { return options_.too_long == too_long::split; }
  const std::vector<std::uint32_t>& lengths() const noexcept { return *lengths_; }

  template <class Item>
  using collator = packed_columns<Item, Output>;
  template <class Item>
  using batch_of = typename collator<Item>::output;

  template <class Item>
  static consteval bool check() {
    constexpr bool rows = has_ragged<Item>::value;
    static_assert(rows,
                  "wick: pack() puts std::vector fields into rows, and the item has none (see 'Item'); write "
                  "batch(n) for what has one shape, or a stage before pack() that gives a std::vector of "
                  "numbers");
    constexpr bool others = !rows || can_pad<Item>::value;
    static_assert(others,
                  "wick: pack() can't put a field of the item into a tensor (see 'Item'): it takes "
                  "std::vector of numbers, and what batch(n) takes");
    return rows && can_pad<Item>::value;
  }

 private:
  static constexpr std::size_t limit = std::size_t{1} << 31;
  std::size_t rows_;
  std::uint32_t length_;
  pack_options options_;
  std::uint64_t fingerprint_;
  std::shared_ptr<const std::vector<std::uint32_t>> lengths_;
};
static_assert(column<packed_columns<std::vector<int>, array_output>, std::vector<int>, row_order>);

}  // namespace detail

/// Like pack(), without Torch: makes batches of `rows` rows of `length` places, which hold samples of
/// std::vector fields one after another, as packed<…, array>. After mix(), weighted(), and other orders that
/// give different samples in each epoch, rows follow the order, and the loader plans them when their epoch
/// begins. \throws wick::error
inline detail::pack_stage<detail::array_output> array_pack(std::size_t rows, std::size_t length,
                                                           pack_options options = {}) {
  return {rows, length, std::move(options)};
}

}  // namespace wick

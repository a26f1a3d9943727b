// Batches of rows that hold samples of any length, one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
#include <wick/ext/stage.hpp>
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

/// The part of pack() that doesn't depend on the kind of the columns. The epoch's plan says which samples
/// make up a row.
class row_packing {
 public:
  /// \throws wick::error
  row_packing(std::size_t rows, std::size_t length, pack_options options);
  std::size_t size() const noexcept { return rows_; }
  bool drop_last() const noexcept { return drop_last_; }
  bool pad_last() const noexcept { return false; }
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }
  row_order order() const noexcept { return {layout::nchw, pad_, length_}; }
  std::uint32_t row_length() const noexcept { return length_; }
  bool truncates() const noexcept { return too_long_ == too_long::truncate; }
  bool splits() const noexcept { return too_long_ == too_long::split; }
  const std::vector<std::uint32_t>& lengths() const noexcept { return *lengths_; }

 private:
  std::size_t rows_;
  std::uint32_t length_;
  bool drop_last_;
  too_long too_long_;
  row_padding pad_;
  std::uint64_t fingerprint_;
  std::shared_ptr<const std::vector<std::uint32_t>> lengths_;
};

/// Makes batches of rows, with columns that Output makes.
template <class Output>
class pack_stage : public row_packing {
 public:
  static constexpr stage_traits traits{.name = "pack",
                                       .kind = stage_kind::batching,
                                       .has_fingerprint = true,
                                       .has_check = true,
                                       .packs = true};
  using row_packing::row_packing;

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
};

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

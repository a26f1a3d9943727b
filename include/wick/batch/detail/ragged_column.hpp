/// \file
/// A field of any length: its rows wait as they came until the longest of the batch is known, then each is
/// written once, into memory of the pool, and padded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/any_length.hpp>
#include <wick/batch/collate.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/batch/fields.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/fingerprint.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

/// What columns get when a batch begins. Those of a fixed shape use only the layout of pictures.
struct ragged_order {
  layout order;
  row_padding pad;
  operator layout() const noexcept { return order; }  // NOLINT(google-explicit-constructor): that is its use
};

/// Makes columns as Output does; fields of any length become padded ones.
template <class Output>
struct ragged_output : Output {};

/// A column of std::vector<T>.
template <class T, class Output>
class ragged_column : public fitting_column {
  using element = typename fixed_array<T>::element;

 public:
  using output = padded<decltype(Output::make(slab{}, column_description{}))>;

  void begin(std::size_t n, const ragged_order& how, const std::shared_ptr<slab_pool>& pool,
             std::size_t number = 0) {
    if (pool_ != pool) pool_ = pool;
    pad_ = how.pad;
    number_ = number;
    sealed_ = false;
    rows_.clear();
    rows_.resize(n);
  }
  /// Any thread, each slot once. \throws wick::error when the padding is no number of this type
  void put(std::size_t i, std::vector<T>&& value) {
    static_cast<void>(pad_->template as<element>());
    rows_[i] = std::move(value);
  }
  void close(const std::vector<std::size_t>& gaps, std::size_t n) { close_gaps(rows_, gaps, n); }
  /// Without their lengths: the ranks' shares add up to the same as the whole batch.
  void describe(fingerprint_hash& to) const noexcept {
    to.add(static_cast<std::uint64_t>(dtype_of<element>())).add(std::uint64_t{sizeof(T)});
  }
  std::uint64_t content(std::size_t i, std::uint64_t seed) const noexcept {
    const std::size_t bytes = rows_[i].size() * sizeof(T);
    return content_of(reinterpret_cast<const std::byte*>(rows_[i].data()), bytes, seed ^ bytes);
  }

  /// All slots below `n` are written, and the worker that ended the last of them brings them together.
  void seal(std::size_t n) {
    if (sealed_) return;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < n; ++i) longest = std::max(longest, rows_[i].size());
    const auto multiple = static_cast<std::size_t>(pad_->multiple);
    longest = (longest + multiple - 1) / multiple * multiple;
    slab values = pool_->acquire(n * longest * sizeof(T), number_);
    slab lengths = pool_->acquire(n * sizeof(std::int64_t), number_ * (max_fields + 1) + 1);
    const auto filling = pad_->template as<element>();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t own = rows_[i].size() * sizeof(T);
      std::byte* const at = values.data() + i * longest * sizeof(T);
      if (own != 0) std::memcpy(at, rows_[i].data(), own);
      auto* const rest = reinterpret_cast<element*>(at + own);
      std::fill(rest, rest + (longest * sizeof(T) - own) / sizeof(element), filling);
      const auto length = static_cast<std::int64_t>(rows_[i].size());
      std::memcpy(lengths.data() + i * sizeof length, &length, sizeof length);
      rows_[i] = std::vector<T>();  // where it was made, and not in the training loop's thread
    }
    about_ = column_description();
    about_.count = static_cast<std::int64_t>(n);
    about_.type = dtype_of<element>();
    about_.each.push_back(static_cast<std::int64_t>(longest));
    fixed_array<T>::append(about_.each);
    values_ = std::move(values);
    lengths_ = std::move(lengths);
    sealed_ = true;
  }
  output finish(std::size_t n) {
    seal(n);
    sealed_ = false;
    column_description one;
    one.count = about_.count;
    one.type = dtype::int64;
    return {Output::make(std::move(values_), about_), Output::make(std::move(lengths_), one)};
  }
  void drop() noexcept {
    rows_.clear();
    values_.reset();
    lengths_.reset();
  }

 private:
  std::vector<std::vector<T>> rows_;
  std::optional<row_padding> pad_;
  column_description about_;
  slab values_, lengths_;
  std::size_t number_ = 0;
  bool sealed_ = false;
  std::shared_ptr<slab_pool> pool_;
};

template <class T, class Output>
  requires ragged<std::vector<T>>
struct column_for<std::vector<T>, ragged_output<Output>> {
  using type = ragged_column<T, ragged_output<Output>>;
};

}  // namespace wick::detail

// A field of any length. Its rows wait until the longest of the batch is known; then each is written once,
// into the pool's memory, and padded.
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
#include <wick/batch/detail/collate.hpp>
#include <wick/batch/detail/fields.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

/// Options that columns get at the beginning of a batch. Columns of a fixed shape use only the image layout.
struct ragged_order {
  layout order;
  row_padding pad;
  operator layout() const noexcept { return order; }  // NOLINT(google-explicit-constructor): that's its use
};

/// Makes columns like Output; fields of any length become padded ones.
template <class Output>
struct ragged_output : Output {};

/// The same for concatenated rows.
struct jagged_order {
  layout order;
  operator layout() const noexcept { return order; }  // NOLINT(google-explicit-constructor): that's its use
};
template <class Output>
struct jagged_output : Output {};

/// The rows of std::vector<T> as they arrived. The base of padded and concatenated columns: `Self` has `void
/// join(n)`, which combines the rows.
template <class Self, class T>
class row_column : public fitting_column {
 protected:
  using element = typename fixed_array<T>::element;

  void begin_rows(std::size_t n, const std::shared_ptr<slab_pool>& pool, std::size_t number) {
    if (pool_ != pool) pool_ = pool;
    number_ = number;
    sealed_ = false;
    rows_.clear();
    rows_.resize(n);
  }

 public:
  void close(const std::vector<std::size_t>& gaps, std::size_t n) { close_gaps(rows_, gaps, n); }
  /// Without the rows' lengths, so that the ranks' shares add up to the whole batch's fingerprint.
  void describe(fingerprint_hash& to) const noexcept {
    to.add(static_cast<std::uint64_t>(dtype_of<element>())).add(std::uint64_t{sizeof(T)});
  }
  std::uint64_t content(std::size_t i, std::uint64_t seed) const noexcept {
    const std::size_t bytes = rows_[i].size() * sizeof(T);
    return content_of(reinterpret_cast<const std::byte*>(rows_[i].data()), bytes, seed ^ bytes);
  }
  /// All slots below `n` have been written. The worker that ended the last sample combines them.
  void seal(std::size_t n) {
    if (sealed_) return;
    static_cast<Self&>(*this).join(n);
    sealed_ = true;
  }
  void drop() noexcept {
    rows_.clear();
    values_.reset();
    numbers_.reset();
  }

 protected:
  slab number_slab(std::size_t count) {
    return pool_->acquire(count * sizeof(std::int64_t), number_ * (max_fields + 1) + 1);
  }
  /// Copies row i and frees it here, not in the training loop's thread. \returns its size in bytes
  std::size_t take_row(std::size_t i, std::byte* to) {
    const std::size_t own = rows_[i].size() * sizeof(T);
    if (own != 0) std::memcpy(to, rows_[i].data(), own);
    rows_[i] = std::vector<T>();
    return own;
  }
  static column_description described(std::size_t count, dtype type) {
    column_description out;
    out.count = static_cast<std::int64_t>(count);
    out.type = type;
    return out;
  }

  std::vector<std::vector<T>> rows_;
  slab values_, numbers_;
  std::size_t number_ = 0;
  bool sealed_ = false;
  std::shared_ptr<slab_pool> pool_;
};

/// A padded column of std::vector<T>.
template <class T, class Output>
class ragged_column : public row_column<ragged_column<T, Output>, T> {
  using base = row_column<ragged_column<T, Output>, T>;
  using element = typename base::element;

 public:
  using output = padded<decltype(Output::make(slab{}, column_description{}))>;

  void begin(std::size_t n, const ragged_order& how, const std::shared_ptr<slab_pool>& pool,
             std::size_t number = 0) {
    this->begin_rows(n, pool, number);
    pad_ = how.pad;
  }
  /// Any thread, each slot once. \throws wick::error if this type can't hold the padding
  void put(std::size_t i, std::vector<T>&& value) {
    static_cast<void>(pad_->template as<element>());
    this->rows_[i] = std::move(value);
  }
  void join(std::size_t n) {
    std::size_t longest = 0;
    for (std::size_t i = 0; i < n; ++i) longest = std::max(longest, this->rows_[i].size());
    const auto multiple = static_cast<std::size_t>(pad_->multiple);
    longest = (longest + multiple - 1) / multiple * multiple;
    slab values = this->pool_->acquire(n * longest * sizeof(T), this->number_);
    slab lengths = this->number_slab(n);
    const auto filling = pad_->template as<element>();
    for (std::size_t i = 0; i < n; ++i) {
      const auto length = static_cast<std::int64_t>(this->rows_[i].size());
      std::memcpy(lengths.data() + i * sizeof length, &length, sizeof length);
      std::byte* const at = values.data() + i * longest * sizeof(T);
      const std::size_t own = this->take_row(i, at);
      auto* const rest = reinterpret_cast<element*>(at + own);
      std::fill(rest, rest + (longest * sizeof(T) - own) / sizeof(element), filling);
    }
    about_ = this->described(n, dtype_of<element>());
    about_.each.push_back(static_cast<std::int64_t>(longest));
    fixed_array<T>::append(about_.each);
    this->values_ = std::move(values);
    this->numbers_ = std::move(lengths);
  }
  output finish(std::size_t n) {
    this->seal(n);
    this->sealed_ = false;
    return {Output::make(std::move(this->values_), about_),
            Output::make(std::move(this->numbers_),
                         this->described(static_cast<std::size_t>(about_.count), dtype::int64))};
  }

 private:
  std::optional<row_padding> pad_;
  column_description about_;
};

/// A column of std::vector<T> with concatenated rows.
template <class T, class Output>
class jagged_column : public row_column<jagged_column<T, Output>, T> {
  using base = row_column<jagged_column<T, Output>, T>;
  using element = typename base::element;

 public:
  using output = jagged<decltype(Output::make(slab{}, column_description{}))>;

  void begin(std::size_t n, const jagged_order&, const std::shared_ptr<slab_pool>& pool,
             std::size_t number = 0) {
    this->begin_rows(n, pool, number);
  }
  /// Any thread, each slot once.
  void put(std::size_t i, std::vector<T>&& value) { this->rows_[i] = std::move(value); }
  void join(std::size_t n) {
    std::size_t all = 0;
    slab offsets = this->number_slab(n + 1);
    const auto note = [&offsets](std::size_t i, std::size_t offset) {
      const auto value = static_cast<std::int64_t>(offset);
      std::memcpy(offsets.data() + i * sizeof value, &value, sizeof value);
    };
    note(0, 0);
    for (std::size_t i = 0; i < n; ++i) note(i + 1, all += this->rows_[i].size());
    slab values = this->pool_->acquire(all * sizeof(T), this->number_);
    std::byte* to = values.data();
    for (std::size_t i = 0; i < n; ++i) to += this->take_row(i, to);
    about_ = this->described(all, dtype_of<element>());
    fixed_array<T>::append(about_.each);
    samples_ = n;
    this->values_ = std::move(values);
    this->numbers_ = std::move(offsets);
  }
  output finish(std::size_t n) {
    this->seal(n);
    this->sealed_ = false;
    return {Output::make(std::move(this->values_), about_),
            Output::make(std::move(this->numbers_), this->described(samples_ + 1, dtype::int64))};
  }

 private:
  column_description about_;
  std::size_t samples_ = 0;
};

template <class T, class Output>
  requires ragged<std::vector<T>>
struct column_for<std::vector<T>, jagged_output<Output>> {
  using type = jagged_column<T, jagged_output<Output>>;
};
template <class T, class Output>
  requires ragged<std::vector<T>>
struct column_for<std::vector<T>, ragged_output<Output>> {
  using type = ragged_column<T, ragged_output<Output>>;
};

}  // namespace wick::detail

// Rows of concatenated samples. Their places are planned in advance, so each sample is written once, into
// its place. The segments and positions are written when all samples have ended.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/any_length.hpp>
#include <wick/batch/detail/collate.hpp>
#include <wick/batch/detail/fields.hpp>
#include <wick/batch/detail/ragged_column.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

/// The places of a batch's samples in its rows, in the order of both.
struct pack_table {
  struct place {
    std::uint32_t row, offset, count;  ///< in the rows
    std::uint32_t from, whole;         ///< in the sample
    bool gap;
  };
  std::vector<place> places;
  std::size_t rows = 0, max_rows = 0, length = 0;

  void clear() noexcept;
  /// \throws std::bad_alloc
  void add(const place& next);
  /// The number of samples and paddings in all rows.
  std::size_t parts() const;
  /// Writes each element's sample number within its row (from 1; 0 in padding), its position in that sample,
  /// and the borders of all parts, one more than there are parts. \returns the length of the longest part
  std::int64_t write(std::int32_t* segment, std::int32_t* position, std::int32_t* border) const;

  /// Calls f(begin, count, place) for each part of the rows; place is null for padding.
  template <class F>
  void for_each_part(F&& f) const {
    std::size_t i = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      std::size_t end = 0;
      for (; i < places.size() && places[i].row == row; ++i) {
        const place& p = places[i];
        end = std::size_t{p.offset} + p.count;
        f(row * length + p.offset, std::size_t{p.count}, p.gap ? nullptr : &p);
      }
      if (end < length) f(row * length + end, length - end, static_cast<const place*>(nullptr));
    }
  }
};

/// Options that columns get at the beginning of a batch.
struct packed_order {
  layout order;
  row_padding pad;
  const pack_table* table;
  operator layout() const noexcept { return order; }  // NOLINT(google-explicit-constructor): that's its use
};

/// Makes columns like Output; fields of any length become rows.
template <class Output>
struct packed_output : Output {};

/// A field of type std::vector<T>.
template <class T, class Output>
class packed_column : public fitting_column {
  using element = typename fixed_array<T>::element;

 public:
  using output = decltype(Output::make(slab{}, column_description{}));

  void begin(std::size_t, const packed_order& how, const std::shared_ptr<slab_pool>& pool,
             std::size_t number = 0) {
    if (pool_ != pool) pool_ = pool;
    how_ = how;
    number_ = number;
    base_.store(nullptr, std::memory_order_relaxed);
  }
  /// Any thread, each slot once. \throws wick::error if its length isn't the planned one
  void put(std::size_t i, std::vector<T>&& value) {
    const pack_table::place& p = how_->table->places[i];
    if (value.size() != p.whole) {
      throw error(
          "it is " + std::to_string(value.size()) + " long, and " + std::to_string(p.whole) +
          " was planned; lengths are those of the items that come to pack(), so measure them after the same "
          "stages");
    }
    std::byte* base = base_.load(std::memory_order_acquire);
    if (base == nullptr) base = begin_memory();
    if (p.count != 0) std::memcpy(base + at(p), value.data() + p.from, p.count * sizeof(T));
  }
  void close(const std::vector<std::size_t>&, std::size_t) noexcept {}  // rows stay as planned
  void describe(fingerprint_hash& to) const noexcept {
    to.add(static_cast<std::uint64_t>(dtype_of<element>())).add(std::uint64_t{sizeof(T)});
  }
  std::uint64_t content(std::size_t i, std::uint64_t seed) const noexcept {
    const pack_table::place& p = how_->table->places[i];
    return content_of(base_.load(std::memory_order_relaxed) + at(p), p.count * sizeof(T), seed ^ p.count);
  }
  /// All samples have ended: pads places without a sample, even if there is none at all.
  void seal(std::size_t) {
    if (how_->table->rows == 0) return;
    std::byte* base = base_.load(std::memory_order_relaxed);
    if (base == nullptr) base = begin_memory();
    const auto filling = how_->pad.template as<element>();
    how_->table->for_each_part([&](std::size_t begin, std::size_t count, const pack_table::place* p) {
      if (p != nullptr) return;
      auto* const first = reinterpret_cast<element*>(base + begin * sizeof(T));
      std::fill(first, first + count * (sizeof(T) / sizeof(element)), filling);
    });
  }
  output finish(std::size_t) {
    if (!memory_) memory_ = pool_->acquire(1, number_);
    column_description about;
    about.count = static_cast<std::int64_t>(how_->table->rows);
    about.type = dtype_of<element>();
    about.each.push_back(static_cast<std::int64_t>(how_->table->length));
    fixed_array<T>::append(about.each);
    return Output::make(std::move(memory_), about);
  }
  void drop() noexcept { memory_.reset(); }

 private:
  std::size_t at(const pack_table::place& p) const noexcept {
    return (p.row * how_->table->length + p.offset) * sizeof(T);
  }
  [[gnu::noinline]] std::byte* begin_memory() {
    static_cast<void>(how_->pad.template as<element>());
    std::lock_guard lock(mutex_);
    if (std::byte* const base = base_.load(std::memory_order_relaxed)) return base;
    memory_ = pool_->acquire(how_->table->max_rows * how_->table->length * sizeof(T), number_);
    base_.store(memory_.data(), std::memory_order_release);
    return memory_.data();
  }

  std::atomic<std::byte*> base_{nullptr};
  std::optional<packed_order> how_;
  std::size_t number_ = 0;
  slab memory_;
  std::mutex mutex_;
  std::shared_ptr<slab_pool> pool_;
};

template <class T, class Output>
  requires ragged<std::vector<T>>
struct column_for<std::vector<T>, packed_output<Output>> {
  using type = packed_column<T, packed_output<Output>>;
};

/// The fields' columns, and the segments, positions and borders of their rows.
template <class Item, class Output>
class packed_columns {
  using fields = column_of<Item, packed_output<Output>>;
  using column = decltype(Output::make(slab{}, column_description{}));

 public:
  using output = packed<typename fields::output, column>;

  template <class Order>
  void begin(std::size_t n, const Order& how, const std::shared_ptr<slab_pool>& pool) {
    if (pool_ != pool) pool_ = pool;
    table_.clear();
    table_.length = how.row;
    fields_.begin(n, packed_order{how.order, how.pad, &table_}, pool, 1);
  }
  /// After begin(): this rank's rows of the batch, and the most that it has in any batch.
  void arrange(std::size_t rows, std::size_t max_rows) noexcept {
    table_.rows = rows;
    table_.max_rows = max_rows;
  }
  /// The place of the next slot, row by row. \throws std::bad_alloc
  void place(std::uint32_t row, std::uint32_t offset, std::uint32_t count, std::uint32_t from,
             std::uint32_t whole) {
    table_.add({row, offset, count, from, whole, false});
  }

  void put(std::size_t i, Item&& value) { fields_.put(i, std::move(value)); }
  std::optional<misfit> first_misfit(std::size_t n, const std::vector<std::size_t>& failed) const {
    return fields_.first_misfit(n, failed);
  }
  void forget(std::size_t i) { fields_.forget(i); }
  bool stale(const std::vector<std::size_t>& failed) const { return fields_.stale(failed); }
  void close(const std::vector<std::size_t>& gaps, std::size_t n) {
    for (const std::size_t g : gaps) table_.places[g].gap = true;
    fields_.close(gaps, n);
  }
  void describe(fingerprint_hash& to) const noexcept {
    fields_.describe(to.add(std::uint64_t{table_.length}));
  }
  std::uint64_t content(std::size_t i, std::uint64_t seed) const noexcept { return fields_.content(i, seed); }

  void seal(std::size_t n) {
    fields_.seal(n);
    parts_ = table_.parts();
    const std::size_t most = table_.max_rows * table_.length * sizeof(std::int32_t);
    segments_ = pool_->acquire(most, 2);
    positions_ = pool_->acquire(most, 3);
    borders_ = pool_->acquire((parts_ + 1) * sizeof(std::int32_t), 4);
    longest_ = table_.write(reinterpret_cast<std::int32_t*>(segments_.data()),
                            reinterpret_cast<std::int32_t*>(positions_.data()),
                            reinterpret_cast<std::int32_t*>(borders_.data()));
  }
  output finish(std::size_t n) {
    if (!segments_) seal(n);  // no samples and no rows
    column_description each, ends;
    each.type = ends.type = dtype::int32;
    each.count = static_cast<std::int64_t>(table_.rows);
    each.each.push_back(static_cast<std::int64_t>(table_.length));
    ends.count = static_cast<std::int64_t>(parts_ + 1);
    return {fields_.finish(n), Output::make(std::move(segments_), each),
            Output::make(std::move(positions_), each), Output::make(std::move(borders_), ends), longest_};
  }
  void drop() noexcept {
    fields_.drop();
    segments_.reset();
    positions_.reset();
    borders_.reset();
  }

 private:
  pack_table table_;
  fields fields_;
  slab segments_, positions_, borders_;
  std::size_t parts_ = 0;
  std::int64_t longest_ = 0;
  std::shared_ptr<slab_pool> pool_;
};

}  // namespace wick::detail

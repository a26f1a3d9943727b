/// \file
/// Samples become a batch: each field has a column, each sample its slot in it, in whatever order they come.
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
#include <tuple>
#include <utility>
#include <vector>

#include <wick/async/detail/fetch_to_write.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/batch/fields.hpp>
#include <wick/pipeline/fingerprint.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/pipeline/source.hpp>

namespace wick::detail {

/// What a column of n slots is, once it is full: n samples of `each` (a picture's as [H, W, C]) in a block of
/// memory.
struct column_description {
  std::int64_t count = 0;
  shape each;
  dtype type = dtype::uint8;
  bool picture = false;
  layout order = layout::channels_last;

  /// The whole's extents: [N, …], for pictures as `order` says.
  shape extents() const {
    shape s{count};
    if (picture && order != layout::nhwc) {
      s.push_back(each[2]);
      s.push_back(each[0]);
      s.push_back(each[1]);
    } else {
      for (const std::int64_t e : each) s.push_back(e);
    }
    return s;
  }
  /// In elements, for extents().
  shape strides() const {
    const shape s = extents();
    std::int64_t step[shape::max_rank + 1] = {};
    if (picture && order == layout::channels_last) {
      const std::int64_t c = s[1], h = s[2], w = s[3];
      return {h * w * c, 1, w * c, c};
    }
    std::int64_t n = 1;
    for (std::size_t i = s.rank(); i-- > 0;) {
      step[i] = n;
      n *= s[i];
    }
    shape out;
    for (std::size_t i = 0; i < s.rank(); ++i) out.push_back(step[i]);
    return out;
  }
};

/// A sample whose shape is not that of the others.
struct misfit {
  std::size_t slot;
  std::string text;
};

/// A column of values of a fixed shape. The first sample to come says the shape and gets the memory.
template <class T, class Output>
class memory_column {
 public:
  using output = decltype(Output::make(slab{}, column_description{}));

  void begin(std::size_t n, layout order, const std::shared_ptr<slab_pool>& pool, std::size_t number = 0) {
    number_ = number;
    if (pool_ != pool) pool_ = pool;  // the same one again costs two atomics otherwise
    capacity_ = n;
    // All anew: a batch without samples says the same of itself wherever it is made.
    about_ = column_description();
    about_.order = order;
    about_.picture = is_picture<T>;
    if constexpr (!batchable<T>) {
      fixed_array<T>::append(about_.each);
      about_.type = dtype_of<typename fixed_array<T>::element>();
    }
    base_.store(nullptr, std::memory_order_relaxed);
    misfits_.clear();
  }

  /// Any thread, each slot once.
  void put(std::size_t i, T&& value) {
    if constexpr (batchable<T>) {
      decltype(auto) each = field_access<T>::extents(value);
      const dtype type = field_access<T>::type(value);
      if (std::byte* at = place(i, each, type)) {
        field_access<T>::write_to(value, slot{at, about_.order == layout::nchw});
      } else {
        // It is made all the same: one that fails must do so whoever came first.
        std::vector<std::byte> scratch(static_cast<std::size_t>(each.count()) * size_of(type));
        field_access<T>::write_to(value, slot{scratch.data(), about_.order == layout::nchw});
      }
    } else {
      std::byte* base = base_.load(std::memory_order_acquire);
      if (base == nullptr) base = begin_memory();
      std::memcpy(base + i * sizeof(T), &value, sizeof(T));
    }
  }

  /// The misfit of the lowest slot, judged by the shape of the lowest slot of all, whoever came first.
  /// `failed` rises.
  std::optional<misfit> first_misfit(std::size_t n, const std::vector<std::size_t>& failed) const {
    if (misfits_.empty()) return std::nullopt;
    std::vector<std::pair<std::size_t, what>> all = misfits_;
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto known = [&](std::size_t i) {
      for (const auto& m : all) {
        if (m.first == i) return m.second;
      }
      return what{about_.each, about_.type};
    };
    std::size_t lowest = 0;
    while (std::binary_search(failed.begin(), failed.end(), lowest)) ++lowest;
    const what wanted = known(lowest);
    for (std::size_t i = lowest + 1; i < n; ++i) {
      if (std::binary_search(failed.begin(), failed.end(), i)) continue;
      const what found = known(i);
      if (found.each == wanted.each && found.type == wanted.type) continue;
      return misfit{i, "shape " + to_string(found.each) + " of " + std::string(to_string(found.type)) +
                           " in a batch whose first sample has " + to_string(wanted.each) + " of " +
                           std::string(to_string(wanted.type)) +
                           "; bring all to one shape before batch() (resize, crop, pad), or use group()"};
    }
    return std::nullopt;
  }

  /// Before a slot is written anew: what was judged of it before counts no more. Any thread.
  void forget(std::size_t i) {
    std::lock_guard lock(mutex_);
    std::erase_if(misfits_, [i](const auto& m) { return m.first == i; });
  }
  // What follows is called when nobody writes any more.

  /// Some samples were not written, since one that failed later had said what a slot looks like:
  /// first_misfit() finds no fault with them, and all have to be made again.
  bool stale(const std::vector<std::size_t>& failed) const {
    return std::any_of(misfits_.begin(), misfits_.end(), [&](const auto& m) {
      return !std::binary_search(failed.begin(), failed.end(), m.first);
    });
  }
  /// Of the `n` slots these (rising) have no sample: the others move together, in their order.
  void close(const std::vector<std::size_t>& gaps, std::size_t n) noexcept {
    std::byte* const base = base_.load(std::memory_order_relaxed);
    for (std::size_t g = 0; g < gaps.size(); ++g) {
      const std::size_t from = gaps[g] + 1, to = g + 1 < gaps.size() ? gaps[g + 1] : n;
      if (from < to)
        std::memmove(base + (from - g - 1) * stride_, base + from * stride_, (to - from) * stride_);
    }
  }
  /// Shape and type of a sample.
  void describe(fingerprint_hash& to) const noexcept {
    to.add(static_cast<std::uint64_t>(about_.type));
    for (const std::int64_t e : about_.each) to.add(static_cast<std::uint64_t>(e));
  }
  /// The bytes of one, mixed into `seed`.
  std::uint64_t content(std::size_t i, std::uint64_t seed) const noexcept {
    return content_of(base_.load(std::memory_order_relaxed) + i * stride_, stride_, seed);
  }

  /// All slots below `n` are written.
  output finish(std::size_t n) {
    about_.count = static_cast<std::int64_t>(n);
    if (n == 0) memory_ = pool_->acquire(1, number_);
    const std::size_t bytes = n * stride_;  // labels are looked at at once, pictures from their beginning on
    prefetch_bytes(memory_.data(), bytes, bytes <= few_bytes ? few_bytes : 64);
    return Output::make(std::move(memory_), about_);
  }
  void drop() noexcept { memory_.reset(); }

 private:
  // A column of labels has at most so many. Its lines are asked for together, by the worker that is going to
  // write what the consumer has read, and by the consumer: one at a time each would be waited for.
  static constexpr std::size_t few_bytes = 4096;
  struct what {
    shape each;
    dtype type;
  };

  std::byte* place(std::size_t i, const shape& each, dtype type) {
    std::byte* base = base_.load(std::memory_order_acquire);
    if (base == nullptr) base = begin_memory(each, type);
    if (about_.type != type || !(about_.each == each)) {
      std::lock_guard lock(mutex_);
      misfits_.push_back({i, what{each, type}});
      return nullptr;
    }
    return base + i * stride_;
  }

  /// Whoever comes first says what a slot looks like.
  [[gnu::noinline]] std::byte* begin_memory(const shape& each, dtype type) {
    std::lock_guard lock(mutex_);
    if (std::byte* const base = base_.load(std::memory_order_relaxed)) return base;
    about_.each = each;
    about_.type = type;
    return acquire();
  }
  /// What a slot looks like has been known since begin(), and nobody writes it any more: it may be read
  /// without the mutex.
  [[gnu::noinline]] std::byte* begin_memory() {
    std::lock_guard lock(mutex_);
    if (std::byte* const base = base_.load(std::memory_order_relaxed)) return base;
    return acquire();
  }
  std::byte* acquire() {
    stride_ = static_cast<std::size_t>(about_.each.count()) * size_of(about_.type);
    memory_ = pool_->acquire(capacity_ * stride_, number_);
    if (capacity_ * stride_ <= few_bytes) fetch_to_write(memory_.data(), capacity_ * stride_);
    base_.store(memory_.data(), std::memory_order_release);
    return memory_.data();
  }

  std::atomic<std::byte*> base_{nullptr};
  std::size_t stride_ = 0;
  std::size_t capacity_ = 0, number_ = 0;
  column_description about_;
  slab memory_;
  std::mutex mutex_;
  std::vector<std::pair<std::size_t, what>> misfits_;
  std::shared_ptr<slab_pool> pool_;
};

/// A column of objects: a vector.
template <class T>
class object_column {
 public:
  using output = std::vector<T>;
  void begin(std::size_t n, layout, const std::shared_ptr<slab_pool>&, std::size_t = 0) {
    slots_.clear();
    slots_.resize(n);
  }
  void put(std::size_t i, T&& value) { slots_[i].emplace(std::move(value)); }
  std::optional<misfit> first_misfit(std::size_t, const std::vector<std::size_t>&) const {
    return std::nullopt;
  }
  void forget(std::size_t) noexcept {}
  bool stale(const std::vector<std::size_t>&) const noexcept { return false; }
  void close(const std::vector<std::size_t>& gaps, std::size_t n) {
    for (std::size_t g = 0; g < gaps.size(); ++g) {
      const std::size_t to = g + 1 < gaps.size() ? gaps[g + 1] : n;
      for (std::size_t i = gaps[g] + 1; i < to; ++i) slots_[i - g - 1] = std::move(slots_[i]);
    }
  }
  void describe(fingerprint_hash&) const noexcept {}
  std::uint64_t content(std::size_t i, std::uint64_t seed) const noexcept {
    if constexpr (std::is_same_v<T, std::string>) {
      return content_of(reinterpret_cast<const std::byte*>(slots_[i]->data()), slots_[i]->size(), seed);
    } else {
      return seed;
    }
  }
  output finish(std::size_t n) {
    output out;
    out.reserve(n);
    for (std::size_t i = 0; i < n; ++i) out.push_back(std::move(*slots_[i]));
    return out;
  }
  void drop() noexcept { slots_.clear(); }

 private:
  std::vector<std::optional<T>> slots_;
};

template <class T, class Output>
class composite_column;

template <class T, class Output>
struct column_for {
  using type = memory_column<T, Output>;
};
template <class Output>
struct column_for<std::string, Output> {
  using type = object_column<std::string>;
};
template <composite T, class Output>
struct column_for<T, Output> {
  using type = composite_column<T, Output>;
};
template <class T, class Output>
using column_of = typename column_for<T, Output>::type;

/// What the columns of T's fields are put together to: sample<> again, `T::batch_type` where T names one, or
/// a tuple.
template <class T, class... O>
struct batch_shape_of {
  using type = std::tuple<O...>;
};
template <class D, class T, class A, class B>
struct batch_shape_of<sample<D, T>, A, B> {
  using type = sample<A, B>;
};
template <class T, class... O>
  requires requires { typename T::batch_type; }
struct batch_shape_of<T, O...> {
  using type = typename T::batch_type;
};

template <class T, class Output>
class composite_column {
  template <class... F>
  static std::tuple<column_of<F, Output>...> columns(std::type_identity<std::tuple<F...>>);
  using tuple = decltype(columns(std::type_identity<typename field_types<T>::type>{}));
  template <class... C>
  static typename batch_shape_of<T, typename C::output...>::type whole(std::type_identity<std::tuple<C...>>);

 public:
  using output = decltype(whole(std::type_identity<tuple>{}));

  /// `number` tells the columns of a batch apart, nested ones too.
  template <class Order>
  void begin(std::size_t n, const Order& order, const std::shared_ptr<slab_pool>& pool,
             std::size_t number = 0) {
    number *= max_fields + 1;
    std::apply([&](auto&... c) { (c.begin(n, order, pool, ++number), ...); }, columns_);
  }
  void put(std::size_t i, T&& value) {
    with_fields(value, [&](auto&... fields) {
      std::apply([&](auto&... c) { (c.put(i, std::move(fields)), ...); }, columns_);
    });
  }
  std::optional<misfit> first_misfit(std::size_t n, const std::vector<std::size_t>& failed) const {
    std::optional<misfit> lowest;
    std::apply(
        [&](const auto&... c) {
          const auto look = [&](std::optional<misfit> m) {
            if (m && (!lowest || m->slot < lowest->slot)) lowest = std::move(m);
          };
          (look(c.first_misfit(n, failed)), ...);
        },
        columns_);
    return lowest;
  }
  void forget(std::size_t i) {
    std::apply([&](auto&... c) { (c.forget(i), ...); }, columns_);
  }
  bool stale(const std::vector<std::size_t>& failed) const {
    return std::apply([&](const auto&... c) { return (c.stale(failed) || ...); }, columns_);
  }
  void close(const std::vector<std::size_t>& gaps, std::size_t n) {
    std::apply([&](auto&... c) { (c.close(gaps, n), ...); }, columns_);
  }
  void describe(fingerprint_hash& to) const noexcept {
    std::apply([&](const auto&... c) { (c.describe(to), ...); }, columns_);
  }
  std::uint64_t content(std::size_t i, std::uint64_t seed) const noexcept {
    std::apply([&](const auto&... c) { ((seed = c.content(i, seed)), ...); }, columns_);
    return seed;
  }
  /// What a worker still has to do before finish(), for columns that have something left.
  void seal(std::size_t n) {
    std::apply([&](auto&... c) { (seal_one(c, n), ...); }, columns_);
  }
  output finish(std::size_t n) {
    return std::apply([&](auto&... c) { return output{c.finish(n)...}; }, columns_);
  }
  void drop() noexcept {
    std::apply([](auto&... c) { (c.drop(), ...); }, columns_);
  }

 private:
  template <class C>
  static void seal_one(C& c, std::size_t n) {
    if constexpr (requires { c.seal(n); }) c.seal(n);
  }

  tuple columns_;
};

}  // namespace wick::detail

// Turns samples into a batch: each field has a column, each sample its slot in it, in any order of arrival.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/detail/column.hpp>
#include <wick/batch/detail/fields.hpp>
#include <wick/batch/detail/memory_column.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

/// A column of objects: a vector.
template <class T>
class object_column : public fitting_column {
 public:
  using output = std::vector<T>;
  void begin(std::size_t n, layout, const std::shared_ptr<slab_pool>&, std::size_t = 0) {
    slots_.clear();
    slots_.resize(n);
  }
  void put(std::size_t i, T&& value) { slots_[i].emplace(std::move(value)); }
  void close(const std::vector<std::size_t>& gaps, std::size_t n) { close_gaps(slots_, gaps, n); }
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

/// The batch made of the columns of T's fields: sample<> again, `T::batch_type` or `T::batch_of<columns…>` if
/// T has one, else a tuple.
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
template <class T, class... O>
  requires requires { typename T::template batch_of<O...>; }
struct batch_shape_of<T, O...> {
  using type = typename T::template batch_of<O...>;
};

/// The columns of T's fields, as one column.
template <class T, class Output>
class composite_column {
  template <class... F>
  static std::tuple<column_of<F, Output>...> columns(std::type_identity<std::tuple<F...>>);
  using tuple = decltype(columns(std::type_identity<typename field_types<T>::type>{}));
  template <class... C>
  static typename batch_shape_of<T, typename C::output...>::type whole(std::type_identity<std::tuple<C...>>);

 public:
  using output = decltype(whole(std::type_identity<tuple>{}));

  /// `number` tells the columns of a batch apart, including nested ones.
  template <class Order>
  void begin(std::size_t n, const Order& order, const std::shared_ptr<slab_pool>& pool,
             std::size_t number = 0) {
    number *= max_fields + 1;
    std::apply([&](auto&... c) { (c.begin(n, order, pool, ++number), ...); }, columns_);
  }
  void put(std::size_t i, T&& value) {
    detail::with_fields(value, [&](auto&... fields) {
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
  void seal(std::size_t n) {
    std::apply([&](auto&... c) { (c.seal(n), ...); }, columns_);
  }
  output finish(std::size_t n) {
    return std::apply([&](auto&... c) { return output{c.finish(n)...}; }, columns_);
  }
  void drop() noexcept {
    std::apply([](auto&... c) { (c.drop(), ...); }, columns_);
  }

 private:
  tuple columns_;
};

}  // namespace wick::detail

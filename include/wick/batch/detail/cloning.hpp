// Duplicates items for caches.
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/detail/fields.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1::detail {

/// `possible`, and then `T of(const T&)`: a copy, or the result of `clone()` if T can't be copied.
template <class T>
struct cloning {
  static constexpr bool possible = std::is_copy_constructible_v<T>;
  static T of(const T& item) { return item; }
};
template <class T>
  requires(!std::is_copy_constructible_v<T> &&
           requires(const T& item) {
             { item.clone() } -> std::same_as<T>;
           })
struct cloning<T> {
  static constexpr bool possible = true;
  static T of(const T& item) { return item.clone(); }
};
template <>
struct cloning<bytes> {
  static constexpr bool possible = true;
  static bytes of(const bytes& item) { return bytes(item.data(), item.size()); }
};
/// std::is_copy_constructible is true for any vector, whatever its elements are.
template <class T, class A>
struct cloning<std::vector<T, A>> {
  static constexpr bool possible = cloning<T>::possible;
  static std::vector<T, A> of(const std::vector<T, A>& items) {
    if constexpr (std::is_copy_constructible_v<T>) {
      return items;
    } else {
      std::vector<T, A> out;
      out.reserve(items.size());
      for (const T& one : items) out.push_back(cloning<T>::of(one));
      return out;
    }
  }
};
template <class D, class T>
struct cloning<sample<D, T>> {
  static constexpr bool possible = cloning<D>::possible && cloning<T>::possible;
  static sample<D, T> of(const sample<D, T>& s) { return {cloning<D>::of(s.data), cloning<T>::of(s.target)}; }
};
/// A plain struct with fields that can't be copied.
template <reflectable T>
  requires(!std::is_copy_constructible_v<T> && !requires(const T& item) { item.clone(); })
struct cloning<T> {
  static constexpr bool possible = []<class... F>(std::type_identity<std::tuple<F...>>) {
    return (cloning<F>::possible && ...);
  }(std::type_identity<typename field_types<T>::type>{});
  static T of(const T& item) {
    return std::apply(
        [](const auto&... field) { return T{cloning<std::remove_cvref_t<decltype(field)>>::of(field)...}; },
        detail::tie_fields(item));
  }
};
template <class... T>
struct cloning<std::tuple<T...>> {
  static constexpr bool possible = (cloning<T>::possible && ...);
  static std::tuple<T...> of(const std::tuple<T...>& items) {
    return std::apply([](const T&... one) { return std::tuple<T...>(cloning<T>::of(one)...); }, items);
  }
};

}  // namespace wick::detail

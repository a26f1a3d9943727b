/// \file
/// What a sample is when it is kept: decoded, its pixels shared by all that are made of it.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <wick/batch/fields.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::detail {

/// Carries out what was put off, at any depth: a picture is decoded, cropped and resized as planned by then.
template <class T>
void settle(T& item) {
  if constexpr (requires { item.carry_out(); }) {
    item.carry_out();
    if constexpr (requires { item.share(); }) static_cast<void>(item.share());
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, bytes> ||
                       std::is_same_v<T, std::string>) {
  } else if constexpr (composite<T> || perhaps_one<T>) {
    for_each_inside(item, [](auto& inner) { settle(inner); });
  } else if constexpr (several<T>) {
    if constexpr (!std::is_arithmetic_v<typename T::value_type>)
      for_each_inside(item, [](auto& inner) { settle(inner); });
  }
}

/// The bytes that a value has beside itself. A type of the user's says them by `std::size_t kept_bytes()
/// const`.
template <class T>
std::size_t bytes_beside(const T& item) {
  if constexpr (requires { item.kept_bytes(); }) {
    return item.kept_bytes();
  } else if constexpr (requires { item.nbytes(); }) {  // a tensor
    return static_cast<std::size_t>(item.nbytes());
  } else if constexpr (std::is_same_v<T, bytes>) {
    return item.size();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return item.capacity();
  } else if constexpr (several<T>) {
    std::size_t all = 0;
    if constexpr (!composite<T>) all = item.size() * sizeof(typename T::value_type);
    if constexpr (!std::is_arithmetic_v<typename T::value_type>)
      for (const auto& one : item) all += bytes_beside(one);
    return all;
  } else if constexpr (composite<T> || perhaps_one<T>) {
    std::size_t all = 0;
    for_each_inside(item, [&](const auto& inner) { all += bytes_beside(inner); });
    return all;
  } else {
    return 0;
  }
}

}  // namespace wick::detail

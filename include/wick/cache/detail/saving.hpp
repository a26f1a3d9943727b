// Samples as bytes in a file: which types can be saved, and how.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/detail/fields.hpp>
#include <wick/ext/cache_bytes.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1::detail {

/// A type that saves and loads itself: images, masks, tensors, user types.
template <class T>
concept saves_itself = requires(const T& value, cache_writer& out, cache_reader& in) {
  kept_access<T>::save(value, out);
  { kept_access<T>::load(in) } -> std::same_as<T>;
  kept_access<T>::name();
};
template <class T>
inline constexpr bool is_plain_number = std::is_enum_v<T> || fixed_array<T>::value;
template <class T>
inline constexpr bool is_vector = false;
template <class T, class A>
inline constexpr bool is_vector<std::vector<T, A>> = true;

template <class T>
consteval bool can_be_saved() {
  if constexpr (saves_itself<T> || is_plain_number<T> || std::same_as<T, bytes> ||
                std::same_as<T, std::string>) {
    return true;
  } else if constexpr (std::same_as<T, std::vector<bool>> || !std::default_initializable<T>) {
    return false;
  } else if constexpr (is_vector<T> || optional_like<T>) {
    return can_be_saved<typename T::value_type>();
  } else if constexpr (composite<T>) {
    return []<class... F>(std::type_identity<std::tuple<F...>>) {
      return (can_be_saved<F>() && ...);
    }(std::type_identity<typename field_types<T>::type>{});
  } else {
    return false;
  }
}

/// Whether a value has views of arrays in memory, which would be saved without their arrays.
template <class T>
consteval bool holds_views() {
  if constexpr (is_view<T>) {
    return true;
  } else if constexpr (is_vector<T> || optional_like<T>) {
    return holds_views<typename T::value_type>();
  } else if constexpr (composite<T>) {
    return []<class... F>(std::type_identity<std::tuple<F...>>) {
      return (holds_views<F>() || ...);
    }(std::type_identity<typename field_types<T>::type>{});
  } else {
    return false;
  }
}

template <class T>
void save(const T& value, cache_writer& out) {
  if constexpr (saves_itself<T>) {
    kept_access<T>::save(value, out);
  } else if constexpr (is_plain_number<T>) {
    out.put(&value, sizeof value);
  } else if constexpr (std::same_as<T, bytes> || std::same_as<T, std::string>) {
    out.number(std::uint64_t{value.size()});
    out.put(value.data(), value.size());
  } else if constexpr (is_vector<T>) {
    out.number(std::uint64_t{value.size()});
    if constexpr (is_plain_number<typename T::value_type>) {
      out.put(value.data(), value.size() * sizeof(typename T::value_type));
    } else {
      for (const auto& one : value) detail::save(one, out);
    }
  } else if constexpr (optional_like<T>) {
    out.number(std::uint8_t{value.has_value()});
    if (value.has_value()) detail::save(*value, out);
  } else {
    detail::for_each_inside(value, [&out](const auto& field) { detail::save(field, out); });
  }
}

/// \throws cache_reader::unavailable
template <class T>
void load(T& value, cache_reader& in) {
  if constexpr (saves_itself<T>) {
    value = kept_access<T>::load(in);
  } else if constexpr (std::same_as<T, bool>) {
    value = in.number<std::uint8_t>() != 0;
  } else if constexpr (is_plain_number<T>) {
    in.take(&value, sizeof value);
  } else if constexpr (std::same_as<T, bytes> || std::same_as<T, std::string>) {
    const std::size_t n = in.count();
    if constexpr (std::same_as<T, bytes>)
      value = bytes(n);
    else
      value.resize(n);
    in.take(value.data(), n);
  } else if constexpr (is_vector<T>) {
    value.resize(in.count());
    if constexpr (is_plain_number<typename T::value_type>) {
      in.take(value.data(), value.size() * sizeof(typename T::value_type));
    } else {
      for (auto& one : value) detail::load(one, in);
    }
  } else if constexpr (optional_like<T>) {
    if (in.number<std::uint8_t>() != 0) detail::load(value.emplace(), in);
  } else {
    detail::for_each_inside(value, [&in](auto& field) { detail::load(field, in); });
  }
}

/// Describes a sample's type in a file: another layout gives another number.
template <class T>
void describe_type(fingerprint_hash& h) {
  if constexpr (saves_itself<T>) {
    h.add(kept_access<T>::name());
  } else if constexpr (is_plain_number<T>) {
    using element = typename fixed_array<T>::element;
    h.add("number").add(sizeof(T)).add(sizeof(element));
    h.add(std::uint64_t{std::is_floating_point_v<element>} * 2 + std::uint64_t{std::is_signed_v<element>});
  } else if constexpr (std::same_as<T, bytes> || std::same_as<T, std::string>) {
    h.add("bytes");
  } else if constexpr (is_vector<T>) {
    h.add("vector");
    describe_type<typename T::value_type>(h);
  } else if constexpr (optional_like<T>) {
    h.add("optional");
    describe_type<typename T::value_type>(h);
  } else {
    []<class... F>(std::type_identity<std::tuple<F...>>, fingerprint_hash& to) {
      to.add("fields").add(std::uint64_t{sizeof...(F)});
      (describe_type<F>(to), ...);
    }(std::type_identity<typename field_types<T>::type>{}, h);
  }
}

}  // namespace wick::detail

// Splits a sample into fields, each of which becomes a column of the batch.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

/// How a value tells its shape and writes itself into its slot: by members of these names, unless this is
/// specialized for a type that can't have them.
template <class T>
struct field_access {
  static decltype(auto) extents(const T& v)
    requires requires {
      { v.extents() } -> std::convertible_to<shape>;
    }
  {
    return v.extents();
  }
  static dtype type(const T& v)
    requires requires {
      { v.type() } -> std::convertible_to<dtype>;
    }
  {
    return v.type();
  }
  static void write_to(const T& v, slot where)
    requires requires { v.write_to(where); }
  {
    v.write_to(where);
  }
};

/// A value that knows its shape and writes itself into its slot, without a copy in between. Images have
/// `static constexpr bool is_picture = true`, and their extents are [H, W, C].
template <class T>
concept batchable = requires(const T& v, slot where) {
  field_access<T>::extents(v);
  field_access<T>::type(v);
  field_access<T>::write_to(v, where);
};

template <class T>
inline constexpr bool is_picture = false;
template <class T>
  requires requires { T::is_picture; }
inline constexpr bool is_picture<T> = T::is_picture;

/// The element and the extents of (nested) arrays of numbers.
template <class T>
struct fixed_array {
  using element = T;
  static constexpr bool value = std::is_arithmetic_v<T> && sizeof(T) <= 8;
  static void append(shape&) {}
};
template <class T, std::size_t N>
struct fixed_array<T[N]> {
  using element = typename fixed_array<T>::element;
  static constexpr bool value = N > 0 && fixed_array<T>::value;
  static void append(shape& s) {
    s.push_back(static_cast<std::int64_t>(N));
    fixed_array<T>::append(s);
  }
};
template <class T, std::size_t N>
struct fixed_array<std::array<T, N>> : fixed_array<T[N]> {};
template <class T>
struct fixed_array<std::array<T, 0>> : std::false_type {};

template <class T>
concept leaf = batchable<T> || fixed_array<T>::value || std::same_as<T, std::string>;

template <class T>
inline constexpr bool is_tuple_like = false;
template <class... T>
inline constexpr bool is_tuple_like<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_tuple_like<std::pair<A, B>> = true;
template <class T, std::size_t N>
inline constexpr bool is_tuple_like<std::array<T, N>> = N > 0 && !leaf<std::array<T, N>>;

// The number of fields of an aggregate: the most initializers that its braces take. Empty braces count a C
// array as one field; whole values are tried only if a field has no default.
inline constexpr std::size_t max_fields = 8;
struct anything {
  template <class T>
  operator T() const;
};
template <class T>
struct any_base_of {
  template <class B>
    requires(std::is_base_of_v<B, T> && !std::same_as<B, T>)
  operator B() const;
};
template <class T, std::size_t... I>
consteval bool takes_fields(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), anything{})...}; };
}
template <class T, std::size_t N = max_fields + 1>
consteval std::size_t field_count() {
  if constexpr (!requires { T{}; }) {
    if constexpr (N == 0)
      return 0;
    else if constexpr (takes_fields<T>(std::make_index_sequence<N>{}))
      return N;
    else
      return field_count<T, N - 1>();
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 9;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}}; })
    return 8;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}}; })
    return 7;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}}; })
    return 6;
  else if constexpr (requires { T{{}, {}, {}, {}, {}}; })
    return 5;
  else if constexpr (requires { T{{}, {}, {}, {}}; })
    return 4;
  else if constexpr (requires { T{{}, {}, {}}; })
    return 3;
  else if constexpr (requires { T{{}, {}}; })
    return 2;
  else if constexpr (requires { T{{}}; })
    return 1;
  else
    return 0;
}

/// A plain struct of 1 to 8 fields, none of them inherited.
template <class T>
concept reflectable = std::is_class_v<T> && std::is_aggregate_v<T> && !leaf<T> && !is_sample<T> && !requires {
  std::tuple_size<T>::value;
} && (field_count<T>() > 0) && (field_count<T>() <= max_fields) && !requires { T{any_base_of<T>{}}; };

/// The fields of an aggregate as a tuple of references.
template <class T>
auto tie_fields(T& v) {
  constexpr std::size_t n = field_count<std::remove_const_t<T>>();
  if constexpr (n == 1) {
    auto& [a] = v;
    return std::tie(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = v;
    return std::tie(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = v;
    return std::tie(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = v;
    return std::tie(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = v;
    return std::tie(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = v;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = v;
    return std::tie(a, b, c, d, e, f, g);
  } else {
    auto& [a, b, c, d, e, f, g, h] = v;
    return std::tie(a, b, c, d, e, f, g, h);
  }
}

/// Calls f with the fields of a composite.
template <class T, class F>
decltype(auto) with_fields(T& v, F&& f) {
  if constexpr (is_sample<std::remove_const_t<T>>)
    return f(v.data, v.target);
  else if constexpr (is_tuple_like<std::remove_const_t<T>>)
    return std::apply(std::forward<F>(f), v);
  else
    return std::apply(std::forward<F>(f), detail::tie_fields(v));
}

template <class T>
concept composite = is_sample<T> || is_tuple_like<T> || reflectable<T>;

/// A container with mutable values of one type, such as std::vector.
template <class T>
concept container_like = requires(T& t) {
  typename T::value_type;
  { *t.begin() } -> std::same_as<typename T::value_type&>;
  t.end();
} && !std::is_same_v<typename T::value_type, T>;
/// A std::optional, or a similar type.
template <class T>
concept optional_like = requires(T& t) {
  typename T::value_type;
  { *t } -> std::same_as<typename T::value_type&>;
  t.has_value();
};
/// Calls f with each value directly in an item: fields, elements.
template <class T, class F>
void for_each_inside(T& item, F&& f) {
  if constexpr (composite<std::remove_const_t<T>>) {
    detail::with_fields(item, [&f](auto&... fields) { (f(fields), ...); });
  } else if constexpr (container_like<std::remove_const_t<T>>) {
    for (auto& one : item) f(one);
  } else if (item.has_value()) {
    f(*item);
  }
}

/// The field types of a composite, decayed, as a std::tuple.
template <class T>
struct field_types {
  using type = typename decltype(detail::with_fields(std::declval<T&>(), [](auto&... f) {
    return std::type_identity<std::tuple<std::remove_cvref_t<decltype(f)>...>>{};
  }))::type;
};
template <class D, class T>
struct field_types<sample<D, T>> {
  using type = std::tuple<D, T>;
};
template <class... T>
struct field_types<std::tuple<T...>> {
  using type = std::tuple<T...>;
};
template <class A, class B>
struct field_types<std::pair<A, B>> {
  using type = std::tuple<A, B>;
};

template <class T>
struct can_batch : std::bool_constant<leaf<T>> {};
template <composite T>
struct can_batch<T> {
  static constexpr bool value = []<class... F>(std::type_identity<std::tuple<F...>>) {
    return (can_batch<F>::value && ...);
  }(std::type_identity<typename field_types<T>::type>{});
};

/// A vector of numbers, or of arrays of numbers: it can be padded.
template <class T>
inline constexpr bool ragged = false;
template <class T>
inline constexpr bool ragged<std::vector<T>> = fixed_array<T>::value && !std::is_same_v<T, bool>;

/// Like can_batch, but fields may have any length.
template <class T>
struct can_pad : std::bool_constant<leaf<T> || ragged<T>> {};
template <composite T>
struct can_pad<T> {
  static constexpr bool value = []<class... F>(std::type_identity<std::tuple<F...>>) {
    return (can_pad<F>::value && ...);
  }(std::type_identity<typename field_types<T>::type>{});
};

/// Whether a type is or contains something for read() to read; or bytes, which batch() can't use. For
/// messages.
template <class T>
struct has_unread : std::bool_constant<!std::is_void_v<typename once_read<T>::type>> {};
template <class T>
struct has_bytes : std::is_same<T, bytes> {};
template <class D, class T>
struct has_unread<sample<D, T>> : std::disjunction<has_unread<D>, has_unread<T>> {};
template <class D, class T>
struct has_bytes<sample<D, T>> : std::disjunction<has_bytes<D>, has_bytes<T>> {};

}  // namespace wick::detail

// batch<T>(n): the columns of a batch as the fields of a user's struct, in order.
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <wick/batch/detail/collate.hpp>
#include <wick/batch/detail/fields.hpp>

namespace wick::inline v0_1::detail {

/// References to all fields of a value, in order, with nested fields flattened.
template <class T>
auto all_fields(T& value) {
  if constexpr (composite<T>)
    return detail::with_fields(value,
                               [](auto&... fields) { return std::tuple_cat(detail::all_fields(fields)...); });
  else
    return std::tie(value);
}
template <class T>
using all_fields_of = decltype(detail::all_fields(std::declval<T&>()));

template <class To, class From>
inline constexpr bool as_many_fields = std::tuple_size_v<To> == std::tuple_size_v<From>;
template <class To, class From>
inline constexpr bool each_takes = false;
template <class... To, class... From>
  requires(sizeof...(To) == sizeof...(From))
inline constexpr bool each_takes<std::tuple<To...>, std::tuple<From...>> =
    (std::is_assignable_v<To, std::remove_reference_t<From>&&> && ...);

/// The columns of an Item, returned as a Named.
template <class Item, class Output, class Named>
class named_columns : public column_of<Item, Output> {
  using columns = column_of<Item, Output>;

 public:
  using output = Named;
  using unnamed = typename columns::output;

  Named finish(std::size_t n) {
    unnamed batch = columns::finish(n);
    Named named{};
    [&]<std::size_t... I>(auto to, auto from, std::index_sequence<I...>) {
      ((std::get<I>(to) = std::move(std::get<I>(from))), ...);
    }(detail::all_fields(named), detail::all_fields(batch),
      std::make_index_sequence<std::tuple_size_v<all_fields_of<Named>>>{});
    return named;
  }
};

template <class Named>
consteval bool is_struct_of_columns() {
  return composite<Named> && std::is_default_constructible_v<Named>;
}

/// Whether a batch of Items can be a Named; a static_assert explains why not.
template <class Named, class Item, class Output>
consteval bool check_named() {
  if constexpr (std::is_void_v<Named>) {
    return true;
  } else {
    constexpr bool is_plain_struct = is_struct_of_columns<Named>();
    static_assert(is_plain_struct,
                  "wick: batch<T>(n) fills the fields of T, and T isn't a plain struct of 1 to 8 fields (see "
                  "'Named'); write struct T { torch::Tensor observation, reward; } (wick::array for "
                  "array_batch<T>(n)), without constructors");
    if constexpr (!is_plain_struct) {
      return false;
    } else {
      using to = all_fields_of<Named>;
      using from = all_fields_of<typename column_of<Item, Output>::output>;
      constexpr bool has_as_many = as_many_fields<to, from>;
      constexpr bool is_of_columns = !has_as_many || each_takes<to, from>;
      static_assert(has_as_many,
                    "wick: batch<T>(n) puts the fields of a sample into those of T by their order, and T has "
                    "not as many (see 'Named' and 'Item'; a field that is a struct counts as its fields); "
                    "write one for each");
      static_assert(is_of_columns,
                    "wick: batch<T>(n) puts the fields of a sample into those of T by their order, and one "
                    "of T has another type than comes (see 'Named' and 'Item'): a field of numbers becomes a "
                    "torch::Tensor, in array_batch<T>(n) a wick::array, and one of strings a "
                    "std::vector<std::string>");
      return has_as_many && is_of_columns;
    }
  }
}

}  // namespace wick::detail

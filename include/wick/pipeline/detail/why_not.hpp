// Why a stage doesn't take its input: the most likely mistake, found from the types. None of this is
// compiled for a correct pipeline.
#pragma once

#include <type_traits>

#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

enum class reason {
  not_read,
  not_read_and_decoded,
  not_decoded,
  not_a_picture,
  batched,
  batch_is_struct,
  not_batched,
  gives_nothing,
  no_callable,
  another_type
};

template <class F, class X>
concept accepts_somehow =
    accepts<F, X> || accepts<F, X, context&> || accepts<F, X&> || accepts<F, X&, context&>;

/// An item with other data.
template <class Item, class Data>
struct with_data {
  using type = Data;
};
template <class D, class T, class Data>
struct with_data<sample<D, T>, Data> {
  using type = sample<Data, T>;
};

/// Whether the stage would take such data, alone or in the sample.
template <class Stage, class Came, class Data>
consteval bool would_take() {
  using callable = typename callee<Stage>::type;
  if constexpr (std::is_void_v<Data>)
    return false;
  else
    return accepts_somehow<callable, Data> || accepts_somehow<callable, typename with_data<Came, Data>::type>;
}

/// The first parameter of a callable that has one call operator.
template <class T>
struct first_parameter {
  using type = void;
};
template <class R, class A, class... Rest>
struct first_parameter<R (*)(A, Rest...)> {
  using type = std::remove_cvref_t<A>;
};
template <class C, class R, class A, class... Rest>
struct first_parameter<R (C::*)(A, Rest...)> : first_parameter<R (*)(A, Rest...)> {};
template <class C, class R, class A, class... Rest>
struct first_parameter<R (C::*)(A, Rest...) const> : first_parameter<R (*)(A, Rest...)> {};
template <class C, class R, class A, class... Rest>
struct first_parameter<R (C::*)(A, Rest...) noexcept> : first_parameter<R (*)(A, Rest...)> {};
template <class C, class R, class A, class... Rest>
struct first_parameter<R (C::*)(A, Rest...) const noexcept> : first_parameter<R (*)(A, Rest...)> {};
template <class T>
  requires requires { &T::operator(); }
struct first_parameter<T> : first_parameter<decltype(&T::operator())> {};

/// It has a shape and is in memory, like a row of tensor_dataset(), and isn't a part of an image: those are
/// decoded late, or follow the image.
template <class T>
concept is_an_array = requires(const T& t, slot to) {
  t.extents();
  t.write_to(to);
} && !lazy<T> && !requires { &T::follow; };

template <class T>
inline constexpr bool has_column = is_column<T>;
template <class D, class T>
inline constexpr bool has_column<sample<D, T>> = is_column<D> || is_column<T>;

template <class Stage, class Came, bool Batched>
consteval reason why_not() {
  using callable = typename callee<Stage>::type;
  using data = std::conditional_t<is_sample<Came>, typename data_of<Came>::type, Came>;
  using read_type = typename once_read<data>::type;
  // Depends on Came, so that it is looked up once it is known, which is later than here.
  using decoded_type = typename once_decoded<std::enable_if_t<!std::is_void_v<Came>, bytes>>::type;
  if constexpr (would_take<Stage, Came, read_type>())
    return reason::not_read;
  else if constexpr (std::is_same_v<read_type, bytes> && would_take<Stage, Came, decoded_type>())
    return reason::not_read_and_decoded;
  else if constexpr (std::is_same_v<data, bytes> && would_take<Stage, Came, decoded_type>())
    return reason::not_decoded;
  else if constexpr (Batched && std::is_aggregate_v<Came> && !is_sample<Came> &&
                     traits_of<Stage>.name == "normalize")
    return reason::batch_is_struct;
  else if constexpr (Batched && would_take<Stage, Came, decoded_type>())
    return reason::batched;
  else if constexpr (is_an_array<data> && would_take<Stage, Came, decoded_type>())
    return reason::not_a_picture;
  else if constexpr (!Batched && has_column<typename first_parameter<callable>::type> && !has_column<Came>)
    return reason::not_batched;
  else if constexpr (accepts_somehow<callable, Came> || accepts_somehow<callable, data>)
    return reason::gives_nothing;
  else if constexpr (!std::is_class_v<callable> && !std::is_pointer_v<callable>)
    return reason::no_callable;
  else
    return reason::another_type;
}

}  // namespace wick::detail

// How a callable can be called with an X, determined so that an error in the user's code is reported only
// once.
#pragma once

#include <type_traits>
#include <utility>

#include <wick/async/detail/awaitable.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>

namespace wick::inline v0_1::detail {

// ---- awaiting ----

template <class A>
struct awaited {
  using type = A;
};
template <awaitable A>
struct awaited<A> {
  using type = await_result_t<A>;
};
/// The result of `co_await` for an awaitable; the type itself for anything else.
template <class R>
using value_once_awaited_t = typename awaited<R>::type;

template <class R>
concept gives_nothing = std::is_void_v<value_once_awaited_t<R>>;

// ---- what takes what ----

template <class F, class... A>
using result_of_call = decltype(std::declval<F&>()(std::declval<A>()...));

template <class F, class... A>
concept gives_a_result = requires { std::declval<F&>()(std::declval<A>()...); };

struct member_call {
  void operator()();
};
template <class F>
struct beside_call : F, member_call {};
/// Its call operator is a template (a lambda with `auto`) or is overloaded.
template <class F>
concept generic_callable = std::is_class_v<F> && !std::is_final_v<F> && !requires { &F::operator(); } &&
                           !requires { &beside_call<F>::operator(); };

template <class F>
struct beside_anything : F {
  using F::operator();
  void operator()(...);
};
/// Whether F takes these arguments. A body whose return type is deduced is compiled as soon as anything asks
/// for the result of a call, and an error in it is a hard error right there, for each form that is tried. So
/// this doesn't ask for the result. It adds a call operator that fits the arguments worse and the object
/// better: if F's own fits at all, the call is ambiguous. (A call operator that isn't const isn't found this
/// way; its result is asked for.)
template <class F, class... A>
concept accepts = (generic_callable<F> && !requires(beside_anything<F>& f) { f(std::declval<A>()...); }) ||
                  gives_a_result<F, A...>;

// ---- choosing ----

/// How a callable gets an X. `broken`: it takes one, but doesn't compile with it.
enum class form { none, broken, by_adl, moved_with_context, moved, kept_with_context, kept };

template <class F, class X>
concept applied_by_adl = traits_of<F>.has_apply_stage &&
                         requires(F& f, X&& x, context& c) { apply_stage(f, std::forward<X>(x), c); };

/// A callable that returns nothing takes the item by reference or as a copy: the next stage gets the item.
template <class F, class X, class... Context>
consteval form form_with(form moved, form kept) {
  if constexpr (accepts<F, X, Context...>) {
    // The body is compiled here for the first time. (Not in a concept: clang would print the path through
    // it.)
    if constexpr (!requires { std::declval<F&>()(std::declval<X>(), std::declval<Context>()...); })
      return form::broken;
    else if constexpr (!gives_nothing<result_of_call<F, X, Context...>>)
      return moved;
    else
      return gives_a_result<F, X&, Context...> ? kept : form::none;
  } else {
    return form::none;
  }
}
template <class F, class X, class... Context>
consteval form form_in_place(form kept) {
  if constexpr (accepts<F, X, Context...>)
    return gives_a_result<F, X&, Context...> ? kept : form::none;
  else if constexpr (accepts<F, X&, Context...>)
    return requires { std::declval<F&>()(std::declval<X&>(), std::declval<Context>()...); } ? kept
                                                                                            : form::broken;
  else
    return form::none;
}

template <class F, class X>
consteval form form_of() {
  if constexpr (std::is_void_v<X>) {
    return form::none;
  } else if constexpr (applied_by_adl<F, X>) {
    return form::by_adl;
  } else if constexpr (constexpr form with =
                           form_with<F, X, context&>(form::moved_with_context, form::kept_with_context);
                       with != form::none) {
    return with;
  } else if constexpr (constexpr form without = form_with<F, X>(form::moved, form::kept);
                       without != form::none) {
    return without;
  } else if constexpr (constexpr form in_place = form_in_place<F, X, context&>(form::kept_with_context);
                       in_place != form::none) {
    return in_place;
  } else {
    return form_in_place<F, X>(form::kept);
  }
}

/// Calls it. A callable that returns nothing (or a task<void>) gets the item itself, and so does the next
/// stage.
template <class F, class X>
decltype(auto) call_with(F& f, X& x, context& c) {
  constexpr form as = form_of<F, X>();
  if constexpr (as == form::by_adl)
    return apply_stage(f, std::move(x), c);
  else if constexpr (as == form::moved_with_context)
    return f(std::move(x), c);
  else if constexpr (as == form::moved)
    return f(std::move(x));
  else if constexpr (as == form::kept_with_context)
    return f(x, c);
  else
    return f(x);
}

/// Makes the call that form_of() found broken, so that g++ reports why if it hasn't yet.
template <class F, class X>
void call_broken(F& f, X& x, context& c) {
  if constexpr (accepts<F, X, context&>)
    f(std::move(x), c);
  else if constexpr (accepts<F, X>)
    f(std::move(x));
  else if constexpr (accepts<F, X&, context&>)
    f(x, c);
  else
    f(x);
}

}  // namespace wick::detail

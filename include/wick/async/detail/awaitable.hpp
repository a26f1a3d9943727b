// Awaitable types: a task, an awaiter, or anything with an operator co_await.
#pragma once

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>
#include <variant>

namespace wick::inline v0_1::detail {

template <class A>
concept has_member_co_await = requires(A&& a) { static_cast<A&&>(a).operator co_await(); };
template <class A>
concept has_free_co_await = requires(A&& a) { operator co_await(static_cast<A&&>(a)); };

/// The awaiter that `co_await a` uses.
template <class A>
decltype(auto) awaiter_of(A&& a) {
  if constexpr (has_member_co_await<A>)
    return static_cast<A&&>(a).operator co_await();
  else if constexpr (has_free_co_await<A>)
    return operator co_await(static_cast<A&&>(a));
  else
    return static_cast<A&&>(a);
}

template <class R>
concept suspend_result =
    std::is_void_v<R> || std::same_as<R, bool> || std::convertible_to<R, std::coroutine_handle<>>;

template <class A>
concept awaiter = requires(std::remove_reference_t<A>& a, std::coroutine_handle<> h) {
  { a.await_ready() } -> std::convertible_to<bool>;
  { a.await_suspend(h) } -> suspend_result;
  a.await_resume();
};

/// What any wick coroutine can `co_await`: an awaiter whose await_suspend returns void, bool, or a handle, or
/// a type with a member or free `operator co_await` that returns an awaiter.
template <class A>
concept awaitable = detail::has_member_co_await<A> || detail::has_free_co_await<A> || detail::awaiter<A>;

/// The result type of `co_await a`.
template <awaitable A>
using await_result_t = decltype(detail::awaiter_of(std::declval<A>()).await_resume());

/// The same as a type that can be stored: std::monostate for void.
template <awaitable A>
using awaited_t = std::conditional_t<std::is_void_v<await_result_t<A>>, std::monostate,
                                     std::remove_cvref_t<await_result_t<A>>>;

}  // namespace wick::detail

/// \file
/// What a stage may know of the sample in its hands: its place in the epoch, its random stream, whether to
/// give up.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <wick/async/detail/io_pool.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/pipeline/detail/budget.hpp>
#include <wick/pipeline/detail/sample_context.hpp>
#include <wick/pipeline/random.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// A class, since g++ warns about coroutines that are function templates of a type without linkage
/// (-Wsubobject-linkage).
template <class F>
struct blocking_call {
  using result = std::invoke_result_t<F&>;
  static task<result> run(executor* on, F f) {
    if (on == nullptr) co_return f();
    auto call = on->io().run(*on, std::move(f));
    if constexpr (std::is_void_v<result>) {
      co_await call;
    } else {
      auto got = co_await call;
      co_return got;
    }
  }
};

}  // namespace detail

/// What a stage may know of the sample in its hands, given by reference to every stage that asks for it.
/// Lives as long as the sample is on its way; a coroutine stage may keep the reference across its
/// suspensions.
class context : public detail::sample_context {
 public:
  using sample_context::sample_context;
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  /// loader_options::seed.
  std::uint64_t seed() const noexcept { return where_.seed; }
  /// The number given to loader::epoch().
  std::uint64_t epoch() const noexcept { return where_.epoch; }
  /// Where the sample stands in the epoch, counted over all ranks.
  std::uint64_t position() const noexcept { return where_.position; }
  /// Which sample of the source it is.
  std::uint64_t index() const noexcept { return where_.index; }
  /// What the source calls the sample, as messages and the failure log do: "photos/0012.jpg"; "sample 12"
  /// where it has no name, or no loader.
  std::string key() const;

  /// The random stream of this sample in this stage. Two stages of a kind have streams of their own. A stream
  /// is keyed by the stage's number in the pipeline, so adding a stage before this one, also one that draws
  /// nothing (a cache, a callable), gives it other numbers.
  random_stream& random() noexcept {
    if (random_stage_ != stage_) {
      random_ = frozen_ ? random_stream(0, 0, where_.index, stage_)
                        : random_stream(where_.seed ^ where_.drawn, where_.epoch, where_.position, stage_);
      random_stage_ = stage_;
    }
    return random_;
  }

  /// Set when the loader is being destroyed or the epoch was left: long work may look at it and give up.
  const stop_token& stop() const noexcept { return stop_; }
  /// Where this pipeline runs; null in a context that a test made by hand.
  executor* on() const noexcept { return executor_; }

  /// For a call that blocks (a database, a library's own I/O): `auto row = co_await c.run_blocking(f);` runs
  /// f() on an I/O thread, while the worker does something else, and gives what it returns or throws. In a
  /// context that a test made by hand it is called at once.
  template <class F>
  task<std::invoke_result_t<F&>> run_blocking(F f) {
    return detail::blocking_call<F>::run(executor_, std::move(f));
  }

  /// What reserve() gives; to be awaited, once.
  class [[nodiscard]] reserve_awaiter {
   public:
    bool await_ready() noexcept { return !room_ || room_->await_ready(); }
    bool await_suspend(std::coroutine_handle<> waiter) { return room_->await_suspend(waiter); }
    void await_resume() noexcept {
      if (room_) room_->await_resume();
    }

   private:
    friend class context;
    explicit reserve_awaiter(context& of, std::size_t bytes) noexcept {
      if (of.memory_ != nullptr)
        room_.emplace(of.memory_->acquire(*of.account_, *of.executor_, bytes, {of.pass_, of.position()}));
    }
    std::optional<detail::byte_budget::account_awaiter> room_;
  };
  /// Waits until the loader's bound on memory has room for `bytes` more: `co_await c.reserve(n);` before a
  /// stage reads or makes something large, as read() does. They are the sample's until it is in its batch or
  /// has failed; nothing has to be given back. May be awaited again by a sample that has some, and by several
  /// coroutines of one sample at a time.
  reserve_awaiter reserve(std::size_t bytes) noexcept {
    asked_->fetch_add(bytes, std::memory_order_relaxed);
    return reserve_awaiter(*this, bytes);
  }
  /// The same at once or not at all.
  bool try_reserve(std::size_t bytes) noexcept {
    if (memory_ != nullptr && !memory_->try_acquire(*account_, bytes)) return false;
    asked_->fetch_add(bytes, std::memory_order_relaxed);
    return true;
  }
  /// The bound, in bytes; none in a context that a test made by hand.
  std::optional<std::size_t> memory_limit() const noexcept {
    if (memory_ == nullptr) return std::nullopt;
    return memory_->limit();
  }
};

}  // namespace wick

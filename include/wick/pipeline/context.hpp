// The context of a stage's sample: its place in the epoch, its random stream, and whether to give up.
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

/// All that a stage may know about its current sample. Every stage that asks for it gets it by reference. It
/// lives as long as the sample is in flight; a coroutine stage may keep the reference across its suspensions.
class context : public detail::sample_context {
 public:
  using sample_context::sample_context;
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  /// loader_options::seed.
  std::uint64_t seed() const noexcept { return where_.seed; }
  /// The number given to loader::epoch().
  std::uint64_t epoch() const noexcept { return where_.epoch; }
  /// The sample's position in the epoch, counted over all ranks.
  std::uint64_t position() const noexcept { return where_.position; }
  /// The sample's index in the source.
  std::uint64_t index() const noexcept { return where_.index; }
  /// The source's name for the sample, which messages and the failure log use: "photos/0012.jpg". It is
  /// "sample 12" if the source has no name for it, or if there is no loader.
  std::string key() const;

  /// The random stream of this sample in this stage. Two stages of the same kind have separate streams. The
  /// stage's number in the pipeline is part of a stream's key. So adding a stage before this one, even one
  /// that draws nothing (a cache, a callable), changes its numbers.
  random_stream& random() noexcept {
    if (random_stage_ != stage_) {
      random_ = frozen_ ? random_stream(0, 0, where_.index, stage_)
                        : random_stream(where_.seed ^ where_.drawn, where_.epoch, where_.position, stage_);
      random_stage_ = stage_;
    }
    return random_;
  }

  /// Set when the loader is being destroyed or the epoch was abandoned. Long work can check it and give up.
  const ext::stop_token& stop() const noexcept { return stop_; }
  /// The executor that runs this pipeline; null in a context that a test made by hand.
  executor* on() const noexcept { return executor_; }

  /// For a call that blocks (a database, a library's own I/O): `auto row = co_await c.run_blocking(f);` runs
  /// f() on an I/O thread while the worker does other work, and returns its result or throws its exception.
  /// In a context that a test made by hand, it calls f() at once.
  template <class F>
  task<std::invoke_result_t<F&>> run_blocking(F f) {
    return detail::blocking_call<F>::run(executor_, std::move(f));
  }

  /// The result of reserve(); await it once.
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
  /// Waits until the loader's memory bound has room for `bytes` more: `co_await c.reserve(n);` before a stage
  /// reads or makes something large, as read() does. The sample keeps the bytes until it is in its batch or
  /// has failed; you don't give them back. A sample that has some can reserve more, and several coroutines
  /// of one sample can reserve at the same time.
  reserve_awaiter reserve(std::size_t bytes) noexcept { return reserve_awaiter(*this, bytes); }
  /// Reserves the bytes at once, or returns false.
  bool try_reserve(std::size_t bytes) noexcept {
    return memory_ == nullptr || memory_->try_acquire(*account_, bytes);
  }
  /// The memory bound in bytes; empty in a context that a test made by hand.
  std::optional<std::size_t> memory_limit() const noexcept {
    if (memory_ == nullptr) return std::nullopt;
    return memory_->limit();
  }
};

}  // namespace wick

// Asking work to give up: a source makes one request, tokens show it, and callbacks run on it.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <mutex>
#include <pthread.h>
#include <utility>

#include <wick/base/detail/futex.hpp>

namespace wick::inline v0_1 {

namespace detail {

struct stop_node {
  void (*call)(stop_node*) noexcept = nullptr;
  stop_node* previous = nullptr;
  stop_node* next = nullptr;
  bool listed = false;
};

class stop_source;
template <std::invocable F>
class stop_callback;

struct stop_state {
  std::atomic<bool> requested{false};
  std::mutex mutex;
  std::atomic<std::uint32_t> calls{0};  // finished ones; a thread that waits for one sleeps on it
  unsigned waiting = 0;
  stop_node* first = nullptr;
  stop_node* last = nullptr;
  stop_node* running = nullptr;
  pthread_t caller{};
};

}  // namespace detail

/// Thrown by a wait that a stop_token cancels. A coroutine that catches it cleans up and ends soon.
class cancelled final : public std::exception {
 public:
  const char* what() const noexcept override { return "cancelled"; }
};

namespace ext {

/// Says whether work is asked to give up: context::stop() returns it. A pointer, so cheap to copy. It must
/// not outlive its source. A default token never stops.
class stop_token {
 public:
  stop_token() noexcept = default;
  /// Any thread may call it.
  bool stop_requested() const noexcept {
    return state_ != nullptr && state_->requested.load(std::memory_order_acquire);
  }
  /// False for a default token.
  bool stop_possible() const noexcept { return state_ != nullptr; }

 private:
  friend class detail::stop_source;
  template <std::invocable F>
  friend class detail::stop_callback;
  explicit stop_token(detail::stop_state* state) noexcept : state_(state) {}
  detail::stop_state* state_ = nullptr;
};

}  // namespace ext

namespace detail {

using namespace ext;

/// The source of a stop. Not movable: tokens and callbacks point into it. Before it is destroyed, all
/// callbacks must be gone, and every call of request_stop must have returned. Writes before the stop are
/// visible to a thread that sees it.
class stop_source {
 public:
  stop_source() = default;
  stop_source(const stop_source&) = delete;
  stop_source& operator=(const stop_source&) = delete;

  stop_token token() noexcept { return stop_token(&state_); }
  bool stop_requested() const noexcept { return state_.requested.load(std::memory_order_acquire); }

  /// Sets the flag and runs the callbacks on this thread, in the order of their registration. Any thread may
  /// call it; only the first call does anything. Returns whether this call was the first.
  bool request_stop() noexcept {
    std::unique_lock lock(state_.mutex);
    if (state_.requested.load(std::memory_order_relaxed)) return false;
    state_.requested.store(true, std::memory_order_release);
    state_.caller = ::pthread_self();
    while (detail::stop_node* node = state_.first) {
      state_.first = node->next;
      (node->next != nullptr ? node->next->previous : state_.last) = nullptr;
      node->listed = false;
      state_.running = node;
      lock.unlock();
      node->call(node);  // may destroy its own callback
      lock.lock();
      state_.running = nullptr;
      state_.calls.fetch_add(1, std::memory_order_release);
      if (state_.waiting != 0) detail::std_atomics::wake_all(state_.calls);
    }
    return true;
  }

 private:
  detail::stop_state state_;
};

/// Calls `f` once when a stop is requested, or at once if it already was. The destructor returns only when
/// `f` isn't running (or is running on this very thread), so you may destroy the objects that `f` refers to
/// right after. `f` must not throw. It may destroy its own callback or others and make new ones; no lock is
/// held while it runs. Any thread may make and destroy callbacks; each takes a mutex for a moment.
template <std::invocable F>
class stop_callback : detail::stop_node {
 public:
  stop_callback(stop_token token, F f) : f_(std::move(f)), state_(token.state_) {
    if (state_ == nullptr) return;
    call = [](detail::stop_node* node) noexcept { static_cast<stop_callback*>(node)->f_(); };
    std::unique_lock lock(state_->mutex);
    if (state_->requested.load(std::memory_order_relaxed)) {
      lock.unlock();
      f_();
      return;
    }
    previous = state_->last;
    (previous != nullptr ? previous->next : state_->first) = this;
    state_->last = this;
    listed = true;
  }
  stop_callback(const stop_callback&) = delete;
  stop_callback& operator=(const stop_callback&) = delete;

  ~stop_callback() {
    if (state_ == nullptr) return;
    std::unique_lock lock(state_->mutex);
    if (listed) {
      (previous != nullptr ? previous->next : state_->first) = next;
      (next != nullptr ? next->previous : state_->last) = previous;
    } else if (state_->running == this && !::pthread_equal(state_->caller, ::pthread_self())) {
      ++state_->waiting;
      while (state_->running == this) {
        const std::uint32_t seen = state_->calls.load(std::memory_order_acquire);
        lock.unlock();
        detail::std_atomics::wait(state_->calls, seen);
        lock.lock();
      }
      --state_->waiting;
    }
  }

 private:
  F f_;
  detail::stop_state* state_;
};

}  // namespace detail

}  // namespace wick

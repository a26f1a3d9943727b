/// \file
/// Asking work to give up: a source that is told once, tokens that look, callbacks that are called.
#pragma once

#include <atomic>
#include <concepts>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace wick {

namespace detail {

struct stop_node {
  void (*call)(stop_node*) noexcept = nullptr;
  stop_node* previous = nullptr;
  stop_node* next = nullptr;
  bool listed = false;
};

struct stop_state {
  std::atomic<bool> requested{false};
  std::mutex mutex;
  std::condition_variable called;
  stop_node* first = nullptr;
  stop_node* running = nullptr;
  std::thread::id caller;
};

}  // namespace detail

class stop_source;
template <std::invocable F>
class stop_callback;

/// Looks at a stop_source; a pointer, copied for nothing. It must not outlive its source. A default token never stops.
class stop_token {
 public:
  stop_token() noexcept = default;
  /// Any thread.
  bool stop_requested() const noexcept {
    return state_ != nullptr && state_->requested.load(std::memory_order_acquire);
  }
  bool stop_possible() const noexcept { return state_ != nullptr; }

 private:
  friend class stop_source;
  template <std::invocable F>
  friend class stop_callback;
  explicit stop_token(detail::stop_state* state) noexcept : state_(state) {}
  detail::stop_state* state_ = nullptr;
};

/// The one who says stop. Not movable: tokens and callbacks point into it. All callbacks must be gone before it is,
/// and every call of request_stop must have returned. What was written before the stop is visible to who sees it.
class stop_source {
 public:
  stop_source() = default;
  stop_source(const stop_source&) = delete;
  stop_source& operator=(const stop_source&) = delete;

  stop_token token() noexcept { return stop_token(&state_); }
  bool stop_requested() const noexcept { return state_.requested.load(std::memory_order_acquire); }

  /// Sets the flag and runs the callbacks on this thread, in the order of their registration. Any thread; only the
  /// first call does anything. Returns whether it was this one.
  bool request_stop() noexcept {
    std::unique_lock lock(state_.mutex);
    if (state_.requested.load(std::memory_order_relaxed)) return false;
    state_.requested.store(true, std::memory_order_release);
    state_.caller = std::this_thread::get_id();
    while (detail::stop_node* node = state_.first) {
      state_.first = node->next;
      if (node->next != nullptr) node->next->previous = nullptr;
      node->listed = false;
      state_.running = node;
      lock.unlock();
      node->call(node);  // may destroy its own callback
      lock.lock();
      state_.running = nullptr;
      state_.called.notify_all();
    }
    return true;
  }

 private:
  detail::stop_state state_;
};

/// Calls `f` once when stop is requested, at once if it already was. Its destructor returns only when `f` is not
/// running (or runs on this very thread), so what `f` refers to may go right after. `f` must not throw. It may
/// destroy its own callback or others and make new ones; no lock is held while it runs. Callbacks may come and go on
/// any thread; each waits for a mutex, for as long as it takes to walk the list of those registered.
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
    detail::stop_node** end = &state_->first;
    while (*end != nullptr) {
      previous = *end;
      end = &(*end)->next;
    }
    *end = this;
    listed = true;
  }
  stop_callback(const stop_callback&) = delete;
  stop_callback& operator=(const stop_callback&) = delete;

  ~stop_callback() {
    if (state_ == nullptr) return;
    std::unique_lock lock(state_->mutex);
    if (listed) {
      (previous != nullptr ? previous->next : state_->first) = next;
      if (next != nullptr) next->previous = previous;
    } else if (state_->running == this && state_->caller != std::this_thread::get_id()) {
      state_->called.wait(lock, [&] { return state_->running != this; });
    }
  }

 private:
  F f_;
  detail::stop_state* state_;
};

}  // namespace wick

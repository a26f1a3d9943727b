/// \file
/// A bounded queue between coroutines: who sends into a full one or receives from an empty one suspends.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include <wick/run/detail/line.hpp>
#include <wick/run/environment.hpp>

namespace wick::detail {

/// Any number of coroutines send and receive, on any threads. Each value is received once, in the order in
/// which they were accepted; who waits is served in the order of arrival. With capacity 0 a send ends when
/// its value was received. What was written before a send is visible to who receives the value.
///
/// close() ends it: what was accepted can still be received, then receivers get nothing; sends are refused,
/// also those that wait. A cancelled or refused send drops its value.
///
/// It must outlive those that wait in it: close it, or stop them, and let them end before. What was accepted
/// and never received is destroyed with it.
///
///     while (auto line = co_await lines.receive(c)) …    // c: the stage's context, a scope, or {executor,
///     token}
template <class T>
class channel {
  static_assert(
      std::is_nothrow_move_constructible_v<T>,
      "wick: a channel moves its values and nothing may fail half-way; send a std::unique_ptr instead");

 public:
  /// Room for `capacity` values is made here; nothing is allocated later.
  explicit channel(std::size_t capacity) : capacity_(capacity), ring_(new std::optional<T>[capacity]) {}
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  class [[nodiscard]] send_awaiter : public detail::line_awaiter<channel, send_awaiter> {
    using base = detail::line_awaiter<channel, send_awaiter>;

   public:
    send_awaiter(channel& c, environment env, T value) noexcept : base(c, env), value_(std::move(value)) {}
    bool await_resume() {
      this->finish();
      return accepted_;
    }

   private:
    friend class channel;
    T value_;
    bool accepted_ = false;
  };

  class [[nodiscard]] receive_awaiter : public detail::line_awaiter<channel, receive_awaiter> {
    using base = detail::line_awaiter<channel, receive_awaiter>;

   public:
    receive_awaiter(channel& c, environment env) noexcept : base(c, env) {}
    std::optional<T> await_resume() {
      this->finish();
      return std::move(value_);
    }

   private:
    friend class channel;
    std::optional<T> value_;
  };

  /// `const bool sent = co_await c.send(env, value);` False when the channel is closed. \throws
  /// wick::cancelled
  send_awaiter send(environment env, T value) noexcept { return {*this, env, std::move(value)}; }

  /// `auto value = co_await c.receive(env);` Nothing when the channel is closed and all was received.
  /// \throws wick::cancelled
  receive_awaiter receive(environment env) noexcept { return {*this, env}; }

  /// At once or not at all; `value` is moved from only when it was sent.
  bool try_send(T& value) noexcept {
    detail::woken ready;
    bool sent = false;
    {
      std::lock_guard lock(mutex_);
      sent = !closed_ && accept(value, ready);
    }
    ready.wake_all();
    return sent;
  }
  bool try_send(T&& value) noexcept { return try_send(value); }

  /// At once or not at all.
  std::optional<T> try_receive() noexcept {
    detail::woken ready;
    std::optional<T> value;
    {
      std::lock_guard lock(mutex_);
      deliver(value, ready);
    }
    ready.wake_all();
    return value;
  }

  /// Any thread, any number of times.
  void close() noexcept {
    detail::woken ready;
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
      for (detail::line* l : {&senders_, &receivers_}) {
        while (!l->empty()) {
          detail::waiter& w = l->pop();
          w.stage = detail::waiter::stages::served;
          ready.add(w);
        }
      }
    }
    ready.wake_all();
  }

  std::size_t capacity() const noexcept { return capacity_; }
  /// Accepted and not yet received, and whether it was closed: of a moment that may be over.
  std::size_t size() const noexcept {
    std::lock_guard lock(mutex_);
    return size_;
  }
  bool closed() const noexcept {
    std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  friend class detail::line_awaiter<channel, send_awaiter>;
  static constexpr detail::wait_for waited_for = detail::wait_for::channel;

  friend class detail::line_awaiter<channel, receive_awaiter>;
  using stages = detail::waiter::stages;

  // Under the mutex. Senders wait only while the ring is full, receivers only while it is empty and no sender
  // waits.

  bool accept(T& value, detail::woken& ready) noexcept {
    if (!receivers_.empty()) {
      auto& r = static_cast<receive_awaiter&>(receivers_.pop());
      r.value_.emplace(std::move(value));
      r.stage = stages::served;
      ready.add(r);
      return true;
    }
    if (size_ == capacity_) return false;
    put(std::move(value));
    return true;
  }
  bool deliver(std::optional<T>& to, detail::woken& ready) noexcept {
    if (size_ != 0) {
      std::optional<T>& oldest = ring_[first_];
      to.emplace(std::move(*oldest));
      oldest.reset();
      first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
      --size_;
    }
    if (senders_.empty()) return to.has_value();
    auto& s = static_cast<send_awaiter&>(senders_.pop());
    if (to)
      put(std::move(s.value_));
    else
      to.emplace(std::move(s.value_));
    s.accepted_ = true;
    s.stage = stages::served;
    ready.add(s);
    return true;
  }
  void put(T&& value) noexcept {
    const std::size_t at = first_ + size_;
    ring_[at < capacity_ ? at : at - capacity_].emplace(std::move(value));
    ++size_;
  }

  bool attempt(send_awaiter& a, detail::woken& ready) noexcept {
    a.accepted_ = !closed_ && accept(a.value_, ready);
    return a.accepted_ || closed_;
  }
  bool attempt(receive_awaiter& a, detail::woken& ready) noexcept {
    return deliver(a.value_, ready) || closed_;
  }
  detail::line& line_of(send_awaiter&) noexcept { return senders_; }
  detail::line& line_of(receive_awaiter&) noexcept { return receivers_; }

  template <class Awaiter>
  bool serve(Awaiter& a) noexcept {
    detail::woken ready;
    bool served = false;
    {
      std::lock_guard lock(mutex_);
      served = attempt(a, ready);
      if (served) a.stage = stages::served;
    }
    ready.wake_all();
    return served;
  }
  template <class Awaiter>
  bool join(Awaiter& a) noexcept {
    detail::woken ready;
    {
      std::lock_guard lock(mutex_);
      if (a.stage == stages::called_off) return false;
      if (!attempt(a, ready)) {
        line_of(a).push(a);
        return true;
      }
      a.stage = stages::served;
    }
    ready.wake_all();
    return false;
  }
  template <class Awaiter>
  void call_off(Awaiter& a) noexcept {
    {
      std::lock_guard lock(mutex_);
      const stages stage = a.stage;
      if (stage == stages::served) return;
      a.stage = stages::called_off;
      if (stage == stages::arriving) return;
      line_of(a).remove(a);
    }
    a.wake();
  }

  const std::size_t capacity_;
  const std::unique_ptr<std::optional<T>[]> ring_;
  mutable std::mutex mutex_;  // held for a few instructions and one move
  std::size_t first_ = 0, size_ = 0;
  bool closed_ = false;
  detail::line senders_, receivers_;
};

}  // namespace wick::detail

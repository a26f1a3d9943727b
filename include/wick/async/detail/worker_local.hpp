// One object per worker: scratch memory, a decompressor, a tokenizer that isn't thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include <wick/async/executor.hpp>
#include <wick/base/detail/owned.hpp>

namespace wick::inline v0_1::detail {

/// Made by `make()` on the worker that first asks, and kept until this is destroyed. Each object has its own
/// cache lines. A coroutine must not keep the reference across a suspension: it may resume on another worker.
///
/// get: workers and helpers of this executor, without a lock, since each touches its own. The objects are
/// destroyed on the thread that destroys this, when no worker uses it anymore; the executor may be gone by
/// then.
template <class T>
class worker_local {
 public:
  explicit worker_local(const executor& on) : on_(&on), count_(on.slots()), slots_(count_) {}

  /// The calling worker's object. \throws std::logic_error on a thread that is neither a worker nor a helper
  template <class Make>
    requires std::is_invocable_r_v<T, Make&>
  T& get(Make&& make) {
    const std::size_t i = on_->this_slot();
    if (i >= count_) throw std::logic_error("wick: worker_local used outside of the executor's workers");
    std::optional<T>& value = slots_[i].value;
    if (!value) value.emplace(make());
    return *value;
  }
  T& get() {
    return get([] { return T(); });
  }

  /// Calls f(T&) for each object that exists. Only while no worker uses them.
  template <class F>
  void for_each(F&& f) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (slots_[i].value) f(*slots_[i].value);
    }
  }

 private:
  struct alignas(64) slot {
    std::optional<T> value;
  };
  const executor* on_;
  std::size_t count_;
  owned<slot[]> slots_;
};

}  // namespace wick::detail

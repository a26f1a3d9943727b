/// \file
/// What a stage may know of the sample in its hands: its place in the epoch, its random stream, whether to
/// give up.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <wick/async/detail/activity.hpp>
#include <wick/async/detail/io_pool.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/pipeline/detail/budget.hpp>
#include <wick/pipeline/random.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// Where a sample stands. Everything a stage draws or decides comes from these and from the data alone, so
/// that the same position gives the same bytes on any number of workers and ranks.
struct place {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  ///< in the epoch, counted over all ranks
  std::uint64_t index = 0;     ///< in the source
  std::uint64_t drawn = 0;     ///< not 0: it goes into another sample; tells apart those that do
};

/// What the loader's source calls its samples, and messages its stages.
struct sample_names {
  const void* source = nullptr;
  std::string (*key)(const void* source, std::uint64_t index) = nullptr;
  std::string (*stage)(const void* source, std::uint32_t number) = nullptr;
};

}  // namespace detail

/// What a stage may know of the sample in its hands, given by reference to every stage that asks for it.
/// Lives as long as the sample is on its way; a coroutine stage may keep the reference across its
/// suspensions.
class context {
 public:
  /// \param pass  which time through the data; samples of an earlier one come first where memory is short
  /// \param names  lives longer
  explicit context(detail::place where, executor* on = nullptr, detail::byte_budget* memory = nullptr,
                   stop_token stop = {}, std::uint64_t pass = 0,
                   const detail::sample_names* names = nullptr) noexcept
      : where_(where), pass_(pass), executor_(on), memory_(memory), names_(names), stop_(stop) {}
  /// For the loader: of another sample, which goes into this one. What it reserves is this one's, which lives
  /// longer.
  context(context& into, detail::place where) noexcept
      : where_(where),
        pass_(into.pass_),
        executor_(into.executor_),
        memory_(into.memory_),
        names_(into.names_),
        account_(into.account_),
        asked_(into.asked_),
        stop_(into.stop_) {}
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
    return run_elsewhere(executor_, std::move(f));
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
  /// For the loader: bytes that were reserved since it asked last, for the report.
  std::size_t take_reserved() noexcept {
    return asked_->load(std::memory_order_relaxed) == 0 ? 0 : asked_->exchange(0, std::memory_order_relaxed);
  }
  /// For the loader: from now on it is written down what this sample waits for, and in which stage; it has
  /// run since then (ticks). \throws std::bad_alloc
  void watch(std::uint64_t since) {
    doing_.begin(since);
    stage_shown_ = &doing_.get()->stage;
  }
  /// For the loader: from now on enter_watched() writes the stage there.
  void show_stage(std::atomic<std::uint32_t>* to) noexcept { stage_shown_ = to; }
  detail::activity* doing() const noexcept { return doing_.get(); }
  /// For the loader: the sample has ended.
  void give_back() noexcept { reserved_.give_back(); }

  /// For the loader: the number of the stage that is about to run.
  void enter(std::uint32_t stage) noexcept { stage_ = stage; }
  /// For the loader: the same where it costs little that other threads may see it.
  void enter_watched(std::uint32_t stage) noexcept {
    enter(stage);
    if (stage_shown_ != nullptr) stage_shown_->store(stage, std::memory_order_relaxed);
  }
  /// For the loader: the source is asked; what it throws is this stage's.
  void enter_source(std::uint32_t first) noexcept {
    enter_watched(detail::in_source);
    enter(first);
  }
  /// The number of the stage that runs, counted from 0 over the whole pipeline.
  std::uint32_t stage() const noexcept { return stage_; }
  /// What messages call a stage of the pipeline: "crop, the 3rd stage,".
  std::string stage_text(std::uint32_t number) const;
  /// For the loader: the last stage that asked for random numbers; ~0u while none has.
  std::uint32_t last_drawing() const noexcept { return random_stage_; }
  /// For the loader: from now on random numbers hang on the sample alone, for one that a cache keeps.
  void freeze(bool on) noexcept { frozen_ = on; }
  bool frozen() const noexcept { return frozen_; }
  /// For a cache on disk: what the sample is made of, as a number.
  void set_origin(std::uint64_t origin) noexcept { origin_ = origin; }
  std::uint64_t origin() const noexcept { return origin_; }
  /// For the loader: whether a trace follows this sample.
  bool followed() const noexcept { return followed_; }
  /// For the loader.
  void follow(bool on) noexcept { followed_ = on; }
  /// For the loader: where it stands.
  const detail::place& where() const noexcept { return where_; }
  /// For the loader: on to the next sample.
  void move_to(detail::place where) noexcept {
    reserved_.give_back();
    where_ = where;
    random_stage_ = ~0u;
    origin_ = 0;
    frozen_ = false;
    followed_ = false;
  }

 private:
  template <class F>
  static task<std::invoke_result_t<F&>> run_elsewhere(executor* on, F f) {
    if (on == nullptr) co_return f();
    auto call = on->io().run(*on, std::move(f));
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
      co_await call;
    } else {
      auto result = co_await call;
      co_return result;
    }
  }

  detail::place where_;
  std::uint64_t origin_ = 0;
  std::uint64_t pass_;  // not the epoch, which may be gone through twice
  std::uint32_t stage_ = 0;
  std::uint32_t random_stage_ = ~0u;
  bool frozen_ = false;
  bool followed_ = false;
  random_stream random_{0, 0, 0, 0};
  executor* executor_;
  detail::byte_budget* memory_;
  const detail::sample_names* names_;
  detail::byte_account reserved_;
  detail::byte_account* account_ = &reserved_;
  std::atomic<std::size_t> own_asked_{0};  // several coroutines of a sample may ask
  std::atomic<std::size_t>* asked_ = &own_asked_;
  detail::own_activity doing_;
  std::atomic<std::uint32_t>* stage_shown_ = nullptr;
  stop_token stop_;
};

}  // namespace wick

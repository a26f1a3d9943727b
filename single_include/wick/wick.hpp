// wick 0.1.0: input pipelines for LibTorch, in a single header. https://opensource.org/license/mit
//
// Define WICK_IMPLEMENTATION in exactly one file before including it: that file gets the decoder's code, and needs
// stb_image.h (https://github.com/nothings/stb) on its include path.
// Written by single_include/amalgamate.py from include/wick: change the headers there, not this file.
//
// MIT License
//
// Copyright (c) 2026 the wick authors
//
// Permission is hereby granted, free of charge, to any person obtaining a copy
// of this software and associated documentation files (the "Software"), to deal
// in the Software without restriction, including without limitation the rights
// to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
// copies of the Software, and to permit persons to whom the Software is
// furnished to do so, subject to the following conditions:
//
// The above copyright notice and this permission notice shall be included in all
// copies or substantial portions of the Software.
//
// THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
// IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
// FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
// AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
// LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
// OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
// SOFTWARE.
#pragma once

// ==== wick/wick.hpp
/// \file
/// wick feeds a torch: everything, for users.

// ==== wick/core.hpp
/// \file
/// wick without Torch: the engine, the data flow, the sources and the pictures. Batches are wick::array.

// First: where the compiler says what does not fit behind what, it names each file on the way to it.
// clang-format off
// ==== wick/pipeline/pipeline.hpp
/// \file
/// `source | stage | stage`: a pipeline is a value that says what is to be done with each sample; a loader
/// does it.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

// ==== wick/pipeline/detail/apply.hpp
/// \file
/// How a stage is applied to an item: to the whole or to its data, with a context or without, now or awaited.

// ==== wick/pipeline/detail/calling.hpp
/// \file
/// How a callable can be called with an X: found out so that an error of the user's in it is said once.

// ==== wick/run/awaitable.hpp
/// \file
/// What can be awaited: a task, an awaiter, or anything with an operator co_await.

#include <coroutine>
#include <variant>

namespace wick::detail {

template <class A>
concept has_member_co_await = requires(A&& a) { static_cast<A&&>(a).operator co_await(); };
template <class A>
concept has_free_co_await = requires(A&& a) { operator co_await(static_cast<A&&>(a)); };

/// What `co_await a` calls the three functions of.
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

/// What `co_await` takes in any coroutine of wick: an awaiter whose await_suspend returns nothing, bool or a
/// handle, or what has a member or free `operator co_await` that gives one.
template <class A>
concept awaitable = detail::has_member_co_await<A> || detail::has_free_co_await<A> || detail::awaiter<A>;

/// What `co_await a` gives.
template <awaitable A>
using await_result_t = decltype(detail::awaiter_of(std::declval<A>()).await_resume());

/// The same as a value that can be kept: std::monostate for void.
template <awaitable A>
using awaited_t = std::conditional_t<std::is_void_v<await_result_t<A>>, std::monostate,
                                     std::remove_cvref_t<await_result_t<A>>>;

}  // namespace wick::detail

// ==== wick/sample/context.hpp
/// \file
/// What a stage may know of the sample in its hands: its place in the epoch, its random stream, whether to
/// give up.

#include <optional>

// ==== wick/run/budget.hpp
/// \file
/// A bound on memory in flight: samples take bytes before they are read and give them back when they are
/// decoded.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

// ==== wick/run/detail/resume.hpp
/// \file
/// Resuming coroutines without growing the stack: nested up to a depth, past it from a list at the bottom.

namespace wick::detail {

/// A coroutine to resume; lies in the frame of one that stays alive until then.
struct resume_node {
  std::coroutine_handle<> handle;
  resume_node* next = nullptr;
};

/// The resumptions of one thread. Symmetric transfer would need none of this, but gcc makes it a tail call
/// only when it optimizes and never under sanitizers: a chain of 10^6 awaits would overflow the stack.
struct resume_stack {
  static constexpr unsigned max_depth = 48;
  unsigned depth = 0;
  resume_node* first = nullptr;
  resume_node** last = &first;
};

/// What a thread is at. `innermost` names the innermost of the calls on its stack that started a child and
/// wait for it to suspend or to end: a child that finds its own name there at its end knows that its parent
/// is right below.
struct resumption {
  resume_stack* stack = nullptr;
  std::uint64_t innermost = 0;
  std::uint64_t next_name = 0;

  /// Never given twice, on any thread.
  std::uint64_t new_name() noexcept {
    if ((next_name & 0xFF'FFFF'FFFF) == 0) next_name = new_block();
    return next_name++;
  }

 private:
  static std::uint64_t new_block() noexcept {
    static constinit std::atomic<std::uint64_t> blocks{1};
    return (blocks.fetch_add(1, std::memory_order_relaxed) << 40) + 1;
  }
};

/// Never inlined: a thread-local's address must not be kept in a frame that moves to another thread.
[[gnu::noinline]] inline resumption& this_thread_resumption() noexcept {
  static constinit thread_local resumption mine;
  return mine;
}

/// Resumes from outside of any coroutine (a worker's loop, a waiting thread), and all that this leads to.
inline void resume(std::coroutine_handle<> handle) {
  resume_stack stack;
  resumption& here = this_thread_resumption();
  resume_stack* const outer = std::exchange(here.stack, &stack);
  handle.resume();
  while (resume_node* node = stack.first) {
    stack.first = node->next;
    if (stack.first == nullptr) stack.last = &stack.first;
    stack.depth = 0;
    node->handle.resume();
  }
  here.stack = outer;
}

/// Resumes from within an await_suspend. True: it ran, on top of this stack. False: the stack is deep
/// already; the node is queued and runs once the caller has returned to the bottom, which it must do without
/// further ado.
inline bool resume_nested(resumption& here, resume_node& node) {
  resume_stack* const stack = here.stack;
  if (stack == nullptr) {  // a thread that is not ours resumed this coroutine
    resume(node.handle);
    return true;
  }
  if (stack->depth >= resume_stack::max_depth) {
    node.next = nullptr;
    *stack->last = &node;
    stack->last = &node.next;
    return false;
  }
  ++stack->depth;
  node.handle.resume();
  --stack->depth;
  return true;
}
inline bool resume_nested(resume_node& node) { return resume_nested(this_thread_resumption(), node); }

}  // namespace wick::detail

// ==== wick/run/detail/turn.hpp
/// \file
/// The order in which waiting work is let through.

#include <compare>

namespace wick::detail {

/// Whose turn it is where memory is short: the lowest first, pass by pass through the data.
struct turn {
  std::uint64_t pass = 0;
  std::uint64_t position = 0;

  constexpr turn(std::uint64_t in_pass, std::uint64_t at) noexcept : pass(in_pass), position(at) {}
  constexpr turn(std::uint64_t at) noexcept : position(at) {}  // NOLINT: a position alone is a turn
  friend constexpr auto operator<=>(const turn&, const turn&) = default;
};

}  // namespace wick::detail

// ==== wick/run/executor.hpp
/// \file
/// The workers: threads that run jobs, steal from one another when they have none, and sleep when nobody has.

#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>

// ==== wick/run/detail/run_queues.hpp
/// \file
/// The run queues: each worker's own, the shared one, and where workers sleep that find nothing in any of
/// them.

#include <array>

// ==== wick/run/detail/injector.hpp
/// \file
/// The shared queue in front of all workers: jobs from outside, and what did not fit in a worker's own.

// ==== wick/run/job.hpp
/// \file
/// The smallest unit of work: a function pointer and a link. It lies inside what it works for (a coroutine
/// frame, a loader), so queueing it allocates nothing.

namespace wick::detail {

/// Derive from it, set `execute`, hand it to a queue (executor::post, io_pool::post). It lives at least until
/// it is executed, is in one queue at a time, and is executed once for each time it was handed over. From
/// then on the queue touches it no more: `execute` may free the job, reuse it, or hand it over again.
struct job {
  void (*execute)(job*) noexcept = nullptr;  ///< gets the job itself; must not throw
  job* next = nullptr;                       ///< belongs to the queue that holds the job
};

}  // namespace wick::detail

// ==== wick/system/detail/futex.hpp
/// \file
/// What the engine's lock-free types are built on: atomics, and sleeping on one of them (the futex on Linux,
/// std::atomic::wait elsewhere).

#include <climits>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#else
#endif

namespace wick::detail {

/// Sleeps while `word` holds `expected`; may return for no reason.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
#ifdef __linux__
  static_assert(sizeof(word) == 4);
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr,
            nullptr, 0);
#else
  word.wait(expected, std::memory_order_relaxed);
#endif
}

/// The same, for no longer than `most`.
inline void futex_wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                           std::chrono::nanoseconds most) noexcept {
#ifdef __linux__
  if (most.count() <= 0) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
  const timespec time{static_cast<time_t>(seconds.count()), static_cast<long>((most - seconds).count())};
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, &time, nullptr,
            0);
#else
  const auto end = std::chrono::steady_clock::now() + most;
  while (word.load(std::memory_order_relaxed) == expected && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(most, std::chrono::microseconds(50)));
  }
#endif
}

/// Wakes up to `count` threads that sleep on `word`. The word may be gone by the time the kernel looks: only
/// its address is used.
inline void futex_wake(std::atomic<std::uint32_t>& word, int count) noexcept {
#ifdef __linux__
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr,
            0);
#else
  count == 1 ? word.notify_one() : word.notify_all();
#endif
}

inline void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept { futex_wake(word, INT_MAX); }

/// Tells the processor that the thread only looks at a word again and again.
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// The atomics of a program. The lock-free types are templates over them, so that the tests can run the very
/// same code over atomics that try each interleaving and each order of memory that C++ allows; nobody else
/// gives others.
struct std_atomics {
  template <class T>
  using atomic = std::atomic<T>;
  using mutex = std::mutex;
  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    futex_wait(word, expected);
  }
  static void wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::chrono::nanoseconds most) noexcept {
    futex_wait_for(word, expected, most);
  }
  static void wake_one(std::atomic<std::uint32_t>& word) noexcept { futex_wake(word, 1); }
  static void wake_all(std::atomic<std::uint32_t>& word) noexcept { futex_wake_all(word); }
  static std::chrono::nanoseconds now() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

/// A word on which one thread waits for one event. What was written before set is visible after wait, and to
/// who saw is_set. The one who waited may destroy it at once.
template <class Atomics = std_atomics>
class basic_wake_flag {
 public:
  void set() noexcept {
    if (word_.exchange(set_value, std::memory_order_acq_rel) == sleeping_value) Atomics::wake_all(word_);
  }
  bool is_set() const noexcept { return word_.load(std::memory_order_acquire) == set_value; }
  void wait() noexcept {
    for (;;) {
      std::uint32_t seen = word_.load(std::memory_order_acquire);
      if (seen == set_value) return;
      if (seen == clear_value &&
          !word_.compare_exchange_strong(seen, sleeping_value, std::memory_order_acq_rel)) {
        continue;
      }
      Atomics::wait(word_, sleeping_value);
    }
  }
  /// Only while nobody sets or waits.
  void clear() noexcept { word_.store(clear_value, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t clear_value = 0, sleeping_value = 1, set_value = 2;
  typename Atomics::template atomic<std::uint32_t> word_{clear_value};
};

using wake_flag = basic_wake_flag<>;

}  // namespace wick::detail

namespace wick::detail {

/// FIFO, any thread, unbounded but without allocation: the links lie in the jobs.
template <class Atomics = std_atomics>
class basic_injector {
 public:
  void push(job* j) noexcept {
    j->next = nullptr;
    std::lock_guard lock(mutex_);
    *last_ = j;
    last_ = &j->next;
    size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  job* pop() noexcept {
    if (empty()) return nullptr;
    std::lock_guard lock(mutex_);
    job* const j = first_;
    if (j == nullptr) return nullptr;
    first_ = j->next;
    if (first_ == nullptr) last_ = &first_;
    size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    return j;
  }
  bool empty() const noexcept { return size_.load(std::memory_order_acquire) == 0; }

 private:
  alignas(64) typename Atomics::template atomic<std::size_t> size_{0};
  typename Atomics::mutex mutex_;
  job* first_ = nullptr;
  job** last_ = &first_;
};

using injector = basic_injector<>;

}  // namespace wick::detail

// ==== wick/run/detail/sharing_record.hpp
/// \file
/// Whether it pays to have one more worker awake, judged by how it went before.

namespace wick::detail {

/// A wake-up costs two threads about 5 µs together, and a job that goes to another processor takes its memory
/// along, which costs each of the two 100 ns and more. So a burst of jobs of less than that is done sooner,
/// and for a third of the time on the processors, by the worker that posted it. Nobody knows before how long
/// a job will take; so those who look for work say how it went, and once it was in vain a few times in a row
/// they should nap instead.
///
/// Any thread may call any member. What it tells is a hint: calls at the same time may be counted as one.
class sharing_record {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  /// \param patience  how often it must have been in vain in a row
  explicit sharing_record(std::uint32_t patience) noexcept : patience_(patience) {}

  /// A worker with more than it can run at once has woken another.
  void woke(nanoseconds now) noexcept { woke_.store(now.count(), std::memory_order_relaxed); }
  /// A worker has nothing to do any more: soon after such a wake-up one worker less would have been enough.
  /// `clock` is asked when there was one.
  template <class Clock>
  void idle(Clock&& clock) noexcept {
    const nanoseconds::rep woke = woke_.load(std::memory_order_relaxed);
    if (woke == 0) return;
    woke_.store(0, std::memory_order_relaxed);
    judge(clock().count() - woke >= worth_a_wake.count());
  }
  /// Somebody has run `jobs` of another's in that time.
  void took(std::size_t jobs, nanoseconds time) noexcept { judge(time >= worth_a_move * jobs); }

  bool in_vain() const noexcept { return in_vain_.load(std::memory_order_relaxed) >= patience_; }
  /// How long to nap: the longer it has been in vain, the longer, from 0.1 to 0.8 ms.
  nanoseconds nap() const noexcept {
    const std::uint32_t more = in_vain_.load(std::memory_order_relaxed) - patience_;
    return shortest_nap * (1u << std::min<std::uint32_t>(more, 3));
  }

 private:
  static constexpr nanoseconds worth_a_wake = std::chrono::microseconds(20), worth_a_move{250},
                               shortest_nap = std::chrono::microseconds(100);

  void judge(bool was_of_use) noexcept {
    const std::uint32_t n = in_vain_.load(std::memory_order_relaxed);
    const std::uint32_t now = was_of_use ? 0 : std::min(n + 1, patience_ + 3);
    if (now != n) in_vain_.store(now, std::memory_order_relaxed);
  }

  const std::uint32_t patience_;
  std::atomic<std::uint32_t> in_vain_{0};
  std::atomic<nanoseconds::rep> woke_{0};
};

}  // namespace wick::detail

// ==== wick/run/event_count.hpp
/// \file
/// Where idle workers sleep. Nobody spins, nobody misses a wake-up, and a burst of work wakes one worker,
/// which wakes the next.

namespace wick::detail {

/// Counts those who search for work and those who sleep, in one word, so that each decision is one atomic
/// operation on it and no fence is needed.
///
/// Why no wake-up is lost: a producer publishes its item, then touches the word (notify). A worker touches
/// the word (retire), then looks for items once more. The two touches have an order: if the producer's is
/// first, the worker's look sees the item; if the worker's is first, the producer sees it sleeping and hands
/// it a permit. A producer that sees a searcher leaves it to that one: a searcher looks again after its own
/// touch.
///
/// Where work comes in bursts that are over before a woken worker is of use, a worker naps before it sleeps:
/// it looks again by itself after a while, and until then who has work that can wait so long
/// (notify_unless_napping) need not wake anybody. The end of a nap is a touch like any other, with a look
/// after it.
///
/// What a thread wrote before notify is visible to the one it wakes. Any thread may call any member, in the
/// order begin_search, then found or retire, after retire either cancel or sleep, which both make it a
/// searcher again; between the two, begin_nap and either end_nap or nap, as often as it likes. When it is
/// destroyed nobody may sleep: notify_all, and join those who did. `Atomics` is the tests'
/// (detail::std_atomics).
template <class Atomics = detail::std_atomics>
class basic_event_count {
 public:
  /// An item was published. Wakes one sleeper unless someone searches already.
  void notify() noexcept { wake_for(state_.fetch_add(0, std::memory_order_acq_rel)); }

  /// The same for an item that can wait for as long as a nap takes: wakes nobody while somebody naps. Whether
  /// it has woken one.
  bool notify_unless_napping() noexcept {
    const std::uint64_t seen = state_.fetch_add(0, std::memory_order_acq_rel);
    return napping(seen) == 0 && wake_for(seen);
  }

  /// Wakes everyone who sleeps (to stop).
  void notify_all() noexcept {
    std::uint64_t seen = state_.fetch_add(0, std::memory_order_acq_rel);
    while (sleeping(seen) != 0) {
      const std::uint64_t n = sleeping(seen);
      if (state_.compare_exchange_weak(seen, seen - n * one_sleeping + n * one_searching,
                                       std::memory_order_acq_rel)) {
        permits_.fetch_add(static_cast<std::uint32_t>(n), std::memory_order_release);
        Atomics::wake_all(permits_);
        return;
      }
    }
  }

  /// A worker begins to look in other places than its own queue.
  void begin_search() noexcept { state_.fetch_add(one_searching, std::memory_order_acq_rel); }

  /// A searcher found something and stops searching. Producers relied on it, so the last one to stop looks
  /// once more after its touch, `more()`, and wakes a successor when there is anything and nobody naps: a
  /// producer that touched before has published what is looked for, one that touches later sees that nobody
  /// searches. Whether it has woken one.
  template <class Look>
  bool found(Look&& more) noexcept {
    return searching(state_.fetch_sub(one_searching, std::memory_order_acq_rel)) == 1 && more() &&
           notify_unless_napping();
  }
  /// The same without a look: wakes a successor in any case, which costs a wake-up for nothing when there is
  /// nothing.
  void found() noexcept {
    found([] { return true; });
  }

  /// A searcher found nothing and announces that it will sleep. It must look everywhere once more, and then
  /// either cancel() or sleep().
  void retire() noexcept { state_.fetch_add(one_sleeping - one_searching, std::memory_order_acq_rel); }

  /// There was something after all: the caller is a searcher again.
  void cancel() noexcept {
    std::uint64_t seen = state_.load(std::memory_order_relaxed);
    while (sleeping(seen) != 0) {
      if (state_.compare_exchange_weak(seen, seen - one_sleeping + one_searching, std::memory_order_acq_rel))
        return;
    }
    take_permit();  // a notify chose this sleeper already
  }

  /// Sleeps until chosen by a notify; the caller is a searcher then.
  void sleep() noexcept { take_permit(); }

  /// One that has retired will sleep for a while only: then it must either nap() or end_nap().
  void begin_nap() noexcept { state_.fetch_add(one_napping, std::memory_order_relaxed); }

  /// Sleeps until chosen by a notify, true and the caller is a searcher then; or for as long as `most`, false
  /// and all is as if it had retired just now.
  bool nap(std::chrono::nanoseconds most) noexcept {
    Atomics::wait_for(permits_, 0, most);
    // A permit first: the wake-up that came with it may have been the only one, and this thread has used it
    // up. A load might be of before it.
    bool chosen = false;
    std::uint32_t n = permits_.fetch_add(0, std::memory_order_relaxed);
    while (n != 0 && !chosen) chosen = permits_.compare_exchange_weak(n, n - 1, std::memory_order_relaxed);
    end_nap();  // acquires what the one who chose it wrote, too
    return chosen;
  }
  /// Who relied on the nap is relieved of it only by a look after this.
  void end_nap() noexcept { state_.fetch_sub(one_napping, std::memory_order_acquire); }

  /// For tests and reports. Who naps sleeps.
  std::uint32_t sleepers() const noexcept {
    return static_cast<std::uint32_t>(sleeping(state_.load(std::memory_order_acquire)));
  }

 private:
  // Who naps is counted twice: among the sleepers, too, so that notify wakes it like any other.
  static constexpr std::uint64_t one_sleeping = 1;
  static constexpr std::uint64_t one_napping = std::uint64_t{1} << 20;
  static constexpr std::uint64_t one_searching = std::uint64_t{1} << 40;
  static constexpr std::uint64_t sleeping(std::uint64_t s) noexcept { return s % one_napping; }
  static constexpr std::uint64_t napping(std::uint64_t s) noexcept { return s % one_searching / one_napping; }
  static constexpr std::uint64_t searching(std::uint64_t s) noexcept { return s / one_searching; }

  bool wake_for(std::uint64_t seen) noexcept {
    while (sleeping(seen) != 0 && searching(seen) == 0) {
      // The woken one counts as searching from now on, so that the next notify needs no system call.
      if (state_.compare_exchange_weak(seen, seen - one_sleeping + one_searching,
                                       std::memory_order_acq_rel)) {
        permits_.fetch_add(1, std::memory_order_release);
        Atomics::wake_one(permits_);
        return true;
      }
    }
    return false;
  }

  void take_permit() noexcept {
    std::uint32_t n = permits_.load(std::memory_order_acquire);
    for (;;) {
      if (n == 0) {
        Atomics::wait(permits_, 0);
        n = permits_.load(std::memory_order_acquire);
      } else if (permits_.compare_exchange_weak(n, n - 1, std::memory_order_acq_rel)) {
        return;
      }
    }
  }

  template <class T>
  using atomic = typename Atomics::template atomic<T>;
  alignas(64) atomic<std::uint64_t> state_{0};
  alignas(64) atomic<std::uint32_t> permits_{0};
};

using event_count = basic_event_count<>;

}  // namespace wick::detail

// ==== wick/run/steal_queue.hpp
/// \file
/// A worker's own queue: it puts jobs in, it and the others take the oldest out.

#include <bit>

namespace wick::detail {

/// A bounded FIFO ring of pointers with one producer and many consumers, lock-free. Oldest first, because
/// batches leave in order and the oldest sample holds up all others.
///
/// push: only the owner. pop, pop_half, empty, size: any thread. What the owner wrote before push is visible
/// to who pops. The queue does not own what it holds; it must be empty (or its content accounted for
/// elsewhere) when it is destroyed.
template <class T, class Atomics = detail::std_atomics>
class steal_queue {
  template <class V>
  using atomic = typename Atomics::template atomic<V>;

 public:
  /// \param capacity rounded up to a power of two
  explicit steal_queue(std::size_t capacity)
      : mask_(std::bit_ceil(capacity < 1 ? std::size_t{1} : capacity) - 1),
        items_(new atomic<T*>[mask_ + 1]()) {}

  std::size_t capacity() const noexcept { return mask_ + 1; }

  /// False when full.
  bool push(T* item) noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    // acquire: a consumer's read of the item is over before its slot is written again
    if (tail - head_.load(std::memory_order_acquire) > mask_) return false;
    items_[tail & mask_].store(item, std::memory_order_relaxed);
    tail_.store(tail + 1, std::memory_order_release);  // publishes the item and what it points to
    return true;
  }

  /// The oldest item, or null when there is none.
  T* pop() noexcept {
    T* item;
    return pop_half(&item, 1) != 0 ? item : nullptr;
  }
  /// The oldest items, into `to`: half of what is there, rounded up, at most `most`. How many; what lies
  /// behind them in `to` is lost.
  std::size_t pop_half(T** to, std::size_t most) noexcept {
    // An old head does no harm: the exchange below fails then and brings the new one.
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    for (;;) {
      // acquire: sees the items up to this tail, and what they point to
      const std::uint64_t tail = tail_.load(std::memory_order_acquire);
      if (head >= tail) return 0;
      const std::uint64_t n = most == 1 ? 1 : std::min<std::uint64_t>((tail - head + 1) / 2, most);
      for (std::uint64_t i = 0; i < n; ++i)
        to[i] = items_[(head + i) & mask_].load(std::memory_order_relaxed);
      // release: the reads above are over before the producer may see the slots as free.
      // On failure another took some, and `head` is the new one: 64 bits never come round.
      if (head_.compare_exchange_weak(head, head + n, std::memory_order_release, std::memory_order_relaxed)) {
        return static_cast<std::size_t>(n);
      }
    }
  }

  bool empty() const noexcept {
    return head_.load(std::memory_order_acquire) >= tail_.load(std::memory_order_acquire);
  }
  /// Of a moment that is over; while others push and pop it may be off by what they did meanwhile.
  std::size_t size() const noexcept {
    const std::uint64_t head = head_.load(std::memory_order_acquire),
                        tail = tail_.load(std::memory_order_acquire);
    return tail > head ? static_cast<std::size_t>(tail - head) : 0;
  }

 private:
  const std::size_t mask_;
  const std::unique_ptr<atomic<T*>[]> items_;
  alignas(64) atomic<std::uint64_t> head_{0};
  alignas(64) atomic<std::uint64_t> tail_{0};
};

}  // namespace wick::detail

namespace wick::detail {

/// All of the executor but its threads: who gets which job, and who sleeps when. post and stop: any thread.
/// next: one thread a worker number. A job that was posted is handed out once, and is not left lying while a
/// worker sleeps that could take it; a worker's own job may lie there for as long as others nap, 0.8 ms at
/// most (see sharing_record). What was written before post is visible to who gets the job.
template <class Atomics = std_atomics>
class basic_run_queues {
 public:
  /// \param patience  how often it must have been no use to be awake, in a row, before workers nap
  basic_run_queues(std::size_t workers, std::size_t capacity, std::uint32_t patience = 4)
      : sharing_(patience) {
    workers_.reserve(workers);
    for (std::size_t i = 0; i < workers; ++i) {
      workers_.push_back(std::make_unique<worker>(capacity, static_cast<std::uint32_t>(i * 0x9E3779B9u + 1)));
    }
  }

  std::size_t workers() const noexcept { return workers_.size(); }

  /// `from`: the number of the worker that calls, or anything higher.
  void post(job* j, std::size_t from) noexcept {
    const bool own = from < workers_.size();
    if (!own || !workers_[from]->queue.push(j)) injector_.push(j);
    if (!own) {
      idle_.notify();
    } else if (workers_.size() > 1) {
      // The only worker there is would be awake, and would look once more before it sleeps.
      if (idle_.notify_unless_napping()) sharing_.woke(Atomics::now());
    }
  }

  /// The next job of worker `number`; sleeps while there is none. Null after stop(), when there is nothing
  /// anywhere.
  job* next(std::size_t number) noexcept {
    worker& w = *workers_[number];
    if (job* j = find(w)) return j;
    idle_.begin_search();
    bool leaves_the_workers_theirs = false;
    if (w.taken != 0) {
      sharing_.took(std::exchange(w.taken, 0), Atomics::now() - w.taken_at);
      leaves_the_workers_theirs = naps(w);
    }
    for (bool idle = false;; leaves_the_workers_theirs = false) {
      if (!leaves_the_workers_theirs) {
        job* j = steal_some(w);
        if (j == nullptr) j = injector_.pop();
        if (j != nullptr) {
          w.empty_naps = 0;
          if (idle_.found([this] { return anything(); })) sharing_.woke(Atomics::now());
          return j;
        }
        if (!std::exchange(idle, true)) sharing_.idle(&Atomics::now);
      }
      idle_.retire();
      if (!rest(w, leaves_the_workers_theirs)) return nullptr;
    }
  }

  /// From now on next returns null instead of sleeping.
  void stop() noexcept {
    stopping_.store(true, std::memory_order_release);
    idle_.notify_all();
  }

  /// Eight jobs or more, or all that fit, in the own queue of worker `number`, which calls.
  bool is_long(std::size_t number) const noexcept {
    const auto& queue = workers_[number]->queue;
    return queue.size() >= std::min<std::size_t>(8, queue.capacity());
  }
  /// Whether a job is in any of the queues.
  bool anything() const noexcept {
    if (!injector_.empty()) return true;
    for (const auto& w : workers_) {
      if (!w->queue.empty()) return true;
    }
    return false;
  }

  std::uint64_t stolen() const noexcept {
    std::uint64_t n = 0;
    for (const auto& w : workers_) n += w->stolen.load(std::memory_order_relaxed);
    return n;
  }
  std::size_t asleep() const noexcept { return idle_.sleepers(); }

 private:
  template <class T>
  using atomic = typename Atomics::template atomic<T>;
  static constexpr std::size_t max_taken = 8;
  static constexpr std::uint32_t max_empty_naps = 4;

  struct alignas(64) worker {
    worker(std::size_t capacity, std::uint32_t seed) : queue(capacity), random(seed) {}
    steal_queue<job, Atomics> queue;
    std::atomic<std::uint64_t> stolen{0};  // only for reports
    std::uint32_t random;
    std::uint32_t tick = 0;
    std::uint32_t empty_naps = 0;          // in a row
    std::size_t taken = 0;                 // jobs of another's that it runs, or has run
    std::chrono::nanoseconds taken_at{0};  // when it began
  };

  bool naps(const worker& w) const noexcept {
    return workers_.size() > 1 && sharing_.in_vain() && w.empty_naps < max_empty_naps;
  }
  /// Of one that has retired: looks once more, naps and sleeps, until it has reason to search again. False
  /// after the stop, when there is nothing more.
  bool rest(worker& w, bool leaves_the_workers_theirs) noexcept {
    for (;; leaves_the_workers_theirs = false) {
      const bool nap = naps(w);
      if (nap) idle_.begin_nap();
      // Before the look: who sees the stop sees what was posted before it, and must not leave that behind.
      const bool stopping = stopping_.load(std::memory_order_acquire);
      const bool there = nap && leaves_the_workers_theirs ? !injector_.empty() : anything();
      if (there || stopping) {
        if (nap) idle_.end_nap();
        idle_.cancel();
        if (!there) idle_.found();
        return there;
      }
      if (!nap) {
        idle_.sleep();
        return true;
      }
      ++w.empty_naps;
      if (idle_.nap(sharing_.nap())) return true;
    }
  }

  /// Own and shared queue take turns, so that neither can starve the other. And once in 64 turns another's
  /// queue comes first: its worker may be at something long while this one never runs out of work.
  job* find(worker& w) noexcept {
    const std::uint32_t tick = w.tick++;
    if (tick % 64 == 63) {
      if (job* j = steal(w)) return j;
    }
    if ((tick & 1) != 0) {
      if (job* j = injector_.pop()) return j;
    }
    if (job* j = w.queue.pop()) return j;
    return injector_.pop();
  }

  /// Another's oldest job, from a random one on.
  job* steal(worker& thief) noexcept {
    job* one;
    return steal_from_any(thief, &one, 1) != 0 ? one : nullptr;
  }
  /// Some of another's jobs: gives one back, the others lie in the own queue, which is empty. A job at a time
  /// would cost more than a short job does: each of the two takes the head of the queue from the other's
  /// cache.
  job* steal_some(worker& thief) noexcept {
    std::array<job*, max_taken> jobs;
    const std::size_t n = steal_from_any(thief, jobs.data(), std::min(max_taken, thief.queue.capacity() + 1));
    if (n == 0) return nullptr;
    thief.taken = n;
    thief.taken_at = Atomics::now();
    for (std::size_t i = 1; i < n; ++i) thief.queue.push(jobs[i]);
    return jobs[0];
  }
  std::size_t steal_from_any(worker& thief, job** to, std::size_t most) noexcept {
    const std::size_t n = workers_.size();
    thief.random = thief.random * 1664525u + 1013904223u;
    const std::size_t start = thief.random % n;
    for (std::size_t i = 0; i < n; ++i) {
      worker& victim = *workers_[(start + i) % n];
      if (&victim == &thief) continue;
      if (const std::size_t got = victim.queue.pop_half(to, most)) {
        thief.stolen.store(thief.stolen.load(std::memory_order_relaxed) + got, std::memory_order_relaxed);
        return got;
      }
    }
    return 0;
  }

  basic_event_count<Atomics> idle_;
  sharing_record sharing_;
  basic_injector<Atomics> injector_;
  atomic<bool> stopping_{false};
  std::vector<std::unique_ptr<worker>> workers_;
};

using run_queues = basic_run_queues<>;

}  // namespace wick::detail

// ==== wick/run/detail/tenants.hpp
/// \file
/// Who shares an executor's workers, and how long each of them has used them.

namespace wick::detail {

/// Any thread. A tenant counts its own time; it is asked only when somebody wants the sum.
class tenants {
 public:
  /// `ticks(who)` is how long `who` has used the workers so far; called on any thread until leave().
  void enter(const void* who, std::uint64_t (*ticks)(const void*)) {
    const std::lock_guard lock(mutex_);
    all_.push_back({who, ticks});
  }
  void leave(const void* who) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(all_.begin(), all_.end(), [&](const tenant& t) { return t.who == who; });
    if (found == all_.end()) return;
    gone_ += found->ticks(who);
    all_.erase(found);
  }
  /// Of all that there are and were, without `who`.
  std::uint64_t ticks_of_others(const void* who) const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = gone_;
    for (const tenant& t : all_) {
      if (t.who != who) sum += t.ticks(t.who);
    }
    return sum;
  }

 private:
  struct tenant {
    const void* who;
    std::uint64_t (*ticks)(const void*);
  };
  mutable std::mutex mutex_;
  std::vector<tenant> all_;
  std::uint64_t gone_ = 0;
};

}  // namespace wick::detail

// ==== wick/run/io_pool.hpp
/// \file
/// Threads for calls that block, so that workers never do.

#include <exception>

// ==== wick/system/detail/condition.hpp
/// \file
/// Waiting for what a mutex guards to change.

namespace wick::detail {

/// In place of std::condition_variable, which in glibc before 2.41 now and then loses a notify_one when
/// several threads wait (its bug 25847): a job would lie there while all who could take it sleep. It also has
/// nothing to be destroyed, so it may be left behind in a forked child.
///
/// Who waits holds the mutex, sees that it must wait, reads the count of changes, and sleeps only while it
/// stays. Who notifies has held the mutex for the change. If that was before, the change was seen; if after,
/// so is the waiter counted, and the count read is an old one: no wake-up is lost. (Unless 2³² changes come
/// between a read and a sleep.)
template <class Atomics = std_atomics>
class basic_condition {
 public:
  /// After a change under the mutex, or still under it.
  void notify_one() noexcept {
    if (waiting_.load(std::memory_order_relaxed) == 0) return;
    changes_.fetch_add(1, std::memory_order_relaxed);
    Atomics::wake_one(changes_);
  }
  void notify_all() noexcept {
    if (waiting_.load(std::memory_order_relaxed) == 0) return;
    changes_.fetch_add(1, std::memory_order_relaxed);
    Atomics::wake_all(changes_);
  }

  /// `lock` is unlocked meanwhile. May return for no reason.
  template <class Lock>
  void wait(Lock& lock) {
    const std::uint32_t seen = begin();
    lock.unlock();
    Atomics::wait(changes_, seen);
    lock.lock();
    end();
  }
  /// The same for no longer than `most`.
  template <class Lock>
  void wait_for(Lock& lock, std::chrono::nanoseconds most) {
    const std::uint32_t seen = begin();
    lock.unlock();
    Atomics::wait_for(changes_, seen, most);
    lock.lock();
    end();
  }
  /// Until `holds()`, which is asked under the mutex.
  template <class Lock, class Predicate>
  void wait(Lock& lock, Predicate&& holds) {
    while (!holds()) wait(lock);
  }

 private:
  std::uint32_t begin() noexcept {
    waiting_.store(waiting_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return changes_.load(std::memory_order_relaxed);
  }
  void end() noexcept {
    waiting_.store(waiting_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }

  template <class T>
  using atomic = typename Atomics::template atomic<T>;
  atomic<std::uint32_t> changes_{0};
  atomic<std::uint32_t> waiting_{0};  // written under the mutex
};

using condition = basic_condition<>;

}  // namespace wick::detail

// ==== wick/system/detail/cpu_set.hpp
/// \file
/// The processors that a thread may run on, on machines of any size.

#ifdef __linux__
#include <cerrno>
#include <sched.h>
#endif

namespace wick::detail {

/// The system's bit mask, as long as the kernel's is. Empty where there is no such thing.
class cpu_set {
 public:
  static cpu_set of_this_thread() {
    cpu_set out;
#ifdef __linux__
    // glibc's cpu_set_t has 1024 bits; a kernel with more refuses it with EINVAL.
    for (std::size_t sets = 1; sets <= 64; sets *= 2) {
      out.bits_.assign(sets, ::cpu_set_t{});
      if (::sched_getaffinity(0, out.bytes(), out.bits_.data()) == 0) return out;
      if (errno != EINVAL) break;
    }
    out.bits_.clear();
#endif
    return out;
  }

  static cpu_set of(int cpu) {
    cpu_set out;
#ifdef __linux__
    if (cpu >= 0) {
      out.bits_.assign(static_cast<std::size_t>(cpu) / CPU_SETSIZE + 1, ::cpu_set_t{});
      CPU_SET_S(static_cast<std::size_t>(cpu), out.bytes(), out.bits_.data());
    }
#else
    static_cast<void>(cpu);
#endif
    return out;
  }

  /// Their numbers, ascending.
  std::vector<int> numbers() const {
    std::vector<int> out;
#ifdef __linux__
    for (std::size_t i = 0; i < bits_.size() * CPU_SETSIZE; ++i) {
      if (CPU_ISSET_S(i, bytes(), bits_.data())) out.push_back(static_cast<int>(i));
    }
#endif
    return out;
  }

  /// Binds the calling thread. False when the system refuses; an empty set changes nothing.
  bool apply() const noexcept {
#ifdef __linux__
    return bits_.empty() || ::sched_setaffinity(0, bytes(), bits_.data()) == 0;
#else
    return true;
#endif
  }

 private:
#ifdef __linux__
  std::size_t bytes() const noexcept { return bits_.size() * sizeof(::cpu_set_t); }
  std::vector<::cpu_set_t> bits_;
#endif
};

}  // namespace wick::detail

// ==== wick/system/detail/process.hpp
/// \file
/// Knowing that one is in a forked child, where no thread but the one that forked exists.

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace wick::detail {

/// How many forks lie between the process that first asked and this one. Counted by a handler, because asking
/// the system for the process id at each use is a system call.
inline std::atomic<std::uint32_t>& forks() noexcept {
  static constinit std::atomic<std::uint32_t> count{0};
  return count;
}

/// Remembers the process that it was made in.
class process_mark {
 public:
  process_mark() noexcept {
#if defined(__unix__) || defined(__APPLE__)
    static const int registered =
        ::pthread_atfork(nullptr, nullptr, [] { forks().fetch_add(1, std::memory_order_relaxed); });
    static_cast<void>(registered);
#endif
    made_in_ = forks().load(std::memory_order_relaxed);
  }
  bool elsewhere() const noexcept { return forks().load(std::memory_order_relaxed) != made_in_; }
  /// \throws std::logic_error in a forked child
  void require_same(const char* what) const {
    if (elsewhere()) refuse(what);
  }

 private:
  [[noreturn, gnu::noinline]] static void refuse(const char* what) {
    throw std::logic_error(
        std::string("wick: ") + what +
        " in a forked child: its threads stayed in the parent. Fork before you make executors and "
        "loaders, or make new ones in the child");
  }
  std::uint32_t made_in_ = 0;
};

}  // namespace wick::detail

// ==== wick/system/detail/processor_time.hpp
/// \file
/// How long processors have worked for a thread, or for the whole program.

#include <ctime>
#include <pthread.h>

namespace wick::detail {

/// Seconds on the clock `id`; 0 when it can't be read.
inline double seconds_on(clockid_t id) noexcept {
  std::timespec t{};
  if (::clock_gettime(id, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Of all threads of this process, ended ones included.
inline double process_seconds() noexcept { return seconds_on(CLOCK_PROCESS_CPUTIME_ID); }

/// Of these threads, which run; 0 where the system doesn't say.
inline double processor_seconds(std::vector<std::thread>& threads) noexcept {
  double sum = 0;
#ifdef __linux__
  for (std::thread& t : threads) {
    clockid_t id;
    if (t.joinable() && ::pthread_getcpuclockid(t.native_handle(), &id) == 0) sum += seconds_on(id);
  }
#else
  static_cast<void>(threads);
#endif
  return sum;
}

}  // namespace wick::detail

// ==== wick/system/detail/signal_mask.hpp
/// \file
/// Which signals the threads of this library take: only those that they cause themselves.

#if defined(__unix__) || defined(__APPLE__)
#include <initializer_list>
#include <signal.h>
#endif

namespace wick::detail {

/// As long as one lives, the calling thread has all signals blocked but those below. A thread that it starts
/// meanwhile inherits that, from its first instruction on: a handler of the program's (for SIGINT, SIGTERM,
/// SIGALRM, SIGCHLD, …) runs on the program's own threads, as without this library, and never in the middle
/// of a worker's job, where its system calls would be interrupted too.
///
/// Not blocked, unless the calling thread had them blocked: what a thread causes by an instruction or a call
/// of its own (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE), since nobody else can
/// take it, and what must reach the thread that uses the time (SIGPROF).
class signals_blocked {
 public:
#if defined(__unix__) || defined(__APPLE__)
  signals_blocked() noexcept {
    ::sigset_t most;
    ::sigfillset(&most);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE, SIGPROF})
      ::sigdelset(&most, own);
    changed_ = ::pthread_sigmask(SIG_BLOCK, &most, &before_) == 0;
  }
  ~signals_blocked() {
    if (changed_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
#else
  signals_blocked() noexcept {}
  ~signals_blocked() {}
#endif
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
#if defined(__unix__) || defined(__APPLE__)
  ::sigset_t before_;
  bool changed_ = false;
#endif
};

}  // namespace wick::detail

// ==== wick/system/detail/thread_name.hpp
/// \file
/// Names for threads, so that top, perf and a debugger say who is who.

#include <cstdio>

#if defined(__linux__) || defined(__APPLE__)
#endif

namespace wick::detail {

/// "wick-3"; the system keeps 15 characters.
inline void name_this_thread(const char* name, std::size_t number) noexcept {
  char text[16];
  std::snprintf(text, sizeof(text), "%.8s-%zu", name, number % 100000);
#if defined(__linux__)
  ::pthread_setname_np(::pthread_self(), text);
#elif defined(__APPLE__)
  ::pthread_setname_np(text);
#else
  (void)text;
#endif
}

}  // namespace wick::detail

namespace wick {

class executor;

namespace detail {
inline void post_to(executor& on, job* j) noexcept;
}

namespace detail {

/// A FIFO queue and a fixed number of threads, started with the first call and kept. `co_await io.run(ex, f)`
/// runs f() on one of them and continues on a worker of `ex` with what it returned or threw. What was written
/// before the call is visible to f, and what f wrote to who continues.
///
/// The threads are no workers: this_slot() and worker_local know nothing of them. They may run on the
/// processors that the thread which made the pool may run on, whoever makes the first call, and take no
/// signals from outside (see executor). The destructor is stop(); in a forked child, which has none of the
/// threads, both do nothing.
class io_pool {
 public:
  explicit io_pool(std::size_t threads)
      : count_(threads < 1 ? 1 : threads), shared_(std::make_unique<shared>()) {}
  io_pool(const io_pool&) = delete;
  io_pool& operator=(const io_pool&) = delete;
  ~io_pool() {
    stop();
    // In a forked child the threads are missing: they can't be joined, nor destroyed without.
    if (born_.elsewhere()) static_cast<void>(shared_.release());
  }

  std::size_t threads() const noexcept { return count_; }
  /// What the threads have done so far, in seconds: in calls (those that have ended), and of processor time
  /// (0 where the system doesn't say).
  struct usage {
    double calls = 0, processor = 0;
  };
  usage used() const {
    if (born_.elsewhere()) return {};
    const std::lock_guard lock(shared_->mutex);
    return {std::chrono::duration<double>(shared_->calls).count(),
            detail::processor_seconds(shared_->threads)};
  }
  /// Whether no call is queued or under way.
  bool at_rest() const noexcept {
    const std::lock_guard lock(shared_->mutex);
    return shared_->first == nullptr && shared_->running == 0;
  }
  /// Whether the calling thread is one of these.
  bool has_this_thread() const noexcept { return mine() == shared_.get(); }

  /// Any thread. \throws std::system_error when the threads can't be started, std::logic_error after stop()
  /// and in a forked child: nobody would run the job.
  void post(job* j) {
    born_.require_same("a blocking call was started");
    shared& s = *shared_;
    {
      std::lock_guard lock(s.mutex);
      if (s.stopping) {
        throw std::logic_error(
            "wick: a blocking call was started while its executor is being destroyed; let loaders and tasks "
            "end before");
      }
      if (s.threads.empty()) start();
      j->next = nullptr;
      *s.last = j;
      s.last = &j->next;
    }
    s.wake.notify_one();
  }

  /// Does what is queued, then ends the threads; post throws from now on. For the executor; by one thread at
  /// a time.
  void stop() noexcept {
    if (born_.elsewhere()) return;
    shared& s = *shared_;
    {
      std::lock_guard lock(s.mutex);
      s.stopping = true;
    }
    s.wake.notify_all();
    for (std::thread& t : s.threads) {
      if (t.joinable()) t.join();
    }
    s.threads.clear();
  }

  template <class F>
  class [[nodiscard]] run_awaiter : job {
    using result = std::invoke_result_t<F&>;

   public:
    run_awaiter(io_pool& io, executor& on, F f) : io_(io), on_(on), f_(std::move(f)) {}
    bool await_ready() const noexcept { return false; }
    [[gnu::noinline]] void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      execute = [](job* j) noexcept {
        auto* self = static_cast<run_awaiter*>(j);
        try {
          if constexpr (std::is_void_v<result>)
            self->f_();
          else
            self->value_.emplace(self->f_());
        } catch (...) {
          self->exception_ = std::current_exception();
        }
        self->execute = [](job* back) noexcept { detail::resume(static_cast<run_awaiter*>(back)->handle_); };
        detail::post_to(self->on_, j);
      };
      io_.post(this);
    }
    result await_resume() {
      if (exception_) std::rethrow_exception(std::move(exception_));
      if constexpr (!std::is_void_v<result>) return std::move(*value_);
    }

   private:
    struct nothing {};
    io_pool& io_;
    executor& on_;
    F f_;
    std::coroutine_handle<> handle_;
    std::conditional_t<std::is_void_v<result>, nothing, std::optional<result>> value_;
    std::exception_ptr exception_;
  };

  /// Any coroutine. `f` is moved into its frame and called once, on another thread, when the result is
  /// awaited; it returns a value or nothing. Awaiting throws what f threw, and what post throws.
  template <class F>
  run_awaiter<F> run(executor& on, F f) {
    return {*this, on, std::move(f)};
  }

 private:
  struct shared {
    std::mutex mutex;
    detail::condition wake;
    job* first = nullptr;
    job** last = &first;
    std::size_t running = 0;
    bool stopping = false;
    std::chrono::steady_clock::duration calls{};
    std::vector<std::thread> threads;
  };

  void start() {
    shared_->threads.reserve(count_);
    const detail::signals_blocked quiet;
    for (std::size_t i = 0; i < count_; ++i) {
      shared_->threads.emplace_back([&s = *shared_, i, cpus = cpus_] {
        detail::name_this_thread("wick-io", i);
        cpus.apply();  // the caller may be a worker that is bound to one
        mine() = &s;
        work(s);
      });
    }
  }
  /// Of the pool whose thread this is; null on any other thread.
  [[gnu::noinline]] static const shared*& mine() noexcept {
    thread_local const shared* of = nullptr;
    return of;
  }
  static void work(shared& s) noexcept {
    std::unique_lock lock(s.mutex);
    for (;;) {
      s.wake.wait(lock, [&] { return s.first != nullptr || s.stopping; });
      if (s.first == nullptr) return;
      job* const j = s.first;
      s.first = j->next;
      if (s.first == nullptr) s.last = &s.first;
      ++s.running;
      lock.unlock();
      const auto begun = std::chrono::steady_clock::now();
      j->execute(j);
      const auto took = std::chrono::steady_clock::now() - begun;
      lock.lock();
      --s.running;
      s.calls += took;
    }
  }

  const std::size_t count_;
  const detail::process_mark born_;
  const detail::cpu_set cpus_ = detail::cpu_set::of_this_thread();
  std::unique_ptr<shared> shared_;
};

}  // namespace detail

}  // namespace wick

// ==== wick/run/timer_queue.hpp
/// \file
/// Deadlines, and one thread that sleeps until the next of them.

namespace wick::detail {

/// One deadline; lies inside what waits for it, and lives until `expired` was called or cancel() returned
/// true. Its other members belong to the queue.
struct timer {
  using clock = std::chrono::steady_clock;

  clock::time_point due{};
  /// Called once, on the queue's thread: with true at the deadline or soon after it, with false when the
  /// queue is stopped before. The timer is the caller's again; it may free it. It must neither block nor
  /// throw.
  void (*expired)(timer*, bool on_time) noexcept = nullptr;
  /// No work waits for it: it only looks whether all is well.
  bool watches = false;

  std::size_t place = unseen;
  std::uint64_t number = 0;
  timer* next = nullptr;
  static constexpr std::size_t unseen = ~std::size_t{0}, over = unseen - 1;
};

/// A heap of timers and its thread, which is started with the first of them and kept. Each executor has one;
/// most users want sleep_for. Timers of the same deadline expire in the order in which they were added.
///
/// add, cancel, size: any thread. What was written before add is visible to `expired`. The destructor is
/// stop().
class timer_queue {
 public:
  timer_queue() : shared_(std::make_unique<shared>()) {}
  timer_queue(const timer_queue&) = delete;
  timer_queue& operator=(const timer_queue&) = delete;
  ~timer_queue() {
    stop();
    // In a forked child the thread is missing: it can't be joined, nor destroyed without.
    if (born_.elsewhere()) static_cast<void>(shared_.release());
  }

  /// False, and `expired` is not called, when the timer was cancelled before or the queue was stopped.
  /// \throws std::bad_alloc, std::system_error when the thread can't be started, std::logic_error in a forked
  /// child
  bool add(timer& t) {
    born_.require_same("a timer was set");
    shared& s = *shared_;
    bool earliest = false;
    {
      std::lock_guard lock(s.mutex);
      if (s.stopping || t.place == timer::over) return false;
      if (!s.thread.joinable()) {
        const detail::signals_blocked quiet;
        s.thread = std::thread([&s, cpus = cpus_] {
          detail::name_this_thread("wick-time", 0);
          cpus.apply();  // the caller may be a worker that is bound to one
          work(s);
        });
      }
      s.heap.push_back(&t);
      s.watching += t.watches;
      t.number = s.added++;
      s.up(s.heap.size() - 1);
      earliest = t.place == 0;
    }
    if (earliest) s.wake.notify_one();
    return true;
  }

  /// True: the timer was waiting, `expired` is not called. False: it is being called, was, or, for a timer
  /// that has not been added yet, never will be.
  bool cancel(timer& t) noexcept {
    if (born_.elsewhere()) return false;
    std::lock_guard lock(shared_->mutex);
    const std::size_t place = std::exchange(t.place, timer::over);
    if (place >= timer::over) return false;
    shared_->take_out(place);
    return true;
  }

  /// Timers that wait at this moment.
  std::size_t size() const noexcept {
    std::lock_guard lock(shared_->mutex);
    return shared_->heap.size();
  }

  /// Whether no work waits for a deadline.
  bool at_rest() const noexcept {
    std::lock_guard lock(shared_->mutex);
    return shared_->heap.size() == shared_->watching;
  }

  /// Expires all that wait, at once and with false, and ends the thread; add says false from now on. By one
  /// thread at a time, and not on the queue's own.
  void stop() noexcept {
    if (born_.elsewhere()) return;
    {
      std::lock_guard lock(shared_->mutex);
      shared_->stopping = true;
    }
    shared_->wake.notify_one();
    if (shared_->thread.joinable()) shared_->thread.join();
  }

 private:
  struct shared {
    std::mutex mutex;
    detail::condition wake;
    std::vector<timer*> heap;  // the earliest at 0; each knows its place
    std::uint64_t added = 0;
    std::size_t watching = 0;
    bool stopping = false;
    std::thread thread;

    static bool before(const timer* a, const timer* b) noexcept {
      return a->due != b->due ? a->due < b->due : a->number < b->number;
    }
    void put(std::size_t i, timer* t) noexcept {
      heap[i] = t;
      t->place = i;
    }
    void up(std::size_t i) noexcept {
      timer* const t = heap[i];
      for (; i != 0 && before(t, heap[(i - 1) / 2]); i = (i - 1) / 2) put(i, heap[(i - 1) / 2]);
      put(i, t);
    }
    void down(std::size_t i) noexcept {
      timer* const t = heap[i];
      for (;;) {
        std::size_t child = 2 * i + 1;
        if (child >= heap.size()) break;
        if (child + 1 < heap.size() && before(heap[child + 1], heap[child])) ++child;
        if (!before(heap[child], t)) break;
        put(i, heap[child]);
        i = child;
      }
      put(i, t);
    }
    void take_out(std::size_t i) noexcept {
      watching -= heap[i]->watches;
      timer* const last = heap.back();
      heap.pop_back();
      if (i == heap.size()) return;
      put(i, last);
      up(i);
      down(last->place);
    }
  };

  static void work(shared& s) noexcept {
    std::unique_lock lock(s.mutex);
    for (;;) {
      // All that are due are taken out under one lock and told without it.
      timer* first = nullptr;
      timer** end = &first;
      const timer::clock::time_point now = timer::clock::now();
      const bool on_time = !s.stopping;
      while (!s.heap.empty() && (!on_time || s.heap.front()->due <= now)) {
        timer* const t = s.heap.front();
        s.take_out(0);
        t->place = timer::over;
        t->next = nullptr;
        *end = t;
        end = &t->next;
      }
      if (first != nullptr) {
        lock.unlock();
        while (first != nullptr) {
          timer* const t = std::exchange(first, first->next);
          t->expired(t, on_time);
        }
        lock.lock();
      } else if (s.stopping) {
        return;
      } else if (s.heap.empty()) {
        s.wake.wait(lock);
      } else {
        s.wake.wait_for(lock, s.heap.front()->due - now);
      }
    }
  }

  const detail::process_mark born_;
  const detail::cpu_set cpus_ = detail::cpu_set::of_this_thread();
  std::unique_ptr<shared> shared_;
};

}  // namespace wick::detail

// ==== wick/system/cpus.hpp
/// \file
/// How many processors this process may really use: what its affinity mask and its control groups leave it.

#include <cstdlib>

namespace wick::detail {

/// The quota of a cgroup-v2 `cpu.max` text ("200000 100000" is 2, "max 100000" is 0: none), rounded up.
inline std::size_t parse_cpu_max(const char* text) noexcept {
  char* end = nullptr;
  const long long quota = std::strtoll(text, &end, 10);
  if (end == text || quota <= 0) return 0;
  const long long period = std::strtoll(end, nullptr, 10);
  return period <= 0 ? 0 : static_cast<std::size_t>(quota / period + (quota % period != 0 ? 1 : 0));
}

/// What is in a small file of the system's; empty when it can't be read.
inline std::string text_of(const std::string& path) {
  std::string out;
#ifdef __linux__
  if (std::FILE* f = std::fopen(path.c_str(), "re")) {
    char part[512];
    while (const std::size_t n = std::fread(part, 1, sizeof(part), f)) out.append(part, n);
    std::fclose(f);
  }
#else
  static_cast<void>(path);
#endif
  return out;
}

/// The tightest quota on the way from a control group up to the root, 0: none. A limit of a group holds for
/// all below it; and in a container the path may be the host's, of which only the root is to be seen.
inline std::size_t tightest_quota(const std::string& mount, std::string_view group, bool v2) {
  std::size_t least = 0;
  for (;;) {
    while (group.ends_with('/')) group.remove_suffix(1);
    const std::string folder = mount + std::string(group);
    const std::string limit =
        v2 ? text_of(folder + "/cpu.max")
           : text_of(folder + "/cpu.cfs_quota_us") + ' ' + text_of(folder + "/cpu.cfs_period_us");
    const std::size_t quota = parse_cpu_max(limit.c_str());
    if (quota != 0 && (least == 0 || quota < least)) least = quota;
    if (group.empty()) return least;
    const std::size_t parent = group.rfind('/');
    group = group.substr(0, parent == std::string::npos ? 0 : parent);
  }
}

/// The processors that the control groups of this process leave it, 0: no limit.
/// \param groups  the text of /proc/self/cgroup: lines `number:controllers:path`, v2 with number 0 and no
/// controller \param mount   where they are mounted: /sys/fs/cgroup. v2 lies there itself, or in `unified`
/// beside v1's folders
inline std::size_t cgroup_cpus(std::string_view groups, const std::string& mount) {
  std::size_t least = 0;
  const auto limit = [&](std::size_t quota) {
    if (quota != 0 && (least == 0 || quota < least)) least = quota;
  };
  while (!groups.empty()) {
    const std::string_view row = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(row.size() + 1, groups.size()));
    const std::size_t first = row.find(':');
    const std::size_t second = first == std::string_view::npos ? first : row.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = row.substr(first + 1, second - first - 1),
                           path = row.substr(second + 1);
    if (controllers.empty()) {
      limit(tightest_quota(mount, path, true));
      limit(tightest_quota(mount + "/unified", path, true));
    } else if ((',' + std::string(controllers) + ',').find(",cpu,") != std::string::npos) {
      limit(tightest_quota(mount + '/' + std::string(controllers), path, false));
      if (controllers != "cpu") limit(tightest_quota(mount + "/cpu", path, false));
    }
  }
  return least;
}

/// The numbers of the processors that the calling thread may run on, ascending; empty where the system
/// doesn't say.
inline std::vector<int> allowed_cpus() { return detail::cpu_set::of_this_thread().numbers(); }

/// At least 1: the processors in the calling thread's affinity mask, or fewer when a control group (v1 or v2,
/// its own or one above it) has a quota, rounded up. A container with two of 64 processors says 2 here, where
/// hardware_concurrency may say 64. Asks the system each time.
inline std::size_t available_cpus() {
  std::size_t n = allowed_cpus().size();
  if (n == 0) n = std::thread::hardware_concurrency();
#ifdef __linux__
  if (const std::size_t quota = detail::cgroup_cpus(detail::text_of("/proc/self/cgroup"), "/sys/fs/cgroup")) {
    n = std::min(n, quota);
  }
#endif
  return std::max<std::size_t>(n, 1);
}

}  // namespace wick::detail

namespace wick {

/// How many threads an executor has, and which.
struct executor_options {
  std::size_t workers = 0;            ///< threads that run jobs; 0: as many as processors are available
  std::size_t io_threads = 0;         ///< for calls that block; 0: twice the workers, at least 4, at most 32
  std::size_t queue_capacity = 1024;  ///< of each worker's own queue; more goes to the shared one
  std::string name = "wick";          ///< of the threads, as top shows them
  std::vector<int> pin_to =
      {};  ///< worker i is bound to processor pin_to[i % size]; empty: the system decides
};

/// A pool of workers, the threads that run stages and other coroutines. Each has a bounded FIFO queue of its
/// own; outside submissions and overflow go to a shared one, which every worker looks at between any two
/// jobs, and now and then each looks into another's queue though its own is not empty. So a job waits for no
/// other job to end, as long as one worker is free or comes round. Only what workers post themselves may lie
/// there for up to 0.8 ms more, after several bursts in a row that were too short to be shared: then free
/// workers come round now and then instead of being woken. A worker must not block: what waits suspends (see
/// context::run_blocking, sleep_for).
///
/// post and schedule: any thread. What was written before post is visible to the job. One worker takes the
/// jobs from outside in their order, and its own in theirs as long as they fit in its queue; between the two,
/// and between workers, there is no order.
///
/// The destructor runs what is queued, what that posts, and what io() has under way; who sleeps (sleep_for)
/// is woken with wick::cancelled, and a blocking call that begins after it has is refused with an exception.
/// Loaders and scopes that use the executor must be gone before, and calls of post from other threads must
/// have returned. Not on a worker. It is neither copied nor moved: workers point into it.
///
/// Handlers of signals never run on its threads: all are blocked there but those that a thread causes itself
/// (SIGSEGV, SIGPIPE, …) and SIGPROF. A process that a stage starts inherits that; one that must heed SIGTERM
/// or SIGCHLD is started with posix_spawn and POSIX_SPAWN_SETSIGMASK.
///
/// A static one is fine: it is made without the help of other globals, and may be destroyed at the very end
/// of the program. In a forked child its threads don't exist: there post throws std::logic_error instead of
/// waiting for ever, and the destructor leaves all as it is.
class executor {
 public:
  /// \throws std::system_error when there are no more threads to be had, std::invalid_argument when a worker
  /// can't be bound to the processor that pin_to names
  explicit executor(executor_options options = {});
  explicit executor(std::size_t workers) : executor(executor_options{.workers = workers}) {}
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;
  ~executor();

  /// How many there are; a helping training loop is not among them.
  std::size_t workers() const noexcept { return queues_.workers(); }
  /// For the loader: workers, and the places for threads that help (see helper): the number of slots a
  /// worker_local needs.
  std::size_t slots() const noexcept { return workers() + max_helpers; }
  /// Where blocking calls go.
  detail::io_pool& io() noexcept { return io_; }
  /// Who wakes up at a given time; see sleep_for.
  detail::timer_queue& timers() noexcept { return timers_; }

  /// Queues a job. From a worker it goes to the worker's own queue. The job must live until it has run, and
  /// is run exactly once; it must not throw. \throws std::logic_error in a forked child, nothing elsewhere
  void post(detail::job* j);

  /// True in a forked child, where nobody would run a job.
  bool forked() const noexcept { return born_.elsewhere(); }
  /// For who is about to wait for a worker. \throws std::logic_error in a forked child
  void require_workers() const { born_.require_same("an executor (or a loader or scope on it) was used"); }

  /// For the loader: whether the calling thread is one on which work of this executor waits: a worker, a
  /// thread that helps (see helper), or an I/O thread.
  bool owns_this_thread() const noexcept { return this_slot() != none || io_.has_this_thread(); }
  /// For who makes its thread wait for this executor. \throws std::logic_error with what to write
  /// instead, on a thread of the executor's own: nobody might be left to wait for
  void require_outside(const char* call, const char* instead) const {
    if (this_slot() != none) refuse(call, "a worker of the executor", instead);
    if (io_.has_this_thread()) refuse(call, "an I/O thread of the executor", instead);
  }

  /// What schedule() gives; to be awaited, once.
  class [[nodiscard]] schedule_awaiter : detail::job {
   public:
    explicit schedule_awaiter(executor& on) noexcept : on_(on) {}
    bool await_ready() const noexcept { return false; }
    [[gnu::noinline]] void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      execute = [](detail::job* j) noexcept { detail::resume(static_cast<schedule_awaiter*>(j)->handle_); };
      on_.post(this);
    }
    void await_resume() const noexcept {}

   private:
    executor& on_;
    std::coroutine_handle<> handle_;
  };
  /// `co_await ex.schedule();` continues on a worker.
  schedule_awaiter schedule() noexcept { return schedule_awaiter(*this); }

  static constexpr std::size_t none = ~std::size_t{0};
  /// For the loader: the number of the calling thread among this executor's slots; `none` for a foreign
  /// thread. Not to be kept over a suspension.
  std::size_t this_slot() const noexcept {
    const identity& me = self();
    return me.of == this ? me.slot : none;
  }

  /// For the loader: lends a slot to the calling thread, so that it may run samples while it would only wait.
  /// False when all are lent. Made and destroyed on the same thread, nested like scopes; who gets the slot
  /// next sees what was done in it. What a helper posts goes to the shared queue.
  class helper {
   public:
    explicit helper(executor& ex) noexcept;
    helper(const helper&) = delete;
    helper& operator=(const helper&) = delete;
    ~helper();
    explicit operator bool() const noexcept { return slot_ != none; }

   private:
    executor& ex_;
    std::size_t slot_ = none;
    const executor* outer_of_ = nullptr;
    std::size_t outer_slot_ = none;
  };

  /// For who divides its work: whether so much is in the calling worker's own queue that others will find
  /// something for a while; false on any other thread.
  bool queue_is_long() const noexcept {
    const identity& me = self();
    return me.of == this && me.slot < workers() && queues_.is_long(me.slot);
  }
  /// For the loader: a hint for a long job that could make room by posting its rest: whether any job waits
  /// for a worker.
  bool job_waits() const noexcept { return queues_.anything(); }
  /// Jobs that were taken from another worker's queue, so far.
  std::uint64_t stolen() const noexcept { return queues_.stolen(); }
  /// For the loader: whether nothing is going on here, and nothing will by itself: no job is queued or run,
  /// no blocking call is under way, nobody sleeps for a time. Of this moment, and not exact: two looks in a
  /// row say more than one.
  bool at_rest() const noexcept {
    return helpers_.load(std::memory_order_relaxed) == 0 && io_.at_rest() && timers_.at_rest() &&
           !queues_.anything() && queues_.asleep() == workers();
  }
  /// Processor time that the workers have taken so far, in seconds; 0 where the system doesn't say.
  double worker_seconds() noexcept { return forked() ? 0 : detail::processor_seconds(workers_); }
  /// Who uses the workers, for reports.
  detail::tenants& tenants() noexcept { return tenants_; }
  /// Workers asleep at this moment: a number that may be old when it is looked at.
  std::size_t asleep() const noexcept { return queues_.asleep(); }

 private:
  static constexpr std::size_t max_helpers = 8;
  static constexpr int unbound = std::numeric_limits<int>::min();

  /// With pin_to, one a worker.
  struct binding {
    detail::wake_flag tried;
    int refused = unbound;
  };
  struct identity {
    const executor* of = nullptr;
    std::size_t slot = none;
  };
  [[gnu::noinline]] static identity& self() noexcept {
    thread_local identity me;
    return me;
  }

  [[noreturn, gnu::noinline]] static void refuse(const char* call, const char* whom, const char* instead) {
    throw std::logic_error(std::string("wick: ") + call + " would block " + whom + "; write " + instead +
                           " there");
  }
  static void bind(binding& to, int cpu) noexcept {
    if (cpu < 0 || !detail::cpu_set::of(cpu).apply()) to.refused = cpu;
    to.tried.set();
  }
  void work(std::size_t number) noexcept;
  void end_workers() noexcept;

  const detail::process_mark born_;
  detail::run_queues queues_;
  std::atomic<std::uint32_t> helpers_{0};
  detail::tenants tenants_;
  std::vector<std::thread> workers_;
  detail::io_pool io_;
  detail::timer_queue timers_;
};

inline executor::executor(executor_options options)
    : queues_(options.workers != 0 ? options.workers : detail::available_cpus(), options.queue_capacity),
      io_(options.io_threads != 0 ? options.io_threads : std::clamp<std::size_t>(2 * workers(), 4, 32)) {
  const std::size_t n = workers();
  workers_.reserve(n);
  // Outlives the threads' use of it: all have tried before the constructor ends or has joined them.
  const auto bindings = options.pin_to.empty() ? nullptr : std::make_unique<binding[]>(n);
  try {
    for (std::size_t i = 0; i < n; ++i) {
      const int cpu = options.pin_to.empty() ? unbound : options.pin_to[i % options.pin_to.size()];
      binding* const to = bindings ? &bindings[i] : nullptr;
      const detail::signals_blocked quiet;
      workers_.emplace_back([this, i, cpu, to, name = options.name] {
        detail::name_this_thread(name.c_str(), i);
        if (to != nullptr) bind(*to, cpu);
        work(i);
      });
    }
    for (std::size_t i = 0; bindings && i < n; ++i) {
      bindings[i].tried.wait();
      if (bindings[i].refused == unbound) continue;
      std::string allowed;
      for (const int c : detail::allowed_cpus()) allowed += ' ' + std::to_string(c);
      throw std::invalid_argument("wick: executor: worker " + std::to_string(i) +
                                  " can't be bound to processor " + std::to_string(bindings[i].refused) +
                                  "; pin_to may name" + allowed);
    }
  } catch (...) {  // no more threads to be had: those that started must be joined
    end_workers();
    throw;
  }
}

inline executor::~executor() {
  if (forked()) {  // the threads are missing: there is nobody to be waited for, and nothing to be joined
    static_cast<void>(std::make_unique<std::vector<std::thread>>(std::move(workers_)).release());
    return;
  }
  timers_.stop();  // wakes who sleeps, with "cancelled"
  io_.stop();      // what it still has is done, and posts its continuations here
  end_workers();
}

inline void executor::end_workers() noexcept {
  queues_.stop();
  for (std::thread& w : workers_) w.join();
}

inline void executor::post(detail::job* j) {
  if (forked()) require_workers();
  const identity& me = self();
  queues_.post(j, me.of == this ? me.slot : none);
}

inline void executor::work(std::size_t number) noexcept {
  self() = {this, number};
  while (detail::job* const j = queues_.next(number)) j->execute(j);
}

inline executor::helper::helper(executor& ex) noexcept : ex_(ex) {
  std::uint32_t taken = ex.helpers_.load(std::memory_order_relaxed);
  for (;;) {
    std::size_t i = 0;
    while (i < max_helpers && ((taken >> i) & 1u) != 0) ++i;
    if (i == max_helpers) return;
    if (ex.helpers_.compare_exchange_weak(taken, taken | (1u << i), std::memory_order_acq_rel)) {
      slot_ = ex.workers() + i;
      break;
    }
  }
  identity& me = self();
  outer_of_ = me.of;
  outer_slot_ = me.slot;
  me = {&ex, slot_};
}

inline void detail::post_to(executor& on, detail::job* j) noexcept { on.post(j); }

inline executor::helper::~helper() {
  if (slot_ == none) return;
  self() = {outer_of_, outer_slot_};
  ex_.helpers_.fetch_and(~(1u << (slot_ - ex_.workers())), std::memory_order_acq_rel);
}

}  // namespace wick

namespace wick::detail {

class byte_budget;

/// Some bytes taken from a budget; given back when this is dropped, on any thread.
class [[nodiscard]] byte_charge {
 public:
  byte_charge() noexcept = default;
  byte_charge(byte_charge&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  /// Gives back what this held, at once.
  byte_charge& operator=(byte_charge&& other) noexcept {
    byte_charge old(std::move(other));
    std::swap(budget_, old.budget_);
    std::swap(bytes_, old.bytes_);
    return *this;
  }
  ~byte_charge() { reset(); }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Up to `n` bytes of this as a charge of their own.
  byte_charge split(std::size_t n) noexcept {
    n = std::min(n, bytes_);
    bytes_ -= n;
    return {budget_, n};
  }
  inline void reset() noexcept;
  explicit operator bool() const noexcept { return budget_ != nullptr; }

 private:
  friend class byte_budget;
  byte_charge(byte_budget* budget, std::size_t bytes) noexcept : budget_(budget), bytes_(bytes) {}
  byte_budget* budget_ = nullptr;
  std::size_t bytes_ = 0;
};

/// What one piece of work has taken from a budget, in several steps if need be; all of it is given back at
/// once. Several coroutines of that work may take at the same time.
class byte_account {
 public:
  byte_account() noexcept = default;
  byte_account(const byte_account&) = delete;
  byte_account& operator=(const byte_account&) = delete;
  ~byte_account() { give_back(); }
  /// Nobody may be taking.
  inline void give_back() noexcept;

 private:
  friend class byte_budget;
  byte_budget* budget_ = nullptr;  // null until something was taken
  std::size_t bytes_ = 0;          // this and the next under the budget's mutex
  std::size_t waiting_ = 0;
};

/// A number of bytes that many coroutines share. Whoever finds too little suspends; grants go to the lowest
/// turn first, since an ordered consumer waits for that one.
///
/// A small budget makes a pipeline slow and never stuck. Something larger than the whole budget is let
/// through when nothing else is out. When all bytes that are out belong to accounts that wait for more, one
/// of those is let through. And so is one when somebody waits and nothing is given back for `patience`, or
/// for a hundredth of it in which the executor is at rest (twice as long each time): whoever holds the bytes
/// may be waiting for it, for a lock of the user's perhaps. It is the lowest turn that holds some already,
/// since that one may have a lock and will give back; else the lowest.
///
/// Any thread may take and give back. Whoever gives back hands the bytes to those who wait before it returns,
/// and they go on on their executor, which must outlive the budget. The budget must outlive its charges and
/// accounts, and be destroyed when nobody waits. A cancelled waiter is not taken out of the queue: its turn
/// comes, and it gives the bytes back at once.
class byte_budget {
 public:
  using clock = timer::clock;

  explicit byte_budget(std::size_t limit, clock::duration patience = std::chrono::seconds(1)) noexcept
      : limit_(limit), patience_{patience, patience}, at_rest_{patience / 100, patience / 100} {}
  byte_budget(const byte_budget&) = delete;
  byte_budget& operator=(const byte_budget&) = delete;
  inline ~byte_budget();

  std::size_t limit() const noexcept { return limit_; }
  /// Bytes out at this moment, for reports: it may be old when it is looked at.
  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  /// The most that was ever out at one time.
  std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

  /// Takes at once or not at all; an empty charge means not. Any thread. Never overtakes one who waits.
  byte_charge try_acquire(std::size_t bytes) noexcept {
    std::lock_guard lock(mutex_);
    if (!waiting_.empty() || !(fits(bytes) || all_wait())) return {};
    take(bytes);
    return {this, bytes};
  }
  /// The same into an account.
  bool try_acquire(byte_account& into, std::size_t bytes) noexcept {
    std::lock_guard lock(mutex_);
    if (!waiting_.empty() || !(fits(bytes) || all_wait())) return false;
    take(bytes);
    credit(into, bytes);
    return true;
  }

  class waiter : protected job {
   public:
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      execute = [](job* j) noexcept { detail::resume(static_cast<waiter*>(j)->handle_); };
      return budget_->wait(this);
    }

   protected:
    waiter(byte_budget* budget, byte_account* into, executor& on, std::size_t bytes, turn at) noexcept
        : budget_(budget), into_(into), on_(&on), bytes_(bytes), turn_(at) {}
    byte_budget* budget_;

   private:
    friend class byte_budget;
    static bool later(const waiter* a, const waiter* b) noexcept { return a->turn_ > b->turn_; }
    byte_account* into_;  // null: for a charge
    executor* on_;
    std::size_t bytes_;
    turn turn_;
    std::coroutine_handle<> handle_;
    bool granted_ = false;

   protected:
    std::size_t bytes() const noexcept { return bytes_; }
    byte_account* into() const noexcept { return into_; }
  };

  class [[nodiscard]] acquire_awaiter : public waiter {
   public:
    bool await_ready() noexcept {
      at_once_ = budget_->try_acquire(bytes());
      return static_cast<bool>(at_once_);
    }
    byte_charge await_resume() noexcept {
      return at_once_ ? std::move(at_once_) : byte_charge(budget_, bytes());
    }

   private:
    friend class byte_budget;
    acquire_awaiter(byte_budget* budget, executor& on, std::size_t bytes, turn at) noexcept
        : waiter(budget, nullptr, on, bytes, at) {}
    byte_charge at_once_;
  };
  class [[nodiscard]] account_awaiter : public waiter {
   public:
    bool await_ready() noexcept { return budget_->try_acquire(*into(), bytes()); }
    void await_resume() const noexcept {}

   private:
    friend class byte_budget;
    account_awaiter(byte_budget* budget, byte_account& into, executor& on, std::size_t bytes,
                    turn at) noexcept
        : waiter(budget, &into, on, bytes, at) {}
  };

  /// `byte_charge c = co_await budget.acquire(on, n, turn)`: suspends until n bytes are free; resumes on
  /// `on`. Who takes charges and waits while holding one can wait for ever: use an account where there is
  /// more than one step. Awaiting throws std::bad_alloc.
  acquire_awaiter acquire(executor& on, std::size_t bytes, turn at) noexcept { return {this, on, bytes, at}; }
  /// `co_await budget.acquire(account, on, n, turn)`: n bytes more for `account`, which must outlive the
  /// wait.
  account_awaiter acquire(byte_account& into, executor& on, std::size_t bytes, turn at) noexcept {
    return {this, into, on, bytes, at};
  }

 private:
  friend class byte_charge;
  friend class byte_account;

  // ---- under the mutex ----

  /// All that is out belongs to those who wait for more.
  bool all_wait() const noexcept { return used_.load(std::memory_order_relaxed) <= idle_; }
  bool fits(std::size_t bytes) const noexcept {
    const std::size_t used = used_.load(std::memory_order_relaxed);
    return bytes <= limit_ && used <= limit_ - bytes;
  }
  void take(std::size_t bytes) noexcept {
    const std::size_t used = used_.load(std::memory_order_relaxed) + bytes;
    used_.store(used, std::memory_order_relaxed);
    if (used > peak_.load(std::memory_order_relaxed)) peak_.store(used, std::memory_order_relaxed);
  }
  void credit(byte_account& to, std::size_t bytes) noexcept {
    to.budget_ = this;
    to.bytes_ += bytes;
    if (to.waiting_ != 0) idle_ += bytes;
  }
  /// Serves the lowest turn, and puts it at the end of a list of jobs to be posted.
  void serve(job**& end) noexcept {
    std::pop_heap(waiting_.begin(), waiting_.end(), waiter::later);
    serve_last(end);
  }
  /// Serves one beyond the limit.
  void let_through(job**& end) noexcept {
    auto chosen = waiting_.end();
    for (auto w = waiting_.begin(); w != waiting_.end(); ++w) {
      const bool holds = (*w)->into_ != nullptr && (*w)->into_->bytes_ != 0;
      if (holds && (chosen == waiting_.end() || waiter::later(*chosen, *w))) chosen = w;
    }
    if (chosen == waiting_.end()) return serve(end);
    std::iter_swap(chosen, waiting_.end() - 1);
    std::make_heap(waiting_.begin(), waiting_.end() - 1, waiter::later);
    serve_last(end);
  }
  void serve_last(job**& end) noexcept {
    waiter* const w = waiting_.back();
    waiting_.pop_back();
    take(w->bytes_);
    if (w->into_ != nullptr) {
      if (--w->into_->waiting_ == 0) idle_ -= w->into_->bytes_;
      credit(*w->into_, w->bytes_);
    }
    w->granted_ = true;
    w->next = nullptr;
    *end = w;
    end = &w->next;
  }
  void serve_all_that_fit(job**& end) noexcept {
    while (!waiting_.empty()) {
      if (fits(waiting_.front()->bytes_)) {
        serve(end);
      } else if (all_wait()) {
        let_through(end);
      } else {
        return;
      }
    }
  }
  void watch(executor& on) noexcept {
    watch_.of = this;
    watch_.due = clock::now() + std::min(patience_.now, at_rest_.now);
    watch_.watches = true;
    watch_.place = timer::unseen;
    watch_.expired = [](timer* t, bool on_time) noexcept { static_cast<watch_timer*>(t)->of->look(on_time); };
    bool added = false;
    try {
      added = on.timers().add(watch_);
    } catch (...) {  // no thread to be had: nobody watches, then
    }
    watched_on_ = added ? &on : nullptr;
  }

  // ---- taking it ----

  static void post_all(job* first) noexcept {
    while (first != nullptr) {
      job* const j = std::exchange(first, first->next);
      static_cast<waiter*>(j)->on_->post(j);
    }
  }

  /// Whether `w` has to wait.
  bool wait(waiter* w) {
    job* granted = nullptr;
    job** end = &granted;
    bool waits = true;
    {
      std::lock_guard lock(mutex_);
      waiting_.push_back(w);
      std::push_heap(waiting_.begin(), waiting_.end(), waiter::later);
      if (w->into_ != nullptr && w->into_->waiting_++ == 0) idle_ += w->into_->bytes_;
      // Others may go on now: all that hold bytes may be waiting.
      serve_all_that_fit(end);
      if (w->granted_) {
        waits = false;
        job** at = &granted;
        while (*at != w) at = &(*at)->next;
        *at = w->next;
      } else if (watched_on_ == nullptr) {
        given_back_ = rested_ = false;
        since_ = clock::now();
        watch(*w->on_);
      }
    }
    post_all(granted);
    return waits;
  }

  void release(std::size_t bytes, byte_account* from = nullptr) noexcept {
    job* granted = nullptr;
    job** end = &granted;
    {
      std::lock_guard lock(mutex_);
      if (from != nullptr) bytes = std::exchange(from->bytes_, 0);
      used_.store(used_.load(std::memory_order_relaxed) - bytes, std::memory_order_relaxed);
      given_back_ = true;
      serve_all_that_fit(end);
    }
    post_all(granted);
  }

  /// On the timers' thread, now and then as long as somebody waits.
  void look(bool on_time) noexcept {
    job* granted = nullptr;
    job** end = &granted;
    {
      std::lock_guard lock(mutex_);
      if (!on_time || waiting_.empty()) {
        patience_.now = patience_.least;
        at_rest_.now = at_rest_.least;
        watched_on_ = nullptr;
        unwatched_.notify_all();
        return;
      }
      executor& on = *waiting_.front()->on_;
      const auto now = clock::now();
      const bool rests = on.at_rest();
      bool served = true;
      if (std::exchange(given_back_, false)) {
        patience_.shorter();
        at_rest_.shorter();
      } else if (rests && rested_ && now - since_ >= at_rest_.now) {
        let_through(end);
        at_rest_.longer();
      } else if (now - since_ >= patience_.now) {
        let_through(end);
        patience_.longer();
      } else {
        served = false;
      }
      if (served) since_ = now;
      rested_ = rests;
      watch(on);
      if (watched_on_ == nullptr) unwatched_.notify_all();
    }
    post_all(granted);
  }

  struct watch_timer : timer {
    byte_budget* of = nullptr;
  };
  /// How long nothing may be given back before one is let through: twice as long each time.
  struct span {
    clock::duration least, now = least;
    void longer() noexcept {
      if (now < std::chrono::seconds(60)) now *= 2;
    }
    void shorter() noexcept { now = std::max(now / 2, least); }
  };

  const detail::process_mark born_;
  const std::size_t limit_;
  std::mutex mutex_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> peak_{0};
  std::size_t idle_ = 0;          // of those used, held by accounts that wait
  std::vector<waiter*> waiting_;  // a heap, lowest turn on top

  span patience_, at_rest_;    // while the executor has something to do, and while it has not
  clock::time_point since_{};  // when bytes were given back or one was let through, as far as looked at
  bool given_back_ = false;    // since the last look
  bool rested_ = false;        // the executor at the last look
  executor* watched_on_ = nullptr;
  watch_timer watch_;
  detail::condition unwatched_;
};

inline byte_budget::~byte_budget() {
  if (born_.elsewhere()) return;  // a forked child has no timers
  std::unique_lock lock(mutex_);
  if (executor* const on = watched_on_; on != nullptr && on->timers().cancel(watch_)) return;
  unwatched_.wait(lock, [&] { return watched_on_ == nullptr; });
}

inline void byte_charge::reset() noexcept {
  if (budget_ != nullptr) std::exchange(budget_, nullptr)->release(std::exchange(bytes_, 0));
}
inline void byte_account::give_back() noexcept {
  if (budget_ != nullptr) std::exchange(budget_, nullptr)->release(0, this);
}

}  // namespace wick::detail

// ==== wick/run/stop_token.hpp
/// \file
/// Asking work to give up: a source that is told once, tokens that look, callbacks that are called.

namespace wick {

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
  std::atomic<std::uint32_t> calls{0};  // that are over; who waits for one sleeps on it
  unsigned waiting = 0;
  stop_node* first = nullptr;
  stop_node* last = nullptr;
  stop_node* running = nullptr;
  std::thread::id caller;
};

}  // namespace detail

/// What a wait throws when it is called off by a stop_token. Whoever catches it cleans up and ends soon.
class cancelled final : public std::exception {
 public:
  const char* what() const noexcept override { return "cancelled"; }
};

namespace detail {

class stop_source;
template <std::invocable F>
class stop_callback;

}  // namespace detail

/// Says whether work is asked to give up: context::stop() gives it. A pointer, copied for nothing. It must
/// not outlive its source. A default token never stops.
class stop_token {
 public:
  stop_token() noexcept = default;
  /// Any thread.
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

namespace detail {

/// The one who says stop. Not movable: tokens and callbacks point into it. All callbacks must be gone before
/// it is, and every call of request_stop must have returned. What was written before the stop is visible to
/// who sees it.
class stop_source {
 public:
  stop_source() = default;
  stop_source(const stop_source&) = delete;
  stop_source& operator=(const stop_source&) = delete;

  stop_token token() noexcept { return stop_token(&state_); }
  bool stop_requested() const noexcept { return state_.requested.load(std::memory_order_acquire); }

  /// Sets the flag and runs the callbacks on this thread, in the order of their registration. Any thread;
  /// only the first call does anything. Returns whether it was this one.
  bool request_stop() noexcept {
    std::unique_lock lock(state_.mutex);
    if (state_.requested.load(std::memory_order_relaxed)) return false;
    state_.requested.store(true, std::memory_order_release);
    state_.caller = std::this_thread::get_id();
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

/// Calls `f` once when stop is requested, at once if it already was. Its destructor returns only when `f` is
/// not running (or runs on this very thread), so what `f` refers to may go right after. `f` must not throw.
/// It may destroy its own callback or others and make new ones; no lock is held while it runs. Callbacks may
/// come and go on any thread; each takes a mutex for a moment.
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
    } else if (state_->running == this && state_->caller != std::this_thread::get_id()) {
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

/// A stop_source that is also stopped by another's token: for work within work, such as the siblings of a
/// when_any in a stage that may itself be told to give up. The other source must outlive it.
class linked_stop_source : public stop_source {
 public:
  explicit linked_stop_source(stop_token outer) : link_(outer, pass_on{this}) {}

 private:
  struct pass_on {
    stop_source* to;
    void operator()() const noexcept { to->request_stop(); }
  };
  stop_callback<pass_on> link_;  // destroyed first: waits until a stop that is being passed on has been
};

}  // namespace detail

}  // namespace wick

// ==== wick/run/task.hpp
/// \file
/// task<T>: a coroutine that starts when it is awaited and gives back one T or one exception.

// ==== wick/run/detail/frame_pool.hpp
/// \file
/// Memory for coroutine frames: free lists per thread and size class, and a depot between the threads, in
/// front of the heap.

#include <new>

namespace wick::detail {

#if defined(__SANITIZE_ADDRESS__) || defined(WICK_FRAMES_FROM_HEAP)
inline constexpr bool frames_from_heap = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool frames_from_heap = true;
#else
inline constexpr bool frames_from_heap = false;
#endif
#else
inline constexpr bool frames_from_heap = false;
#endif

/// Frames are made and dropped once a sample, mostly on the same thread and in few sizes, so a short list of
/// the last ones is warm and needs no lock. What one thread makes and another drops comes back by the depot,
/// a full list at a time (J. Bonwick, J. Adams: Magazines and Vmem, 2001). A thread keeps at most two lists a
/// size, the depot at most 1 MiB of each; the rest goes to the heap, and so does all that finds the depot in
/// use, so that nobody waits for it. Under AddressSanitizer, and where WICK_FRAMES_FROM_HEAP is defined (for
/// heap profilers), each frame goes back to the heap, so that the use of one that is gone is seen.
class frame_pool {
 public:
  static void* allocate(std::size_t size) {
    const std::size_t c = size_class(size);
    if (c >= classes || frames_from_heap) return ::operator new(size);
    lists& mine = of_this_thread().lists_[c];
    if (mine.first == nullptr && !refill(mine, c)) return ::operator new((c + 1) * granularity);
    --mine.count;
    return std::exchange(mine.first, mine.first->next);
  }

  static void release(void* memory, std::size_t size) noexcept {
    const std::size_t c = size_class(size);
    if (c >= classes || frames_from_heap) return ::operator delete(memory);
    lists& mine = of_this_thread().lists_[c];
    if (mine.count >= list_length && !make_room(mine, c)) return ::operator delete(memory);
    mine.first = ::new (memory) node{mine.first, nullptr};
    ++mine.count;
  }

  /// Gives back to the heap what the calling thread and the depot keep; for who counts memory.
  static void trim() noexcept {
    frame_pool& mine = of_this_thread();
    for (std::size_t c = 0; c < classes; ++c) {
      lists& l = mine.lists_[c];
      if (l.count != closed) l.count = 0;
      drop(std::exchange(l.first, nullptr));
      drop(std::exchange(l.full, nullptr));
      while (node* const list = depot::take(c)) drop(list);
    }
  }

 private:
  struct node {
    node* next;
    node* next_list;  // of the first of a list in the depot
  };
  struct lists {
    node* first = nullptr;  // `count` of them
    std::size_t count = 0;
    node* full = nullptr;  // list_length of them, or none
  };
  static constexpr std::size_t granularity = 64;
  static constexpr std::size_t classes = 32;  // up to 2 KiB
  static constexpr std::size_t list_length = 64, closed = ~std::size_t{0};

  static constexpr std::size_t size_class(std::size_t size) noexcept { return (size - 1) / granularity; }

  class depot {
   public:
    static node* take(std::size_t c) noexcept {
      depot& d = all()[c];
      if (!d.mutex_.try_lock()) return nullptr;
      node* const list = d.first_;
      if (list != nullptr) {
        d.first_ = list->next_list;
        --d.count_;
      }
      d.mutex_.unlock();
      return list;
    }
    static bool give(std::size_t c, node* list) noexcept {
      depot& d = all()[c];
      if (!d.mutex_.try_lock()) return false;
      const bool room = d.count_ * list_length * (c + 1) * granularity < (std::size_t{1} << 20);
      if (room) {
        list->next_list = std::exchange(d.first_, list);
        ++d.count_;
      }
      d.mutex_.unlock();
      return room;
    }

   private:
    static std::array<depot, classes>& all() noexcept {
      static constinit std::array<depot, classes> depots;
      return depots;
    }
    std::mutex mutex_;
    node* first_ = nullptr;
    std::size_t count_ = 0;
  };

  [[gnu::noinline]] static bool refill(lists& mine, std::size_t c) noexcept {
    if (mine.count == closed) return false;
    mine.first = mine.full != nullptr ? std::exchange(mine.full, nullptr) : depot::take(c);
    if (mine.first == nullptr) return false;
    mine.count = list_length;
    return true;
  }
  [[gnu::noinline]] static bool make_room(lists& mine, std::size_t c) noexcept {
    if (mine.count == closed || (mine.full != nullptr && !depot::give(c, mine.full))) return false;
    mine.full = std::exchange(mine.first, nullptr);
    mine.count = 0;
    return true;
  }

  constexpr frame_pool() noexcept = default;
  static void drop(node* list) noexcept {
    while (list != nullptr) ::operator delete(std::exchange(list, list->next));
  }
  void close() noexcept {
    for (lists& l : lists_) {
      drop(std::exchange(l.first, nullptr));
      drop(std::exchange(l.full, nullptr));
      l.count = closed;
    }
  }
  struct at_thread_end {
    frame_pool& pool;
    ~at_thread_end() { pool.close(); }
  };
  [[gnu::noinline]] static frame_pool& of_this_thread() noexcept {
    // The pool itself has no destructor: a static object may drop frames when this thread's locals are gone
    // already.
    thread_local frame_pool pool;
    thread_local const at_thread_end closer{pool};
    return pool;
  }

  std::array<lists, classes> lists_{};
};

/// A promise that derives from this takes its frame from the pool.
struct pooled_frame {
  static void* operator new(std::size_t size) { return frame_pool::allocate(size); }
  static void operator delete(void* memory, std::size_t size) noexcept { frame_pool::release(memory, size); }
};

}  // namespace wick::detail

namespace wick {

template <class T = void>
class task;

namespace detail {

/// Who has tasks that nobody awaits: told when one has ended, and then nothing of it is left.
struct task_owner {
  void (*ended)(task_owner*, std::exception_ptr) noexcept = nullptr;
};

/// A child that ends without having suspended tells its parent, which is right below it on the stack, by a
/// plain word: such a call costs no atomic. Else they meet at one atomic: whoever comes second knows that the
/// other is done, and goes on.
class task_promise_base : public pooled_frame {
 public:
  std::suspend_always initial_suspend() noexcept { return {}; }

  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    [[gnu::noinline]] void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      Promise& promise = self.promise();
      resumption& here = this_thread_resumption();
      if (here.innermost == promise.name_) {
        promise.ended_at_once_ = true;
        return;
      }
      if constexpr (requires { promise.owner_; }) {
        if (promise.owner_ != nullptr) return promise.end_for_owner(self);
      }
      resume_node* const parent = promise.parent_;
      if (promise.meets_parent()) resume_nested(here, *parent);
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() noexcept { return {}; }

  /// Runs this coroutine for a parent that is about to suspend; whether the parent must suspend indeed.
  bool start(resume_node& parent, std::coroutine_handle<> self) {
    parent_ = &parent;
    return run(self, [] {});
  }

 protected:
  /// The end: whether the parent has left already. If not nothing of this frame may be touched any more.
  bool meets_parent() noexcept {
    return state_.load(std::memory_order_acquire) == parent_left ||
           state_.exchange(done, std::memory_order_acq_rel) == parent_left;
  }
  void parent_has_left() noexcept { state_.store(parent_left, std::memory_order_relaxed); }

  /// Up to the first suspension, or soon on this thread when its stack is deep already. False when the
  /// coroutine has ended; else `leave` was called, before anybody is told of the end.
  template <class F>
  bool run(std::coroutine_handle<> self, F&& leave) {
    self_.handle = self;
    resumption& here = this_thread_resumption();
    if (here.stack != nullptr && here.stack->depth >= resume_stack::max_depth) {
      leave();
      parent_has_left();  // the same thread resumes both
      resume_nested(here, self_);
      return true;
    }
    const std::uint64_t outer = here.innermost;
    here.innermost = name_ = here.new_name();
    resume_nested(here, self_);
    here.innermost = outer;
    if (ended_at_once_) return false;
    leave();
    return state_.exchange(parent_left, std::memory_order_acq_rel) != done;
  }

 private:
  static constexpr std::uint32_t running = 0, parent_left = 1, done = 2;
  static constexpr std::uint64_t nobody = ~std::uint64_t{0};
  resume_node* parent_ = nullptr;
  resume_node self_;
  std::uint64_t name_ = nobody;
  std::atomic<std::uint32_t> state_{running};
  bool ended_at_once_ = false;
};

template <class T>
class task_promise final : public task_promise_base {
 public:
  inline task<T> get_return_object() noexcept;
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }
  template <class U = T>
    requires std::convertible_to<U&&, T>
  void return_value(U&& value) {
    if constexpr (std::is_reference_v<T>)
      value_ = std::addressof(value);
    else
      value_.emplace(std::forward<U>(value));
  }
  T take() {
    if (exception_) std::rethrow_exception(std::move(exception_));
    if constexpr (std::is_reference_v<T>)
      return static_cast<T>(*value_);
    else
      return std::move(*value_);
  }

 private:
  using stored = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, std::optional<T>>;
  stored value_{};
  std::exception_ptr exception_;
};

template <>
class task_promise<void> final : public task_promise_base, job {
 public:
  inline task<void> get_return_object() noexcept;
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }
  void return_void() noexcept {}
  void take() {
    if (exception_) std::rethrow_exception(std::move(exception_));
  }

  /// To be queued: it begins when the job is executed, and `owner` is told of its end. Keeps itself from now
  /// on.
  job* queued(task_owner& owner) noexcept {
    owner_ = &owner;
    parent_has_left();  // queueing publishes it
    execute = [](job* j) noexcept { resume(handle_of(static_cast<task_promise*>(j))); };
    return this;
  }
  /// Begins here, see run(). False when it has ended: take_exception(), and drop it. True: `leave` was
  /// called, it keeps itself from now on, and `owner` will be told of its end.
  template <class F>
  bool begin(task_owner& owner, F&& leave) {
    owner_ = &owner;
    return run(handle_of(this), std::forward<F>(leave));
  }
  std::exception_ptr take_exception() noexcept { return std::move(exception_); }

 private:
  friend task_promise_base::final_awaiter;
  static std::coroutine_handle<task_promise> handle_of(task_promise* p) noexcept {
    return std::coroutine_handle<task_promise>::from_promise(*p);
  }
  void end_for_owner(std::coroutine_handle<> self) noexcept {
    task_owner* const owner = owner_;
    if (!meets_parent()) return;
    std::exception_ptr thrown = std::move(exception_);
    self.destroy();  // and the parameters with it, which may refer to what the owner is about to drop
    owner->ended(owner, std::move(thrown));
  }

  task_owner* owner_ = nullptr;
  std::exception_ptr exception_;
};

}  // namespace detail

/// A lazy coroutine: it starts when it is awaited. Await it once: `auto x = co_await std::move(t);`, in a
/// statement of its own. Parameters of the coroutine go by value; a lambda coroutine has no captures (its
/// frame outlives them). Awaiting a task that does not suspend costs a call; a chain of any length takes a
/// bounded stack. Dropping a task that was not started drops its frame with the parameters in it; one that
/// was started is always awaited to its end. A default or moved-from task is empty and must not be awaited.
///
/// It belongs to one thread at a time, not always the same: what a child wrote is visible to its parent,
/// wherever each of them was resumed. The locals of a child are gone when it ends, its parameters and its
/// result when the task object is.
template <class T>
class [[nodiscard]] task {
 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;

  task() noexcept = default;
  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  /// Drops what this held, at once.
  task& operator=(task&& other) noexcept {
    task old(std::move(other));
    std::swap(handle_, old.handle_);
    return *this;
  }
  ~task() {
    if (handle_) handle_.destroy();
  }

  class awaiter {
   public:
    explicit awaiter(std::coroutine_handle<promise_type> child) noexcept : child_(child) {}
    bool await_ready() const noexcept { return false; }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> parent) {
      parent_.handle = parent;
      return child_.promise().start(parent_, child_);
    }
    T await_resume() { return child_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> child_;
    detail::resume_node parent_;
  };

  awaiter operator co_await() const& noexcept { return awaiter(handle_); }
  awaiter operator co_await() const&& noexcept { return awaiter(handle_); }

  explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

  /// For who runs tasks that nobody awaits: the promise, which keeps its frame from now on.
  promise_type& release() noexcept { return std::exchange(handle_, nullptr).promise(); }

 private:
  friend promise_type;
  explicit task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}
inline task<void> task_promise<void>::get_return_object() noexcept {
  return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

/// A coroutine that nobody awaits: it starts when its handle is resumed and frees itself at its end. Its body
/// must not throw.
struct detached {
  struct promise_type : pooled_frame {
    detached get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

}  // namespace detail

}  // namespace wick

// ==== wick/sample/random.hpp
/// \file
/// Random numbers that depend on where a sample stands, not on who draws them: Philox 4x32-10, counter-based.

#include <cmath>
#include <numbers>

namespace wick {

namespace detail {

/// Philox 4x32-10: a bijection of 128-bit counters under a 64-bit key.
/// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace detail

/// A stream of random numbers of its own for each (seed, epoch, position, stage): nothing to share, save or
/// lose. Models UniformRandomBitGenerator, so it feeds <random>'s distributions too; the members here give
/// the same numbers with every standard library, which <random>'s distributions don't. Positions up to 2^48,
/// epochs up to 2^32, stages up to 2^16; 2^34 numbers a stream.
class random_stream {
 public:
  using result_type = std::uint32_t;

  constexpr random_stream(std::uint64_t seed, std::uint64_t epoch, std::uint64_t position,
                          std::uint32_t stage) noexcept
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        counter_{0, static_cast<std::uint32_t>(position),
                 static_cast<std::uint32_t>((position >> 32) & 0xFFFFu) | (stage << 16),
                 static_cast<std::uint32_t>(epoch)} {}

  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return 0xFFFFFFFFu; }

  constexpr result_type operator()() noexcept {
    if (used_ == 4) {
      block_ = detail::philox4x32(counter_, key_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }

  /// Uniform in [0, 1), 53 bits.
  constexpr double uniform() noexcept {
    const std::uint64_t high = (*this)() >> 5, low = (*this)() >> 6;
    return static_cast<double>((high << 26) | low) * 0x1p-53;
  }
  /// Uniform in [low, high); low when the two are equal.
  constexpr double uniform(double low, double high) noexcept {
    const double x = low + (high - low) * uniform();
    return x < high ? x : low;  // the sum may have been rounded up to high
  }
  /// Uniform in [0, bound), without bias; bound ≥ 1. Lemire: "Fast random integer generation in an interval",
  /// 2019.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    if (bound <= 1) return 0;
    if (bound > 0xFFFFFFFFu) {
      const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % bound;
      for (;;) {
        const std::uint64_t high = (*this)();
        const std::uint64_t x = (high << 32) | (*this)();
        if (x < limit) return x % bound;
      }
    }
    const std::uint32_t b = static_cast<std::uint32_t>(bound);
    std::uint64_t product = std::uint64_t{(*this)()} * b;
    if (static_cast<std::uint32_t>(product) < b) {
      const std::uint32_t threshold = (0u - b) % b;
      while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{(*this)()} * b;
    }
    return product >> 32;
  }
  /// True with the probability given.
  constexpr bool bernoulli(double probability) noexcept { return uniform() < probability; }
  /// Normal with mean 0 and deviation 1 (Box and Muller, 1958).
  double normal() noexcept {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  std::uint32_t used_ = 4;
};

}  // namespace wick

namespace wick {

namespace detail {

/// Where a sample stands. Everything a stage draws or decides comes from these and from the data alone, so
/// that the same position gives the same bytes on any number of workers and ranks.
struct place {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  ///< in the epoch, counted over all ranks
  std::uint64_t index = 0;     ///< in the source
};

}  // namespace detail

/// What a stage may know of the sample in its hands, given by reference to every stage that asks for it.
/// Lives as long as the sample is on its way; a coroutine stage may keep the reference across its
/// suspensions.
class context {
 public:
  /// \param pass  which time through the data; samples of an earlier one come first where memory is short
  explicit context(detail::place where, executor* on = nullptr, detail::byte_budget* memory = nullptr,
                   stop_token stop = {}, std::uint64_t pass = 0) noexcept
      : where_(where), pass_(pass), executor_(on), memory_(memory), stop_(stop) {}
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

  /// The random stream of this sample in this stage. Two stages of a kind have streams of their own.
  random_stream& random() noexcept {
    if (random_stage_ != stage_) {
      random_ = random_stream(where_.seed, where_.epoch, where_.position, stage_);
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
    void await_resume() const noexcept {}

   private:
    friend class context;
    explicit reserve_awaiter(context& of, std::size_t bytes) noexcept {
      if (of.memory_ != nullptr)
        room_.emplace(of.memory_->acquire(of.reserved_, *of.executor_, bytes, {of.pass_, of.position()}));
    }
    std::optional<detail::byte_budget::account_awaiter> room_;
  };
  /// Waits until the loader's bound on memory has room for `bytes` more: `co_await c.reserve(n);` before a
  /// stage reads or makes something large, as read() does. They are the sample's until it is in its batch or
  /// has failed; nothing has to be given back. May be awaited again by a sample that has some, and by several
  /// coroutines of one sample at a time.
  reserve_awaiter reserve(std::size_t bytes) noexcept { return reserve_awaiter(*this, bytes); }
  /// The same at once or not at all.
  bool try_reserve(std::size_t bytes) noexcept {
    return memory_ == nullptr || memory_->try_acquire(reserved_, bytes);
  }
  /// The bound, in bytes; none in a context that a test made by hand.
  std::optional<std::size_t> memory_limit() const noexcept {
    if (memory_ == nullptr) return std::nullopt;
    return memory_->limit();
  }
  /// For the loader: the sample has ended.
  void give_back() noexcept { reserved_.give_back(); }

  /// For the loader: the number of the stage that is about to run.
  void enter(std::uint32_t stage) noexcept { stage_ = stage; }
  /// The number of the stage that runs, counted from 0 over the whole pipeline.
  std::uint32_t stage() const noexcept { return stage_; }
  /// For the loader: on to the next sample.
  void move_to(detail::place where) noexcept {
    reserved_.give_back();
    where_ = where;
    random_stage_ = ~0u;
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
  std::uint64_t pass_;  // not the epoch, which may be gone through twice
  std::uint32_t stage_ = 0;
  std::uint32_t random_stage_ = ~0u;
  random_stream random_{0, 0, 0, 0};
  executor* executor_;
  detail::byte_budget* memory_;
  detail::byte_account reserved_;
  stop_token stop_;
};

}  // namespace wick

namespace wick::detail {

// ---- awaiting ----

template <class A>
struct awaited {
  using type = A;
};
template <awaitable A>
struct awaited<A> {
  using type = await_result_t<A>;
};
/// What `co_await` gives of an awaitable; the type itself for anything else.
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
/// Its call operator is a template (a lambda of `auto`) or there are several.
template <class F>
concept generic_callable = std::is_class_v<F> && !std::is_final_v<F> && !requires { &F::operator(); } &&
                           !requires { &beside_call<F>::operator(); };

template <class F>
struct beside_anything : F {
  using F::operator();
  void operator()(...);
};
/// Whether F takes these. A body whose return type is to be deduced is compiled as soon as anything asks what
/// a call gives, and an error in it is an error there and then, in each form that is tried. So it is not
/// asked here: beside a call operator that fits less well by its arguments, and better by its object, one
/// that fits at all makes the call ambiguous. (One that is not const is not seen so, and is asked.)
template <class F, class... A>
concept accepts = (generic_callable<F> && !requires(beside_anything<F>& f) { f(std::declval<A>()...); }) ||
                  gives_a_result<F, A...>;

// ---- choosing ----

/// In which form a callable is given an X. `broken`: it takes one, and does not compile with it.
enum class form { none, broken, by_adl, moved_with_context, moved, kept_with_context, kept };

template <class F, class X>
concept applied_by_adl = requires(F& f, X&& x, context& c) { apply_stage(f, std::forward<X>(x), c); };

/// What gives nothing back must take the item by reference or as a copy, since the item goes on afterwards.
template <class F, class X, class... Context>
consteval form form_with(form moved, form kept) {
  if constexpr (accepts<F, X, Context...>) {
    // The body is compiled here for the first time. (Not by a concept, which clang tells the way through.)
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

/// Calls it. What returns nothing (or a task of nothing) is called with the item itself, which goes on
/// afterwards.
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

/// Calls it as form_of() says it can't be: g++ says why where it has not yet.
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

// ==== wick/sample/sample.hpp
/// \file
/// What travels from stage to stage: a sample, and the bytes of one as they lie on disk.

#include <cstring>
#include <span>

namespace wick {

/// One training sample, or (after batch) one batch of them: the input of the model and what it should answer.
/// Built-in stages work on `data` and carry `target` along untouched.
template <class Data, class Target = std::int64_t>
struct sample {
  using data_type = Data;
  using target_type = Target;
  Data data;      ///< the input of the model: where a picture lies, its bytes, its pixels, a tensor
  Target target;  ///< the answer: a class number, or what the source or a stage says
};

namespace detail {

template <class T>
inline constexpr bool is_sample = false;
template <class D, class T>
inline constexpr bool is_sample<sample<D, T>> = true;

/// What data becomes by the stage that is forgotten most easily, for messages: by read() where it only says
/// where bytes lie, by decode() where it is bytes; void where there is no such stage.
template <class T>
struct once_read {
  using type = void;
};
template <class T>
struct once_decoded {
  using type = void;
};
/// Whether it is what batches are made of: a tensor or an array.
template <class T>
inline constexpr bool is_column = false;

}  // namespace detail

/// Encoded bytes of one sample (a JPEG, a text, …), owned and not initialized on creation.
class bytes {
 public:
  bytes() noexcept = default;
  /// \throws std::bad_alloc
  explicit bytes(std::size_t size) : size_(size) {
    if (size != 0 && (data_ = static_cast<std::byte*>(std::malloc(size))) == nullptr) throw std::bad_alloc();
  }
  bytes(const void* data, std::size_t size) : bytes(size) {
    if (size != 0) std::memcpy(data_, data, size);
  }
  bytes(bytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  bytes& operator=(bytes&& other) noexcept {
    bytes taken(std::move(other));  // what this held is dropped here, not with `other`
    std::swap(data_, taken.data_);
    std::swap(size_, taken.size_);
    return *this;
  }
  ~bytes() { std::free(data_); }

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::span<const std::byte> span() const noexcept { return {data_, size_}; }
  /// The bytes as characters.
  std::string_view text() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }
  /// Forgets what lies behind the first `size` bytes (a file that was shorter than it said).
  void shrink(std::size_t size) noexcept { size_ = size < size_ ? size : size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace wick

// ==== wick/sample/stage.hpp
/// \file
/// What makes a type a stage, and of which kind.

namespace wick {

/// The kind of a stage that maps positions to indexes of the source, before anything is read: see
/// order_stage.
struct on_order {};
/// The kind of a stage that takes the whole item: `operator()(item)` or `operator()(item, context&)`.
struct on_sample {};
/// The kind of a stage that takes the item's `data` (or the item itself, when it is no `sample<>`), and
/// leaves its `target` alone.
struct on_data {};

namespace detail {

struct on_sample_or_data {};  ///< the item or its data, whichever it takes: what a callable becomes
struct on_batching {};        ///< makes batches of samples

}  // namespace detail

/// The kind of a stage that takes a whole batch, behind batch().
struct on_batch {};

/// What makes a type a stage: it has a name, which errors and the report show, and says its kind:
/// `static constexpr std::string_view name = "crop"; using stage_kind = wick::on_data;`. The kind says what
/// its call operator takes. A callable becomes a stage by itself and needs none of this.
template <class S>
concept stage = requires {
  typename std::remove_cvref_t<S>::stage_kind;
  { std::remove_cvref_t<S>::name } -> std::convertible_to<std::string_view>;
};

namespace detail {

template <class S, class Kind>
concept stage_of = stage<S> && std::same_as<typename std::remove_cvref_t<S>::stage_kind, Kind>;

}  // namespace detail

class executor;

/// What a stage may have beside its call operator. A stage lists the hooks that it has:
/// `using stage_hooks = wick::hooks<wick::hook::fingerprint, wick::hook::note>;`. A hook that is listed and
/// missing, misspelt or of another type is a compile error, and so is a member of a hook's name that is not
/// listed.
template <class... H>
struct hooks {};

namespace hook {
/// `std::string_view label() const`: its name in messages and reports, in place of `name`.
struct label {};
/// `std::uint64_t fingerprint() const`: of the parameters that change its samples. A state is refused where
/// it differs.
struct fingerprint {};
/// `std::string note() const`: a line for the report; an empty one is left out.
struct note {};
/// `void attach(executor&)`: called once, by the loader that takes the stage over.
struct attach {};
/// `template <class Came, class... Before> static consteval bool check()`: whether it fits behind these
/// stages, which give it a Came; where it doesn't, a static_assert in it says why.
struct check {};
/// `std::shared_ptr<slab_memory> slab_memory()`, of a batch stage: where batches lie.
struct slab_memory {};
/// `auto around(Batch batch, Rest&& rest) const`, of a batch stage: it calls the stages behind it itself, by
/// `rest(batch)`.
struct around {};
/// `void deliver(Batch&) const`, of a batch stage: called by the thread that takes the batch.
struct deliver {};
}  // namespace hook

namespace detail {

template <class S>
struct hooks_of {
  using type = hooks<>;
};
template <class S>
  requires requires { typename S::stage_hooks; }
struct hooks_of<S> {
  using type = typename S::stage_hooks;
};
template <class H, class List>
inline constexpr bool is_listed = false;
template <class H, class... L>
inline constexpr bool is_listed<H, hooks<L...>> = (std::same_as<H, L> || ...);

template <class S, class H>
concept has_hook = is_listed<H, typename hooks_of<std::remove_cvref_t<S>>::type>;

// Whether a class has a member of a name, whatever it is: looked up beside another one of that name it is
// ambiguous.
struct member_label {
  int label;
};
template <class S>
struct beside_label : S, member_label {};
template <class S>
concept names_label = !std::is_final_v<S> && !requires { &beside_label<S>::label; };
struct member_fingerprint {
  int fingerprint;
};
template <class S>
struct beside_fingerprint : S, member_fingerprint {};
template <class S>
concept names_fingerprint = !std::is_final_v<S> && !requires { &beside_fingerprint<S>::fingerprint; };
struct member_note {
  int note;
};
template <class S>
struct beside_note : S, member_note {};
template <class S>
concept names_note = !std::is_final_v<S> && !requires { &beside_note<S>::note; };
struct member_attach {
  int attach;
};
template <class S>
struct beside_attach : S, member_attach {};
template <class S>
concept names_attach = !std::is_final_v<S> && !requires { &beside_attach<S>::attach; };
struct member_check {
  int check;
};
template <class S>
struct beside_check : S, member_check {};
template <class S>
concept names_check = !std::is_final_v<S> && !requires { &beside_check<S>::check; };
struct member_slab_memory {
  int slab_memory;
};
template <class S>
struct beside_slab_memory : S, member_slab_memory {};
template <class S>
concept names_slab_memory = !std::is_final_v<S> && !requires { &beside_slab_memory<S>::slab_memory; };
struct member_around {
  int around;
};
template <class S>
struct beside_around : S, member_around {};
template <class S>
concept names_around = !std::is_final_v<S> && !requires { &beside_around<S>::around; };
struct member_deliver {
  int deliver;
};
template <class S>
struct beside_deliver : S, member_deliver {};
template <class S>
concept names_deliver = !std::is_final_v<S> && !requires { &beside_deliver<S>::deliver; };

/// Whether the hooks of a stage are listed, and are what they should be; says so where not.
template <class S>
consteval bool check_hooks() {
  constexpr bool known = []<class... H>(hooks<H...>) {
    return (is_listed<H, hooks<hook::label, hook::fingerprint, hook::note, hook::attach, hook::check,
                               hook::slab_memory, hook::around, hook::deliver>> &&
            ...);
  }(typename hooks_of<S>::type{});
  static_assert(known,
                "wick: stage_hooks of this stage lists a type that is no hook; see namespace wick::hook");
  constexpr bool label_there = !has_hook<S, hook::label> || requires(const S& s) {
    { s.label() } -> std::convertible_to<std::string_view>;
  };
  static_assert(label_there,
                "wick: stage_hooks of this stage lists hook::label, and there is no `std::string_view "
                "label() const`; write it, or take the hook off the list");
  constexpr bool label_listed = has_hook<S, hook::label> || !names_label<S>;
  static_assert(label_listed,
                "wick: this stage has a member label and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::label>;`, or give the member another name");
  constexpr bool fingerprint_there = !has_hook<S, hook::fingerprint> || requires(const S& s) {
    { s.fingerprint() } -> std::convertible_to<std::uint64_t>;
  };
  static_assert(fingerprint_there,
                "wick: stage_hooks of this stage lists hook::fingerprint, and there is no `std::uint64_t "
                "fingerprint() const`; write it, or take the hook off the list");
  constexpr bool fingerprint_listed = has_hook<S, hook::fingerprint> || !names_fingerprint<S>;
  static_assert(fingerprint_listed,
                "wick: this stage has a member fingerprint and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::fingerprint>;`, or give the member another name");
  constexpr bool note_there = !has_hook<S, hook::note> || requires(const S& s) {
    { s.note() } -> std::convertible_to<std::string>;
  };
  static_assert(note_there,
                "wick: stage_hooks of this stage lists hook::note, and there is no `std::string note() "
                "const`; write it, or take the hook off the list");
  constexpr bool note_listed = has_hook<S, hook::note> || !names_note<S>;
  static_assert(note_listed,
                "wick: this stage has a member note and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::note>;`, or give the member another name");
  constexpr bool attach_there = !has_hook<S, hook::attach> || requires(S& s, executor& on) { s.attach(on); };
  static_assert(attach_there,
                "wick: stage_hooks of this stage lists hook::attach, and there is no `void "
                "attach(wick::executor&)`; write it, or take the hook off the list");
  constexpr bool attach_listed = has_hook<S, hook::attach> || !names_attach<S>;
  static_assert(attach_listed,
                "wick: this stage has a member attach and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::attach>;`, or give the member another name");
  constexpr bool check_there = !has_hook<S, hook::check> || names_check<S>;
  static_assert(check_there,
                "wick: stage_hooks of this stage lists hook::check, and it has no member check; write it, or "
                "take the hook off the list");
  constexpr bool check_listed = has_hook<S, hook::check> || !names_check<S>;
  static_assert(check_listed,
                "wick: this stage has a member check and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::check>;`, or give the member another name");
  constexpr bool slab_memory_there = !has_hook<S, hook::slab_memory> || names_slab_memory<S>;
  static_assert(slab_memory_there,
                "wick: stage_hooks of this stage lists hook::slab_memory, and it has no member slab_memory; "
                "write it, or take the hook off the list");
  constexpr bool slab_memory_listed = has_hook<S, hook::slab_memory> || !names_slab_memory<S>;
  static_assert(slab_memory_listed,
                "wick: this stage has a member slab_memory and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::slab_memory>;`, or give the member another name");
  constexpr bool around_there = !has_hook<S, hook::around> || names_around<S>;
  static_assert(around_there,
                "wick: stage_hooks of this stage lists hook::around, and it has no member around; write it, "
                "or take the hook off the list");
  constexpr bool around_listed = has_hook<S, hook::around> || !names_around<S>;
  static_assert(around_listed,
                "wick: this stage has a member around and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::around>;`, or give the member another name");
  constexpr bool deliver_there = !has_hook<S, hook::deliver> || names_deliver<S>;
  static_assert(deliver_there,
                "wick: stage_hooks of this stage lists hook::deliver, and it has no member deliver; write "
                "it, or take the hook off the list");
  constexpr bool deliver_listed = has_hook<S, hook::deliver> || !names_deliver<S>;
  static_assert(deliver_listed,
                "wick: this stage has a member deliver and does not list it; write `using stage_hooks = "
                "wick::hooks<wick::hook::deliver>;`, or give the member another name");
  return known && label_there && label_listed && fingerprint_there && fingerprint_listed && note_there &&
         note_listed && attach_there && attach_listed && check_there && check_listed && slab_memory_there &&
         slab_memory_listed && around_there && around_listed && deliver_there && deliver_listed;
}

}  // namespace detail

/// An order stage says how many positions it leaves of n, and gives for one epoch a function from its
/// positions to those before it. The function is copied into each batch and called by all workers. One that
/// is faster for many positions has `map(std::uint64_t* positions, std::size_t count)` too, which does them
/// in place. Parameters that decide what stands where are told by `std::uint64_t fingerprint() const`, so
/// that a resume with others is refused.
template <class S>
concept order_stage = detail::stage_of<S, on_order> && requires(const S& s, std::uint64_t n) {
  { s.size(n) } -> std::convertible_to<std::uint64_t>;
  { s.prepare(n, n, n, std::uint32_t{})(n) } -> std::convertible_to<std::uint64_t>;
  requires std::default_initializable<decltype(s.prepare(n, n, n, std::uint32_t{}))>;
};

}  // namespace wick

namespace wick::detail {

// ---- calling ----

/// What is called in the end: the callable of a stage that only carries one.
template <class S>
struct callee {
  using type = S;
  static S& of(S& s) noexcept { return s; }
};
template <class S>
  requires requires { typename S::callable_type; }
struct callee<S> {
  using type = typename S::callable_type;
  static type& of(S& s) noexcept { return s.callable(); }
};
template <class S, class X>
decltype(auto) call(S& s, X& x, context& c) {
  return call_with(callee<S>::of(s), x, c);
}
template <class S, class X>
using raw_result = decltype(call(std::declval<S&>(), std::declval<X&>(), std::declval<context&>()));

// ---- lazy values ----

/// A value that stands for another not yet made (a picture not yet decoded): a stage that wants the other
/// gets it.
template <class T>
concept lazy = requires(T t) {
  typename T::materialized_type;
  { std::move(t).materialize() } -> std::same_as<typename T::materialized_type>;
};
template <class T>
struct materialized {
  using type = T;
  static T make(T&& t) { return std::move(t); }
};
template <>
struct materialized<void> {
  using type = void;
};
template <lazy T>
struct materialized<T> {
  using type = typename T::materialized_type;
  static type make(T&& t) { return std::move(t).materialize(); }
};
template <lazy D, class T>
struct materialized<sample<D, T>> {
  using type = sample<typename D::materialized_type, T>;
  static type make(sample<D, T>&& s) { return {std::move(s.data).materialize(), std::move(s.target)}; }
};
template <class T>
using materialized_t = typename materialized<T>::type;

// ---- choosing ----

enum class way { none, whole, data, materialized_whole, materialized_data };

template <class Item>
struct data_of {
  using type = void;
};
template <class D, class T>
struct data_of<sample<D, T>> {
  using type = D;
};

/// A stage is not asked for what it is not meant for: none takes void.
template <class S, class Item>
consteval way way_of() {
  using callable = typename callee<S>::type;
  constexpr bool on_whole = !stage_of<S, on_data> || !is_sample<Item>;
  using whole = std::conditional_t<on_whole, Item, void>;
  using data = std::conditional_t<!stage_of<S, on_sample>, typename data_of<Item>::type, void>;
  if constexpr (form_of<callable, whole>() != form::none)
    return way::whole;
  else if constexpr (form_of<callable, data>() != form::none)
    return way::data;
  else if constexpr (form_of<callable, materialized_t<whole>>() != form::none)
    return way::materialized_whole;
  else if constexpr (form_of<callable, materialized_t<data>>() != form::none)
    return way::materialized_data;
  else
    return way::none;
}

/// What a stage is called with, by each way.
template <class Item, way W>
struct argument_by {
  using type = Item;
};
template <class Item>
struct argument_by<Item, way::data> {
  using type = typename data_of<Item>::type;
};
template <class Item>
struct argument_by<Item, way::materialized_whole> {
  using type = materialized_t<Item>;
};
template <class Item>
struct argument_by<Item, way::materialized_data> {
  using type = materialized_t<typename data_of<Item>::type>;
};

template <class R, class Item>
using or_item = std::conditional_t<std::is_void_v<R>, Item, std::remove_cvref_t<R>>;

/// What stage S makes of an Item: `argument` is what it is called with, `raw` what it returns, `type` the
/// next item.
template <class S, class Item, way W = way_of<S, Item>()>
struct application;
template <class S, class Item>
struct application<S, Item, way::none> {
  using type = void;
  static constexpr bool async = false;
};
template <class S, class Item>
struct application<S, Item, way::whole> {
  using raw = raw_result<S, Item>;
  static constexpr bool async = awaitable<raw>;
  using type = or_item<value_once_awaited_t<raw>, Item>;
  static Item prepare(Item&& item) { return std::move(item); }
  static Item& argument(Item& item) { return item; }
};
template <class S, class Item>
struct application<S, Item, way::data> {
  using raw = raw_result<S, typename Item::data_type>;
  static constexpr bool async = awaitable<raw>;
  using type =
      sample<or_item<value_once_awaited_t<raw>, typename Item::data_type>, typename Item::target_type>;
  static Item prepare(Item&& item) { return std::move(item); }
  static typename Item::data_type& argument(Item& item) { return item.data; }
};
template <class S, class Item>
struct application<S, Item, way::materialized_whole> : application<S, materialized_t<Item>, way::whole> {
  static materialized_t<Item> prepare(Item&& item) { return materialized<Item>::make(std::move(item)); }
};
template <class S, class Item>
struct application<S, Item, way::materialized_data> : application<S, materialized_t<Item>, way::data> {
  static materialized_t<Item> prepare(Item&& item) { return materialized<Item>::make(std::move(item)); }
};

template <class S, class Item>
using next_item = typename application<S, Item>::type;
template <class S, class Item>
inline constexpr bool is_async = application<S, Item>::async;

/// Puts a stage's result in the place of what it was called with.
template <class Next, class Item, class R>
Next rebuild(Item&& item, R&& result) {
  if constexpr (std::is_same_v<Next, std::remove_cvref_t<R>>) {
    return std::forward<R>(result);
  } else {
    return Next{std::forward<R>(result), std::move(item.target)};
  }
}

/// Applies a stage that does not suspend.
template <class S, class Item>
next_item<S, Item> apply(S& s, Item&& item, context& c) {
  using how = application<S, std::remove_cvref_t<Item>>;
  using next = typename how::type;
  decltype(auto) prepared = how::prepare(std::move(item));
  if constexpr (std::is_void_v<typename how::raw>) {
    call(s, how::argument(prepared), c);
    return next(std::move(prepared));
  } else {
    return rebuild<next>(std::move(prepared), call(s, how::argument(prepared), c));
  }
}

/// Applies one that does.
template <class S, class Item>
task<next_item<S, Item>> apply_async(S* s, Item item, context* c) {
  using how = application<S, Item>;
  using next = typename how::type;
  auto prepared = how::prepare(std::move(item));
  auto operation = call(*s, how::argument(prepared), *c);
  if constexpr (std::is_void_v<value_once_awaited_t<typename how::raw>>) {
    co_await std::move(operation);
    co_return next(std::move(prepared));
  } else {
    auto result = co_await std::move(operation);
    co_return rebuild<next>(std::move(prepared), std::move(result));
  }
}

template <class S>
std::string_view stage_name(const S& s) noexcept {
  if constexpr (has_hook<S, hook::label>)
    return s.label();
  else
    return S::name;
}

}  // namespace wick::detail

// ==== wick/pipeline/detail/why_not.hpp
/// \file
/// Why a stage does not take what comes: the mistake that is most likely, told from the types. Nothing of it
/// is compiled for a pipeline that is right.

namespace wick::detail {

enum class reason {
  not_read,
  not_read_and_decoded,
  not_decoded,
  batched,
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

template <class T>
inline constexpr bool has_column = is_column<T>;
template <class D, class T>
inline constexpr bool has_column<sample<D, T>> = is_column<D> || is_column<T>;

template <class Stage, class Came, bool Batched>
consteval reason why_not() {
  using callable = typename callee<Stage>::type;
  using data = std::conditional_t<is_sample<Came>, typename data_of<Came>::type, Came>;
  using read_type = typename once_read<data>::type;
  // Asked for when it is known, which is later than here.
  using decoded_type = typename once_decoded<std::enable_if_t<!std::is_void_v<Came>, bytes>>::type;
  if constexpr (would_take<Stage, Came, read_type>())
    return reason::not_read;
  else if constexpr (std::is_same_v<read_type, bytes> && would_take<Stage, Came, decoded_type>())
    return reason::not_read_and_decoded;
  else if constexpr (std::is_same_v<data, bytes> && would_take<Stage, Came, decoded_type>())
    return reason::not_decoded;
  else if constexpr (Batched && would_take<Stage, Came, decoded_type>())
    return reason::batched;
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

// ==== wick/sample/fingerprint.hpp
/// \file
/// A number that says which data and which pipeline: what a resume compares before it goes on.

namespace wick {

/// Adds up names, sizes and labels to 64 bits, the same in every run and, for the same bytes, on every
/// machine. Each addition counts with its length, so {"ab", "c"} and {"a", "bc"} differ. Against accidents,
/// not against attackers.
class fingerprint_hash {
 public:
  constexpr fingerprint_hash& add(std::uint64_t value) noexcept {
    state_ = (state_ ^ value) * 0x9E3779B97F4A7C15u;  // both steps can be undone: no addition forgets another
    state_ ^= state_ >> 29;
    return *this;
  }
  fingerprint_hash& add(std::string_view text) noexcept { return add(text.data(), text.size()); }
  /// About 4 GB/s.
  fingerprint_hash& add(const void* data, std::size_t size) noexcept {
    const auto* bytes = static_cast<const unsigned char*>(data);
    add(std::uint64_t{size});
    for (; size >= 8; bytes += 8, size -= 8) add(word(bytes, 8));
    if (size != 0) add(word(bytes, size));
    return *this;
  }
  /// The hash of all that was added so far (the finaliser of MurmurHash3).
  constexpr std::uint64_t value() const noexcept {
    std::uint64_t h = state_;
    h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCDu;
    h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53u;
    return h ^ (h >> 33);
  }

  /// For a stage's `fingerprint()`: of all parameters that decide what becomes of a sample. Numbers,
  /// enumerators and arrays of them; those that only decide which samples are refused stay out, so that a
  /// training can go on with others.
  template <class... T>
  static constexpr std::uint64_t of(const T&... values) noexcept;

 private:
  static std::uint64_t word(const unsigned char* bytes, std::size_t size) noexcept {
    std::uint64_t value = 0;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&value, bytes, size);
    } else {
      for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
    }
    return value;
  }

  std::uint64_t state_ = 0x77636B;
};

namespace detail {
template <class T>
constexpr void add_parameter(fingerprint_hash& h, const T& value) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    h.add(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
  } else {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>,
                  "wick: parameters are numbers, enumerators and std::array of them; add anything else to a "
                  "fingerprint_hash");
    h.add(static_cast<std::uint64_t>(value));
  }
}
template <class T, std::size_t N>
constexpr void add_parameter(fingerprint_hash& h, const std::array<T, N>& values) noexcept {
  for (const T& v : values) add_parameter(h, v);
}

/// It says itself what it was made with.
template <class F>
concept has_parameters = requires(const F& f) {
  { f.fingerprint() } -> std::convertible_to<std::uint64_t>;
};
}  // namespace detail

template <class... T>
constexpr std::uint64_t fingerprint_hash::of(const T&... values) noexcept {
  fingerprint_hash h;
  (detail::add_parameter(h, values), ...);
  return h.value();
}

}  // namespace wick

// ==== wick/sample/source.hpp
/// \file
/// What makes a type a source: it knows every sample and reads none. Where each sample's journey begins.

namespace wick {

/// Random access to descriptions of samples: `size()`, and `at(i)` for i in [0, size()). All workers call
/// `at` at once and for every sample, so it must be const in fact, cheap, and without I/O; what it returns
/// may point into the source, which outlives it. May have besides: `std::string key(i) const`, the sample's
/// name in error messages; `void prefetch(i, std::size_t most) const noexcept`, a hint that `at(i)` comes
/// soon, which calls prefetch_bytes with `most`; `std::uint64_t fingerprint() const`, which differs when the
/// data does (a resume onto other data is refused).
///
/// What a loader has is not changed under it: its workers look at the source from the first epoch() or next()
/// on until the loader is gone, also between two epochs, when they make the next one's first batches. With
/// loader_options::prefetch_next_epoch = false nobody looks at it between the last batch of an epoch that was
/// taken to its end and the next epoch(): there its samples may be exchanged, moved in memory, written anew.
/// Their number stays that with which the loader was made, or epoch() throws; data that grows gets a new
/// loader. size() is called by the thread that takes the batches, at epoch() and when it makes room for the
/// next epoch's first batch.
template <class S>
concept source = requires(const std::remove_cvref_t<S>& s, std::uint64_t i) {
  { s.size() } -> std::convertible_to<std::uint64_t>;
  s.at(i);
  requires !std::is_void_v<decltype(s.at(i))>;
};

namespace detail {

/// What travels: `at(i)`'s type as a value.
template <source S>
using item_of =
    std::remove_cvref_t<decltype(std::declval<const std::remove_cvref_t<S>&>().at(std::uint64_t{}))>;

/// The sample's name in messages: what the source calls it, else "sample 1234".
template <source S>
std::string key_of(const S& from, std::uint64_t i) {
  if constexpr (requires { std::string(from.key(i)); }) {
    return std::string(from.key(i));
  } else {
    return "sample " + std::to_string(i);
  }
}

}  // namespace detail

/// Fetches into all levels of the cache what is soon read: the first `most` bytes of it. For a source's
/// prefetch().
inline void prefetch_bytes(const void* at, std::size_t bytes, std::size_t most) noexcept {
  const auto* p = static_cast<const char*>(at);
  const std::size_t near = bytes < most ? bytes : most;
  for (std::size_t offset = 0; offset < near; offset += 64) __builtin_prefetch(p + offset, 0, 3);
  if (near != 0) __builtin_prefetch(p + near - 1, 0, 3);  // it need not begin where a cache line does
  // g++ takes a function that does nothing but prefetch for one without effect, and leaves out calls of it.
  asm volatile("");
}

namespace detail {

template <class S>
concept prefetching_source =
    source<S> && requires(const S& s, std::uint64_t i, std::size_t most) { s.prefetch(i, most); };

/// Asks the source to bring sample i closer, if it can: up to `most` bytes of each part.
template <source S>
void prefetch_sample(const S& from, std::uint64_t i, std::size_t most) noexcept {
  if constexpr (prefetching_source<S>) from.prefetch(i, most);
}

/// What identifies the data: what the source says, else a hash of its size alone.
template <source S>
std::uint64_t fingerprint_of(const S& from) {
  if constexpr (requires {
                  { from.fingerprint() } -> std::convertible_to<std::uint64_t>;
                }) {
    return from.fingerprint();
  } else {
    return fingerprint_hash().add(static_cast<std::uint64_t>(from.size())).value();
  }
}

}  // namespace detail

}  // namespace wick

namespace wick {

namespace detail {

/// A user's callable as a stage.
template <class F>
class map_stage {
 public:
  using stage_kind = on_sample_or_data;
  using stage_hooks = hooks<hook::label, hook::fingerprint>;
  static constexpr std::string_view name = "map";
  explicit map_stage(F f, std::string label = "map") : f_(std::move(f)), label_(std::move(label)) {}
  std::string_view label() const noexcept { return label_; }
  /// What is called in this one's place.
  using callable_type = F;
  F& callable() noexcept { return f_; }
  /// A callable that has parameters may have a fingerprint of them, as any stage.
  std::uint64_t fingerprint() const {
    if constexpr (detail::has_parameters<F>)
      return f_.fingerprint();
    else
      return 0;
  }

 private:
  F f_;
  std::string label_;
};

/// Some stages without a source: a value that can be named, kept and put into several pipelines.
template <stage... Stages>
struct chain {
  std::tuple<Stages...> stages;
};

}  // namespace detail

/// A source and what is done with its samples.
template <source Source, stage... Stages>
struct pipeline {
  Source origin;                 ///< as it was given
  std::tuple<Stages...> stages;  ///< in their order
};

namespace detail {

template <class T>
inline constexpr bool is_chain = false;
template <class... S>
inline constexpr bool is_chain<chain<S...>> = true;
template <class T>
inline constexpr bool is_pipeline = false;
template <class Src, class... S>
inline constexpr bool is_pipeline<pipeline<Src, S...>> = true;

}  // namespace detail

/// A callable as a stage, with a name for errors and the report: `map(f)`, `map("tokenize", f)`. f takes the
/// item, or the data of a `sample<>`, and a `context&` if it wants; it returns the next item, or a task of
/// it. It is called by all workers at once: what it changes must be safe for that (see per_worker). It lives
/// in the loader, and may outlive the function that wrote it: capture by value what it needs, or by reference
/// only what outlives the loader; no compiler and no test of wick's sees a reference to a local that is gone.
/// A lambda of `auto` is given the whole item, not the data of a sample.
template <class F>
detail::map_stage<std::decay_t<F>> map(F&& f) {
  return detail::map_stage<std::decay_t<F>>(std::forward<F>(f));
}
template <class F>
detail::map_stage<std::decay_t<F>> map(std::string name, F&& f) {
  return detail::map_stage<std::decay_t<F>>(std::forward<F>(f), std::move(name));
}

// ---- what fits after what ----

namespace detail {

template <class... S>
inline constexpr bool has_batching = (stage_of<S, on_batching> || ...);

/// The item that the stages make of Item, before batching and after it.
template <class Item, class... S>
struct items_after {
  using type = Item;
};
template <class Item, class First, class... Rest>
struct items_after<Item, First, Rest...> {
  template <class I>
  static consteval auto next() {
    if constexpr (stage_of<First, on_order>)
      return std::type_identity<I>{};
    else if constexpr (stage_of<First, on_batching>)
      return std::type_identity<typename First::template batch_of<I>>{};
    else
      return std::type_identity<next_item<First, I>>{};
  }
  using type = typename items_after<typename decltype(next<Item>())::type, Rest...>::type;
};

template <class Source>
using source_item = std::remove_cvref_t<decltype(std::declval<const Source&>().at(0))>;

template <class... S>
inline constexpr bool only_order_stages = (stage_of<S, on_order> && ...);

/// What a pipeline becomes when a stage did not fit, which the compiler has said by then: it takes all that
/// follows, so that one mistake is one message.
struct anything_else {
  template <class T>
  operator T&() const;
};
struct misfit_source {
  struct item {
    anything_else data, target;
  };
  std::uint64_t size() const { return 0; }
  item at(std::uint64_t) const { return {}; }
};
using misfit_pipeline = pipeline<misfit_source>;
template <class...>
struct misfit_pipeline_for {
  using type = misfit_pipeline;
};
/// The same, named so that nothing is instantiated where nothing is wrong.
template <class... S>
using misfit_pipeline_of = typename misfit_pipeline_for<S...>::type;

enum class fit { yes, no, broken };

template <class Came, class Stage, class... Before>
consteval fit check_fit() {
  if constexpr (!check_hooks<Stage>()) {
    return fit::no;
  } else if constexpr (stage_of<Stage, on_order> && !only_order_stages<Before...>) {
    static_assert(
        only_order_stages<Before...>,
        "wick: an order stage (shuffle, shard, take, …) works on positions, before anything is read; "
        "it came after a stage that works on samples; write it directly behind the source");
    return fit::no;
  } else if constexpr (stage_of<Stage, on_batching> && has_batching<Before...>) {
    static_assert(!has_batching<Before...>,
                  "wick: this pipeline is batched already; a second batch() was found; write one of the two");
    return fit::no;
  } else if constexpr (stage_of<Stage, on_batch> && !has_batching<Before...>) {
    static_assert(
        has_batching<Before...>,
        "wick: this stage works on batches, and what came is a single sample; write batch(n) before it");
    return fit::no;
  } else if constexpr (stage_of<Stage, on_batching>) {
    return Stage::template check<Came>() ? fit::yes : fit::no;
  } else if constexpr (has_hook<Stage, hook::check>) {
    return Stage::template check<Came, Before...>() ? fit::yes : fit::no;
  } else if constexpr (stage_of<Stage, on_order>) {
    return fit::yes;
  } else {
    constexpr way by = way_of<Stage, Came>();
    if constexpr (by == way::none) {
      constexpr reason why = why_not<Stage, Came, has_batching<Before...>>();
      constexpr bool is_read = why != reason::not_read, is_decoded = why != reason::not_decoded;
      constexpr bool is_read_and_decoded = why != reason::not_read_and_decoded;
      constexpr bool is_batched = why != reason::not_batched, is_single = why != reason::batched;
      constexpr bool gives_something = why != reason::gives_nothing,
                     can_be_called = why != reason::no_callable;
      constexpr bool takes_it = why != reason::another_type;
      static_assert(is_read,
                    "wick: this stage takes bytes, and what came says only where they lie; write read() "
                    "before it");
      static_assert(is_read_and_decoded,
                    "wick: this stage takes a picture, and what came says only where its bytes lie; write "
                    "read() | decode() before it");
      static_assert(is_decoded,
                    "wick: this stage takes a picture, and what came are bytes as they were read; write "
                    "decode() before it");
      static_assert(is_single,
                    "wick: this stage takes a single picture, and what came is a batch; write it before "
                    "batch(n)");
      static_assert(is_batched,
                    "wick: this stage takes tensors or arrays, and what came is a single sample without any; "
                    "write batch(n) before it");
      static_assert(gives_something,
                    "wick: this stage takes its item over and gives nothing back, so that nothing goes on; "
                    "return the item, or take it by reference");
      static_assert(can_be_called,
                    "wick: what stands behind | is neither a stage nor can it be called; write a stage, or a "
                    "callable that takes what came ('Came')");
      static_assert(
          takes_it,
          "wick: this stage does not take what the stage before it gives ('Stage' and 'Came' above); "
          "write a stage between the two that converts: | [](Came item) { return …; }");
      return fit::no;
    } else {
      using argument = typename argument_by<Came, by>::type;
      return form_of<typename callee<Stage>::type, argument>() == form::broken ? fit::broken : fit::yes;
    }
  }
}

/// The compiler has said why the stage does not compile, or it says so here.
template <class Stage, class Came>
void say_broken() {
  using callable = typename callee<Stage>::type;
  using argument = typename argument_by<Came, way_of<Stage, Came>()>::type;
  static_cast<void>(&call_broken<callable, argument>);
}

template <class T>
auto as_stage(T&& t) {
  if constexpr (stage<T>)
    return std::remove_cvref_t<T>(std::forward<T>(t));
  else
    return map_stage<std::decay_t<T>>(std::forward<T>(t));
}
template <class T>
auto as_stages(T&& t) {
  if constexpr (is_chain<std::remove_cvref_t<T>>)
    return std::forward<T>(t).stages;
  else
    return std::tuple<decltype(as_stage(std::forward<T>(t)))>(as_stage(std::forward<T>(t)));
}

template <class Src, class... Before, class Stage>
constexpr auto append_one(pipeline<Src, Before...>&& p, Stage&& s) {
  // NOLINTNEXTLINE(bugprone-branch-clone): check_fit is of no misfit
  if constexpr (std::is_same_v<Src, misfit_source>) {
    return misfit_pipeline{};
  } else {
    using came = typename items_after<source_item<Src>, Before...>::type;
    constexpr fit found = check_fit<came, Stage, Before...>();
    if constexpr (found == fit::yes) {
      return pipeline<Src, Before..., Stage>{
          std::move(p.origin),
          std::tuple_cat(std::move(p.stages), std::tuple<Stage>(std::forward<Stage>(s)))};
    } else {
      if constexpr (found == fit::broken) say_broken<Stage, came>();
      return misfit_pipeline{};
    }
  }
}

/// The stages of a tuple from the I-th on, without std::apply: the compiler shows the way back to the user's
/// line.
template <std::size_t I, class P, class... Stages>
constexpr auto append(P&& p, std::tuple<Stages...>&& stages) {
  if constexpr (I == sizeof...(Stages))
    return std::move(p);
  else
    return append<I + 1>(append_one(std::move(p), std::move(std::get<I>(stages))), std::move(stages));
}

template <class T>
concept wickish = stage<T> || is_chain<std::remove_cvref_t<T>>;

/// A container is a source too, and `container | std::views::…` is not ours: it takes a stage, or
/// from(container).
template <class L, class R>
concept pipeable = wickish<L> || is_pipeline<std::remove_cvref_t<L>> ||
                   (source<std::remove_cvref_t<L>> && (wickish<R> || !requires(L&& l) { l.begin(); }));

/// Puts a stage (or a chain of them, or any callable) behind a source, a pipeline or a chain. It is found by
/// its operands, most of which are of wick::detail; those of wick find it by the using below.
template <class L, class R>
  requires(pipeable<L, R> && !source<std::remove_cvref_t<R>> && !is_pipeline<std::remove_cvref_t<R>>)
constexpr auto operator|(L&& left, R&& right) {
  using left_type = std::remove_cvref_t<L>;
  if constexpr (wickish<left_type>) {
    return std::apply(
        [](auto&&... s) { return chain<std::remove_cvref_t<decltype(s)>...>{{std::move(s)...}}; },
        std::tuple_cat(as_stages(std::forward<L>(left)), as_stages(std::forward<R>(right))));
  } else {
    auto start = [&] {
      if constexpr (is_pipeline<left_type>)
        return left_type(std::forward<L>(left));
      else
        return pipeline<left_type>{std::forward<L>(left), {}};
    }();
    if constexpr (is_chain<std::remove_cvref_t<R>>)
      return append<0>(std::move(start), std::remove_cvref_t<R>(std::forward<R>(right)).stages);
    else
      return append_one(std::move(start), as_stage(std::forward<R>(right)));
  }
}

}  // namespace detail

using detail::operator|;

/// A pipeline of a source of the user's own, so that a callable may follow it: `from(my_source) |
/// my_callable`.
template <class S>
  requires source<std::remove_cvref_t<S>>
auto from(S&& s) {
  return pipeline<std::remove_cvref_t<S>>{std::forward<S>(s), {}};
}

}  // namespace wick

// ==== wick/order/order.hpp
/// \file
/// Order stages: which sample stands at which position. They compute positions before anything is read.

#include <charconv>
#include <system_error>

// ==== wick/order/detail/permutation.hpp
/// \file
/// A shuffle that is computed, not stored: a keyed bijection of 0 … n-1 at which any position can be asked at
/// once.

// ==== wick/order/detail/grid_rounds.hpp
/// \file
/// The rounds of a permutation for many places at once.

namespace wick::detail {

/// A place is a row and a column of a grid of 2^column_bits columns. Each pair of rounds moves the row by a
/// function of the column, then changes the column by a function of the row. See wick::permutation.
struct grid_rounds {
  static constexpr std::uint32_t max_rounds = 12;

  std::uint64_t rows = 1;
  std::uint32_t column_bits = 1, rounds = 2;
  std::array<std::uint64_t, max_rounds> factor{}, offset{};  ///< below 2^32 where Word is 32 bits

  /// `Word`: std::uint32_t for up to 2^16 rows and columns, std::uint64_t for up to 2^32.
  template <class Word>
  constexpr std::uint64_t one(std::uint64_t place) const noexcept {
    constexpr std::uint32_t bits = 8 * sizeof(Word);
    auto row = static_cast<Word>(place >> column_bits);
    auto column = static_cast<Word>(place & ((std::uint64_t{1} << column_bits) - 1));
    const auto count = static_cast<Word>(rows);
    for (std::uint32_t r = 0; r < rounds; r += 2) {
      const auto by = static_cast<Word>(column * static_cast<Word>(factor[r]) + static_cast<Word>(offset[r]));
      const auto moved = static_cast<Word>(row + (((std::uint64_t{by} >> (bits - 32)) * count) >> 32));
      row = moved < count ? moved : static_cast<Word>(moved - count);
      column ^=
          static_cast<Word>(row * static_cast<Word>(factor[r + 1]) + static_cast<Word>(offset[r + 1])) >>
          (bits - column_bits);
    }
    return (std::uint64_t{row} << column_bits) | column;
  }

  static constexpr int lanes = 32;
  /// one<std::uint32_t> of `lanes` places, in place: the rounds of one place wait for each other, those of
  /// many don't. By whatever the processor has.
  void many(std::uint64_t* places) const noexcept;
  void many_portable(std::uint64_t* places) const noexcept {
    std::uint32_t row[lanes], column[lanes];
    for (int k = 0; k < lanes; ++k) {
      const auto place = static_cast<std::uint32_t>(places[k]);
      row[k] = place >> column_bits;
      column[k] = place & ((1u << column_bits) - 1);
    }
    const auto count = static_cast<std::uint32_t>(rows);
    for (std::uint32_t r = 0; r < rounds; r += 2) {
      const auto f = static_cast<std::uint32_t>(factor[r]), c = static_cast<std::uint32_t>(offset[r]);
      for (int k = 0; k < lanes; ++k) {
        const std::uint32_t moved =
            row[k] + static_cast<std::uint32_t>((std::uint64_t{column[k] * f + c} * count) >> 32);
        row[k] = moved < count ? moved : moved - count;
      }
      const auto g = static_cast<std::uint32_t>(factor[r + 1]), d = static_cast<std::uint32_t>(offset[r + 1]);
      for (int k = 0; k < lanes; ++k) column[k] ^= (row[k] * g + d) >> (32 - column_bits);
    }
    for (int k = 0; k < lanes; ++k) places[k] = (std::uint64_t{row[k]} << column_bits) | column[k];
  }

#if defined(__x86_64__)
  __attribute__((target("avx2"))) void many_avx2(std::uint64_t* places) const noexcept;
  __attribute__((target("avx512f"))) void many_avx512(std::uint64_t* places) const noexcept;
#endif
};

}  // namespace wick::detail

namespace wick::detail {

/// A Feistel network over the smallest grid of 2^b columns and as many rows as it takes, about as many of
/// each, walked until it lands below n (cycle walking). Black, Rogaway: "Ciphers with arbitrary finite
/// domains", CT-RSA 2002. The grid has less than one row too many, so that walking is rare whatever n is. The
/// round functions are affine with random coefficients, and the upper part of the result is what counts.
/// Dietzfelbinger: "Universal hashing and k-wise independent random variables via integer arithmetic without
/// primes", STACS 1996. About 9 ns a position, 4 when asked for many, in 224 bytes whatever n is.
class permutation {
 public:
  /// The identity of nothing.
  constexpr permutation() noexcept = default;
  /// A permutation of n ≥ 1 positions for this (seed, epoch, stage). Another epoch is another permutation.
  constexpr permutation(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                        std::uint32_t stage) noexcept
      : n_(n) {
    random_stream stream(seed, epoch, 0, stage);
    if (n <= max_listed) {
      list(stream);
      return;
    }
    const auto bits = static_cast<std::uint32_t>(std::bit_width(n - 1));
    grid_.column_bits = bits / 2;
    grid_.rows = ((n - 1) >> grid_.column_bits) + 1;
    // Few rows and columns have few round functions to choose from: they need more rounds to look random.
    grid_.rounds = bits < 12 ? detail::grid_rounds::max_rounds : 8u;
    const auto draw = [&]() -> std::uint64_t {
      const std::uint64_t low = stream();
      return narrow() ? low : (std::uint64_t{stream()} << 32) | low;
    };
    for (std::uint32_t r = 0; r < grid_.rounds; ++r) {
      grid_.factor[r] = draw() | 1u;
      grid_.offset[r] = draw();
    }
  }

  constexpr std::uint64_t size() const noexcept { return n_; }

  /// Where position p of the epoch comes from; p < n.
  constexpr std::uint64_t operator()(std::uint64_t p) const noexcept {
    if (n_ <= max_listed) return (listed_ >> (4 * p)) & 15u;
    do {
      p = narrow() ? grid_.one<std::uint32_t>(p) : grid_.one<std::uint64_t>(p);
    } while (p >= n_);
    return p;
  }

  /// The same for `count` positions, in place, in less time.
  void map(std::uint64_t* positions, std::size_t count) const noexcept {
    std::uint64_t* const end = positions + count;
    if (n_ > max_listed && narrow()) {
      for (; end - positions >= detail::grid_rounds::lanes; positions += detail::grid_rounds::lanes) {
        grid_.many(positions);
        for (std::uint64_t* p = positions; p != positions + detail::grid_rounds::lanes; ++p) {
          if (*p >= n_) *p = (*this)(*p);
        }
      }
    }
    for (; positions != end; ++positions) *positions = (*this)(*positions);
  }

 private:
  static constexpr std::uint64_t max_listed = 16;

  constexpr bool narrow() const noexcept { return n_ <= std::uint64_t{1} << 32; }

  /// So few positions are written down, four bits each: halves of one bit never look random, whatever the
  /// rounds. Fisher and Yates, as Durstenfeld has it ("Algorithm 235", 1964).
  constexpr void list(random_stream& stream) noexcept {
    listed_ = 0xFEDCBA9876543210u;
    for (std::uint64_t i = n_; i-- > 1;) {
      const std::uint64_t j = stream.below(i + 1);
      const std::uint64_t differ = ((listed_ >> (4 * i)) ^ (listed_ >> (4 * j))) & 15u;
      listed_ ^= (differ << (4 * i)) | (differ << (4 * j));
    }
  }

  std::uint64_t n_ = 0;
  std::uint64_t listed_ = 0;
  detail::grid_rounds grid_;
};

}  // namespace wick::detail

// ==== wick/sample/error.hpp
/// \file
/// What goes wrong, in words that say where, what was found and what to do.

namespace wick {

/// Base of all that wick throws. The text says what was found and what to do about it.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

/// A stage put something off, and it failed in a later one: a picture is decoded when its slot is known.
/// Messages name the stage that it belongs to.
class late_error : public error {
 public:
  late_error(std::string stage, const std::string& text) : error(text), stage_(std::move(stage)) {}
  const std::string& stage() const noexcept { return stage_; }

 private:
  std::string stage_;
};

}  // namespace detail

/// A stage failed on a sample. what() reads "KEY: STAGE: what was found; what to do"; the stage's own
/// exception is at cause().
class sample_error : public error {
 public:
  sample_error(std::string key, std::string stage, std::uint64_t epoch, std::uint64_t position,
               const std::string& text, std::exception_ptr cause)
      : error(key + ": " + stage + ": " + text),
        key_(std::move(key)),
        stage_(std::move(stage)),
        epoch_(epoch),
        position_(position),
        cause_(std::move(cause)) {}

  /// The sample's name, as its source gives it.
  const std::string& key() const noexcept { return key_; }
  /// The stage that failed.
  const std::string& stage() const noexcept { return stage_; }
  std::uint64_t epoch() const noexcept { return epoch_; }
  std::uint64_t position() const noexcept { return position_; }
  /// What the stage threw.
  const std::exception_ptr& cause() const noexcept { return cause_; }

 private:
  std::string key_, stage_;
  std::uint64_t epoch_, position_;
  std::exception_ptr cause_;
};

namespace detail {

/// `text` with what a terminal or a log could misread (control characters, line breaks) written as \xNN.
inline std::string printable(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7F) {
      out += {'\\', 'x', digits[u >> 4], digits[u & 15]};
    } else {
      out += c;
    }
  }
  return out;
}

/// How a message about a bad sample ends, behind what else can be done.
inline constexpr const char* or_leave_it_out =
    ", or set .on_error = wick::on_error(wick::skip) to leave it out";

}  // namespace detail

}  // namespace wick

namespace wick {

namespace detail {
/// Where in the source position p of prepared order stages is; the stage nearest to the source has the last
/// word.
template <std::size_t N, class... Prepared>
std::uint64_t index_behind_first(const std::tuple<Prepared...>& order, std::uint64_t p) noexcept {
  if constexpr (N == 0)
    return p;
  else
    return index_behind_first<N - 1>(order, std::get<N - 1>(order)(p));
}
template <class... Prepared>
std::uint64_t index_behind(const std::tuple<Prepared...>& order, std::uint64_t p) noexcept {
  return index_behind_first<sizeof...(Prepared)>(order, p);
}

/// The size of an order that never ends: as many positions as the random streams tell apart.
inline constexpr std::uint64_t endless = std::uint64_t{1} << 48;

struct shuffle_stage {
  using stage_kind = on_order;
  static constexpr std::string_view name = "shuffle";
  std::uint64_t size(std::uint64_t n) const noexcept { return n; }
  permutation prepare(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                      std::uint32_t stage) const noexcept {
    return permutation(n, seed, epoch, stage);
  }
};

}  // namespace detail

/// A new order each epoch: a permutation of all positions, computed and not stored, so that a shuffle of a
/// billion samples takes no memory. The same seed and epoch give the same order everywhere.
inline detail::shuffle_stage shuffle() noexcept { return {}; }

namespace detail {

struct shuffle_once_stage {
  using stage_kind = on_order;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "shuffle_once";
  std::uint64_t seed;
  std::uint64_t size(std::uint64_t n) const noexcept { return n; }
  permutation prepare(std::uint64_t n, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept {
    return permutation(n, seed, 0, 0);
  }
  std::uint64_t fingerprint() const noexcept { return seed; }
};

}  // namespace detail

/// One order for all epochs, by a seed of its own: for a split that stays the same.
/// `train = src | shuffle_once(7) | skip_first(1000) | shuffle()`, `val = src | shuffle_once(7) |
/// take(1000)`.
inline detail::shuffle_once_stage shuffle_once(std::uint64_t seed) noexcept { return {seed}; }

namespace detail {

/// Maps each position to itself.
struct identity_order {
  std::uint64_t operator()(std::uint64_t p) const noexcept { return p; }
};

struct shard_stage {
  using stage_kind = on_order;
  using stage_hooks = hooks<hook::check>;
  static constexpr std::string_view name = "shard";
  std::uint64_t rank = 0, world = 1;
  std::uint64_t size(std::uint64_t n) const noexcept { return n; }
  identity_order prepare(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept {
    return {};
  }

  template <class, class... Before>
  static consteval bool check() {
    constexpr bool first = !(std::is_same_v<Before, shard_stage> || ...);
    static_assert(first,
                  "wick: this pipeline is sharded already; a second shard() was found; write one of the two");
    return first;
  }
};

}  // namespace detail

/// This process's share: rank r of w takes its slice of every global batch, so another w changes no batch.
/// The size given to batch() is that of the global batch. \throws wick::error when rank is not below world
inline detail::shard_stage shard(std::uint64_t rank, std::uint64_t world) {
  if (world == 0 || rank >= world) {
    throw error("shard: rank " + std::to_string(rank) + " of " + std::to_string(world) +
                " ranks; ranks count from 0 to world size - 1");
  }
  return {rank, world};
}

namespace detail {
inline std::uint64_t environment_number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  std::uint64_t n = 0;
  const char* const end = text + std::string_view(text).size();
  const auto [stopped, fault] = std::from_chars(text, end, n);
  if (fault != std::errc() || stopped != end) {
    throw error(std::string("shard: the environment says ") + name + "=" + printable(text) +
                ", which is no number of ranks; set RANK and WORLD_SIZE as torchrun does, or write "
                "shard(rank, world)");
  }
  return n;
}
}  // namespace detail

/// As above with RANK and WORLD_SIZE from the environment, as torchrun sets them; one rank when they are not
/// set.
inline detail::shard_stage shard() {
  return shard(detail::environment_number("RANK", 0), detail::environment_number("WORLD_SIZE", 1));
}

namespace detail {

struct take_stage {
  using stage_kind = on_order;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "take";
  std::uint64_t count;
  std::uint64_t size(std::uint64_t n) const noexcept { return n < count ? n : count; }
  identity_order prepare(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept {
    return {};
  }
  std::uint64_t fingerprint() const noexcept { return count; }
};

}  // namespace detail

/// The first `count` positions: after shuffle() a random subset, another each epoch; before it always the
/// same.
inline detail::take_stage take(std::uint64_t count) noexcept { return {count}; }

namespace detail {

struct skip_stage {
  using stage_kind = on_order;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "skip_first";
  std::uint64_t count;
  struct shifted {
    std::uint64_t by;
    std::uint64_t operator()(std::uint64_t p) const noexcept { return p + by; }
  };
  std::uint64_t size(std::uint64_t n) const noexcept { return n < count ? 0 : n - count; }
  shifted prepare(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept {
    return {count};
  }
  std::uint64_t fingerprint() const noexcept { return count; }
};

}  // namespace detail

/// All but the first `count` positions; with take, a split into two parts: `src | take(900)`, `src |
/// skip_first(900)`.
inline detail::skip_stage skip_first(std::uint64_t count) noexcept { return {count}; }

namespace detail {

class subset_stage {
 public:
  using stage_kind = on_order;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "subset";
  explicit subset_stage(std::vector<std::uint64_t> indices)
      : indices_(std::make_shared<const std::vector<std::uint64_t>>(std::move(indices))) {
    for (const std::uint64_t i : *indices_) highest_ = i > highest_ ? i : highest_;
  }
  struct listed {
    std::shared_ptr<const std::vector<std::uint64_t>> indices;
    std::uint64_t operator()(std::uint64_t p) const noexcept { return (*indices)[p]; }
  };
  /// \throws wick::error when an index is not below n
  std::uint64_t size(std::uint64_t n) const {
    if (!indices_->empty() && highest_ >= n) {
      throw error("subset: index " + std::to_string(highest_) + " of " + std::to_string(n) +
                  " samples; indices count from 0 to the number of samples before subset() - 1");
    }
    return indices_->size();
  }
  listed prepare(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept {
    return {indices_};
  }
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash().add(indices_->data(), indices_->size() * sizeof(std::uint64_t)).value();
  }

 private:
  std::shared_ptr<const std::vector<std::uint64_t>> indices_;
  std::uint64_t highest_ = 0;
};

}  // namespace detail

/// These positions only, in this order; one may come several times. 8 bytes an index.
inline detail::subset_stage subset(std::vector<std::uint64_t> indices) {
  return detail::subset_stage(std::move(indices));
}

namespace detail {

struct repeat_stage {
  using stage_kind = on_order;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "repeat";
  std::uint64_t times;  // 0: without end
  struct wrapped {
    std::uint64_t n;
    std::uint64_t operator()(std::uint64_t p) const noexcept { return p < n ? p : p % n; }
  };
  std::uint64_t size(std::uint64_t n) const noexcept {
    if (n == 0) return 0;
    return times == 0 || times > endless / n ? endless : n * times;
  }
  wrapped prepare(std::uint64_t n, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept { return {n}; }
  std::uint64_t fingerprint() const noexcept { return times; }
};

}  // namespace detail

/// Each epoch goes over the positions `times` times. Each time is a position of its own, with random numbers
/// of its own. Before shuffle() the times are mixed; behind it each time has the same order. \throws
/// wick::error when times is 0
inline detail::repeat_stage repeat(std::uint64_t times) {
  if (times == 0)
    throw error("repeat(0): an epoch would have no sample; write repeat() for one that never ends");
  return {times};
}
/// An epoch without end (2^48 positions).
inline detail::repeat_stage repeat() noexcept { return {0}; }

}  // namespace wick

// clang-format on

// ==== wick/batch/batch.hpp
/// \file
/// batch(n): from samples to batches. Position p of the epoch has slot p mod n of batch p / n.

// ==== wick/batch/collate.hpp
/// \file
/// Samples become a batch: each field has a column, each sample its slot in it, in whatever order they come.

// ==== wick/batch/detail/slab.hpp
/// \file
/// The memory of batches: blocks that come from a pool, are written once by the decoder, and return when the
/// user drops the batch.

// ==== wick/system/detail/brief_lock.hpp
/// \file
/// Taking a mutex that is never held for long.

namespace wick::detail {

/// Tries for some microseconds before it sleeps. A std::mutex sleeps at once, and being woken takes a hundred
/// times as long as the few instructions that the other holds it for: two threads that both take one for each
/// small batch then spend their time waking one another, and go on doing so.
template <class Mutex>
[[nodiscard]] std::unique_lock<Mutex> lock_briefly(Mutex& mutex) {
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    if (mutex.try_lock()) return std::unique_lock<Mutex>(mutex, std::adopt_lock);
    spin_pause();
  }
  return std::unique_lock<Mutex>(mutex);
}

}  // namespace wick::detail

#ifdef __linux__
#include <sched.h>
#endif

namespace wick::detail {

/// A block of memory, and what frees it: `free(context)`, once, on any thread.
struct memory_block {
  std::byte* data = nullptr;
  void* context = nullptr;
  void (*free)(void* context) = nullptr;
};

/// Where blocks come from: ordinary memory here, pinned memory in torch/. May be called from any thread.
class slab_memory {
 public:
  virtual ~slab_memory() = default;
  /// \throws std::bad_alloc
  virtual memory_block allocate(std::size_t bytes) = 0;
  /// True for memory that itself keeps what is freed, since it alone knows when a block may be written again:
  /// a device may still be reading it. A pool then keeps no block, and a block may be freed when this object
  /// is gone.
  virtual bool recycles() const noexcept { return false; }
};

class host_slab_memory final : public slab_memory {
 public:
  static constexpr std::size_t alignment = 64;
  memory_block allocate(std::size_t bytes) override {
    void* const data = ::operator new(bytes, std::align_val_t{alignment});
    return {static_cast<std::byte*>(data), data,
            [](void* context) { ::operator delete(context, std::align_val_t{alignment}); }};
  }
};

class slab_pool;

/// One block, out of its pool. Dropping it gives it back; it keeps its pool alive, so a batch may outlive its
/// loader.
class slab {
 public:
  slab() noexcept = default;
  slab(slab&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  slab& operator=(slab&& other) noexcept {
    slab taken(std::move(other));  // what this held goes back here, not with `other`
    std::swap(block_, taken.block_);
    return *this;
  }
  ~slab() { reset(); }
  inline std::byte* data() const noexcept;
  inline std::size_t capacity() const noexcept;
  explicit operator bool() const noexcept { return block_ != nullptr; }
  inline void reset() noexcept;
  /// For owners that keep a pointer and a function, as tensors do: `free(context)` does what dropping does.
  /// Where the memory recycles its blocks the context is the memory's own, by which it can recognize the
  /// block.
  inline memory_block detach() noexcept;

 private:
  friend class slab_pool;
  struct block;
  explicit slab(block* b) noexcept : block_(b) {}
  block* block_ = nullptr;
};

/// Keeps blocks for sizes that were asked for lately. Who asks gets one that was last asked for on the same
/// processor if there is one, since that lies in its cache, else the one that was returned last; where none
/// has exactly that size, the smallest that is at most twice as large. Where there is none of these, but one
/// that is too small by less than half, that one is given up for a new one: batches of changing sizes end up
/// with as many blocks as are out at a time. Any thread.
class slab_pool : public std::enable_shared_from_this<slab_pool> {
 public:
  /// \param keep how many free blocks are kept at most. Their bytes are limited too: kept_at_most()
  /// \param ahead how many blocks are allocated when a user asks for the first time: as many as it will have
  /// out at a
  ///   time, so that nothing is allocated later
  /// \param most so many at most where they are small: see cheap_blocks()
  explicit slab_pool(std::shared_ptr<slab_memory> memory, std::size_t keep, std::size_t ahead = 1,
                     std::size_t most = 1)
      : memory_(std::move(memory)),
        recycles_(memory_->recycles()),
        keep_(keep),
        ahead_(ahead),
        most_(std::max(ahead, most)) {
    free_.reserve(keep_ + 1);
  }
  slab_pool(const slab_pool&) = delete;
  slab_pool& operator=(const slab_pool&) = delete;
  inline ~slab_pool();

  /// So many blocks as take up 16 MiB, but at least `least`, at most `most`.
  static std::size_t cheap_blocks(std::size_t bytes, std::size_t least, std::size_t most) noexcept {
    return std::clamp(cheap / std::max(bytes, std::size_t{1}), least, most);
  }

  /// `user`, a small number, tells apart who asks (the columns of a batch), since each will have as many
  /// blocks out. \throws std::bad_alloc
  inline slab acquire(std::size_t bytes, std::size_t user = 0);
  /// How many blocks were ever allocated: constant once the pipeline is warm, unless the memory recycles them
  /// itself.
  std::uint64_t allocations() const noexcept {
    const auto lock = detail::lock_briefly(mutex_);
    return allocations_;
  }
  /// Bytes of the largest block that each user has asked for, together.
  std::size_t bytes_asked() const noexcept { return bytes_asked_.load(std::memory_order_relaxed); }
  /// Bytes of all blocks there are, in use or kept; without those that were detached where the memory
  /// recycles them.
  std::size_t bytes() const noexcept {
    const auto lock = detail::lock_briefly(mutex_);
    return bytes_;
  }
  /// Bytes that free blocks take at most: as many as the users have out at a time of the largest blocks that
  /// they asked for lately, and 16 MiB.
  std::size_t kept_at_most() const noexcept {
    const auto lock = detail::lock_briefly(mutex_);
    return window_bytes_ + cheap;
  }

 private:
  friend class slab;
  static constexpr std::size_t cheap = std::size_t{16} << 20;
  /// What was asked for this many acquisitions ago, or twice as many, is forgotten.
  static constexpr std::uint64_t period = 256;

  struct range {
    std::size_t smallest = ~std::size_t{0}, largest = 0;
    bool has(std::size_t bytes) const noexcept { return smallest <= bytes && bytes <= largest; }
    /// Whether a block of this size may be given to somebody who asks for a size in the range.
    bool uses(std::size_t capacity) const noexcept { return smallest <= capacity && capacity / 2 <= largest; }
  };
  struct demand {
    range now, before;  // in this period and in the one before
    std::size_t largest_ever = 0;
  };

  /// Where the caller runs; -1 where the system doesn't say. A hint: it may be moved at any time.
  static int this_processor() noexcept {
#ifdef __linux__
    return ::sched_getcpu();
#else
    return -1;
#endif
  }
  inline bool note(std::size_t bytes, std::size_t user, slab::block*& gone);
  inline void next_period(slab::block*& gone) noexcept;
  inline void measure_window() noexcept;
  inline slab::block* find(std::size_t bytes) noexcept;
  inline slab::block* make(std::size_t bytes);
  inline void give_up_smaller(std::size_t bytes, slab::block*& gone) noexcept;
  inline void goes_out();
  [[nodiscard]] inline std::shared_ptr<slab_pool> came_back() noexcept;
  inline void put(slab::block* b) noexcept;
  inline void hand_over(const slab::block* b) noexcept;
  inline void remove(std::size_t i, slab::block*& gone) noexcept;
  static inline void free_all(slab::block* gone) noexcept;

  const std::shared_ptr<slab_memory> memory_;
  const bool recycles_;
  const std::size_t keep_, ahead_, most_;
  mutable std::mutex mutex_;
  std::vector<slab::block*> free_;  // the oldest first
  std::vector<demand> users_;
  std::uint64_t asked_ = 0;  // how often, in this period
  std::atomic<std::size_t> bytes_asked_{0};
  std::uint64_t allocations_ = 0;
  std::size_t bytes_ = 0, free_bytes_ = 0;
  std::size_t window_bytes_ = 0;
  // One reference for all blocks that are out: a count for each would go from processor to processor with it.
  std::size_t out_ = 0;
  std::shared_ptr<slab_pool> self_;  // while any is out
};

struct slab::block {
  memory_block memory;
  std::size_t capacity;
  slab_pool* pool;        // which stays while the block is out
  int processor = -1;     // where it was asked for last
  block* next = nullptr;  // of those that are to be freed
};

inline std::byte* slab::data() const noexcept { return block_ ? block_->memory.data : nullptr; }
inline std::size_t slab::capacity() const noexcept { return block_ ? block_->capacity : 0; }
inline void slab::reset() noexcept {
  if (block* b = std::exchange(block_, nullptr)) b->pool->put(b);
}
inline memory_block slab::detach() noexcept {
  block* const b = std::exchange(block_, nullptr);
  if (b == nullptr) return {nullptr, nullptr, [](void*) {}};
  if (!b->pool->recycles_) {
    return {b->memory.data, b, [](void* context) { slab dropped(static_cast<block*>(context)); }};
  }
  const std::unique_ptr<block> mine(b);
  mine->pool->hand_over(b);
  return mine->memory;
}

/// Takes a free block out of the list, to be freed when the mutex is no longer held: that may take
/// milliseconds.
inline void slab_pool::remove(std::size_t i, slab::block*& gone) noexcept {
  slab::block* const b = free_[i];
  free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
  free_bytes_ -= b->capacity;
  bytes_ -= b->capacity;
  b->next = std::exchange(gone, b);
}

inline void slab_pool::free_all(slab::block* gone) noexcept {
  while (gone != nullptr) {
    const std::unique_ptr<slab::block> b(std::exchange(gone, gone->next));
    b->memory.free(b->memory.context);
  }
}

inline void slab_pool::measure_window() noexcept {
  window_bytes_ = 0;
  for (const demand& d : users_) {
    const std::size_t largest = std::max(d.now.largest, d.before.largest);
    window_bytes_ += largest * cheap_blocks(largest, ahead_, most_);
  }
}

/// Blocks of sizes that nobody has asked for since the period before go.
inline void slab_pool::next_period(slab::block*& gone) noexcept {
  for (std::size_t i = free_.size(); i-- > 0;) {
    const bool used = std::any_of(users_.begin(), users_.end(), [&](const demand& d) {
      return d.now.uses(free_[i]->capacity) || d.before.uses(free_[i]->capacity);
    });
    if (!used) remove(i, gone);
  }
  for (demand& d : users_) d.before = std::exchange(d.now, range());
  asked_ = 0;
  measure_window();
}

/// Writes down what was asked for; true when this user did so for the first time.
inline bool slab_pool::note(std::size_t bytes, std::size_t user, slab::block*& gone) {
  if (user >= users_.size()) users_.resize(user + 1);
  if (++asked_ == period) next_period(gone);
  demand& mine = users_[user];
  if (mine.now.has(bytes)) return false;
  const bool first = mine.largest_ever == 0;
  mine.now.smallest = std::min(mine.now.smallest, bytes);
  mine.now.largest = std::max(mine.now.largest, bytes);
  if (bytes > mine.largest_ever) {
    bytes_asked_.fetch_add(bytes - std::exchange(mine.largest_ever, bytes), std::memory_order_relaxed);
  }
  measure_window();
  return first;
}

inline slab::block* slab_pool::find(std::size_t bytes) noexcept {
  const int here = this_processor();
  std::size_t best = free_.size();
  bool fits = false;
  for (std::size_t i = free_.size(); i-- > 0;) {
    const std::size_t capacity = free_[i]->capacity;
    if (capacity == bytes) {
      if (!fits) best = i;
      fits = true;
      if (free_[i]->processor != here) continue;
      best = i;
      break;
    }
    if (!fits && capacity > bytes && capacity / 2 <= bytes &&
        (best == free_.size() || capacity < free_[best]->capacity)) {
      best = i;
    }
  }
  if (best == free_.size()) return nullptr;
  slab::block* const b = free_[best];
  b->processor = here;
  free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(best));
  free_bytes_ -= b->capacity;
  return b;
}

/// Nothing fits. A block that is smaller, but by less than half, makes way: the new one will serve nearly all
/// that it did, and there are not more blocks than before. It is the smallest of them.
inline void slab_pool::give_up_smaller(std::size_t bytes, slab::block*& gone) noexcept {
  std::size_t least = free_.size();
  for (std::size_t i = 0; i < free_.size(); ++i) {
    const std::size_t capacity = free_[i]->capacity;
    if (capacity < bytes && bytes / 2 <= capacity &&
        (least == free_.size() || capacity < free_[least]->capacity)) {
      least = i;
    }
  }
  if (least != free_.size()) remove(least, gone);
}

/// Under the mutex, for a block that the pool gives away.
inline void slab_pool::goes_out() {
  if (out_ == 0) self_ = shared_from_this();
  ++out_;
}
/// Under the mutex, for one that is not out any more. To be dropped when the mutex is no longer held, and
/// last of all: the pool may go with it.
inline std::shared_ptr<slab_pool> slab_pool::came_back() noexcept {
  return --out_ == 0 ? std::move(self_) : nullptr;
}

inline slab::block* slab_pool::make(std::size_t bytes) {
  auto made = std::make_unique<slab::block>(slab::block{{}, bytes, this});
  made->memory = memory_->allocate(bytes);
  const auto lock = detail::lock_briefly(mutex_);
  goes_out();
  ++allocations_;
  bytes_ += bytes;
  return made.release();
}

inline slab slab_pool::acquire(std::size_t bytes, std::size_t user) {
  if (bytes == 0) bytes = 1;
  std::size_t wanted = 1;
  slab::block* found = nullptr;
  slab::block* gone = nullptr;
  {
    const auto lock = detail::lock_briefly(mutex_);
    const bool first = note(bytes, user, gone);
    if (!recycles_) {
      if (first) wanted = cheap_blocks(bytes, ahead_, most_);
      if (wanted == 1) found = find(bytes);
      if (found != nullptr)
        goes_out();
      else
        give_up_smaller(bytes, gone);
    }
  }
  free_all(gone);
  if (found != nullptr) return slab(found);
  found = make(bytes);
  found->processor = this_processor();
  slab result(found);
  try {
    for (; wanted > 1; --wanted) slab(make(bytes)).reset();  // straight back
  } catch (const std::bad_alloc&) {                          // what is ahead of need may be missing
  }
  return result;
}

inline void slab_pool::put(slab::block* b) noexcept {
  std::shared_ptr<slab_pool> last;
  slab::block* gone = nullptr;
  {
    const auto lock = detail::lock_briefly(mutex_);
    last = came_back();
    free_.push_back(b);  // there is room for one more than are kept
    free_bytes_ += b->capacity;
    if (recycles_) remove(free_.size() - 1, gone);
    while (free_.size() > keep_ || free_bytes_ > window_bytes_ + cheap) remove(0, gone);  // the oldest
  }
  free_all(gone);
}

/// Where the memory recycles: it is the memory's alone again.
inline void slab_pool::hand_over(const slab::block* b) noexcept {
  std::shared_ptr<slab_pool> last;
  const auto lock = detail::lock_briefly(mutex_);
  last = came_back();
  bytes_ -= b->capacity;
}

inline slab_pool::~slab_pool() {
  for (slab::block* b : free_) {
    b->next = nullptr;
    free_all(b);
  }
}

}  // namespace wick::detail

// ==== wick/batch/fields.hpp
/// \file
/// How a sample is taken apart into fields, each of which becomes a column of the batch.

// ==== wick/sample/shape.hpp
/// \file
/// Shapes and element types: what a value says of itself so that batch() can give it a slot.

#include <initializer_list>

namespace wick {

/// The type of a number in a sample or a batch. boolean is one byte.
enum class dtype : std::uint8_t { uint8, int8, int16, int32, int64, float16, float32, float64, boolean };

namespace detail {

constexpr std::size_t size_of(dtype t) noexcept {
  switch (t) {
    case dtype::int16:
    case dtype::float16:
      return 2;
    case dtype::int32:
    case dtype::float32:
      return 4;
    case dtype::int64:
    case dtype::float64:
      return 8;
    default:
      return 1;
  }
}

}  // namespace detail

/// The name of an element type or of a shape, as messages show it: "uint8", "float32", ….
constexpr std::string_view to_string(dtype t) noexcept {
  constexpr std::string_view names[] = {"uint8",   "int8",    "int16",   "int32",  "int64",
                                        "float16", "float32", "float64", "boolean"};
  return names[static_cast<std::size_t>(t)];
}

namespace detail {

/// The element type of an arithmetic C++ type.
template <class T>
constexpr dtype dtype_of() noexcept {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8,
                "wick: only arithmetic types of up to 8 bytes have a dtype; convert a long double to double");
  if constexpr (std::is_same_v<T, bool>)
    return dtype::boolean;
  else if constexpr (std::is_floating_point_v<T>)
    return sizeof(T) == 4 ? dtype::float32 : dtype::float64;
  else if constexpr (sizeof(T) == 1)
    return std::is_unsigned_v<T> ? dtype::uint8 : dtype::int8;
  else if constexpr (sizeof(T) == 2)
    return dtype::int16;
  else if constexpr (sizeof(T) == 4)
    return dtype::int32;
  else
    return dtype::int64;
}

}  // namespace detail

/// Up to six extents of a sample, seven of a batch of them, outermost first; a value type without allocation.
class shape {
 public:
  /// Of a sample.
  static constexpr std::size_t max_rank = 6;

  constexpr shape() noexcept = default;
  constexpr shape(std::initializer_list<std::int64_t> extents) {
    for (const std::int64_t e : extents) push_back(e);
  }
  /// \throws wick::error past seven dimensions
  constexpr void push_back(std::int64_t extent) {
    if (rank_ == max_rank + 1) throw error("a sample has at most 6 dimensions, a batch 7; join some of them");
    extents_[rank_++] = extent;
  }
  /// How many extents there are: 3 of [3, 224, 224].
  constexpr std::size_t rank() const noexcept { return rank_; }
  constexpr std::int64_t operator[](std::size_t i) const noexcept { return extents_[i]; }
  constexpr const std::int64_t* begin() const noexcept { return extents_.data(); }
  constexpr const std::int64_t* end() const noexcept { return extents_.data() + rank_; }
  /// Number of elements; 1 for a scalar.
  constexpr std::int64_t count() const noexcept {
    std::int64_t n = 1;
    for (const std::int64_t e : *this) n *= e;
    return n;
  }
  friend constexpr bool operator==(const shape& a, const shape& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (std::size_t i = 0; i < a.rank_; ++i) {
      if (a.extents_[i] != b.extents_[i]) return false;
    }
    return true;
  }

 private:
  std::array<std::int64_t, max_rank + 1> extents_{};
  std::size_t rank_ = 0;
};

/// The extents, outermost first: "[3, 224, 224]".
inline std::string to_string(const shape& s) {
  std::string out = "[";
  for (std::size_t i = 0; i < s.rank(); ++i) out += (i ? ", " : "") + std::to_string(s[i]);
  return out + "]";
}

/// How a batch of pictures lies in memory.
enum class layout : std::uint8_t {
  channels_last,  ///< tensor [N, C, H, W], memory N H W C: what convolutions like best, and what decoders
                  ///< write
  nchw,           ///< tensor [N, C, H, W], contiguous
  nhwc,           ///< tensor [N, H, W, C], contiguous
};

/// The place of one sample in a batch, given to `write_to`. A picture writes its channels as planes (C H W)
/// when `planar`, else interleaved (H W C); other values ignore it.
struct slot {
  std::byte* data = nullptr;  ///< the sample's first byte in the batch's memory
  bool planar = false;        ///< channels of a picture as planes, C H W
};

}  // namespace wick

namespace wick::detail {

/// How a value says its shape and writes itself into its slot: by members of these names, unless this is
/// specialized for a type that can't have them.
template <class T>
struct field_access {
  static decltype(auto) extents(const T& v)
    requires requires {
      { v.extents() } -> std::convertible_to<shape>;
    }
  {
    return v.extents();
  }
  static dtype type(const T& v)
    requires requires {
      { v.type() } -> std::convertible_to<dtype>;
    }
  {
    return v.type();
  }
  static void write_to(const T& v, slot where)
    requires requires { v.write_to(where); }
  {
    v.write_to(where);
  }
};

/// A value that knows its shape and writes itself into its slot: no copy in between. Pictures say
/// `static constexpr bool is_picture = true` and give their extents as [H, W, C].
template <class T>
concept batchable = requires(const T& v, slot where) {
  field_access<T>::extents(v);
  field_access<T>::type(v);
  field_access<T>::write_to(v, where);
};

template <class T>
inline constexpr bool is_picture = false;
template <class T>
  requires requires { T::is_picture; }
inline constexpr bool is_picture<T> = T::is_picture;

/// The element and the extents of (nested) arrays of numbers.
template <class T>
struct fixed_array {
  using element = T;
  static constexpr bool value = std::is_arithmetic_v<T> && sizeof(T) <= 8;
  static void append(shape&) {}
};
template <class T, std::size_t N>
struct fixed_array<T[N]> {
  using element = typename fixed_array<T>::element;
  static constexpr bool value = N > 0 && fixed_array<T>::value;
  static void append(shape& s) {
    s.push_back(static_cast<std::int64_t>(N));
    fixed_array<T>::append(s);
  }
};
template <class T, std::size_t N>
struct fixed_array<std::array<T, N>> : fixed_array<T[N]> {};
template <class T>
struct fixed_array<std::array<T, 0>> : std::false_type {};

template <class T>
concept leaf = batchable<T> || fixed_array<T>::value || std::same_as<T, std::string>;

template <class T>
inline constexpr bool is_tuple_like = false;
template <class... T>
inline constexpr bool is_tuple_like<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_tuple_like<std::pair<A, B>> = true;
template <class T, std::size_t N>
inline constexpr bool is_tuple_like<std::array<T, N>> = N > 0 && !leaf<std::array<T, N>>;

// The number of fields of an aggregate: the most initializers that its braces take. Empty braces count a C
// array as one; only where a field has no default, whole values are tried.
inline constexpr std::size_t max_fields = 8;
struct anything {
  template <class T>
  operator T() const;
};
template <class T>
struct any_base_of {
  template <class B>
    requires(std::is_base_of_v<B, T> && !std::same_as<B, T>)
  operator B() const;
};
template <class T, std::size_t... I>
consteval bool takes_fields(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), anything{})...}; };
}
template <class T, std::size_t N = max_fields + 1>
consteval std::size_t field_count() {
  if constexpr (!requires { T{}; }) {
    if constexpr (N == 0)
      return 0;
    else if constexpr (takes_fields<T>(std::make_index_sequence<N>{}))
      return N;
    else
      return field_count<T, N - 1>();
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 9;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}}; })
    return 8;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}}; })
    return 7;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}}; })
    return 6;
  else if constexpr (requires { T{{}, {}, {}, {}, {}}; })
    return 5;
  else if constexpr (requires { T{{}, {}, {}, {}}; })
    return 4;
  else if constexpr (requires { T{{}, {}, {}}; })
    return 3;
  else if constexpr (requires { T{{}, {}}; })
    return 2;
  else if constexpr (requires { T{{}}; })
    return 1;
  else
    return 0;
}

/// A plain struct of 1 to 8 fields, all its own.
template <class T>
concept reflectable = std::is_class_v<T> && std::is_aggregate_v<T> && !leaf<T> && !is_sample<T> && !requires {
  std::tuple_size<T>::value;
} && (field_count<T>() > 0) && (field_count<T>() <= max_fields) && !requires { T{any_base_of<T>{}}; };

/// The fields of an aggregate as a tuple of references.
template <class T>
auto tie_fields(T& v) {
  constexpr std::size_t n = field_count<std::remove_const_t<T>>();
  if constexpr (n == 1) {
    auto& [a] = v;
    return std::tie(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = v;
    return std::tie(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = v;
    return std::tie(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = v;
    return std::tie(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = v;
    return std::tie(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = v;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = v;
    return std::tie(a, b, c, d, e, f, g);
  } else {
    auto& [a, b, c, d, e, f, g, h] = v;
    return std::tie(a, b, c, d, e, f, g, h);
  }
}

/// Calls f with the fields of a composite.
template <class T, class F>
decltype(auto) with_fields(T& v, F&& f) {
  if constexpr (is_sample<std::remove_const_t<T>>)
    return f(v.data, v.target);
  else if constexpr (is_tuple_like<std::remove_const_t<T>>)
    return std::apply(std::forward<F>(f), v);
  else
    return std::apply(std::forward<F>(f), tie_fields(v));
}

template <class T>
concept composite = is_sample<T> || is_tuple_like<T> || reflectable<T>;

/// The field types of a composite, decayed, as a std::tuple.
template <class T>
struct field_types {
  using type = typename decltype(with_fields(std::declval<T&>(), [](auto&... f) {
    return std::type_identity<std::tuple<std::remove_cvref_t<decltype(f)>...>>{};
  }))::type;
};
template <class D, class T>
struct field_types<sample<D, T>> {
  using type = std::tuple<D, T>;
};
template <class... T>
struct field_types<std::tuple<T...>> {
  using type = std::tuple<T...>;
};
template <class A, class B>
struct field_types<std::pair<A, B>> {
  using type = std::tuple<A, B>;
};

template <class T>
struct can_batch : std::bool_constant<leaf<T>> {};
template <composite T>
struct can_batch<T> {
  static constexpr bool value = []<class... F>(std::type_identity<std::tuple<F...>>) {
    return (can_batch<F>::value && ...);
  }(std::type_identity<typename field_types<T>::type>{});
};

/// Whether it is, or has as a field, what read() is to read; or bytes, with which a batch does nothing. For
/// messages.
template <class T>
struct has_unread : std::bool_constant<!std::is_void_v<typename once_read<T>::type>> {};
template <class T>
struct has_bytes : std::is_same<T, bytes> {};
template <class D, class T>
struct has_unread<sample<D, T>> : std::disjunction<has_unread<D>, has_unread<T>> {};
template <class D, class T>
struct has_bytes<sample<D, T>> : std::disjunction<has_bytes<D>, has_bytes<T>> {};

}  // namespace wick::detail

// ==== wick/resume/epoch_fingerprint.hpp
/// \file
/// What was delivered of an epoch, as a number: to compare runs, machines and ranks.

namespace wick {

/// What loader::fingerprint(epoch) gives. The sum over the ranks is that of one rank, and the sum over the
/// parts of an epoch that was stopped and resumed is that of the whole.
///
/// Always in it: the data set (as its source tells it apart), the epoch, the size of the global batch; of
/// each position which sample of the source stood there, or that it was left out; of each batch the shapes
/// and types. With loader_options::content_fingerprint the bytes, too, as they were before the batch stages:
/// of numbers, pictures and strings. Not in it: what batch stages do, batches that were thrown instead, the
/// seed (the order shows it, and with the bytes the random numbers do). Without batch() and for objects in a
/// group() it is of the positions alone.
struct epoch_fingerprint {
  std::uint64_t value = 0;
  std::uint64_t samples = 0;  ///< handed over
  std::uint64_t batches = 0;  ///< the same in batches, of this rank

  epoch_fingerprint& operator+=(const epoch_fingerprint& other) noexcept {
    value += other.value;
    samples += other.samples;
    batches += other.batches;
    return *this;
  }
  friend epoch_fingerprint operator+(epoch_fingerprint a, const epoch_fingerprint& b) noexcept {
    return a += b;
  }
  /// Of values and samples: ranks together have more batches than one alone.
  friend bool operator==(const epoch_fingerprint& a, const epoch_fingerprint& b) noexcept {
    return a.value == b.value && a.samples == b.samples;
  }
};

namespace detail {

/// Both halves of a product: every bit of it hangs on all of both (Wang Yi's wyhash has this idea).
inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) noexcept {
#ifdef __SIZEOF_INT128__
  __extension__ using wide = unsigned __int128;
  const wide p = static_cast<wide>(a) * b;
  return static_cast<std::uint64_t>(p) ^ static_cast<std::uint64_t>(p >> 64);
#else
  const std::uint64_t al = a & 0xFFFFFFFFu, ah = a >> 32, bl = b & 0xFFFFFFFFu, bh = b >> 32;
  const std::uint64_t ll = al * bl, lh = al * bh, hl = ah * bl, hh = ah * bh;
  const std::uint64_t middle = (ll >> 32) + (lh & 0xFFFFFFFFu) + (hl & 0xFFFFFFFFu);
  const std::uint64_t low = (ll & 0xFFFFFFFFu) | (middle << 32);
  return low ^ (hh + (lh >> 32) + (hl >> 32) + (middle >> 32));
#endif
}

inline constexpr std::uint64_t left_out = ~std::uint64_t{0};  // in place of an index

/// A sample at a position.
inline std::uint64_t print_of(std::uint64_t position, std::uint64_t index) noexcept {
  return folded_product(position ^ 0xA0761D6478BD642Fu, index ^ 0xE7037ED1A0B428DBu);
}

/// The sum of those at `count` positions from `first` on. In variables of its own: the caller's may lie in
/// memory.
inline std::uint64_t prints_of(std::uint64_t first, const std::uint64_t* index,
                               std::uint64_t count) noexcept {
  std::uint64_t even = 0, odd = 0, i = 0;
  for (; i + 2 <= count; i += 2) {
    even += print_of(first + i, index[i]);
    odd += print_of(first + i + 1, index[i + 1]);
  }
  return i < count ? even + odd + print_of(first + i, index[i]) : even + odd;
}

/// A hash of a sample's bytes: about 10 GB/s.
inline std::uint64_t content_of(const std::byte* data, std::size_t size, std::uint64_t seed) noexcept {
  const auto word = [](const std::byte* at, std::size_t n) {
    std::uint64_t w = 0;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&w, at, n);
    } else {
      for (std::size_t i = 0; i < n; ++i) w |= std::to_integer<std::uint64_t>(at[i]) << (8 * i);
    }
    return w;
  };
  std::uint64_t a = folded_product(seed ^ 0x8EBC6AF09C88C6E3u, size ^ 0x589965CC75374CC3u), b = a;
  for (; size >= 32; data += 32, size -= 32) {
    a = folded_product(word(data, 8) ^ 0xA0761D6478BD642Fu, word(data + 8, 8) ^ a);
    b = folded_product(word(data + 16, 8) ^ 0xE7037ED1A0B428DBu, word(data + 24, 8) ^ b);
  }
  for (; size != 0;) {
    const std::size_t n = size < 8 ? size : 8;
    a = folded_product(word(data, n) ^ 0xA0761D6478BD642Fu, a ^ n);
    data += n;
    size -= n;
  }
  return folded_product(a ^ 0x1D8E4E27C47D124Fu, b ^ 0xEB44ACCAB455D165u);
}

}  // namespace detail
}  // namespace wick

// ==== wick/system/detail/fetch_to_write.hpp
/// \file
/// Asking for cache lines that are written soon.

namespace wick::detail {

/// Asks for the lines of an object that another processor has written and this one is about to, all at once:
/// each takes a third of a microsecond where the two share no cache, one after the other when they are waited
/// for in turn. A hint; the bytes need not be there.
inline void fetch_to_write(const void* at, std::size_t bytes) noexcept {
  const auto* const p = static_cast<const char*>(at);
  for (std::size_t offset = 0; offset < bytes; offset += 64) {
#if defined(__x86_64__)
    // What __builtin_prefetch becomes without -mprfchw asks for a copy only, and the first write then asks
    // again. Processors that don't know this instruction take it for none.
    asm volatile("prefetchw %0" : : "m"(p[offset]));
#else
    __builtin_prefetch(p + offset, 1, 3);
#endif
  }
}

}  // namespace wick::detail

namespace wick::detail {

/// What a column of n slots is, once it is full: n samples of `each` (a picture's as [H, W, C]) in a block of
/// memory.
struct column_description {
  std::int64_t count = 0;
  shape each;
  dtype type = dtype::uint8;
  bool picture = false;
  layout order = layout::channels_last;

  /// The whole's extents: [N, …], for pictures as `order` says.
  shape extents() const {
    shape s{count};
    if (picture && order != layout::nhwc) {
      s.push_back(each[2]);
      s.push_back(each[0]);
      s.push_back(each[1]);
    } else {
      for (const std::int64_t e : each) s.push_back(e);
    }
    return s;
  }
  /// In elements, for extents().
  shape strides() const {
    const shape s = extents();
    std::int64_t step[shape::max_rank + 1] = {};
    if (picture && order == layout::channels_last) {
      const std::int64_t c = s[1], h = s[2], w = s[3];
      return {h * w * c, 1, w * c, c};
    }
    std::int64_t n = 1;
    for (std::size_t i = s.rank(); i-- > 0;) {
      step[i] = n;
      n *= s[i];
    }
    shape out;
    for (std::size_t i = 0; i < s.rank(); ++i) out.push_back(step[i]);
    return out;
  }
};

/// A sample whose shape is not that of the others.
struct misfit {
  std::size_t slot;
  std::string text;
};

/// A column of values of a fixed shape. The first sample to come says the shape and gets the memory.
template <class T, class Output>
class memory_column {
 public:
  using output = decltype(Output::make(slab{}, column_description{}));

  void begin(std::size_t n, layout order, const std::shared_ptr<slab_pool>& pool, std::size_t number = 0) {
    number_ = number;
    if (pool_ != pool) pool_ = pool;  // the same one again costs two atomics otherwise
    capacity_ = n;
    // All anew: a batch without samples says the same of itself wherever it is made.
    about_ = column_description();
    about_.order = order;
    about_.picture = is_picture<T>;
    if constexpr (!batchable<T>) {
      fixed_array<T>::append(about_.each);
      about_.type = dtype_of<typename fixed_array<T>::element>();
    }
    base_.store(nullptr, std::memory_order_relaxed);
    misfits_.clear();
  }

  /// Any thread, each slot once.
  void put(std::size_t i, T&& value) {
    if constexpr (batchable<T>) {
      decltype(auto) each = field_access<T>::extents(value);
      const dtype type = field_access<T>::type(value);
      if (std::byte* at = place(i, each, type)) {
        field_access<T>::write_to(value, slot{at, about_.order == layout::nchw});
      } else {
        // It is made all the same: one that fails must do so whoever came first.
        std::vector<std::byte> scratch(static_cast<std::size_t>(each.count()) * size_of(type));
        field_access<T>::write_to(value, slot{scratch.data(), about_.order == layout::nchw});
      }
    } else {
      std::byte* base = base_.load(std::memory_order_acquire);
      if (base == nullptr) base = begin_memory();
      std::memcpy(base + i * sizeof(T), &value, sizeof(T));
    }
  }

  /// The misfit of the lowest slot, judged by the shape of the lowest slot of all, whoever came first.
  std::optional<misfit> first_misfit(std::size_t n, const std::vector<std::size_t>& failed) const {
    if (misfits_.empty()) return std::nullopt;
    std::vector<std::pair<std::size_t, what>> all = misfits_;
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto known = [&](std::size_t i) {
      for (const auto& m : all) {
        if (m.first == i) return m.second;
      }
      return what{about_.each, about_.type};
    };
    std::size_t lowest = 0;
    while (std::find(failed.begin(), failed.end(), lowest) != failed.end()) ++lowest;
    const what wanted = known(lowest);
    for (std::size_t i = lowest + 1; i < n; ++i) {
      if (std::find(failed.begin(), failed.end(), i) != failed.end()) continue;
      const what found = known(i);
      if (found.each == wanted.each && found.type == wanted.type) continue;
      return misfit{i, "shape " + to_string(found.each) + " of " + std::string(to_string(found.type)) +
                           " in a batch whose first sample has " + to_string(wanted.each) + " of " +
                           std::string(to_string(wanted.type)) +
                           "; bring all to one shape before batch() (resize, crop, pad), or use group()"};
    }
    return std::nullopt;
  }

  /// Before a slot is written anew: what was judged of it before counts no more. Any thread.
  void forget(std::size_t i) {
    std::lock_guard lock(mutex_);
    std::erase_if(misfits_, [i](const auto& m) { return m.first == i; });
  }
  // What follows is called when nobody writes any more.

  /// Some samples were not written, since one that failed later had said what a slot looks like:
  /// first_misfit() finds no fault with them, and all have to be made again.
  bool stale(const std::vector<std::size_t>& failed) const {
    return std::any_of(misfits_.begin(), misfits_.end(), [&](const auto& m) {
      return std::find(failed.begin(), failed.end(), m.first) == failed.end();
    });
  }
  /// Of the `n` slots these (rising) have no sample: the others move together, in their order.
  void close(const std::vector<std::size_t>& gaps, std::size_t n) noexcept {
    std::byte* const base = base_.load(std::memory_order_relaxed);
    for (std::size_t g = 0; g < gaps.size(); ++g) {
      const std::size_t from = gaps[g] + 1, to = g + 1 < gaps.size() ? gaps[g + 1] : n;
      if (from < to)
        std::memmove(base + (from - g - 1) * stride_, base + from * stride_, (to - from) * stride_);
    }
  }
  /// Shape and type of a sample.
  void describe(fingerprint_hash& to) const noexcept {
    to.add(static_cast<std::uint64_t>(about_.type));
    for (const std::int64_t e : about_.each) to.add(static_cast<std::uint64_t>(e));
  }
  /// The bytes of one, mixed into `seed`.
  std::uint64_t content(std::size_t i, std::uint64_t seed) const noexcept {
    return content_of(base_.load(std::memory_order_relaxed) + i * stride_, stride_, seed);
  }

  /// All slots below `n` are written.
  output finish(std::size_t n) {
    about_.count = static_cast<std::int64_t>(n);
    if (n == 0) memory_ = pool_->acquire(1, number_);
    const std::size_t bytes = n * stride_;  // labels are looked at at once, pictures from their beginning on
    prefetch_bytes(memory_.data(), bytes, bytes <= few_bytes ? few_bytes : 64);
    return Output::make(std::move(memory_), about_);
  }
  void drop() noexcept { memory_.reset(); }

 private:
  // A column of labels has at most so many. Its lines are asked for together, by the worker that is going to
  // write what the consumer has read, and by the consumer: one at a time each would be waited for.
  static constexpr std::size_t few_bytes = 4096;
  struct what {
    shape each;
    dtype type;
  };

  std::byte* place(std::size_t i, const shape& each, dtype type) {
    std::byte* base = base_.load(std::memory_order_acquire);
    if (base == nullptr) base = begin_memory(each, type);
    if (about_.type != type || !(about_.each == each)) {
      std::lock_guard lock(mutex_);
      misfits_.push_back({i, what{each, type}});
      return nullptr;
    }
    return base + i * stride_;
  }

  /// Whoever comes first says what a slot looks like.
  [[gnu::noinline]] std::byte* begin_memory(const shape& each, dtype type) {
    std::lock_guard lock(mutex_);
    if (std::byte* const base = base_.load(std::memory_order_relaxed)) return base;
    about_.each = each;
    about_.type = type;
    return acquire();
  }
  /// What a slot looks like has been known since begin(), and nobody writes it any more: it may be read
  /// without the mutex.
  [[gnu::noinline]] std::byte* begin_memory() {
    std::lock_guard lock(mutex_);
    if (std::byte* const base = base_.load(std::memory_order_relaxed)) return base;
    return acquire();
  }
  std::byte* acquire() {
    stride_ = static_cast<std::size_t>(about_.each.count()) * size_of(about_.type);
    memory_ = pool_->acquire(capacity_ * stride_, number_);
    if (capacity_ * stride_ <= few_bytes) fetch_to_write(memory_.data(), capacity_ * stride_);
    base_.store(memory_.data(), std::memory_order_release);
    return memory_.data();
  }

  std::atomic<std::byte*> base_{nullptr};
  std::size_t stride_ = 0;
  std::size_t capacity_ = 0, number_ = 0;
  column_description about_;
  slab memory_;
  std::mutex mutex_;
  std::vector<std::pair<std::size_t, what>> misfits_;
  std::shared_ptr<slab_pool> pool_;
};

/// A column of objects: a vector.
template <class T>
class object_column {
 public:
  using output = std::vector<T>;
  void begin(std::size_t n, layout, const std::shared_ptr<slab_pool>&, std::size_t = 0) {
    slots_.clear();
    slots_.resize(n);
  }
  void put(std::size_t i, T&& value) { slots_[i].emplace(std::move(value)); }
  std::optional<misfit> first_misfit(std::size_t, const std::vector<std::size_t>&) const {
    return std::nullopt;
  }
  void forget(std::size_t) noexcept {}
  bool stale(const std::vector<std::size_t>&) const noexcept { return false; }
  void close(const std::vector<std::size_t>& gaps, std::size_t n) {
    for (std::size_t g = 0; g < gaps.size(); ++g) {
      const std::size_t to = g + 1 < gaps.size() ? gaps[g + 1] : n;
      for (std::size_t i = gaps[g] + 1; i < to; ++i) slots_[i - g - 1] = std::move(slots_[i]);
    }
  }
  void describe(fingerprint_hash&) const noexcept {}
  std::uint64_t content(std::size_t i, std::uint64_t seed) const noexcept {
    if constexpr (std::is_same_v<T, std::string>) {
      return content_of(reinterpret_cast<const std::byte*>(slots_[i]->data()), slots_[i]->size(), seed);
    } else {
      return seed;
    }
  }
  output finish(std::size_t n) {
    output out;
    out.reserve(n);
    for (std::size_t i = 0; i < n; ++i) out.push_back(std::move(*slots_[i]));
    return out;
  }
  void drop() noexcept { slots_.clear(); }

 private:
  std::vector<std::optional<T>> slots_;
};

template <class T, class Output>
class composite_column;

template <class T, class Output>
struct column_for {
  using type = memory_column<T, Output>;
};
template <class Output>
struct column_for<std::string, Output> {
  using type = object_column<std::string>;
};
template <composite T, class Output>
struct column_for<T, Output> {
  using type = composite_column<T, Output>;
};
template <class T, class Output>
using column_of = typename column_for<T, Output>::type;

/// What the columns of T's fields are put together to: sample<> again, `T::batch_type` where T names one, or
/// a tuple.
template <class T, class... O>
struct batch_shape_of {
  using type = std::tuple<O...>;
};
template <class D, class T, class A, class B>
struct batch_shape_of<sample<D, T>, A, B> {
  using type = sample<A, B>;
};
template <class T, class... O>
  requires requires { typename T::batch_type; }
struct batch_shape_of<T, O...> {
  using type = typename T::batch_type;
};

template <class T, class Output>
class composite_column {
  template <class... F>
  static std::tuple<column_of<F, Output>...> columns(std::type_identity<std::tuple<F...>>);
  using tuple = decltype(columns(std::type_identity<typename field_types<T>::type>{}));
  template <class... C>
  static typename batch_shape_of<T, typename C::output...>::type whole(std::type_identity<std::tuple<C...>>);

 public:
  using output = decltype(whole(std::type_identity<tuple>{}));

  /// `number` tells the columns of a batch apart, nested ones too.
  void begin(std::size_t n, layout order, const std::shared_ptr<slab_pool>& pool, std::size_t number = 0) {
    number *= max_fields + 1;
    std::apply([&](auto&... c) { (c.begin(n, order, pool, ++number), ...); }, columns_);
  }
  void put(std::size_t i, T&& value) {
    with_fields(value, [&](auto&... fields) {
      std::apply([&](auto&... c) { (c.put(i, std::move(fields)), ...); }, columns_);
    });
  }
  std::optional<misfit> first_misfit(std::size_t n, const std::vector<std::size_t>& failed) const {
    std::optional<misfit> lowest;
    std::apply(
        [&](const auto&... c) {
          const auto look = [&](std::optional<misfit> m) {
            if (m && (!lowest || m->slot < lowest->slot)) lowest = std::move(m);
          };
          (look(c.first_misfit(n, failed)), ...);
        },
        columns_);
    return lowest;
  }
  void forget(std::size_t i) {
    std::apply([&](auto&... c) { (c.forget(i), ...); }, columns_);
  }
  bool stale(const std::vector<std::size_t>& failed) const {
    return std::apply([&](const auto&... c) { return (c.stale(failed) || ...); }, columns_);
  }
  void close(const std::vector<std::size_t>& gaps, std::size_t n) {
    std::apply([&](auto&... c) { (c.close(gaps, n), ...); }, columns_);
  }
  void describe(fingerprint_hash& to) const noexcept {
    std::apply([&](const auto&... c) { (c.describe(to), ...); }, columns_);
  }
  std::uint64_t content(std::size_t i, std::uint64_t seed) const noexcept {
    std::apply([&](const auto&... c) { ((seed = c.content(i, seed)), ...); }, columns_);
    return seed;
  }
  output finish(std::size_t n) {
    return std::apply([&](auto&... c) { return output{c.finish(n)...}; }, columns_);
  }
  void drop() noexcept {
    std::apply([](auto&... c) { (c.drop(), ...); }, columns_);
  }

 private:
  tuple columns_;
};

}  // namespace wick::detail

namespace wick {

namespace detail {

struct batch_options {
  /// Leave out the last batch of an epoch when it is not full.
  bool drop_last = false;
  /// How pictures lie in memory.
  wick::layout layout = wick::layout::channels_last;
  /// Fill the last batch of an epoch from the epoch's beginning. Each such sample stands at a position of its
  /// own, so that its random numbers are others. Without this and drop_last the last batch is short. All
  /// ranks have the same number of batches in any case, and with this of samples where the ranks share a
  /// batch evenly.
  bool pad_last = false;
};

/// \throws wick::error
inline batch_options checked(const char* stage, std::size_t size, batch_options options) {
  if (size == 0) throw error(std::string(stage) + "(0): a " + stage + " has at least one sample");
  if (options.drop_last && options.pad_last) {
    throw error(std::string(stage) +
                ": the last one can't be dropped and padded; write drop_last or pad_last");
  }
  return options;
}
}  // namespace detail

/// A column of a batch without Torch: numbers of one type in memory that is shared by all copies of this
/// value and goes back to the loader's pool with the last of them.
class array {
 public:
  array() noexcept = default;
  array(detail::slab memory, const detail::column_description& about)
      : memory_(std::make_shared<detail::slab>(std::move(memory))),
        extents_(about.extents()),
        strides_(about.strides()),
        type_(about.type) {}

  /// [N, …]; pictures as the batch's layout says.
  const shape& extents() const noexcept { return extents_; }
  /// In elements.
  const shape& strides() const noexcept { return strides_; }
  dtype type() const noexcept { return type_; }
  std::byte* data() const noexcept { return memory_ ? memory_->data() : nullptr; }
  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(extents_.count()) * detail::size_of(type_);
  }
  /// The elements as T. \throws wick::error when they are something else
  template <class T>
  T* as() const {
    if (detail::dtype_of<T>() != type_) {
      throw error("array: as<" + std::string(to_string(detail::dtype_of<T>())) + "> of an array of " +
                  std::string(to_string(type_)) +
                  (type_ == dtype::uint8
                       ? "; pictures are bytes, write normalize() before array_batch() for floats"
                       : ""));
    }
    return reinterpret_cast<T*>(data());
  }

 private:
  std::shared_ptr<detail::slab> memory_;
  shape extents_, strides_;
  dtype type_ = dtype::uint8;
};

namespace detail {

template <>
inline constexpr bool is_column<array> = true;

struct array_output {
  static array make(slab memory, const column_description& about) { return array(std::move(memory), about); }
};

/// Makes batches whose columns Output makes.
template <class Output>
class batch_stage {
 public:
  using stage_kind = on_batching;
  using stage_hooks = hooks<hook::fingerprint, hook::check>;
  static constexpr std::string_view name = "batch";

  /// \throws wick::error when size is 0
  batch_stage(std::size_t size, batch_options options)
      : size_(size), options_(detail::checked("batch", size, options)) {}
  std::size_t size() const noexcept { return size_; }
  bool drop_last() const noexcept { return options_.drop_last; }
  bool pad_last() const noexcept { return options_.pad_last; }
  std::uint64_t fingerprint() const noexcept { return (drop_last() ? 1u : 0u) | (pad_last() ? 2u : 0u); }
  layout order() const noexcept { return options_.layout; }

  template <class Item>
  using collator = detail::column_of<Item, Output>;
  template <class Item>
  using batch_of = typename collator<Item>::output;

  template <class Item>
  static consteval bool check() {
    if constexpr (!can_batch<Item>::value) {
      constexpr bool is_read = !has_unread<Item>::value;
      constexpr bool is_decoded = !is_read || !has_bytes<Item>::value;
      constexpr bool has_a_shape = !is_read || !is_decoded;
      static_assert(
          is_read,
          "wick: batch() makes tensors, and what came only says where bytes lie (see 'Item'); write "
          "read() before it, and for pictures read() | decode()");
      static_assert(is_decoded,
                    "wick: batch() makes tensors, and what came are bytes as they were read (see 'Item'); "
                    "write decode() before it for pictures, else a stage that makes numbers of them");
      static_assert(has_a_shape,
                    "wick: batch() can't put what came into a tensor (see 'Item'): it takes numbers, "
                    "std::array of them, std::string, pictures, and sample<>, tuples and plain structs of up "
                    "to 8 fields of these; write group(n) for what has no fixed shape (std::vector), or a "
                    "stage before batch() that gives it one");
    }
    return can_batch<Item>::value;
  }

 private:
  std::size_t size_;
  batch_options options_;
};

}  // namespace detail

/// Batches of `size` samples as arrays, without Torch: sample<array, array> of sample<picture, label>, field
/// by field for tuples and plain structs. With shard(), `size` counts the samples of all ranks together.
/// \throws wick::error when size is 0
inline detail::batch_stage<detail::array_output> array_batch(std::size_t size,
                                                             detail::batch_options options = {}) {
  return {size, options};
}

namespace detail {

/// A column of objects that are made before they are put: no undecoded picture leaves a batch.
template <class Item>
class group_column : public object_column<materialized_t<Item>> {
 public:
  void put(std::size_t i, Item&& value) {
    object_column<materialized_t<Item>>::put(i, materialized<Item>::make(std::move(value)));
  }
};

/// Makes a std::vector of the samples as they are.
class group_stage {
 public:
  using stage_kind = on_batching;
  using stage_hooks = hooks<hook::fingerprint, hook::check>;
  static constexpr std::string_view name = "group";
  /// They stay objects, each in memory of its own: there are no blocks.
  static constexpr bool keeps_samples = true;
  group_stage(std::size_t size, batch_options options)
      : size_(size), options_(detail::checked("group", size, options)) {}
  std::size_t size() const noexcept { return size_; }
  bool drop_last() const noexcept { return options_.drop_last; }
  bool pad_last() const noexcept { return options_.pad_last; }
  std::uint64_t fingerprint() const noexcept { return (drop_last() ? 1u : 0u) | (pad_last() ? 2u : 0u); }
  layout order() const noexcept { return options_.layout; }
  template <class Item>
  using collator = detail::group_column<Item>;
  template <class Item>
  using batch_of = std::vector<detail::materialized_t<Item>>;
  template <class Item>
  static consteval bool check() {
    return true;
  }

 private:
  std::size_t size_;
  batch_options options_;
};

}  // namespace detail

/// Groups of `size` samples, each a std::vector of them: for what has no fixed shape.
/// \throws wick::error when size is 0
inline detail::group_stage group(std::size_t size, detail::batch_options options = {}) {
  return {size, options};
}

}  // namespace wick

// ==== wick/image/transforms.hpp
/// \file
/// All stages that work on pictures.

// ==== wick/image/color.hpp
/// \file
/// Color stages: color_jitter, grayscale, random_grayscale. They note operations that run on the finished
/// pixels, in the batch's slot.

// ==== wick/image/detail/arguments.hpp
/// \file
/// Checks of what stages are constructed with, so that a wrong argument is an error before the first sample.

// ==== wick/pixels/geometry.hpp
/// \file
/// Lazy geometry: crops, resizes and mirrors of a picture gathered into one plan before any pixel exists.

namespace wick {

namespace detail {

/// A rectangle of pixels; x to the right, y down.
struct rect {
  int x = 0, y = 0, width = 0, height = 0;
  friend bool operator==(const rect&, const rect&) = default;
};

}  // namespace detail

/// How a resize weighs the source pixels. When it shrinks, all but `nearest` widen with the factor, so that
/// nothing aliases (Pillow's resize, torchvision's antialias=True).
enum class interpolation : std::uint8_t {
  nearest,   ///< the pixel under the center
  bilinear,  ///< triangle
  bicubic,   ///< Keys' cubic with a = -0.5
};

namespace detail {

/// "500 x 375", as messages name a size: width first.
inline std::string size_text(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + " x " + std::to_string(height);
}

/// What is to be done to a picture: cut `source` out, resize that to width x height, keep `window` of the
/// result, mirror it. The filter never looks past `source`.
struct plan {
  rect source;
  int width = 0, height = 0;
  rect window;
  bool mirror_x = false;  ///< left and right change places
  bool mirror_y = false;  ///< top and bottom change places
  interpolation filter = interpolation::bilinear;

  /// The picture as it is.
  static plan whole(int width, int height) noexcept {
    return {{0, 0, width, height},  width, height, {0, 0, width, height}, false, false,
            interpolation::bilinear};
  }
  bool resizes() const noexcept { return width != source.width || height != source.height; }
  /// The result is `source` as it is.
  bool only_cuts() const noexcept { return !resizes() && !mirror_x && !mirror_y; }
  int output_width() const noexcept { return window.width; }
  int output_height() const noexcept { return window.height; }
  friend bool operator==(const plan&, const plan&) = default;
};

/// Cuts `part` out of what the plan gives so far. Always exact: before a resize it narrows the source, after
/// one the window. \throws wick::error when `part` is empty or not inside the picture.
inline void compose_crop(plan& p, rect part) {
  const int width = p.output_width(), height = p.output_height();
  if (part.width < 1 || part.height < 1) {
    throw error("crop " + size_text(part.width, part.height) + " is empty; give at least 1 px a side");
  }
  if (part.width > width || part.height > height) {
    throw error("crop " + size_text(part.width, part.height) + " is larger than the picture, " +
                size_text(width, height) + "; resize first or pad");
  }
  if (part.x < 0 || part.y < 0 || part.x > width - part.width || part.y > height - part.height) {
    throw error("crop " + size_text(part.width, part.height) + " at (" + std::to_string(part.x) + ", " +
                std::to_string(part.y) + ") reaches past the picture, " + size_text(width, height) +
                "; move or shrink it");
  }
  if (p.mirror_x) part.x = width - part.width - part.x;
  if (p.mirror_y) part.y = height - part.height - part.y;
  if (p.resizes()) {
    p.window = {p.window.x + part.x, p.window.y + part.y, part.width, part.height};
  } else {
    // Nothing is resampled yet, so window and source are the same rectangle.
    p.source = {p.source.x + part.x, p.source.y + part.y, part.width, part.height};
    p.width = part.width;
    p.height = part.height;
    p.window = {0, 0, part.width, part.height};
  }
}

/// Resizes what the plan gives so far. False, and nothing done, when one pass can't give the same pixels:
/// after an earlier resize, or with `nearest` after a mirror (its ties fall to one side). Carry out the plan
/// first then. \throws wick::error when a side is less than 1
inline bool compose_resize(plan& p, int width, int height, interpolation filter) {
  if (width < 1 || height < 1) {
    throw error("resize to " + size_text(width, height) + " leaves no picture; give at least 1 px a side");
  }
  if (width == p.output_width() && height == p.output_height()) return true;
  if (p.resizes()) return false;
  if (filter == interpolation::nearest && (p.mirror_x || p.mirror_y)) return false;
  p.width = width;
  p.height = height;
  p.window = {0, 0, width, height};
  p.filter = filter;
  return true;
}

/// Mirrors what the plan gives so far; always exact.
inline void compose_mirror_x(plan& p) noexcept { p.mirror_x = !p.mirror_x; }
inline void compose_mirror_y(plan& p) noexcept { p.mirror_y = !p.mirror_y; }

}  // namespace detail

}  // namespace wick

namespace wick::detail {

inline void require_size(std::string_view stage, int height, int width) {
  if (height < 1 || width < 1) {
    throw error(std::string(stage) + ": size " + size_text(width, height) +
                " px leaves no picture; give at least 1 px a side");
  }
}

inline void require_probability(std::string_view stage, double p) {
  if (!(p >= 0 && p <= 1)) {
    throw error(std::string(stage) + ": probability " + std::to_string(p) + "; give one from 0 to 1");
  }
}

}  // namespace wick::detail

// ==== wick/image/lazy_image.hpp
/// \file
/// A picture that is not decoded yet, with all that is to be done to it; carried out in one pass when its
/// slot in the batch is known. What decode() makes and the picture stages pass on.

// ==== wick/codec/codec.hpp
/// \file
/// The decoding seam: what a decoder is asked, what it answers, and how the right one is found for a sample's
/// bytes.

// ==== wick/codec/detail/signature.hpp
/// \file
/// Words for bytes that are no picture, or not a whole one: what they probably are, where they end.

namespace wick::detail {

inline bool starts_with(std::span<const std::byte> data, std::string_view start,
                        std::size_t at = 0) noexcept {
  if (data.size() < at + start.size()) return false;
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (data[at + i] != static_cast<std::byte>(start[i])) return false;
  }
  return true;
}

/// "a zip", "text", …; empty when nothing is known.
inline std::string_view guess_format(std::span<const std::byte> data) noexcept {
  using namespace std::string_view_literals;
  struct signature {
    std::string_view start, what;
    std::size_t at = 0;
  };
  static constexpr signature known[] = {
      {"PK\x03\x04"sv, "a zip"},
      {"\x1f\x8b"sv, "gzip"},
      {"BZh"sv, "bzip2"},
      {"\xfd"
       "7zXZ"sv,
       "xz"},
      {"\x28\xb5\x2f\xfd"sv, "zstd"},
      {"7z\xbc\xaf"sv, "a 7z archive"},
      {"Rar!"sv, "a rar archive"},
      {"ustar"sv, "a tar archive", 257},
      {"WEBP"sv, "a WebP", 8},
      {"RIFF"sv, "a RIFF file"},
      {"II*\0"sv, "a TIFF"},
      {"MM\0*"sv, "a TIFF"},
      {"ftypavif"sv, "an AVIF", 4},
      {"ftyphei"sv, "a HEIC", 4},
      {"ftyp"sv, "an MP4 or QuickTime video", 4},
      {"\0\0\0\x0cjP  "sv, "a JPEG 2000"},
      {"\xff\x4f\xff\x51"sv, "a JPEG 2000"},
      {"\xff\x0a"sv, "a JPEG XL"},
      {"\0\0\0\x0cJXL "sv, "a JPEG XL"},
      {"8BPS"sv, "a Photoshop file"},
      {"%PDF"sv, "a PDF"},
      {"P5"sv, "a PGM"},
      {"P6"sv, "a PPM"},
      {"\x93NUMPY"sv, "a NumPy array"},
      {"\x89HDF"sv, "an HDF5 file"},
      {"\x7f"
       "ELF"sv,
       "a program"},
      {"version https://git-lfs"sv, "a Git LFS pointer; run git lfs pull"},
      {"<svg"sv, "an SVG"},
      {"<?xml"sv, "XML"},
      {"<!DOCTYPE"sv, "an HTML page"},
      {"<html"sv, "an HTML page"},
      {"\xff\xd8"sv, "nearly a JPEG"},
      {"\x89PNG"sv, "nearly a PNG"},
  };
  for (const signature& s : known) {
    if (starts_with(data, s.start, s.at)) return s.what;
  }
  const auto head = data.first(std::min<std::size_t>(data.size(), 64));
  if (std::all_of(head.begin(), head.end(), [](std::byte b) { return b == std::byte{0}; }))
    return "zeros, as of a file that was never written";
  const auto text = [](std::byte b) {
    const auto c = static_cast<unsigned char>(b);
    return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\r' || c == '\t';
  };
  if (std::all_of(head.begin(), head.end(), text)) return "text";
  return {};
}

/// "50 4b 03 04, a zip": the first bytes in hex and a guess.
inline std::string describe_start(std::span<const std::byte> data) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte b : data.first(std::min<std::size_t>(data.size(), 4))) {
    const auto u = static_cast<unsigned char>(b);
    if (!out.empty()) out += ' ';
    out += digits[u >> 4];
    out += digits[u & 15];
  }
  const std::string_view guess = guess_format(data);
  if (!guess.empty()) (out += ", ") += guess;
  return out;
}

[[noreturn]] inline void throw_truncated(std::string_view format, std::size_t size,
                                         const std::string& where) {
  throw error("truncated " + std::string(format) + ": ends after " + std::to_string(size) + " bytes " +
              where + "; fetch or write the file again" + or_leave_it_out);
}

}  // namespace wick::detail

// ==== wick/pixels/image.hpp
/// \file
/// A decoded picture: 8-bit pixels in rows, channels side by side; what a user's stage gets when it asks for
/// pixels.

// ==== wick/pixels/detail/block_cache.hpp
/// \file
/// Memory for pixels: each thread keeps the last large blocks it dropped, so that decoding picture after
/// picture asks the kernel for no pages. Where pixels lie from the decoder to the batch's slot.

namespace wick::detail {

struct block_header {
  std::size_t capacity;  // bytes behind the header
};

inline constexpr std::size_t block_header_bytes = 64;
inline constexpr std::size_t smallest_kept_block = std::size_t{1} << 15;
inline constexpr std::size_t most_kept_bytes = std::size_t{64} << 20;  // a thread

/// Sizes come in eight steps a doubling, so that pictures of nearly one size share blocks.
constexpr std::size_t block_size(std::size_t bytes) noexcept {
  if (bytes < smallest_kept_block) return bytes;
  std::size_t step = smallest_kept_block / 8;
  while (step * 16 < bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

inline thread_local bool block_cache_gone =
    false;  // trivially destructible: may be read after the cache went

/// Dropped blocks of one thread, oldest first.
struct block_cache {
  std::array<block_header*, 12> blocks{};
  std::size_t count = 0;
  std::size_t bytes = 0;

  block_cache() = default;
  block_cache(const block_cache&) = delete;
  block_cache& operator=(const block_cache&) = delete;
  ~block_cache() {
    while (count != 0) std::free(remove(0));
    block_cache_gone = true;
  }
  block_header* remove(std::size_t i) noexcept {
    block_header* const block = blocks[i];
    bytes -= block->capacity;
    for (--count; i < count; ++i) blocks[i] = blocks[i + 1];
    return block;
  }
  /// The smallest block that holds `size` and wastes at most three quarters of itself.
  block_header* take(std::size_t size) noexcept {
    std::size_t best = count;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t capacity = blocks[i]->capacity;
      if (capacity >= size && capacity / 4 <= size && (best == count || capacity < blocks[best]->capacity))
        best = i;
    }
    return best == count ? nullptr : remove(best);
  }
  void give(block_header* block) noexcept {
    while (count != 0 && (count == blocks.size() || bytes + block->capacity > most_kept_bytes))
      std::free(remove(0));
    blocks[count++] = block;
    bytes += block->capacity;
  }
};

/// Null where nothing is kept: when the thread is ending, and under AddressSanitizer, which must see each
/// free.
[[gnu::noinline]] inline block_cache* this_thread_blocks() noexcept {
#if defined(__SANITIZE_ADDRESS__)
  return nullptr;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return nullptr;
#endif
#endif
  if (block_cache_gone) return nullptr;
  static thread_local block_cache blocks;
  return &blocks;
}

/// As malloc; aligned to 16 bytes. Null when there is no memory.
inline void* allocate_block(std::size_t bytes) noexcept {
  if (bytes > static_cast<std::size_t>(-1) / 2) return nullptr;
  const std::size_t size = block_size(bytes);
  block_header* block = nullptr;
  if (size >= smallest_kept_block) {
    if (block_cache* kept = this_thread_blocks()) block = kept->take(size);
  }
  if (block == nullptr) {
    void* const memory = std::malloc(block_header_bytes + size);
    if (memory == nullptr) return nullptr;
    block = ::new (memory) block_header{size};
  }
  return reinterpret_cast<std::byte*>(block) + block_header_bytes;
}

/// As free, on any thread.
inline void release_block(void* data) noexcept {
  if (data == nullptr) return;
  auto* const block = reinterpret_cast<block_header*>(static_cast<std::byte*>(data) - block_header_bytes);
  if (block->capacity >= smallest_kept_block && block->capacity <= most_kept_bytes) {
    if (block_cache* kept = this_thread_blocks()) return kept->give(block);
  }
  std::free(block);
}

/// As realloc.
inline void* resize_block(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return allocate_block(bytes);
  const std::size_t capacity =
      reinterpret_cast<block_header*>(static_cast<std::byte*>(data) - block_header_bytes)->capacity;
  if (bytes <= capacity) return data;
  void* const larger = allocate_block(bytes);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, data, capacity);
  release_block(data);
  return larger;
}

}  // namespace wick::detail

namespace wick {

namespace detail {

/// Pixels that belong to somebody else, for reading: rows `stride` bytes apart, channels interleaved.
struct picture_view {
  const std::uint8_t* data = nullptr;
  int width = 0, height = 0, channels = 0;
  std::ptrdiff_t stride = 0;

  /// A rectangle of it, which must be inside.
  picture_view part(int x, int y, int part_width, int part_height) const noexcept {
    return {data + y * stride + std::ptrdiff_t{x} * channels, part_width, part_height, channels, stride};
  }
};

/// Pixels that belong to somebody else, for writing. Channel c of pixel (x, y) is data[y * row + x * step + c
/// * plane]: interleaved with step = channels and plane = 1, planar with step = 1 and plane = width * height.
struct picture_target {
  std::uint8_t* data = nullptr;
  int width = 0, height = 0, channels = 0;
  std::ptrdiff_t step = 0, row = 0, plane = 0;

  static picture_target interleaved(void* data, int width, int height, int channels) noexcept {
    return {static_cast<std::uint8_t*>(data), width, height, channels, channels,
            std::ptrdiff_t{width} * channels, 1};
  }
  static picture_target planar(void* data, int width, int height, int channels) noexcept {
    return {static_cast<std::uint8_t*>(data), width, height, channels, 1, width,
            std::ptrdiff_t{width} * height};
  }
};

/// Writes the pixels into `to`, which has their size and channels.
inline void copy_pixels(const picture_view& from, const picture_target& to) noexcept {
  const auto row_bytes = static_cast<std::size_t>(from.width) * static_cast<std::size_t>(from.channels);
  const bool whole_rows = to.plane == 1 && to.step == from.channels;
  if (whole_rows && from.stride == to.row && from.stride == static_cast<std::ptrdiff_t>(row_bytes)) {
    // In one go the system's copy writes large blocks without reading their memory first: twice as fast.
    if (from.height > 0) std::memcpy(to.data, from.data, row_bytes * static_cast<std::size_t>(from.height));
    return;
  }
  for (int y = 0; y < from.height; ++y) {
    const std::uint8_t* in = from.data + y * from.stride;
    std::uint8_t* out = to.data + y * to.row;
    if (whole_rows) {
      std::memcpy(out, in, row_bytes);
      continue;
    }
    for (int c = 0; c < from.channels; ++c) {
      for (int x = 0; x < from.width; ++x) out[x * to.step + c * to.plane] = in[x * from.channels + c];
    }
  }
}

}  // namespace detail

/// A decoded picture, H W C, one byte a channel: 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA. Batches as [H, W,
/// C] or, in a planar slot, [C, H, W].
class image {
 public:
  static constexpr bool is_picture = true;

  image() noexcept = default;
  /// Pixels are not initialized. \throws wick::error when a side is negative or channels is not 1 to 4.
  /// \throws std::bad_alloc
  image(int width, int height, int channels) : image(nullptr, width, height, channels) {
    if (width < 0 || height < 0 || channels < 1 || channels > 4) {
      throw error("image: cannot make " + std::to_string(width) + " x " + std::to_string(height) +
                  " px with " + std::to_string(channels) +
                  " channels; sides are at least 0, channels 1 to 4");
    }
    if (size() != 0 && (data_ = static_cast<std::uint8_t*>(detail::allocate_block(size()))) == nullptr) {
      throw std::bad_alloc();
    }
  }
  image(const image& other) : image() {
    if (other.data_ == nullptr) return;
    image copy(other.width_, other.height_, other.channels_);
    std::memcpy(copy.data_, other.data_, other.size());
    swap(copy);
  }
  image(image&& other) noexcept : image() { swap(other); }
  image& operator=(image other) noexcept {
    swap(other);
    return *this;
  }
  ~image() { detail::release_block(data_); }

  /// Takes over pixels from detail::allocate_block: for codecs whose library allocates.
  static image adopt(std::uint8_t* data, int width, int height, int channels) noexcept {
    return image(data, width, height, channels);
  }

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  int channels() const noexcept { return channels_; }
  bool empty() const noexcept { return size() == 0; }

  std::uint8_t* data() noexcept { return data_; }
  const std::uint8_t* data() const noexcept { return data_; }
  std::uint8_t* row(int y) noexcept { return data_ + y * stride(); }
  const std::uint8_t* row(int y) const noexcept { return data_ + y * stride(); }
  std::span<std::uint8_t> pixels() noexcept { return {data_, size()}; }
  std::span<const std::uint8_t> pixels() const noexcept { return {data_, size()}; }
  detail::picture_view view() const noexcept { return {data_, width_, height_, channels_, stride()}; }

  /// [H, W, C].
  wick::shape extents() const { return {height_, width_, channels_}; }
  dtype type() const noexcept { return dtype::uint8; }
  void write_to(slot to) const noexcept {
    detail::copy_pixels(view(),
                        to.planar ? detail::picture_target::planar(to.data, width_, height_, channels_)
                                  : detail::picture_target::interleaved(to.data, width_, height_, channels_));
  }

  friend bool operator==(const image& a, const image& b) noexcept {
    return a.width_ == b.width_ && a.height_ == b.height_ && a.channels_ == b.channels_ &&
           (a.size() == 0 || std::memcmp(a.data_, b.data_, a.size()) == 0);
  }

 private:
  image(std::uint8_t* data, int width, int height, int channels) noexcept
      : data_(data), width_(width), height_(height), channels_(channels) {}
  std::ptrdiff_t stride() const noexcept { return std::ptrdiff_t{width_} * channels_; }
  std::size_t size() const noexcept {
    return static_cast<std::size_t>(stride()) * static_cast<std::size_t>(height_);
  }
  void swap(image& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(width_, other.width_);
    std::swap(height_, other.height_);
    std::swap(channels_, other.channels_);
  }

  std::uint8_t* data_ = nullptr;
  int width_ = 0, height_ = 0, channels_ = 0;
};

}  // namespace wick

// ==== wick/pixels/row_sink.hpp
/// \file
/// Where a decoder puts rows as they are finished, so that a picture that is only passed through is never
/// whole in memory: the seam between a codec and the resize.

namespace wick {

namespace detail {

/// What rows are going to come: a part of the picture, at full size or scaled.
struct decoded_rows {
  int width = 0, height = 0, channels = 0;
  int left = 0, top = 0;  ///< source pixel at which the part starts; times `scale` it is a whole number
  double scale = 1;       ///< delivered pixels a source pixel
};

}  // namespace detail

/// Takes rows from top to bottom. One thread, from begin() to the last written(); it lives no longer than the
/// call that it was given to.
class row_sink {
 public:
  row_sink(const row_sink&) = delete;
  row_sink& operator=(const row_sink&) = delete;

  /// Once, before the first row. \throws wick::error when that part is not what was asked for
  virtual void begin(const detail::decoded_rows& what) = 0;
  /// Memory for the next rows, `width * channels` bytes each: at least one, or none when no more are needed.
  /// It stays good until written() says how many were filled.
  virtual std::span<std::uint8_t* const> room() = 0;
  /// The first `count` rows of room() are there.
  virtual void written(int count) = 0;

 protected:
  row_sink() = default;
  ~row_sink() = default;
};

}  // namespace wick

// ==== wick/pixels/wide_rows.hpp
/// \file
/// Rows of a picture with 16 bits a channel.

namespace wick::detail {

/// Rows of a picture at 16 bits a channel, in its full width.
struct wide_rows {
  int width = 0, height = 0, channels = 0;
  int top = 0;  ///< source row of the first
  std::vector<std::uint16_t> levels{};

  wide_rows() noexcept = default;
  wide_rows(int w, int h, int c, int first)
      : width(w),
        height(h),
        channels(c),
        top(first),
        levels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h) * static_cast<std::size_t>(c)) {}
  const std::uint16_t* row(int y) const noexcept {
    return levels.data() + std::ptrdiff_t{y - top} * width * channels;
  }
};

}  // namespace wick::detail

namespace wick {

struct codec;

/// What the header of an encoded picture says; no pixel has been decoded for it.
struct picture_info {
  std::string_view format;             ///< "JPEG", "PNG", …
  std::int64_t width = 0, height = 0;  ///< in pixels, as stored
  int channels = 3;                    ///< as stored: 1 gray, 2 gray and alpha, 3 RGB (a palette too), 4 RGBA
  int bits = 8;                        ///< a channel, as stored
  const codec* decoder = nullptr;      ///< the one that knew the format
  bool palette = false;  ///< stored are numbers of colors, which decode_request::indexes asks for
};

/// What a decoder is asked for.
struct decode_request {
  detail::rect wanted;  ///< the part that is needed, in pixels of the encoded picture
  double scale = 1;     ///< the least that suffices, in (0, 1]: delivered pixels a source pixel
  int channels = 3;     ///< 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA
  bool indexes =
      false;  ///< the numbers as they are stored, in one channel: of a palette's colors, or levels of gray
};

/// What a decoder delivers: any part that contains the wanted one, at any scale that suffices.
struct decoded_picture {
  image pixels;           ///< what was decoded
  int left = 0, top = 0;  ///< source pixel at which `pixels` starts; times `scale` it is a whole number
  double scale = 1;       ///< delivered pixels a source pixel
};

/// A decoder of one or more formats: some functions and a name. Any thread may call them, many at a time.
struct codec {
  std::string_view name;  ///< for messages and the report
  /// Fills `info` from the header and answers true; false when it is another format. \throws wick::error when
  /// the header is broken
  bool (*probe)(std::span<const std::byte> encoded, picture_info& info);
  /// A walk over markers or chunks, without decoding; may be null. \throws wick::error when the file breaks
  /// off
  void (*check_complete)(std::span<const std::byte> encoded, const picture_info& info);
  /// Decodes what is asked for, or more. \throws wick::error when the data is damaged
  decoded_picture (*decode)(std::span<const std::byte> encoded, const picture_info& info,
                            const decode_request& request);
  /// The same, row by row: the part is begun, then filled from the top until the sink wants no more or all of
  /// it is there. Preferred to decode(); may be null. \throws wick::error when the data is damaged
  void (*decode_rows)(std::span<const std::byte> encoded, const picture_info& info,
                      const decode_request& request, row_sink& sink) = nullptr;
  /// Levels of 16 bits, of a picture that has them: at least the rows of `wanted`. Null for a decoder that
  /// has none. \throws wick::error when the data is damaged
  detail::wide_rows (*decode_wide)(std::span<const std::byte> encoded, const picture_info& info,
                                   const decode_request& request) = nullptr;
  /// What the report should say about this decoder, empty when there is nothing; may be null.
  std::string (*note)() = nullptr;
};

namespace detail {

/// The decoders of this program, the last added asked first. Reading takes no lock.
class codec_list {
 public:
  static constexpr std::size_t capacity = 16;

  /// The first is asked last. At most sixteen.
  explicit codec_list(std::span<const codec* const> known) noexcept : count_(known.size()) {
    std::copy(known.begin(), known.end(), codecs_.begin());
  }
  codec_list(const codec_list&) = delete;
  codec_list& operator=(const codec_list&) = delete;

  /// `c` must live as long as the program. Adding it again does nothing. \throws wick::error past sixteen
  void add(const codec& c) {
    std::lock_guard lock(adding_);
    const std::size_t n = count_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < n; ++i) {
      if (codecs_[i] == &c) return;
    }
    if (n == capacity) throw error("wick: more than 16 picture codecs; register each one once");
    codecs_[n] = &c;
    count_.store(n + 1, std::memory_order_release);
  }

  /// Reads the header. \throws wick::error with the first bytes and what they look like, when no decoder
  /// knows them, or when the header says there are no pixels
  picture_info probe(std::span<const std::byte> encoded) const {
    if (encoded.empty()) {
      throw error("empty: 0 bytes where a picture should be; write the file again or remove it");
    }
    for (std::size_t i = count_.load(std::memory_order_acquire); i-- != 0;) {
      picture_info info;
      if (!codecs_[i]->probe(encoded, info)) continue;
      info.decoder = codecs_[i];
      if (info.width < 1 || info.height < 1) {
        throw error(std::string(info.format) + " of " + size_text(info.width, info.height) +
                    " px has no pixels; write the file again or remove it");
      }
      return info;
    }
    throw error(
        "not a JPEG, PNG, BMP or GIF (starts with " + detail::describe_start(encoded) +
        "); convert or remove it, or set .on_error = wick::on_error(wick::skip) to leave such samples out");
  }

  /// What the decoders have to say for the report.
  std::string note() const {
    std::string out;
    for (std::size_t i = 0; i < count_.load(std::memory_order_acquire); ++i) {
      if (codecs_[i]->note == nullptr) continue;
      const std::string text = codecs_[i]->note();
      if (!text.empty()) out += (out.empty() ? "" : "; ") + std::string(codecs_[i]->name) + ": " + text;
    }
    return out;
  }

 private:
  std::array<const codec*, capacity> codecs_{};
  std::atomic<std::size_t> count_;
  std::mutex adding_;
};

/// Those that wick was built with: libjpeg-turbo where it was found, and stb_image. Defined in
/// codec/detail/builtin_codecs_implementation.hpp.
std::span<const codec* const> builtin_codecs() noexcept;
}  // namespace detail

/// The decoders that decode() asks: the fastest that wick was built with, and before them what a program
/// adds with `wick::codecs().add(...)` before its first loader starts.
inline detail::codec_list& codecs() noexcept {
  static detail::codec_list list(detail::builtin_codecs());
  return list;
}

namespace detail {

/// Refuses a picture before any memory is taken for it. \throws wick::error when the header claims more than
/// `max_pixels`
inline void check_size(const picture_info& info, std::int64_t max_pixels) {
  if (info.width <= max_pixels / info.height && info.width <= 0x7FFFFFFF / 4 && info.height <= 0x7FFFFFFF / 4)
    return;
  throw error(std::string(info.format) + " of " + size_text(info.width, info.height) +
              " px is over the limit of " + std::to_string(max_pixels) +
              " px (a decompression bomb?); if it is meant, raise it: wick::decode({.max_pixels = ...})");
}

}  // namespace detail

}  // namespace wick

// ==== wick/observe/phases.hpp
/// \file
/// What happens inside a slot: a picture is decoded, resized and colored in one pass, and each part has its
/// own clock.

// ==== wick/observe/clock.hpp
/// \file
/// A clock that costs a few nanoseconds: the processor's time-stamp counter where there is one.

namespace wick::detail {

/// Ticks of the fastest steady clock there is; tick_scale says how long one takes. They rise on one thread;
/// between two processors they may differ by a few, so subtract with care what another thread has read.
inline std::uint64_t now_ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t t;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Turns ticks into seconds by comparing the two clocks over its own lifetime. A value; any thread may read
/// it.
class tick_scale {
 public:
  tick_scale() noexcept : ticks_(now_ticks()), time_(std::chrono::steady_clock::now()) {}
  /// Seconds since this was made.
  double elapsed() const noexcept {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - time_).count();
  }
  /// Seconds a tick; better the older this is (after 1 ms about one part in a thousand).
  double seconds_per_tick() const noexcept {
    const std::uint64_t ticks = now_ticks() - ticks_;
    return ticks == 0 ? 0.0 : elapsed() / static_cast<double>(ticks);
  }

 private:
  std::uint64_t ticks_;
  std::chrono::steady_clock::time_point time_;
};

}  // namespace wick::detail

namespace wick::detail {

enum class phase : std::uint8_t { decode, resize, color };
inline constexpr std::size_t phase_count = 3;
inline constexpr std::array<std::string_view, phase_count> phase_names = {"decode", "resize", "color"};

/// Ticks spent in each phase by this thread since they were last taken. Not to be kept over a suspension.
class phase_ticks {
 public:
  using values = std::array<std::uint64_t, phase_count>;
  static void add(phase p, std::uint64_t ticks) noexcept {
    of_this_thread()[static_cast<std::size_t>(p)] += ticks;
  }
  /// Reads and clears.
  static values take() noexcept {
    values& mine = of_this_thread();
    const values out = mine;
    mine = {};
    return out;
  }

 private:
  [[gnu::noinline]] static values& of_this_thread() noexcept {
    thread_local values ticks{};
    return ticks;
  }
};

/// Times a block, and what follows it under another name: `phase_timer t(phase::decode); …;
/// t.next(phase::resize);`.
class phase_timer {
 public:
  explicit phase_timer(phase p) noexcept : phase_(p), begun_(now_ticks()) {}
  phase_timer(const phase_timer&) = delete;
  phase_timer& operator=(const phase_timer&) = delete;
  ~phase_timer() { phase_ticks::add(phase_, now_ticks() - begun_); }
  void next(phase p) noexcept {
    const std::uint64_t now = now_ticks();
    phase_ticks::add(phase_, now - begun_);
    phase_ = p;
    begun_ = now;
  }

 private:
  phase phase_;
  std::uint64_t begun_;
};

}  // namespace wick::detail

// ==== wick/pixels/pixel_ops.hpp
/// \file
/// Color operations on finished pixels, in place: brightness, contrast, saturation, hue, gray; and float32
/// with mean and deviation taken out. The last things done to a picture before it is batched.

namespace wick::detail {

/// One color operation, as torchvision.transforms.functional defines it on uint8 tensors. Alpha stays as it
/// is.
struct pixel_op {
  enum class kind : std::uint8_t {
    brightness,  ///< blend with black; value ≥ 0, 1 changes nothing
    contrast,    ///< blend with the mean of the gray picture; value ≥ 0
    saturation,  ///< blend with the gray picture; value ≥ 0
    hue,         ///< turn the color circle; value in [-0.5, 0.5] of a turn
    gray,        ///< all three colors become the gray picture
  };
  kind what = kind::brightness;
  float value = 1;

  /// Whether a pixel's result depends on that pixel alone.
  bool pointwise() const noexcept { return what != kind::contrast; }
};

/// torchvision's rgb_to_grayscale: ITU-R 601-2 luma, cut off, not rounded.
inline std::uint8_t luma(std::uint8_t r, std::uint8_t g, std::uint8_t b) noexcept {
  return static_cast<std::uint8_t>(0.2989f * static_cast<float>(r) + 0.587f * static_cast<float>(g) +
                                   0.114f * static_cast<float>(b));
}

/// torchvision's _blend: value * a + (1 - value) * b, clamped to [0, 255], cut off.
inline std::uint8_t blend(float value, std::uint8_t a, float b) noexcept {
  return static_cast<std::uint8_t>(
      std::clamp(value * static_cast<float>(a) + (1.0f - value) * b, 0.0f, 255.0f));
}

template <class F>
inline void for_each_pixel(const picture_target& p, F f) {
  for (int y = 0; y < p.height; ++y) {
    std::uint8_t* pixel = p.data + y * p.row;
    for (int x = 0; x < p.width; ++x, pixel += p.step) f(pixel);
  }
}

inline void map_levels(const picture_target& p, const std::array<std::uint8_t, 256>& level) {
  if (p.channels >= 3) {
    for_each_pixel(p, [&](std::uint8_t* v) {
      v[0] = level[v[0]];
      v[p.plane] = level[v[p.plane]];
      v[2 * p.plane] = level[v[2 * p.plane]];
    });
  } else {
    for_each_pixel(p, [&](std::uint8_t* v) { v[0] = level[v[0]]; });
  }
}

inline float mean_luma(const picture_target& p) {
  std::uint64_t sum = 0;
  if (p.channels >= 3) {
    for_each_pixel(p, [&](const std::uint8_t* v) { sum += luma(v[0], v[p.plane], v[2 * p.plane]); });
  } else {
    for_each_pixel(p, [&](const std::uint8_t* v) { sum += v[0]; });
  }
  return static_cast<float>(static_cast<double>(sum) / (static_cast<double>(p.width) * p.height));
}

/// Turns the hue by `turn`, in [-1, 1]: torchvision's _rgb2hsv and _hsv2rgb with their terms gathered, so
/// that one division a pixel is left.
inline std::array<std::uint8_t, 3> turn_hue(std::uint8_t r8, std::uint8_t g8, std::uint8_t b8,
                                            float turn) noexcept {
  const int high8 = std::max({r8, g8, b8}), low8 = std::min({r8, g8, b8});
  if (high8 == low8) return {r8, g8, b8};
  const auto high = static_cast<float>(high8), range = static_cast<float>(high8 - low8);
  const float sextant = high8 == r8   ? static_cast<float>(g8 - b8) / range
                        : high8 == g8 ? static_cast<float>(b8 - r8) / range + 2.0f
                                      : static_cast<float>(r8 - g8) / range + 4.0f;
  const float hue = sextant + 6.0f * turn + 12.0f;  // above 0, so that a cast cuts off downwards
  const int whole = static_cast<int>(hue);
  const float part = hue - static_cast<float>(whole);
  constexpr float to_level =
      (255.0f + 1.0f - 1e-3f) / 255.0f;  // convert_image_dtype's rule for whole numbers
  const auto top = static_cast<std::uint8_t>(high * to_level),
             bottom = static_cast<std::uint8_t>(static_cast<float>(low8) * to_level);
  const auto falling = static_cast<std::uint8_t>((high - range * part) * to_level);
  const auto rising = static_cast<std::uint8_t>((high - range * (1.0f - part)) * to_level);
  switch (whole % 6) {
    case 0:
      return {top, rising, bottom};
    case 1:
      return {falling, top, bottom};
    case 2:
      return {bottom, top, rising};
    case 3:
      return {bottom, falling, top};
    case 4:
      return {rising, bottom, top};
    default:
      return {top, bottom, falling};
  }
}

/// Carries out one operation on the pixels at `p`.
inline void apply(const pixel_op& op, const picture_target& p) {
  using kind = pixel_op::kind;
  const float value = op.value;
  const std::ptrdiff_t plane = p.plane;
  if (op.what == kind::brightness || op.what == kind::contrast) {
    const float other = op.what == kind::contrast ? detail::mean_luma(p) : 0.0f;
    std::array<std::uint8_t, 256> level;
    for (std::size_t i = 0; i < level.size(); ++i)
      level[i] = detail::blend(value, static_cast<std::uint8_t>(i), other);
    return detail::map_levels(p, level);
  }
  if (p.channels < 3) return;  // gray has neither saturation nor hue
  if (op.what == kind::hue) {
    detail::for_each_pixel(p, [&](std::uint8_t* v) {
      const auto turned = detail::turn_hue(v[0], v[plane], v[2 * plane], value);
      v[0] = turned[0];
      v[plane] = turned[1];
      v[2 * plane] = turned[2];
    });
  } else if (op.what == kind::saturation) {
    detail::for_each_pixel(p, [&](std::uint8_t* v) {
      const float gray = detail::luma(v[0], v[plane], v[2 * plane]);
      v[0] = detail::blend(value, v[0], gray);
      v[plane] = detail::blend(value, v[plane], gray);
      v[2 * plane] = detail::blend(value, v[2 * plane], gray);
    });
  } else {
    detail::for_each_pixel(p, [&](std::uint8_t* v) {
      v[0] = v[plane] = v[2 * plane] = detail::luma(v[0], v[plane], v[2 * plane]);
    });
  }
}

/// Mean and deviation a channel, for pixels in [0, 1]. One pair serves all channels; count 0 means no
/// normalization.
struct normalization {
  std::array<float, 4> mean{}, deviation{};
  int count = 0;
};

/// \throws wick::error unless there is one mean, or one for each channel
inline void require_channels(const normalization& by, int channels) {
  if (by.count == 1 || by.count == channels) return;
  throw error("normalize has " + std::to_string(by.count) + " means, the picture has " +
              std::to_string(channels) +
              " channels; give one mean and deviation for each channel, or one for all");
}

/// Writes (x / 255 - mean) / deviation as float32, planar or interleaved, to `to`. \throws wick::error when
/// the number of channels is another one
inline void write_normalized(const image& from, const normalization& by, std::byte* to, bool planar) {
  const int channels = from.channels();
  detail::require_channels(by, channels);
  std::array<std::array<float, 256>, 4> level;  // exactly what float arithmetic would give, looked up
  for (int c = 0; c < channels; ++c) {
    const auto k = static_cast<std::size_t>(by.count == 1 ? 0 : c);
    for (std::size_t i = 0; i < 256; ++i) {
      level[static_cast<std::size_t>(c)][i] = (static_cast<float>(i) / 255.0f - by.mean[k]) / by.deviation[k];
    }
  }
  float* const out = reinterpret_cast<float*>(to);
  const std::span<const std::uint8_t> in = from.pixels();
  const std::size_t n = static_cast<std::size_t>(channels), pixels = in.size() / n;
  for (std::size_t c = 0; c < n; ++c) {
    const auto& table = level[c];
    if (planar) {
      for (std::size_t i = 0; i < pixels; ++i) out[c * pixels + i] = table[in[i * n + c]];
    } else {
      for (std::size_t i = 0; i < pixels; ++i) out[i * n + c] = table[in[i * n + c]];
    }
  }
}

}  // namespace wick::detail

// ==== wick/resample/detail/wide_resample.hpp
/// \file
/// Geometry of pictures of 16 bits a channel, by the same tables as that of 8 bits, and how levels are
/// written as numbers.

// ==== wick/resample/detail/axis.hpp
/// \file
/// Which source pixels make up each output pixel along one axis, and with what weight: computed once a
/// picture, used by every row and column of it.

// ==== wick/resample/detail/resample_kernels.hpp
/// \file
/// The inner loops of the resize: what they compute, to the bit, and how the fastest set for this machine is
/// found.

namespace wick::detail {

/// Weights are fixed-point numbers with this many bits behind the point; those of one output sum to exactly
/// 1, so a constant picture stays what it is.
inline constexpr int weight_bits = 14;
inline constexpr int weight_one = 1 << weight_bits;

/// Between the two passes a value is a 16-bit number with this many bits behind the point, level 128 being 0:
/// bicubic's overshoot fits, and so does a product with its rounding in one instruction (pmulhrsw, sqrdmulh).
inline constexpr int row_bits = 7;

/// Up to this many source rows each product is rounded for itself, which is off by at most a 256th of a level
/// each; more of them are summed up in 32 bits and rounded once.
inline constexpr int most_rounded_taps = 32;

/// Values that a kernel may read behind the last pixel of a row, and bytes it may write behind the last quad.
inline constexpr std::size_t kernel_slack = 64;

/// How a row becomes narrower or wider. Output x is the sum over j < 2 * pairs of the source
/// pixel at first[x] + j * channels times its weight; weights that are not needed are 0.
struct column_table {
  int count = 0;                        ///< outputs; the tables go on to a multiple of eight
  int pairs = 0;                        ///< of source pixels, for each output
  int channels = 0;                     ///< 1 to 4
  const std::int32_t* first = nullptr;  ///< in values: the pixel's number times the channels
  /// For each two outputs and each pair of source pixels eight times two weights: four times those of the one
  /// output, four times those of the other, so that one load serves every channel.
  const std::int16_t* weights = nullptr;
};

/// One set of loops. All sets give the same bytes.
struct resample_kernels {
  std::string_view name;
  /// out[i] = sum over k < taps of ((rows[k][i] - 128) * weights[k] + 64) >> 7, for i < n. Up to
  /// most_rounded_taps.
  void (*blend_rows)(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                     std::int16_t* out, std::size_t n);
  /// quads[4 * x + c] = the level of channel c of output x, rounded once and clamped; channels that are not
  /// there are anything.
  void (*blend_columns)(const std::int16_t* row, const column_table& columns, std::uint8_t* quads);
  /// Quads of three channels, side by side without the fourth byte. Writes exactly 3 * n bytes.
  void (*pack_triples)(const std::uint8_t* quads, std::uint8_t* out, std::size_t n);
  /// Channel c of n quads to planes[c], for c < channels. Writes exactly n bytes each.
  void (*split_planes)(const std::uint8_t* quads, std::uint8_t* const* planes, int channels, std::size_t n);
};

// Defined in resample/detail/resample_kernels_implementation.hpp, which is compiled once, with stb_image:
// optimized whatever the program's build type, for all instruction sets at once.

/// As blend_rows, for any number of rows: exact sums, rounded once.
void blend_many_rows(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                     std::int16_t* out, std::size_t n) noexcept;

/// What this machine can run, the portable set first, the fastest last.
std::span<const resample_kernels* const> available_kernels() noexcept;
/// The fastest. Chosen once a process.
const resample_kernels& best_kernels() noexcept;

}  // namespace wick::detail

namespace wick::detail {

/// What an axis table is to describe: the source interval [low, high) resized to `size` pixels, of which
/// those from window_first on are wanted, window_size many, backwards when mirrored. Ends that are no whole
/// pixels come from decoders that scale.
struct axis_request {
  double low = 0, high = 0;
  int size = 0;
  int window_first = 0, window_size = 0;
  bool mirrored = false;
  interpolation filter = interpolation::bilinear;
};

/// Output i is the sum over k < count[i] of weight(i)[k] * source[first[i] + k].
class axis {
 public:
  void build(const axis_request& wanted);

  int size() const noexcept { return static_cast<int>(first_.size()); }
  /// The most source pixels that one output has.
  int most_taps() const noexcept { return most_taps_; }
  int first(int i) const noexcept { return first_[static_cast<std::size_t>(i)]; }
  int count(int i) const noexcept { return count_[static_cast<std::size_t>(i)]; }
  const std::int16_t* weights(int i) const noexcept {
    return weights_.data() + static_cast<std::size_t>(i) * taps_;
  }
  /// The source pixels that are needed at all: [low, high).
  int low() const noexcept { return low_; }
  int high() const noexcept { return high_; }
  /// Each output is one source pixel as it is.
  bool copies() const noexcept { return copies_; }

 private:
  static double weight_at(double x, interpolation filter) noexcept {
    x = std::abs(x);
    if (filter == interpolation::bilinear) return x < 1 ? 1 - x : 0;
    // Keys, "Cubic convolution interpolation for digital image processing", 1981, a = -0.5
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
    return 0;
  }
  static int fixed(double w) noexcept {
    return static_cast<int>(w * weight_one + 4.0 * weight_one + 0.5) - 4 * weight_one;
  }
  void fill(int i, const axis_request& wanted, int left, int length);
  void copy(const axis_request& wanted);

  std::vector<std::int32_t> first_, count_;
  std::vector<std::int16_t> weights_;
  std::vector<double> exact_;
  std::size_t taps_ = 0;
  int low_ = 0, high_ = 0, most_taps_ = 0;
  bool copies_ = false;
};

inline void axis::build(const axis_request& wanted) {
  if (wanted.high - wanted.low == wanted.size && wanted.low == std::floor(wanted.low)) return copy(wanted);
  const double scale = (wanted.high - wanted.low) / wanted.size;
  const double reach = (wanted.filter == interpolation::bicubic ? 2.0 : 1.0) * std::max(scale, 1.0);
  const auto n = static_cast<std::size_t>(wanted.window_size);
  taps_ = wanted.filter == interpolation::nearest ? 1 : static_cast<std::size_t>(std::ceil(reach)) * 2 + 1;
  first_.resize(n);
  count_.resize(n);
  weights_.resize(n * taps_);
  exact_.resize(taps_);
  copies_ = true;
  // Counted from the first whole pixel, so that a cut-out gives the same weights wherever it was cut.
  const int left = static_cast<int>(std::floor(wanted.low)),
            length = static_cast<int>(std::ceil(wanted.high)) - left;
  for (int i = 0; i < wanted.window_size; ++i) fill(i, wanted, left, length);
  low_ = *std::min_element(first_.begin(), first_.end());
  high_ = 0;
  most_taps_ = *std::max_element(count_.begin(), count_.end());
  for (std::size_t i = 0; i < n; ++i) high_ = std::max(high_, first_[i] + count_[i]);
}

/// Nothing is resized: each output is a source pixel, whatever the filter.
inline void axis::copy(const axis_request& wanted) {
  const int n = wanted.window_size;
  taps_ = 1;
  first_.resize(static_cast<std::size_t>(n));
  count_.assign(static_cast<std::size_t>(n), 1);
  weights_.assign(static_cast<std::size_t>(n), static_cast<std::int16_t>(weight_one));
  low_ = static_cast<int>(wanted.low) + wanted.window_first;
  high_ = low_ + n;
  for (int i = 0; i < n; ++i)
    first_[static_cast<std::size_t>(i)] = wanted.mirrored ? high_ - 1 - i : low_ + i;
  most_taps_ = 1;
  copies_ = true;
}

/// `length` source pixels from `left` on are the interval's.
inline void axis::fill(int i, const axis_request& wanted, int left, int length) {
  const double low = wanted.low - left;
  const double scale = (wanted.high - wanted.low) / wanted.size;
  const int out = wanted.window_first + (wanted.mirrored ? wanted.window_size - 1 - i : i);
  std::int32_t& first = first_[static_cast<std::size_t>(i)];
  std::int32_t& count = count_[static_cast<std::size_t>(i)];
  std::int16_t* const weights = weights_.data() + static_cast<std::size_t>(i) * taps_;
  if (wanted.filter == interpolation::nearest) {
    first = left + std::clamp(static_cast<int>(std::floor(low + (out + 0.5) * scale)), 0, length - 1);
    count = 1;
    weights[0] = static_cast<std::int16_t>(weight_one);
    return;
  }
  // The right half is computed as the left half's reflection, to the last bit: then a mirror commutes with a
  // resize.
  const int reflected = wanted.size - 1 - out;
  const bool symmetric = low == 0 && left + length == wanted.high;
  const bool reverse = symmetric && reflected < out, middle = symmetric && reflected == out;
  const double center = low + ((reverse ? reflected : out) + 0.5) * scale;
  const double widened = std::max(scale, 1.0), narrowed = 1 / widened;
  const double reach = (wanted.filter == interpolation::bicubic ? 2.0 : 1.0) * widened;
  // A cast rounds towards 0, not down: the same where it counts, from 0 on.
  int begin = std::max(0, static_cast<int>(center - reach + 0.5));
  int end = std::min(length, static_cast<int>(center + reach + 0.5));
  begin = std::min(begin, length - 1);
  end = std::clamp(end, begin + 1, begin + static_cast<int>(taps_));
  if (middle) begin = std::max(begin, length - end), end = length - begin;

  double sum = 0;
  for (int k = begin; k < end; ++k) {
    const double w = weight_at((k - center + 0.5) * narrowed, wanted.filter);
    exact_[static_cast<std::size_t>(k - begin)] = w;
    sum += w;
  }
  // Rounding the running sum, not each weight, keeps the total exact however many taps share it.
  const int taps = end - begin;
  const int computed = middle ? taps / 2 : taps;
  const double share = 1 / sum;
  double running = 0;
  int given = 0;
  for (int k = 0; k < computed; ++k) {
    running += exact_[static_cast<std::size_t>(k)];
    const int up_to = !middle && k + 1 == taps ? weight_one : fixed(running * share);
    weights[k] = static_cast<std::int16_t>(up_to - given);
    given = up_to;
  }
  if (middle) {
    for (int k = 0; k < computed; ++k) weights[taps - 1 - k] = weights[k];
    if (taps % 2 != 0) {
      weights[computed] = static_cast<std::int16_t>(weight_one - 2 * given);
    } else {
      weights[computed] = weights[computed - 1] =
          static_cast<std::int16_t>(weights[computed - 1] + weight_one / 2 - given);
    }
  }
  int skip = 0, used = taps;
  while (used > 1 && weights[used - 1] == 0) --used;
  while (skip + 1 < used && weights[skip] == 0) ++skip;
  std::copy(weights + skip, weights + used, weights);
  count = used - skip;
  first = left + begin + skip;
  if (reverse) {
    first = left + length - (begin + skip) - count;
    std::reverse(weights, weights + count);
  }
  if (count != 1) copies_ = false;
}

}  // namespace wick::detail

// ==== wick/resample/detail/row_resampler.hpp
/// \file
/// A plan carried out row by row: source rows go in from top to bottom, each output row is written to where
/// it will stay as soon as the last row that it needs is there. Between a decoder and the batch's slot.

namespace wick::detail {

/// What a thread keeps between pictures: tables and a few rows.
struct resample_scratch {
  axis columns, rows;
  std::vector<std::int32_t> first;        // of column_table
  std::vector<std::int16_t> weights;      // of column_table
  std::vector<std::int16_t> row;          // between the passes
  std::vector<std::uint8_t> quads;        // behind them
  std::vector<const std::uint8_t*> taps;  // source rows of one output row
  std::vector<std::int32_t> needed_from;  // the first source row that an output row and those after it need
  std::vector<std::uint8_t> ring;         // source rows of a picture that is never whole in memory
};

[[gnu::noinline]] inline resample_scratch& this_thread_resample_scratch() noexcept {
  static thread_local resample_scratch scratch;
  return scratch;
}

/// The thread's scratch, taken while it is used, so that a decoder called meanwhile may resample too.
class resample_lease {
 public:
  resample_lease() noexcept : scratch_(std::move(this_thread_resample_scratch())) {}
  resample_lease(const resample_lease&) = delete;
  resample_lease& operator=(const resample_lease&) = delete;
  ~resample_lease() { this_thread_resample_scratch() = std::move(scratch_); }
  resample_scratch& operator*() noexcept { return scratch_; }

 private:
  resample_scratch scratch_;
};

/// The axis tables of a plan over a picture of which `scale` pixels stand for one of the plan's source, with
/// pixel 0 at source column `left` and row `top`.
inline void build_axes(const plan& p, double scale, int left, int top, resample_scratch& scratch) {
  scratch.columns.build({(p.source.x - left) * scale, (p.source.x + p.source.width - left) * scale, p.width,
                         p.window.x, p.window.width, p.mirror_x, p.filter});
  scratch.rows.build({(p.source.y - top) * scale, (p.source.y + p.source.height - top) * scale, p.height,
                      p.window.y, p.window.height, p.mirror_y, p.filter});
}

/// The column axis as the kernels want it. A row starts with its lowest pixel.
inline column_table build_column_table(const axis& columns, int channels, resample_scratch& scratch) {
  const int count = columns.size(), pairs = (columns.most_taps() + 1) / 2;
  const auto padded = static_cast<std::size_t>(count + 7) / 8 * 8;
  scratch.first.assign(padded, 0);
  scratch.weights.assign(padded * static_cast<std::size_t>(pairs) * 8, 0);
  for (int x = 0; x < count; ++x) {
    scratch.first[static_cast<std::size_t>(x)] = (columns.first(x) - columns.low()) * channels;
    const std::int16_t* const from = columns.weights(x);
    std::int16_t* to = scratch.weights.data() + std::ptrdiff_t{x / 2} * pairs * 16 + (x % 2) * 8;
    for (int j = 0; j < columns.count(x); j += 2, to += 16) {
      const std::int16_t a = from[j], b = j + 1 < columns.count(x) ? from[j + 1] : std::int16_t{0};
      for (int c = 0; c < 8; c += 2) to[c] = a, to[c + 1] = b;
    }
  }
  return {count, pairs, channels, scratch.first.data(), scratch.weights.data()};
}

/// Carries out the axis tables in `scratch` over rows that show the source from pixel `left` on.
class row_blender {
 public:
  /// \throws std::bad_alloc
  row_blender(resample_scratch& scratch, int channels, int left, const picture_target& to,
              const resample_kernels& kernels = best_kernels())
      : scratch_(scratch), kernels_(kernels), to_(to), channels_(channels), left_(left) {
    const axis &columns = scratch.columns, &rows = scratch.rows;
    copies_ = columns.copies() && rows.copies();
    if (copies_) {
      const int n = columns.size();
      whole_ = to.plane == 1 && to.step == channels && columns.first(n - 1) - columns.first(0) == n - 1 &&
               (n < 3 || columns.first(1) - columns.first(0) == 1);
      return;
    }
    table_ = build_column_table(columns, channels, scratch);
    values_ = static_cast<std::size_t>(columns.high() - columns.low()) * static_cast<std::size_t>(channels);
    scratch.row.resize(values_ + static_cast<std::size_t>(8 * table_.pairs) + kernel_slack);
    scratch.quads.resize(static_cast<std::size_t>(columns.size()) * 4 + kernel_slack);
    scratch.taps.resize(static_cast<std::size_t>(rows.most_taps()));
  }

  /// Whether every output row is a source row as it is and where the target wants it.
  bool whole_rows() const noexcept { return copies_ && whole_; }

  /// Output row i. source(r) is where source row r starts.
  template <class Source>
  void write(int i, Source source) noexcept {
    const axis &columns = scratch_.columns, &rows = scratch_.rows;
    if (copies_) return copy(i, source(rows.first(i)));
    const int taps = rows.count(i);
    for (int k = 0; k < taps; ++k) {
      scratch_.taps[static_cast<std::size_t>(k)] =
          source(rows.first(i) + k) + std::ptrdiff_t{columns.low() - left_} * channels_;
    }
    const auto blend = taps <= most_rounded_taps ? kernels_.blend_rows : &blend_many_rows;
    blend(scratch_.taps.data(), rows.weights(i), taps, scratch_.row.data(), values_);
    kernels_.blend_columns(scratch_.row.data(), table_, scratch_.quads.data());
    place(scratch_.quads.data(), to_.data + i * to_.row);
  }

 private:
  void copy(int i, const std::uint8_t* in) noexcept {
    const axis& columns = scratch_.columns;
    const int n = columns.size();
    std::uint8_t* out = to_.data + i * to_.row;
    in -= std::ptrdiff_t{left_} * channels_;
    if (whole_) {
      std::copy_n(in + std::ptrdiff_t{columns.first(0)} * channels_, std::ptrdiff_t{n} * channels_, out);
      return;
    }
    for (int x = 0; x < n; ++x, out += to_.step) {
      const std::uint8_t* const pixel = in + std::ptrdiff_t{columns.first(x)} * channels_;
      for (int c = 0; c < channels_; ++c) out[c * to_.plane] = pixel[c];
    }
  }
  void place(const std::uint8_t* quads, std::uint8_t* out) noexcept {
    const auto n = static_cast<std::size_t>(to_.width);
    if (to_.step == 1) {
      std::uint8_t* planes[4];
      for (int c = 0; c < channels_; ++c) planes[c] = out + c * to_.plane;
      return kernels_.split_planes(quads, planes, channels_, n);
    }
    if (to_.plane == 1 && to_.step == 3 && channels_ == 3) return kernels_.pack_triples(quads, out, n);
    if (to_.plane == 1 && to_.step == 4 && channels_ == 4) {
      std::memcpy(out, quads, n * 4);
      return;
    }
    for (std::size_t x = 0; x < n; ++x, out += to_.step) {
      for (int c = 0; c < channels_; ++c) out[c * to_.plane] = quads[4 * x + static_cast<std::size_t>(c)];
    }
  }

  resample_scratch& scratch_;
  const resample_kernels& kernels_;
  picture_target to_;
  column_table table_;
  std::size_t values_ = 0;
  int channels_, left_;
  bool copies_ = false, whole_ = false;
};

/// Carries out two axis tables over pixels that are all there. `from` shows the source from pixel (left, top)
/// on.
inline void resample(const picture_view& from, int left, int top, resample_scratch& scratch,
                     const picture_target& to, const resample_kernels& kernels = best_kernels()) {
  row_blender blender(scratch, from.channels, left, to, kernels);
  for (int i = 0; i < scratch.rows.size(); ++i) {
    blender.write(i, [&](int r) { return from.data + (r - top) * from.stride; });
  }
}

/// The same over rows that a decoder is just making. Keeps no more of them than one output row needs, and a
/// few for the decoder to fill at once. The rows of a picture that is only copied are decoded right into
/// their place.
class row_resampler final : public row_sink {
 public:
  /// `scratch` has the tables of the plan at full size already.
  row_resampler(const plan& p, resample_scratch& scratch, const picture_target& to,
                phase_timer* timer = nullptr) noexcept
      : plan_(p), scratch_(scratch), to_(to), timer_(timer) {}

  void begin(const decoded_rows& what) override {
    int left = what.left;
    next_ = what.top;
    if (what.scale != 1.0) {
      build_axes(plan_, what.scale, what.left, what.top, scratch_);
      left = next_ = 0;
    }
    const axis &columns = scratch_.columns, &rows = scratch_.rows;
    if (what.channels != to_.channels || columns.low() < left || columns.high() > left + what.width ||
        rows.low() < next_ || rows.high() > next_ + what.height) {
      throw error(
          "the decoder gives less of the picture than it was asked for; report it to the codec's author");
    }
    end_ = next_ + what.height;
    blender_.emplace(scratch_, what.channels, left, to_);
    const int n = rows.size();
    upwards_ = plan_.mirror_y;
    stride_ = (static_cast<std::size_t>(what.width) * static_cast<std::size_t>(what.channels) + 63) / 64 * 64;
    direct_ = blender_->whole_rows() && columns.size() == what.width && n == what.height && !upwards_ &&
              (n < 2 || rows.first(n - 1) - rows.first(0) == n - 1);
    if (direct_) return;
    scratch_.needed_from.resize(static_cast<std::size_t>(n));
    int from = end_, most = 0;
    for (int e = n; e-- > 0;) scratch_.needed_from[index(e)] = from = std::min(from, rows.first(output(e)));
    for (int e = 0, to = 0; e < n; ++e) {
      to = std::max(to, rows.first(output(e)) + rows.count(output(e)));
      most = std::max(most, to - scratch_.needed_from[index(e)]);
    }
    slots_ = most + static_cast<int>(together);
    scratch_.ring.resize(static_cast<std::size_t>(slots_) * stride_ + unaligned);
  }

  std::span<std::uint8_t* const> room() override {
    int free = std::min(end_ - next_, static_cast<int>(together));
    if (direct_) {
      for (int k = 0; k < free; ++k)
        room_[index(k)] = to_.data + (next_ - scratch_.rows.first(0) + k) * to_.row;
    } else if (done_ == scratch_.rows.size()) {
      free = 0;
    } else {
      free = std::min(free, std::max(scratch_.needed_from[index(done_)], next_) + slots_ - next_);
      for (int k = 0; k < free; ++k) room_[index(k)] = slot(next_ + k);
    }
    return {room_.data(), index(free)};
  }

  void written(int count) override {
    next_ += count;
    if (direct_) {
      done_ += count;
      return;
    }
    if (timer_ != nullptr) timer_->next(phase::resize);
    const axis& rows = scratch_.rows;
    for (; done_ < rows.size(); ++done_) {
      const int i = output(done_);
      if (rows.first(i) + rows.count(i) > next_) break;
      blender_->write(i, [&](int r) { return static_cast<const std::uint8_t*>(slot(r)); });
    }
    if (timer_ != nullptr) timer_->next(phase::decode);
  }

  /// Whether the whole output is written.
  bool finished() const noexcept { return done_ >= scratch_.rows.size(); }

 private:
  static constexpr std::size_t together = 8;
  /// libjpeg-turbo writes rows that are aligned around the cache (jdcolext's movntdq), and these are read at
  /// once.
  static constexpr std::size_t unaligned = 8;
  static std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }
  /// The e-th output row in the order of the source rows.
  int output(int e) const noexcept { return upwards_ ? scratch_.rows.size() - 1 - e : e; }
  std::uint8_t* slot(int row) const noexcept {
    return scratch_.ring.data() + static_cast<std::size_t>(row % slots_) * stride_ + unaligned;
  }

  const plan& plan_;
  resample_scratch& scratch_;
  picture_target to_;
  phase_timer* timer_;  // runs for decode, but here
  std::optional<row_blender> blender_;
  std::array<std::uint8_t*, together> room_{};
  std::size_t stride_ = 0;
  int next_ = 0, end_ = 0;  // source rows
  int done_ = 0;            // output rows
  int slots_ = 0;
  bool direct_ = false, upwards_ = false;
};

}  // namespace wick::detail

namespace wick::detail {

/// Carries out the axis tables in `scratch`. The sums are exact, and rounded once: at most 2 levels from what
/// weights without a fixed point would give.
inline wide_rows resample_wide(const wide_rows& from, const resample_scratch& scratch) {
  const axis &columns = scratch.columns, &rows = scratch.rows;
  const int n = from.channels;
  wide_rows out(columns.size(), rows.size(), n, 0);
  std::uint16_t* to = out.levels.data();
  if (columns.copies() && rows.copies()) {
    for (int y = 0; y < rows.size(); ++y) {
      const std::uint16_t* const in = from.row(rows.first(y));
      for (int x = 0; x < columns.size(); ++x, to += n)
        std::copy_n(in + std::ptrdiff_t{columns.first(x)} * n, n, to);
    }
    return out;
  }
  // 16 bits of level and 14 of each weight; bicubic ones sum up to less than 1.5, without their signs to less
  // than 2.
  const std::size_t begin = static_cast<std::size_t>(columns.low()) * static_cast<std::size_t>(n),
                    end = static_cast<std::size_t>(columns.high()) * static_cast<std::size_t>(n);
  std::vector<std::int32_t> line(end - begin);
  for (int y = 0; y < rows.size(); ++y) {
    std::fill(line.begin(), line.end(), 0);
    for (int k = 0; k < rows.count(y); ++k) {
      const std::uint16_t* const in = from.row(rows.first(y) + k) + begin;
      const std::int32_t weight = rows.weights(y)[k];
      for (std::size_t i = 0; i < line.size(); ++i) line[i] += in[i] * weight;
    }
    for (int x = 0; x < columns.size(); ++x) {
      const std::int16_t* const weights = columns.weights(x);
      const std::int32_t* const in =
          line.data() + static_cast<std::size_t>(columns.first(x)) * static_cast<std::size_t>(n) - begin;
      for (int c = 0; c < n; ++c) {
        std::int64_t sum = std::int64_t{1} << (2 * weight_bits - 1);
        for (int k = 0; k < columns.count(x); ++k) sum += std::int64_t{in[k * n + c]} * weights[k];
        *to++ = static_cast<std::uint16_t>(std::clamp<std::int64_t>(sum >> (2 * weight_bits), 0, 65535));
      }
    }
  }
  return out;
}

/// Levels, up to `most`, as int32 as they are, or as float32 in [0, 1] and then normalized. Planar or
/// interleaved. \throws wick::error when there are not as many means as channels
template <class Level>
inline void write_numbers(const Level* levels, std::size_t pixels, int channels, float most, dtype type,
                          const normalization& by, const slot& to) {
  if (by.count > 1) require_channels(by, channels);
  const auto n = static_cast<std::size_t>(channels);
  for (std::size_t c = 0; c < n; ++c) {
    const std::size_t k = by.count > 1 ? c : 0;
    const float mean = by.count != 0 ? by.mean[k] : 0.0f, deviation = by.count != 0 ? by.deviation[k] : 1.0f;
    const std::size_t step = to.planar ? 1 : n;
    std::byte* out = to.data + 4 * (to.planar ? c * pixels : c);
    for (std::size_t i = 0; i < pixels; ++i, out += 4 * step) {
      const Level level = levels[i * n + c];
      if (type == dtype::int32) {
        const std::int32_t number = level;
        std::memcpy(out, &number, 4);
      } else {
        const float number = (static_cast<float>(level) / most - mean) / deviation;
        std::memcpy(out, &number, 4);
      }
    }
  }
}

}  // namespace wick::detail

// ==== wick/resample/resample.hpp
/// \file
/// The resize itself: antialiased, separable, in integers, one output row at a time, from decoded pixels
/// straight into the place where they will stay. Its inner loops are compiled once, with the decoder, for
/// every instruction set, and chosen when the program runs; all give the same bytes.

namespace wick::detail {

/// Carries out a plan over decoded pixels into `to`, which has the plan's output size and the picture's
/// channels. Within one level of Pillow's resize for `bilinear` and `bicubic`; the same integers on every
/// machine.
inline void resample(const picture_view& from, const plan& p, const picture_target& to) {
  if (p.only_cuts()) {
    const rect& part = p.source;
    return copy_pixels(from.part(part.x, part.y, part.width, part.height), to);
  }
  detail::resample_lease scratch;
  detail::build_axes(p, 1.0, 0, 0, *scratch);
  detail::resample(from, 0, 0, *scratch, to);
}

/// The same into a picture of its own.
inline image resample(const picture_view& from, const plan& p) {
  image out(p.output_width(), p.output_height(), from.channels);
  resample(from, p, picture_target::interleaved(out.data(), out.width(), out.height(), out.channels()));
  return out;
}

}  // namespace wick::detail

namespace wick {

namespace detail {

/// In what numbers a picture comes out.
struct pixel_numbers {
  dtype type = dtype::uint8;  ///< int32: levels as they are; float32: in [0, 1]
  bool wide = false;          ///< levels of 16 bits, which the decoder must have
  bool indexes = false;       ///< numbers of colors or classes, which have no levels between them
};

}  // namespace detail

/// Encoded bytes (or pixels), a geometry plan, and color operations after it. Whatever order the members are
/// called in, the pixels are those of doing each at once: what does not commute is carried out first.
class lazy_image {
 public:
  static constexpr bool is_picture = true;

  lazy_image() noexcept = default;
  /// An encoded picture whose header was read; it will come out with `channels` channels. When it
  /// is `exact`, the decoder may not deliver it smaller than it is.
  lazy_image(bytes encoded, const picture_info& info, int channels, bool exact = false,
             const detail::pixel_numbers& as = {}) noexcept
      : encoded_(std::move(encoded)),
        info_(info),
        exact_(exact),
        as_(as),
        channels_(channels),
        out_channels_(channels),
        plan_(detail::plan::whole(static_cast<int>(info.width), static_cast<int>(info.height))) {}
  /// Pixels that exist already: what a user's stage returns flows on through the picture stages.
  lazy_image(image pixels) noexcept  // NOLINT: implicit on purpose
      : decoded_(std::move(pixels)),
        channels_(decoded_.channels()),
        out_channels_(channels_),
        plan_(detail::plan::whole(decoded_.width(), decoded_.height())) {}

  /// As it will come out.
  int width() const noexcept { return plan_.output_width(); }
  int height() const noexcept { return plan_.output_height(); }
  int channels() const noexcept { return out_channels_; }
  bool empty() const noexcept { return width() == 0; }
  const detail::plan& geometry() const noexcept { return plan_; }
  bool normalized() const noexcept { return normal_.count != 0; }

  /// Cuts `part` out. \throws wick::error when it is not inside the picture
  void crop(const detail::rect& part) {
    if (!pointwise_) carry_out();
    detail::compose_crop(plan_, part);
  }
  /// \throws wick::error when a side is less than 1, or when numbers of classes would be blended
  void resize(int width, int height, interpolation filter = interpolation::bilinear) {
    if (as_.indexes && filter != interpolation::nearest &&
        (width != this->width() || height != this->height())) {
      throw error(
          "a resize that blends would make numbers of classes which the mask does not have; give it "
          ".interpolation = wick::interpolation::nearest");
    }
    if (op_count_ != 0 && (width != this->width() || height != this->height())) carry_out();
    if (detail::compose_resize(plan_, width, height, filter)) return;
    carry_out();
    detail::compose_resize(plan_, width, height, filter);
  }
  void mirror_x() noexcept { detail::compose_mirror_x(plan_); }
  void mirror_y() noexcept { detail::compose_mirror_y(plan_); }

  /// Adds a color operation. \throws wick::error after normalize
  void apply(const detail::pixel_op& op) {
    refuse_normalized("color operations");
    refuse_numbers("color operations");
    if (op_count_ == ops_.size() || out_channels_ != channels_) carry_out();
    ops_[op_count_++] = op;
    pointwise_ = pointwise_ && op.pointwise();
  }
  /// Gray, as `channels` (1 or 3) equal channels. \throws wick::error after normalize
  void make_gray(int channels) {
    refuse_numbers("grayscale");
    if (out_channels_ >= 3) apply({detail::pixel_op::kind::gray});
    out_channels_ = channels;
  }
  /// The picture comes out as float32, (x / 255 - mean) / deviation. Color operations must come before.
  /// \throws wick::error when that was said already
  void normalize(const detail::normalization& by) {
    refuse_normalized("a second normalize");
    if (as_.indexes || as_.type == dtype::int32) {
      throw error("normalize gives float32, and the picture is to be " + std::string(to_string(as_.type)) +
                  (as_.indexes
                       ? " numbers of classes; leave normalize out"
                       : "; write wick::decode({.type = wick::dtype::float32}), or leave normalize out"));
    }
    normal_ = by;
  }

  /// Decodes and does all that was asked for. \throws wick::error for damaged data, or when normalized or of
  /// 16 bits: neither has a place in an image
  image pixels() const& {
    refuse_normalized("pixels as wick::image");
    refuse_wide("pixels as wick::image");
    return render();
  }
  image pixels() && {
    refuse_normalized("pixels as wick::image");
    refuse_wide("pixels as wick::image");
    if (untouched()) return std::move(decoded_);
    image out = render();
    encoded_ = {};  // not needed any more
    return out;
  }
  /// What this stands for: a pipeline that ends without batch(), and group(), give that.
  using materialized_type = image;
  image materialize() && {
    if (as_.type != dtype::uint8) {
      throw error("a wick::image has 8 bits a channel, and decode() was asked for " +
                  std::string(to_string(as_.type)) +
                  ": that goes with batch() alone; leave .type out, or write batch()");
    }
    return std::move(*this).pixels();
  }
  /// So that a user's stage may simply take a wick::image.
  operator image() && { return std::move(*this).materialize(); }
  /// Other pixels in place of these, which come out in the same numbers.
  void replace_pixels(image pixels) {
    const detail::pixel_numbers as = as_;
    *this = lazy_image(std::move(pixels));
    as_ = as;
  }

  /// [H, W, C].
  wick::shape extents() const { return {height(), width(), channels()}; }
  dtype type() const noexcept { return normalized() ? dtype::float32 : as_.type; }
  /// Decodes what is needed, resizes, mirrors and colors it straight into the slot. \throws wick::error for
  /// damaged data
  void write_to(slot to) const {
    if (as_.wide) {
      const detail::wide_rows out = render_wide();
      detail::write_numbers(out.levels.data(), out.levels.size() / static_cast<std::size_t>(channels_),
                            channels_, 65535.0f, type(), normal_, to);
    } else if (as_.type != dtype::uint8 && !normalized()) {
      const image out = render();
      detail::write_numbers(out.data(), out.pixels().size() / static_cast<std::size_t>(out.channels()),
                            out.channels(), 255.0f, type(), normal_, to);
    } else if (normalized()) {
      detail::write_normalized(render(), normal_, to.data, to.planar);
    } else if (out_channels_ != channels_) {
      render().write_to(to);
    } else {
      render_to(to.planar ? detail::picture_target::planar(to.data, width(), height(), channels())
                          : detail::picture_target::interleaved(to.data, width(), height(), channels()));
    }
  }

 private:
  bool untouched() const noexcept {
    return encoded_.empty() && op_count_ == 0 && out_channels_ == channels_ &&
           plan_ == detail::plan::whole(decoded_.width(), decoded_.height());
  }
  void refuse_wide(const char* what) const {
    if (as_.wide) {
      throw error(std::string(what) +
                  " of a picture of 16 bits a channel, which goes with crop, resize, flip and batch() "
                  "alone; write wick::decode({.reduce_16_bits = true}) and no .type for 8 bits");
    }
  }
  void refuse_numbers(const char* what) const {
    refuse_wide(what);
    if (as_.indexes)
      throw error(std::string(what) +
                  " on numbers of classes, which are no levels; leave them out for masks");
  }
  void refuse_normalized(const char* what) const {
    if (normalized()) {
      throw error(std::string(what) +
                  " after normalize: the picture is float32 by then; make normalize the last picture stage");
    }
  }

  /// What is needed of the encoded picture, by the tables of the full size.
  decode_request request(const detail::resample_scratch& scratch) const noexcept {
    detail::rect part{scratch.columns.low(), scratch.rows.low(),
                      scratch.columns.high() - scratch.columns.low(),
                      scratch.rows.high() - scratch.rows.low()};
    double scale = std::max(static_cast<double>(plan_.width) / plan_.source.width,
                            static_cast<double>(plan_.height) / plan_.source.height);
    if (exact_ || scale > 1) scale = 1;
    if (scale < 1) {
      // The same filter over a smaller picture may reach one pixel of that further.
      const detail::rect& all = plan_.source;
      const int more = static_cast<int>(std::min(1 / scale, 65536.0)) + 1;
      const int right = std::min(part.x + part.width + more, all.x + all.width),
                bottom = std::min(part.y + part.height + more, all.y + all.height);
      part.x = std::max(part.x - more, all.x);
      part.y = std::max(part.y - more, all.y);
      part.width = right - part.x;
      part.height = bottom - part.y;
    }
    return {part, scale, channels_, as_.indexes};
  }
  /// Geometry and color, in the channels the decoder gives.
  void render_to(const detail::picture_target& to) const {
    detail::phase_timer timer(detail::phase::resize);
    if (encoded_.empty()) {
      detail::resample(decoded_.view(), plan_, to);
    } else {
      try {
        decode_to(to, timer);
      } catch (const error& e) {  // what only decoding shows is still decode()'s
        throw detail::late_error("decode", e.what());
      }
    }
    if (op_count_ == 0) return;
    timer.next(detail::phase::color);
    for (std::size_t i = 0; i < op_count_; ++i) wick::detail::apply(ops_[i], to);
  }
  void decode_to(const detail::picture_target& to, detail::phase_timer& timer) const {
    const bool by_rows = info_.decoder->decode_rows != nullptr;
    if (plan_.only_cuts() && !by_rows) {  // no tables are needed
      timer.next(detail::phase::decode);
      const detail::rect& part = plan_.source;
      const decoded_picture got = decode(part, 1.0);
      timer.next(detail::phase::resize);
      return detail::copy_pixels(
          got.pixels.view().part(part.x - got.left, part.y - got.top, part.width, part.height), to);
    }
    detail::resample_lease lease;
    detail::resample_scratch& scratch = *lease;
    detail::build_axes(plan_, 1.0, 0, 0, scratch);
    timer.next(detail::phase::decode);
    const decode_request wanted = request(scratch);
    if (by_rows) {
      decode_rows(wanted, scratch, to, timer);
    } else {
      decode_whole(wanted, scratch, to, timer);
    }
  }
  void decode_rows(const decode_request& wanted, detail::resample_scratch& scratch,
                   const detail::picture_target& to, detail::phase_timer& timer) const {
    detail::row_resampler sink(plan_, scratch, to, &timer);
    info_.decoder->decode_rows(encoded_.span(), info_, wanted, sink);
    if (!sink.finished())
      throw error(std::string(info_.decoder->name) + " stopped before the last row; report it");
  }
  void decode_whole(const decode_request& wanted, detail::resample_scratch& scratch,
                    const detail::picture_target& to, detail::phase_timer& timer) const {
    const decoded_picture got = decode(wanted.wanted, wanted.scale);
    timer.next(detail::phase::resize);
    if (got.scale == 1.0) return detail::resample(got.pixels.view(), got.left, got.top, scratch, to);
    detail::build_axes(plan_, got.scale, got.left, got.top, scratch);
    detail::resample(got.pixels.view(), 0, 0, scratch, to);
  }
  decoded_picture decode(const detail::rect& part, double scale) const {
    decoded_picture got =
        info_.decoder->decode(encoded_.span(), info_, {part, scale, channels_, as_.indexes});
    const image& p = got.pixels;
    const auto covers = [&](int from, int size, int start, int extent) {
      return start <= from && start + extent / got.scale > from + size - 0.5;
    };
    if (p.channels() != channels_ || got.scale < scale || !covers(part.x, part.width, got.left, p.width()) ||
        !covers(part.y, part.height, got.top, p.height())) {
      throw error(std::string(info_.decoder->name) +
                  " gave less of the picture than it was asked for; report it to the codec's author");
    }
    return got;
  }
  /// The geometry of a picture of 16 bits.
  detail::wide_rows render_wide() const {
    detail::phase_timer timer(detail::phase::resize);
    detail::resample_lease lease;
    detail::resample_scratch& scratch = *lease;
    detail::build_axes(plan_, 1.0, 0, 0, scratch);
    if (encoded_.empty()) return detail::resample_wide(wide_, scratch);
    timer.next(detail::phase::decode);
    const int low = scratch.rows.low(), high = scratch.rows.high();
    detail::wide_rows got;
    try {
      got = info_.decoder->decode_wide(encoded_.span(), info_,
                                       {{0, low, static_cast<int>(info_.width), high - low}, 1.0, channels_});
    } catch (const error& e) {
      throw detail::late_error("decode", e.what());
    }
    if (got.channels != channels_ || got.width != info_.width || got.top > low ||
        got.top + got.height < high) {
      throw error(std::string(info_.decoder->name) +
                  " gave less of the picture than it was asked for; report it to the codec's author");
    }
    timer.next(detail::phase::resize);
    return detail::resample_wide(got, scratch);
  }
  /// All of it but the normalization.
  image render() const {
    image out(width(), height(), channels_);
    render_to(detail::picture_target::interleaved(out.data(), width(), height(), channels_));
    if (out_channels_ == channels_) return out;
    image changed(width(), height(), out_channels_);  // gray: every color channel is the first one
    for (int y = 0; y < height(); ++y) {
      const std::uint8_t* in = out.row(y);
      std::uint8_t* to = changed.row(y);
      for (int x = 0; x < width(); ++x, in += channels_) {
        for (int c = 0; c < out_channels_; ++c) *to++ = in[0];
      }
    }
    return changed;
  }
  void carry_out() {
    if (as_.wide) {
      wide_ = render_wide();
      encoded_ = {};
      plan_ = detail::plan::whole(wide_.width, wide_.height);
      return;
    }
    decoded_ = render();
    encoded_ = {};
    op_count_ = 0;
    pointwise_ = true;
    channels_ = out_channels_;
    plan_ = detail::plan::whole(decoded_.width(), decoded_.height());
  }

  bytes encoded_;  // empty when the pixels exist:
  image decoded_;
  detail::wide_rows wide_;  // in place of decoded_ when that is what they are
  picture_info info_;
  bool exact_ = false;
  detail::pixel_numbers as_;
  int channels_ = 0;      // while geometry and color are worked on
  int out_channels_ = 0;  // when all is done
  detail::plan plan_;
  std::array<detail::pixel_op, 6> ops_{};
  std::size_t op_count_ = 0;
  bool pointwise_ =
      true;  // all of them; a flag, since g++ 12 takes a look at the array after a move for one at nothing
  detail::normalization normal_;
};

}  // namespace wick

namespace wick {

namespace detail {

class color_jitter_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "color_jitter";

  color_jitter_stage(double brightness, double contrast, double saturation, double hue)
      : amount_{brightness, contrast, saturation, hue} {
    constexpr std::string_view names[] = {"brightness", "contrast", "saturation"};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!(amount_[i] >= 0 && std::isfinite(amount_[i]))) {
        throw error("color_jitter: " + std::string(names[i]) + " " + std::to_string(amount_[i]) +
                    "; give 0 or more");
      }
    }
    if (!(hue >= 0 && hue <= 0.5)) {
      throw error("color_jitter: hue " + std::to_string(hue) + "; give a part of the color circle, 0 to 0.5");
    }
  }
  lazy_image operator()(lazy_image picture, context& ctx) const {
    random_stream& random = ctx.random();
    std::array<std::size_t, 4> order{0, 1, 2, 3};
    for (std::size_t i = 3; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    std::array<float, 4> value{};
    for (std::size_t i = 0; i < 4; ++i) {
      const double low = i == 3 ? -amount_[i] : std::max(0.0, 1 - amount_[i]);
      const double high = i == 3 ? amount_[i] : 1 + amount_[i];
      value[i] = static_cast<float>(random.uniform(low, high));
    }
    constexpr pixel_op::kind kinds[] = {pixel_op::kind::brightness, pixel_op::kind::contrast,
                                        pixel_op::kind::saturation, pixel_op::kind::hue};
    for (const std::size_t i : order) {
      if (amount_[i] != 0) picture.apply({kinds[i], value[i]});
    }
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(amount_); }

 private:
  std::array<double, 4> amount_;
};

}  // namespace detail

/// Changes brightness, contrast and saturation by factors uniform in [max(0, 1 - x), 1 + x], and turns the
/// hue by a part of the circle uniform in [-x, x], in random order. torchvision.transforms.ColorJitter, its
/// uint8 tensor formulas.
inline detail::color_jitter_stage color_jitter(double brightness = 0, double contrast = 0,
                                               double saturation = 0, double hue = 0) {
  return {brightness, contrast, saturation, hue};
}

namespace detail {

class grayscale_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "grayscale";

  explicit grayscale_stage(int channels) : channels_(channels) {
    if (channels != 1 && channels != 3) {
      throw error("grayscale: " + std::to_string(channels) + " channels; give 1, or 3 equal ones");
    }
  }
  lazy_image operator()(lazy_image picture, context&) const {
    picture.make_gray(channels_);
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(channels_); }

 private:
  int channels_;
};

}  // namespace detail

/// Gray, as one channel or as three equal ones. torchvision.transforms.Grayscale.
inline detail::grayscale_stage grayscale(int channels = 1) { return detail::grayscale_stage(channels); }

namespace detail {

class random_grayscale_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "random_grayscale";

  explicit random_grayscale_stage(double p) : p_(p) { detail::require_probability(name, p); }
  lazy_image operator()(lazy_image picture, context& ctx) const {
    if (ctx.random().bernoulli(p_)) picture.apply({pixel_op::kind::gray});
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(p_); }

 private:
  double p_;
};

}  // namespace detail

/// Gray with probability p; the number of channels stays. torchvision.transforms.RandomGrayscale.
inline detail::random_grayscale_stage random_grayscale(double p = 0.1) {
  return detail::random_grayscale_stage(p);
}

}  // namespace wick

// ==== wick/image/crop.hpp
/// \file
/// Cropping stages: center_crop, random_crop, random_resized_crop. They decide on a rectangle; no pixel moves
/// yet.

// ==== wick/image/pad.hpp
/// \file
/// The pad stage: a border around the picture. It needs the pixels, so what was planned before it is carried
/// out first.

namespace wick {

namespace detail {

/// Pixels on each side: one number for all, two for left and right, top and bottom, or four.
struct edges {
  int left = 0, top = 0, right = 0, bottom = 0;

  constexpr edges() noexcept = default;
  constexpr edges(int all) noexcept : edges(all, all, all, all) {}  // NOLINT: implicit on purpose
  constexpr edges(int across, int down) noexcept : edges(across, down, across, down) {}
  constexpr edges(int l, int t, int r, int b) noexcept : left(l), top(t), right(r), bottom(b) {}
  constexpr std::array<int, 4> each() const noexcept { return {left, top, right, bottom}; }
  constexpr bool empty() const noexcept { return left == 0 && top == 0 && right == 0 && bottom == 0; }
};

/// One level for all channels, or one each: `128`, `{124, 116, 104}`; cut to [0, 255].
struct fill_color {
  std::array<std::uint8_t, 4> levels{};

  constexpr fill_color() noexcept = default;
  constexpr fill_color(int all) noexcept : fill_color(all, all, all, all) {}  // NOLINT: implicit on purpose
  constexpr fill_color(int r, int g, int b, int a = 255) noexcept
      : levels{level(r), level(g), level(b), level(a)} {}

 private:
  static constexpr std::uint8_t level(int v) noexcept {
    return static_cast<std::uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v);
  }
};

}  // namespace detail

/// What stands in the border that pad() makes.
enum class padding_mode : std::uint8_t {
  constant,   ///< the fill color
  edge,       ///< the outermost pixel again and again
  reflect,    ///< mirrored about the outermost pixel, which is not repeated
  symmetric,  ///< mirrored about the edge
};

namespace detail {

struct pad_options {
  fill_color fill{};  ///< the border's color where the mode is constant
  wick::padding_mode padding_mode = wick::padding_mode::constant;  ///< what stands in the border
};

inline void require_edges(std::string_view stage, const edges& e) {
  if (e.left < 0 || e.top < 0 || e.right < 0 || e.bottom < 0) {
    throw error(std::string(stage) +
                ": negative padding; use center_crop or random_crop to take pixels away");
  }
}

/// The source coordinate for each padded one; -1 where the fill goes.
inline std::vector<int> padded_axis(int size, int before, int after, padding_mode mode) {
  const int most = mode == padding_mode::reflect     ? size - 1
                   : mode == padding_mode::symmetric ? size
                                                     : before + after;
  if (before > most || after > most) {
    throw error("pad: a picture of " + std::to_string(size) + " px can be mirrored by at most " +
                std::to_string(most) + " px, not " + std::to_string(std::max(before, after)) +
                "; pad less, or use padding_mode::edge");
  }
  std::vector<int> from(static_cast<std::size_t>(before) + static_cast<std::size_t>(size) +
                        static_cast<std::size_t>(after));
  for (std::size_t i = 0; i < from.size(); ++i) {
    int x = static_cast<int>(i) - before;
    if (x < 0 || x >= size) {
      const bool low = x < 0;
      switch (mode) {
        case padding_mode::constant:
          x = -1;
          break;
        case padding_mode::edge:
          x = low ? 0 : size - 1;
          break;
        case padding_mode::reflect:
          x = low ? -x : 2 * (size - 1) - x;
          break;
        case padding_mode::symmetric:
          x = low ? -1 - x : 2 * size - 1 - x;
          break;
      }
    }
    from[i] = x;
  }
  return from;
}

/// `picture` with a border. \throws wick::error when it is mirrored by more than it has
inline image pad_picture(const image& picture, const edges& by, const fill_color& fill, padding_mode mode) {
  const std::vector<int> columns = detail::padded_axis(picture.width(), by.left, by.right, mode);
  const std::vector<int> rows = detail::padded_axis(picture.height(), by.top, by.bottom, mode);
  const auto n = static_cast<std::size_t>(picture.channels());
  image out(static_cast<int>(columns.size()), static_cast<int>(rows.size()), picture.channels());
  const auto put = [n](std::uint8_t* to, const std::uint8_t* pixel) {
    for (std::size_t c = 0; c < n; ++c) to[c] = pixel[c];
  };
  const auto inner = static_cast<std::size_t>(by.left),
             end = inner + static_cast<std::size_t>(picture.width());
  for (std::size_t y = 0; y < rows.size(); ++y) {
    std::uint8_t* const to = out.row(static_cast<int>(y));
    const std::uint8_t* const in = rows[y] < 0 ? nullptr : picture.row(rows[y]);
    for (std::size_t x = 0; x < columns.size(); ++x) {
      if (in != nullptr && x == inner && end > inner) {
        std::memcpy(to + inner * n, in, (end - inner) * n);
        x = end - 1;
        continue;
      }
      const int from = columns[x];
      put(to + x * n,
          in == nullptr || from < 0 ? fill.levels.data() : in + static_cast<std::size_t>(from) * n);
    }
  }
  return out;
}

class pad_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "pad";

  pad_stage(const edges& by, const pad_options& options) : by_(by), options_(options) {
    detail::require_edges(name, by);
  }
  lazy_image operator()(lazy_image picture, context&) const {
    if (by_.empty()) return picture;
    // NOLINTNEXTLINE(bugprone-use-after-move): what was moved out is replaced
    picture.replace_pixels(
        pad_picture(std::move(picture).pixels(), by_, options_.fill, options_.padding_mode));
    return picture;
  }
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash::of(by_.each(), options_.fill.levels, options_.padding_mode);
  }

 private:
  edges by_;
  pad_options options_;
};

}  // namespace detail

/// A border of `by` pixels: `pad(4)`, `pad({8, 4})` for left and right, top and bottom.
/// torchvision.transforms.Pad.
inline detail::pad_stage pad(const detail::edges& by, const detail::pad_options& options = {}) {
  return {by, options};
}
inline detail::pad_stage pad(int left, int top, int right, int bottom,
                             const detail::pad_options& options = {}) {
  return {{left, top, right, bottom}, options};
}

}  // namespace wick

namespace wick {

// ---- center_crop ----

namespace detail {

class center_crop_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "center_crop";

  center_crop_stage(int height, int width) : height_(height), width_(width) {
    detail::require_size(name, height, width);
  }
  /// \throws wick::error when the picture is smaller than the crop
  lazy_image operator()(lazy_image picture, context&) const {
    picture.crop({half(picture.width() - width_), half(picture.height() - height_), width_, height_});
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(height_, width_); }

 private:
  /// Half of n as torchvision rounds it: ties to even, Python's round().
  static int half(int n) noexcept { return n / 2 + (n % 2 != 0 ? (n / 2) & 1 : 0); }
  int height_, width_;
};

}  // namespace detail

/// The middle, height x width px. Unlike torchvision's, it does not pad a smaller picture: that is an error.
inline detail::center_crop_stage center_crop(int height, int width) { return {height, width}; }
inline detail::center_crop_stage center_crop(int size) { return {size, size}; }

// ---- random_crop ----

namespace detail {

struct random_crop_options {
  edges padding{};             ///< added before the crop: `.padding = 4`
  bool pad_if_needed = false;  ///< widen a picture that is smaller than the crop, on both sides
  fill_color fill{};           ///< the border's color where the mode is constant
  wick::padding_mode padding_mode = wick::padding_mode::constant;  ///< what stands in the border
};

class random_crop_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "random_crop";

  random_crop_stage(int height, int width, const random_crop_options& options)
      : height_(height), width_(width), options_(options) {
    detail::require_size(name, height, width);
    detail::require_edges(name, options.padding);
  }
  /// \throws wick::error when the picture (padded) is smaller than the crop
  lazy_image operator()(lazy_image picture, context& ctx) const {
    const edges& p = options_.padding;
    edges around = p;
    if (options_.pad_if_needed) {
      const int across = width_ - (picture.width() + p.left + p.right);
      const int down = height_ - (picture.height() + p.top + p.bottom);
      if (across > 0) around.left += across, around.right += across;
      if (down > 0) around.top += down, around.bottom += down;
    }
    if (!around.empty())
      // NOLINTNEXTLINE(bugprone-use-after-move): what was moved out is replaced
      picture.replace_pixels(
          pad_picture(std::move(picture).pixels(), around, options_.fill, options_.padding_mode));
    rect part{0, 0, width_, height_};
    if (picture.height() > height_) part.y = below(ctx, picture.height() - height_ + 1);
    if (picture.width() > width_) part.x = below(ctx, picture.width() - width_ + 1);
    picture.crop(part);
    return picture;
  }
  std::uint64_t fingerprint() const noexcept {
    const auto& [padding, pad_if_needed, fill, mode] = options_;
    return fingerprint_hash::of(height_, width_, padding.each(), pad_if_needed, fill.levels, mode);
  }

 private:
  static int below(context& ctx, int bound) noexcept {
    return static_cast<int>(ctx.random().below(static_cast<std::uint64_t>(bound)));
  }
  int height_, width_;
  random_crop_options options_;
};

}  // namespace detail

/// A rectangle of height x width px, every position equally likely. torchvision.transforms.RandomCrop.
inline detail::random_crop_stage random_crop(int height, int width,
                                             const detail::random_crop_options& options = {}) {
  return {height, width, options};
}
inline detail::random_crop_stage random_crop(int size, const detail::random_crop_options& options = {}) {
  return {size, size, options};
}

// ---- random_resized_crop ----

namespace detail {

struct random_resized_crop_options {
  std::array<double, 2> scale{0.08, 1.0};  ///< least and greatest share of the picture's area
  std::array<double, 2> ratio{3.0 / 4.0,
                              4.0 / 3.0};  ///< least and greatest width / height, before the resize
  wick::interpolation interpolation = wick::interpolation::bilinear;  ///< the filter of the resize
};

class random_resized_crop_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "random_resized_crop";

  random_resized_crop_stage(int height, int width, const random_resized_crop_options& options)
      : height_(height), width_(width), options_(options) {
    detail::require_size(name, height, width);
    const auto& [least, greatest] = options.scale;
    if (!(least > 0 && least <= greatest && std::isfinite(greatest))) {
      throw error("random_resized_crop: scale {" + std::to_string(least) + ", " + std::to_string(greatest) +
                  "}; give two shares of the area, the smaller first, such as {0.08, 1}");
    }
    const auto& [narrow, wide] = options.ratio;
    if (!(narrow > 0 && narrow <= wide && std::isfinite(wide))) {
      throw error("random_resized_crop: ratio {" + std::to_string(narrow) + ", " + std::to_string(wide) +
                  "}; give two ratios of width to height, the smaller first, such as {3. / 4, 4. / 3}");
    }
  }
  lazy_image operator()(lazy_image picture, context& ctx) const {
    picture.crop(choose(picture.width(), picture.height(), ctx.random()));
    picture.resize(width_, height_, options_.interpolation);
    return picture;
  }

  /// The rectangle for a picture of this size: torchvision's RandomResizedCrop.get_params.
  rect choose(int width, int height, random_stream& random) const noexcept {
    const double area = static_cast<double>(width) * height;
    const double low = std::log(options_.ratio[0]), high = std::log(options_.ratio[1]);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double wanted = area * random.uniform(options_.scale[0], options_.scale[1]);
      const double ratio = std::exp(random.uniform(low, high));
      const double w = std::nearbyint(std::sqrt(wanted * ratio)),
                   h = std::nearbyint(std::sqrt(wanted / ratio));
      if (!(w >= 1 && w <= width && h >= 1 && h <= height)) continue;
      const int wide = static_cast<int>(w), tall = static_cast<int>(h);
      const auto y = static_cast<int>(random.below(static_cast<std::uint64_t>(height - tall) + 1));
      const auto x = static_cast<int>(random.below(static_cast<std::uint64_t>(width - wide) + 1));
      return {x, y, wide, tall};
    }
    // None fitted: the middle, as large as the ratio allows.
    const double ratio = static_cast<double>(width) / height;
    int w = width, h = height;
    if (ratio < options_.ratio[0])
      h = at_least_one(width / options_.ratio[0], height);
    else if (ratio > options_.ratio[1])
      w = at_least_one(height * options_.ratio[1], width);
    return {(width - w) / 2, (height - h) / 2, w, h};
  }
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash::of(height_, width_, options_.scale, options_.ratio, options_.interpolation);
  }

 private:
  static int at_least_one(double side, int most) noexcept {
    return static_cast<int>(std::clamp(std::nearbyint(side), 1.0, static_cast<double>(most)));
  }
  int height_, width_;
  random_resized_crop_options options_;
};

}  // namespace detail

/// A rectangle of random area and shape, resized to height x width px: the usual augmentation of ImageNet
/// training (Szegedy et al., "Going deeper with convolutions", 2015).
/// torchvision.transforms.RandomResizedCrop.
inline detail::random_resized_crop_stage random_resized_crop(
    int height, int width, const detail::random_resized_crop_options& options = {}) {
  return {height, width, options};
}
inline detail::random_resized_crop_stage random_resized_crop(
    int size, const detail::random_resized_crop_options& options = {}) {
  return {size, size, options};
}

}  // namespace wick

// ==== wick/image/decode.hpp
/// \file
/// decode(): encoded bytes become a picture, of which only the header is read here; the pixels come when the
/// batch's slot is known.

// ==== wick/codec/detail/decoders_seen.hpp
/// \file
/// Which decoder had which format, for the report.

namespace wick::detail {

/// Any thread may tell it of a picture; what was seen before costs a look. A copy has seen nothing.
class decoders_seen {
 public:
  static constexpr std::size_t capacity = 16;  // more pairs of format and decoder are not told

  decoders_seen() = default;
  decoders_seen(const decoders_seen&) noexcept {}
  decoders_seen& operator=(const decoders_seen&) noexcept { return *this; }

  void saw(const picture_info& info) noexcept {
    if (!knows(info, count_.load(std::memory_order_acquire))) add(info);
  }
  /// "JPEG by libjpeg-turbo, PNG by stb_image"; empty when there was nothing.
  std::string text() const {
    std::string out;
    const std::size_t n = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < n; ++i) {
      out +=
          (i == 0 ? "" : ", ") + std::string(seen_[i].format) + " by " + std::string(seen_[i].decoder->name);
    }
    return out;
  }
  bool saw(std::string_view format, std::string_view decoder) const noexcept {
    const std::size_t n = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < n; ++i) {
      if (seen_[i].format == format && seen_[i].decoder->name == decoder) return true;
    }
    return false;
  }

 private:
  struct pair {
    const codec* decoder = nullptr;
    std::string_view format;
  };
  bool knows(const picture_info& info, std::size_t n) const noexcept {
    for (std::size_t i = 0; i < n; ++i) {
      if (seen_[i].decoder == info.decoder && seen_[i].format == info.format) return true;
    }
    return n == capacity;
  }
  [[gnu::noinline]] void add(const picture_info& info) noexcept {
    const std::lock_guard lock(adding_);
    const std::size_t n = count_.load(std::memory_order_relaxed);
    if (info.decoder == nullptr || knows(info, n)) return;
    seen_[n] = {info.decoder, info.format};
    count_.store(n + 1, std::memory_order_release);
  }

  std::array<pair, capacity> seen_;
  std::atomic<std::size_t> count_{0};
  std::mutex adding_;
};

}  // namespace wick::detail

// ==== wick/codec/detail/exif.hpp
/// \file
/// Which way up a JPEG's camera was held: the orientation tag of its EXIF segment.

// ==== wick/codec/detail/byte_order.hpp
/// \file
/// Numbers in file headers: reads of either byte order that never look past the end.

namespace wick::detail {

/// 0 past the end: a header's reader checks the size where it matters.
inline std::uint32_t byte_at(std::span<const std::byte> data, std::size_t at) noexcept {
  return at < data.size() ? static_cast<std::uint32_t>(data[at]) : 0;
}
inline std::uint32_t big16(std::span<const std::byte> data, std::size_t at) noexcept {
  return byte_at(data, at) << 8 | byte_at(data, at + 1);
}
inline std::uint32_t big32(std::span<const std::byte> data, std::size_t at) noexcept {
  return big16(data, at) << 16 | big16(data, at + 2);
}
inline std::uint32_t little16(std::span<const std::byte> data, std::size_t at) noexcept {
  return byte_at(data, at) | byte_at(data, at + 1) << 8;
}
inline std::uint32_t little32(std::span<const std::byte> data, std::size_t at) noexcept {
  return little16(data, at) | little16(data, at + 2) << 16;
}

}  // namespace wick::detail

// ==== wick/codec/detail/jpeg_header.hpp
/// \file
/// A JPEG without decoding it: the frame header, and whether the file is all there.

namespace wick::detail {

/// Goes from marker to marker by their lengths, so that a thumbnail inside an EXIF segment is stepped over.
/// ITU-T T.81, annex B.
class jpeg_markers {
 public:
  static constexpr unsigned end_of_image = 0xD9, start_of_scan = 0xDA, none = 0;

  explicit jpeg_markers(std::span<const std::byte> encoded) noexcept : data_(encoded) {}

  /// The next marker, `none` when the file ends first. Steps over what belongs to the one before.
  unsigned next() noexcept {
    if (marker_ == start_of_scan) skip_scan();
    for (;;) {
      const void* const found =
          at_ < data_.size() ? std::memchr(data_.data() + at_, 0xFF, data_.size() - at_) : nullptr;
      if (found == nullptr) return stop();
      at_ = static_cast<std::size_t>(static_cast<const std::byte*>(found) - data_.data());
      while (byte_at(data_, at_) == 0xFF && at_ < data_.size()) ++at_;  // fill bytes
      if (at_ >= data_.size()) return stop();
      marker_ = byte_at(data_, at_++);
      if (marker_ != 0) break;
    }
    payload_ = at_;
    if (marker_ == end_of_image || marker_ == 0x01 || (marker_ >= 0xD0 && marker_ <= 0xD8))
      return marker_;  // no length
    inside_ = data_.size() - at_ < 2;
    if (inside_) return stop();
    length_ = big16(data_, at_);
    if (length_ < 2) length_ = 2;  // broken; the decoder will say so
    inside_ = data_.size() - at_ < length_;
    if (inside_) return stop();
    payload_ = at_ + 2;
    at_ += length_;
    return marker_;
  }
  /// Where the marker's parameters start.
  std::size_t payload() const noexcept { return payload_; }
  std::size_t payload_size() const noexcept { return length_ - 2; }
  /// Whether the file ended within a marker's parameters.
  bool ended_inside() const noexcept { return inside_; }
  /// How many restart markers the last scan had; known when its next marker is.
  std::uint64_t restarts() const noexcept { return restarts_; }

 private:
  unsigned stop() noexcept {
    at_ = data_.size();
    return marker_ = none;
  }
  void skip_scan() noexcept {
    restarts_ = 0;
    while (at_ < data_.size()) {
      const void* const found = std::memchr(data_.data() + at_, 0xFF, data_.size() - at_);
      at_ = found == nullptr ? data_.size()
                             : static_cast<std::size_t>(static_cast<const std::byte*>(found) - data_.data());
      const std::uint32_t code = byte_at(data_, at_ + 1);
      const bool restart = code >= 0xD0 && code <= 0xD7, fill = code == 0xFF;
      if (code != 0 && !restart && !fill) return;
      restarts_ += restart ? 1 : 0;
      at_ += fill ? 1 : 2;
    }
  }

  std::span<const std::byte> data_;
  std::size_t at_ = 0, payload_ = 0, length_ = 2;
  std::uint64_t restarts_ = 0;
  unsigned marker_ = none;
  bool inside_ = false;
};

/// \throws wick::error when the file ends before its frame header
inline bool probe_jpeg(std::span<const std::byte> encoded, picture_info& info) {
  if (encoded.size() < 2 || big16(encoded, 0) != 0xFFD8) return false;
  if (encoded.size() > 2 && byte_at(encoded, 2) != 0xFF) return false;
  info.format = "JPEG";
  jpeg_markers markers(encoded);
  for (;;) {
    const unsigned marker = markers.next();
    if (marker == jpeg_markers::none) throw_truncated("JPEG", encoded.size(), "inside its header");
    if (marker == jpeg_markers::start_of_scan || marker == jpeg_markers::end_of_image) {
      throw error("damaged JPEG: no frame header before the pixels; write the file again or remove it");
    }
    const bool frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (!frame) continue;
    if (markers.payload_size() < 6) {
      throw error("damaged JPEG: its frame header is too short; write the file again or remove it");
    }
    if (marker == 0xC3 || (marker >= 0xC5 && marker <= 0xC7) || marker == 0xCB || marker >= 0xCD) {
      throw error(
          "lossless or hierarchical JPEG, which no decoder here reads; convert it to a baseline JPEG or a "
          "PNG");
    }
    const std::size_t at = markers.payload();
    info.bits = static_cast<int>(byte_at(encoded, at));
    info.height = big16(encoded, at + 1);
    info.width = big16(encoded, at + 3);
    info.channels = byte_at(encoded, at + 5) == 1 ? 1 : 3;  // CMYK comes out as RGB
    return true;
  }
}

/// Each scan goes through the whole picture, and may take ten bytes. A progressive JPEG has about ten; cjpeg
/// and jpegtran write at most 100 (rdswitch.c), and Chromium reads no more. The standard's finest would be
/// 900 a component, which nobody makes.
inline constexpr int most_jpeg_scans = 100;
/// Of all a file's scans together: each has use for eight.
inline constexpr int most_jpeg_tables = 8 * (most_jpeg_scans + 1);
[[noreturn]] inline void throw_too_many_scans() {
  throw error("JPEG of more than " + std::to_string(most_jpeg_scans) +
              " scans (a decompression bomb?); write the file again" + or_leave_it_out);
}

/// Whether the scan whose parameters start at `at` has that many components, none of them twice.
inline bool has_components(std::span<const std::byte> encoded, std::size_t at, std::uint32_t count) {
  if (byte_at(encoded, at) != count) return false;
  for (std::uint32_t a = 0; a < count; ++a) {
    for (std::uint32_t b = 0; b < a; ++b) {
      if (byte_at(encoded, at + 1 + 2 * a) == byte_at(encoded, at + 1 + 2 * b)) return false;
    }
  }
  return true;
}

/// stb_image up to 2.27 (Debian 12's) writes past its tables when a Huffman table claims more than 256 codes;
/// and each scan of a baseline JPEG, of which a component is in one only, it makes to pixels as if it were
/// the first. \throws wick::error when a table does, when there are too many tables or scans, or when the
/// file ends within such parameters. Answers whether every pixel is in one scan without restart markers, so
/// that stb_image will write each, whatever the damage.
inline bool check_jpeg_tables(std::span<const std::byte> encoded) {
  jpeg_markers markers(encoded);
  int scans = 0, tables = 0, most_scans = most_jpeg_scans;
  bool plain = false;
  std::uint32_t components = 0;
  for (unsigned marker = markers.next(); marker != jpeg_markers::none && marker != jpeg_markers::end_of_image;
       marker = markers.next()) {
    if (marker == 0xC0 || marker == 0xC1) {
      components = byte_at(encoded, markers.payload() + 5);
      most_scans = std::min(most_scans, static_cast<int>(components));
    }
    if (marker == 0xDD) components = 0;
    if (marker == jpeg_markers::start_of_scan) {
      if (++scans > most_jpeg_scans) throw_too_many_scans();
      if (scans > most_scans) {
        throw error("baseline JPEG of " + std::to_string(scans) + " scans for " + std::to_string(most_scans) +
                    " components; the file is damaged or hostile: write it again" + or_leave_it_out);
      }
      plain = scans == 1 && components != 0 && has_components(encoded, markers.payload(), components);
    }
    if (marker != 0xC4) continue;
    std::size_t at = markers.payload();
    for (const std::size_t end = at + markers.payload_size(); at < end;) {
      if (++tables > most_jpeg_tables) {
        throw error("JPEG of more than " + std::to_string(most_jpeg_tables) +
                    " Huffman tables; the file is damaged or hostile: write it again" + or_leave_it_out);
      }
      std::uint32_t codes = 0;
      for (std::size_t i = 1; i <= 16; ++i) codes += byte_at(encoded, at + i);
      if (codes > 256) {
        throw error("damaged JPEG: a Huffman table of " + std::to_string(codes) +
                    " codes; write the file again" + or_leave_it_out);
      }
      at += 17 + codes;
    }
  }
  if (markers.ended_inside()) throw_truncated("JPEG", encoded.size(), "inside a header");
  return plain;
}

/// \throws wick::error when there is no end-of-image marker. What lies behind one is nobody's business:
/// cameras append previews and movies.
inline void check_jpeg_complete(std::span<const std::byte> encoded) {
  jpeg_markers markers(encoded);
  bool scans = false;
  for (;;) {
    const unsigned marker = markers.next();
    if (marker == jpeg_markers::end_of_image) break;
    if (marker == jpeg_markers::none) {
      throw_truncated("JPEG", encoded.size(), scans ? "without an end-of-image marker" : "before its pixels");
    }
    scans = scans || marker == jpeg_markers::start_of_scan;
  }
  if (!scans) throw_truncated("JPEG", encoded.size(), "and holds no pixels");
}

}  // namespace wick::detail

namespace wick::detail {

/// 1 to 8 as EXIF 2.3 numbers them; 1, upright, when nothing (or nonsense) is said.
inline int exif_orientation(std::span<const std::byte> encoded) noexcept {
  if (encoded.size() < 2 || big16(encoded, 0) != 0xFFD8) return 1;
  jpeg_markers markers(encoded);
  for (;;) {
    const unsigned marker = markers.next();
    if (marker == jpeg_markers::none || marker == jpeg_markers::start_of_scan ||
        marker == jpeg_markers::end_of_image)
      return 1;
    using namespace std::string_view_literals;
    if (marker != 0xE1 || !starts_with(encoded, "Exif\0\0"sv, markers.payload())) continue;
    if (markers.payload_size() < 14) return 1;
    const std::span<const std::byte> tiff =
        encoded.subspan(markers.payload() + 6, markers.payload_size() - 6);
    const bool little = starts_with(tiff, "II");
    const auto two = [&](std::size_t at) { return little ? little16(tiff, at) : big16(tiff, at); };
    const std::size_t directory = little ? little32(tiff, 4) : big32(tiff, 4);
    for (std::size_t i = 0, n = two(directory); i < n; ++i) {
      const std::size_t entry = directory + 2 + 12 * i;
      if (entry >= tiff.size()) return 1;
      if (two(entry) != 0x0112) continue;
      const std::uint32_t value = two(entry + 8);
      return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    return 1;
  }
}

/// Rows become columns.
inline image transposed(const image& from) {
  image out(from.height(), from.width(), from.channels());
  const int channels = from.channels();
  for (int y = 0; y < from.height(); ++y) {
    const std::uint8_t* in = from.row(y);
    for (int x = 0; x < from.width(); ++x) {
      for (int c = 0; c < channels; ++c) out.row(x)[y * channels + c] = *in++;
    }
  }
  return out;
}

}  // namespace wick::detail

// ==== wick/codec/detail/stb.hpp
/// \file
/// The decoder that is always there, for JPEG, PNG, BMP and the first frame of a GIF. Its code, and
/// stb_image's, is compiled once, by CMake or in the one file that defines WICK_IMPLEMENTATION; none of it is
/// included here.

// ==== wick/codec/detail/bmp_gif_header.hpp
/// \file
/// A BMP or GIF without decoding it: the header, and whether the (first) picture is all there.

// ==== wick/codec/detail/gif_frame.hpp
/// \file
/// Where the first frame of a GIF is, in the file and in the picture. CompuServe, "Graphics Interchange
/// Format", 89a.

namespace wick::detail {

/// Where the first frame lies in the file, and in the picture.
struct gif_frame {
  int left = 0, top = 0, width = 0, height = 0;
  bool interlaced = false;
  int transparent = -1;     // a number that no color stands for
  std::size_t palette = 0;  // where it starts; 0: levels of gray
  std::size_t colors = 0;   // in the palette
  std::size_t codes = 0;    // where the length of the first codes is said
};

/// False when the file ends before it.
inline bool find_gif_frame(std::span<const std::byte> encoded, gif_frame& out) {
  const auto table = [&](std::uint32_t flags, std::size_t at) {
    const std::size_t colors = (flags & 0x80) != 0 ? std::size_t{2} << (flags & 7) : 0;
    if (colors != 0) out.palette = at, out.colors = colors;
    return 3 * colors;
  };
  std::size_t at = 13 + table(byte_at(encoded, 10), 13);
  while (at < encoded.size()) {
    if (byte_at(encoded, at) == 0x2C) {
      out.left = static_cast<int>(little16(encoded, at + 1));
      out.top = static_cast<int>(little16(encoded, at + 3));
      out.width = static_cast<int>(little16(encoded, at + 5));
      out.height = static_cast<int>(little16(encoded, at + 7));
      const std::uint32_t flags = byte_at(encoded, at + 9);
      out.interlaced = (flags & 0x40) != 0;
      out.codes = at + 10 + table(flags, at + 10);
      return out.codes < encoded.size();
    }
    if (byte_at(encoded, at) != 0x21) return false;  // check_gif_complete says so
    const bool control = byte_at(encoded, at + 1) == 0xF9 && byte_at(encoded, at + 2) >= 4;
    if (control && (byte_at(encoded, at + 3) & 1) != 0)
      out.transparent = static_cast<int>(byte_at(encoded, at + 6));
    at += 2;
    while (at < encoded.size() && byte_at(encoded, at) != 0) at += 1 + byte_at(encoded, at);
    ++at;
  }
  return false;
}

}  // namespace wick::detail

namespace wick::detail {

/// \throws wick::error when the file ends inside the header
inline bool probe_bmp(std::span<const std::byte> encoded, picture_info& info) {
  if (!starts_with(encoded, "BM") || encoded.size() < 18) return false;
  const std::uint32_t header = little32(encoded, 14);
  if (header != 12 && header != 40 && header != 52 && header != 56 && header != 64 && header != 108 &&
      header != 124)
    return false;
  info.format = "BMP";
  if (encoded.size() < 14 + header) throw_truncated("BMP", encoded.size(), "inside its header");
  if (header == 12) {
    info.width = little16(encoded, 18);
    info.height = little16(encoded, 20);
    info.bits = static_cast<int>(little16(encoded, 24));
  } else {
    info.width = static_cast<std::int32_t>(little32(encoded, 18));
    info.height = static_cast<std::int32_t>(little32(encoded, 22));
    if (info.height < 0) info.height = -info.height;  // top row first
    info.bits = static_cast<int>(little16(encoded, 28));
  }
  const bool alpha = info.bits == 32 && header >= 56 && little32(encoded, 66) != 0;
  info.channels = alpha ? 4 : 3;
  info.bits = 8;
  return true;
}

/// \throws wick::error when there are fewer bytes than rows need. Run-length coded ones are left to the
/// decoder.
inline void check_bmp_complete(std::span<const std::byte> encoded, const picture_info& info) {
  const bool old = little32(encoded, 14) == 12;
  const std::uint32_t compression = old ? 0 : little32(encoded, 30);
  if (compression != 0 && compression != 3) return;
  const std::uint64_t bits = little16(encoded, old ? 24 : 28);
  const std::uint64_t row = (static_cast<std::uint64_t>(info.width) * bits + 31) / 32 * 4;
  const std::uint64_t wanted = little32(encoded, 10) + row * static_cast<std::uint64_t>(info.height);
  // The padding of the last row is often left out.
  const std::uint64_t padding = row - (static_cast<std::uint64_t>(info.width) * bits + 7) / 8;
  if (encoded.size() + padding < wanted) {
    throw_truncated("BMP", encoded.size(), "of " + std::to_string(wanted));
  }
}

/// \throws wick::error when the file ends inside the header
inline bool probe_gif(std::span<const std::byte> encoded, picture_info& info) {
  if (!starts_with(encoded, "GIF87a") && !starts_with(encoded, "GIF89a")) return false;
  info.format = "GIF";
  if (encoded.size() < 13) throw_truncated("GIF", encoded.size(), "inside its header");
  info.width = little16(encoded, 6);
  info.height = little16(encoded, 8);
  info.channels = 3;
  info.palette = true;
  gif_frame first;  // a picture that is too small for it is taken to be larger, as Pillow does it
  if (find_gif_frame(encoded, first)) {
    info.width = std::max<std::int64_t>(info.width, first.left + first.width);
    info.height = std::max<std::int64_t>(info.height, first.top + first.height);
  }
  return true;
}

/// \throws wick::error when the file ends before its first frame does
inline void check_gif_complete(std::span<const std::byte> encoded) {
  const auto table = [](std::uint32_t flags) {
    return (flags & 0x80) != 0 ? std::size_t{6} << (flags & 7) : 0;
  };
  std::size_t at = 13 + table(byte_at(encoded, 10));
  bool frame = false;
  while (at < encoded.size()) {
    const std::uint32_t kind = byte_at(encoded, at);
    if (kind == 0x21) {
      at += 2;
    } else if (kind == 0x2C) {
      frame = true;
      at += 11 + table(byte_at(encoded, at + 9));
    } else {
      throw error("damaged GIF: block " + std::to_string(kind) + " at " + std::to_string(at) +
                  " where a frame should be; write the file again or remove it");
    }
    while (at < encoded.size() && byte_at(encoded, at) != 0) at += 1 + byte_at(encoded, at);
    if (at < encoded.size() && frame) return;
    ++at;
  }
  throw_truncated("GIF", encoded.size(), "inside its first frame");
}

}  // namespace wick::detail

// ==== wick/codec/detail/decode_limits.hpp
/// \file
/// What a header lets stb_image take for the decoding of its picture.

namespace wick::detail {

/// The most bytes that stb_image gets in one piece. Beyond that it is told that there is no memory.
struct stb_limit {
  std::uint64_t bytes = 0;
  bool exceeded = false;  ///< set when something was refused
};

/// Whole units of a JPEG, at most 32 pixels a side; 16-bit samples or coefficients of at most four channels;
/// and tables.
inline stb_limit limit_of(const picture_info& info) noexcept {
  const auto width = static_cast<std::uint64_t>(info.width), height = static_cast<std::uint64_t>(info.height);
  return {(width + 31) * (height + 31) * 8 + (std::uint64_t{1} << 20)};
}

[[noreturn]] inline void throw_over_limit(const picture_info& info, const stb_limit& limit) {
  throw error(std::string(info.format) + " of " + size_text(info.width, info.height) +
              " px wants more than " + std::to_string(limit.bytes) +
              " bytes of memory in one piece; the file is damaged or hostile: write it again" +
              or_leave_it_out);
}

}  // namespace wick::detail

// ==== wick/codec/detail/jpeg_layout.hpp
/// \file
/// What a JPEG's markers say about its colors and tables, by libjpeg's rules: for stb_image, which has
/// others, and takes tables that are missing for zeros.

namespace wick::detail {

/// What the components of a JPEG are. CMYK's are stored inverted, as Adobe does it.
enum class jpeg_color_model : std::uint8_t { gray, ycc, rgb, cmyk, ycck };

/// The tables and scans of a JPEG that stb_image is to read: whether it would find all that the scans name.
class jpeg_layout {
 public:
  /// Goes through all markers. \throws wick::error for what stb_image does not read, or would read as other
  /// pixels
  explicit jpeg_layout(std::span<const std::byte> encoded) : data_(encoded) {
    jpeg_markers markers(encoded);
    for (unsigned marker = markers.next();
         marker != jpeg_markers::none && marker != jpeg_markers::end_of_image; marker = markers.next()) {
      if (in_scan_) end_scan(markers);
      const std::size_t at = markers.payload(), size = markers.payload_size();
      if (marker == 0xC0 || marker == 0xC1 || marker == 0xC2) frame(marker == 0xC2, at);
      if (marker == 0xC9 || marker == 0xCA) unsupported("arithmetic coding");
      if (marker == 0xC4) huffman_tables(at, size);
      if (marker == 0xDB) quantization_tables(at, size);
      if (marker == 0xDD) restart_interval_ = big16(data_, at);
      if (marker == 0xE0 || marker == 0xEE) application(marker, at, size);
      if (marker == jpeg_markers::start_of_scan) scan(at);
    }
    if (in_scan_) end_scan(markers);
    for (std::uint32_t c = 0; c < components_; ++c) {
      if (!component_[c].begun) damaged("no pixels of component " + std::to_string(c + 1));
    }
  }

  jpeg_color_model colors() const noexcept { return colors_; }
  /// The file leaves out Huffman tables, as frames of Motion JPEG do, and means those of the standard.
  bool wants_standard_tables() const noexcept { return wants_standard_tables_; }

 private:
  struct component {
    std::uint32_t id = 0, across = 1, down = 1, table = 0;
    bool begun = false;
  };

  [[noreturn]] static void unsupported(const std::string& what) {
    throw error("JPEG with " + what +
                ", which stb_image does not read; build wick with libjpeg-turbo, or convert it" +
                or_leave_it_out);
  }
  [[noreturn]] static void damaged(const std::string& what) {
    throw error("damaged JPEG: " + what + "; write the file again" + or_leave_it_out);
  }

  void frame(bool progressive, std::size_t at) {
    progressive_ = progressive;
    if (byte_at(data_, at) != 8) {
      unsupported(std::to_string(byte_at(data_, at)) + " bits a channel");
    }
    height_ = big16(data_, at + 1);
    width_ = big16(data_, at + 3);
    components_ = std::min(byte_at(data_, at + 5), 4u);
    if (components_ == 2) unsupported("2 components");
    for (std::uint32_t c = 0; c < components_; ++c) {
      const std::size_t k = at + 6 + std::size_t{3} * c;
      component_[c] = {byte_at(data_, k), std::max(1u, byte_at(data_, k + 1) >> 4),
                       std::max(1u, byte_at(data_, k + 1) & 15u), byte_at(data_, k + 2) & 3u, false};
    }
  }
  void huffman_tables(std::size_t at, std::size_t size) {
    for (const std::size_t end = at + size; at < end;) {
      const std::uint32_t name = byte_at(data_, at);
      huffman_[name >> 4 & 1] |= 1u << (name & 3);
      std::size_t codes = 0;
      for (std::size_t i = 1; i <= 16; ++i) codes += byte_at(data_, at + i);
      at += 17 + codes;
    }
  }
  void quantization_tables(std::size_t at, std::size_t size) {
    for (const std::size_t end = at + size; at < end;) {
      const std::uint32_t name = byte_at(data_, at) & 3u;
      const std::size_t length = byte_at(data_, at) >> 4 != 0 ? 129 : 65;
      if (end - at < length) return;  // stb_image says so
      const std::span<const std::byte> now = data_.subspan(at, length);
      // libjpeg keeps the table that was there when a component's first scan began, stb_image takes the last
      // one.
      if (progressive_ && !quantization_[name].empty() && begun(name) &&
          (now.size() != quantization_[name].size() ||
           std::memcmp(now.data(), quantization_[name].data(), length) != 0)) {
        unsupported("quantization tables that change between scans");
      }
      quantization_[name] = now;
      at += length;
    }
  }
  bool begun(std::uint32_t table) const noexcept {
    for (std::uint32_t c = 0; c < components_; ++c) {
      if (component_[c].table == table && component_[c].begun) return true;
    }
    return false;
  }
  void application(unsigned marker, std::size_t at, std::size_t size) noexcept {
    if (scans_ != 0) return;
    if (marker == 0xE0 && size >= 14 && starts_with(data_, std::string_view("JFIF\0", 5), at)) jfif_ = true;
    if (marker == 0xEE && size >= 12 && starts_with(data_, "Adobe", at)) {
      adobe_ = true;
      transform_ = byte_at(data_, at + 11);
    }
  }

  void scan(std::size_t at) {
    if (scans_++ == 0) colors_ = choose_colors();
    in_scan_ = true;
    const std::uint32_t count = byte_at(data_, at);
    const std::size_t more = at + 1 + std::size_t{2} * count;
    const bool first_bits = byte_at(data_, more + 2) >> 4 == 0, levels = byte_at(data_, more) == 0;
    std::uint64_t units = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t id = byte_at(data_, at + 1 + std::size_t{2} * i),
                          tables = byte_at(data_, at + 2 + std::size_t{2} * i);
      std::uint32_t c = 0;
      while (c < components_ && component_[c].id != id) ++c;
      if (c == components_)
        damaged("a scan of a component " + std::to_string(id) + ", which its header does not have");
      if (quantization_[component_[c].table].empty()) {
        damaged("no quantization table " + std::to_string(component_[c].table));
      }
      component_[c].begun = true;
      if (!progressive_ || (levels && first_bits)) want_table(0, tables >> 4);
      if (!progressive_ || !levels) want_table(1, tables & 15u);
      if (count == 1) units = blocks(component_[c]);
    }
    if (count != 1)
      units = std::uint64_t{ceiling(width_, 8 * greatest(&component::across))} *
              ceiling(height_, 8 * greatest(&component::down));
    restarts_ = restart_interval_ == 0 || units == 0 ? 0 : (units - 1) / restart_interval_;
  }
  void want_table(std::size_t kind, std::uint32_t name) {
    if (name < 4 && (huffman_[kind] >> name & 1) != 0) return;
    if (name > 1 || progressive_) damaged("no Huffman table " + std::to_string(name));
    wants_standard_tables_ = true;
  }
  void end_scan(const jpeg_markers& markers) {
    in_scan_ = false;
    if (markers.restarts() < restarts_) {
      damaged(std::to_string(markers.restarts()) + " restart markers where " + std::to_string(restarts_) +
              " should be, and stb_image can't go on behind the first that is missing");
    }
  }

  std::uint32_t greatest(std::uint32_t component::*factor) const noexcept {
    std::uint32_t most = 1;
    for (std::uint32_t c = 0; c < components_; ++c) most = std::max(most, component_[c].*factor);
    return most;
  }
  static std::uint32_t ceiling(std::uint32_t a, std::uint32_t b) noexcept { return (a + b - 1) / b; }
  std::uint64_t blocks(const component& c) const noexcept {
    return std::uint64_t{ceiling(ceiling(width_ * c.across, greatest(&component::across)), 8)} *
           ceiling(ceiling(height_ * c.down, greatest(&component::down)), 8);
  }

  /// libjpeg's default_decompress_parms (jdapimin.c).
  jpeg_color_model choose_colors() const noexcept {
    if (components_ == 1) return jpeg_color_model::gray;
    if (components_ == 4) return adobe_ && transform_ != 0 ? jpeg_color_model::ycck : jpeg_color_model::cmyk;
    if (jfif_) return jpeg_color_model::ycc;
    if (adobe_) return transform_ == 0 ? jpeg_color_model::rgb : jpeg_color_model::ycc;
    const bool rgb = component_[0].id == 'R' && component_[1].id == 'G' && component_[2].id == 'B';
    return rgb ? jpeg_color_model::rgb : jpeg_color_model::ycc;
  }

  std::span<const std::byte> data_;
  std::array<component, 4> component_{};
  std::array<std::span<const std::byte>, 4> quantization_{};
  std::array<unsigned, 2> huffman_{};  // a bit for each table, of DC and of AC
  std::uint32_t width_ = 0, height_ = 0, components_ = 0, restart_interval_ = 0, transform_ = 0;
  std::uint64_t restarts_ = 0;
  int scans_ = 0;
  bool progressive_ = false, jfif_ = false, adobe_ = false, in_scan_ = false, wants_standard_tables_ = false;
  jpeg_color_model colors_ = jpeg_color_model::ycc;
};

/// ITU-T T.81, K.3 to K.6: tables 0 for brightness, 1 for colors, as a marker segment.
inline constexpr unsigned char standard_huffman_tables[] = {
    0xFF, 0xC4, 0x01, 0xA2, 0x00, 0x00, 0x01, 0x05, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x10,
    0x00, 0x02, 0x01, 0x03, 0x03, 0x02, 0x04, 0x03, 0x05, 0x05, 0x04, 0x04, 0x00, 0x00, 0x01, 0x7D, 0x01,
    0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71,
    0x14, 0x32, 0x81, 0x91, 0xA1, 0x08, 0x23, 0x42, 0xB1, 0xC1, 0x15, 0x52, 0xD1, 0xF0, 0x24, 0x33, 0x62,
    0x72, 0x82, 0x09, 0x0A, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2A, 0x34, 0x35,
    0x36, 0x37, 0x38, 0x39, 0x3A, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4A, 0x53, 0x54, 0x55, 0x56,
    0x57, 0x58, 0x59, 0x5A, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x73, 0x74, 0x75, 0x76, 0x77,
    0x78, 0x79, 0x7A, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97,
    0x98, 0x99, 0x9A, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6,
    0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xD2, 0xD3, 0xD4, 0xD5,
    0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xE1, 0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9, 0xEA, 0xF1, 0xF2,
    0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA, 0x01, 0x00, 0x03, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
    0x09, 0x0A, 0x0B, 0x11, 0x00, 0x02, 0x01, 0x02, 0x04, 0x04, 0x03, 0x04, 0x07, 0x05, 0x04, 0x04, 0x00,
    0x01, 0x02, 0x77, 0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07,
    0x61, 0x71, 0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xA1, 0xB1, 0xC1, 0x09, 0x23, 0x33, 0x52,
    0xF0, 0x15, 0x62, 0x72, 0xD1, 0x0A, 0x16, 0x24, 0x34, 0xE1, 0x25, 0xF1, 0x17, 0x18, 0x19, 0x1A, 0x26,
    0x27, 0x28, 0x29, 0x2A, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3A, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49,
    0x4A, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5A, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A,
    0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A,
    0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9A, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9,
    0xAA, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6, 0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8,
    0xC9, 0xCA, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7,
    0xE8, 0xE9, 0xEA, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA,
};

/// The file with the standard's tables in front; those that it brings count all the same, since they come
/// later.
inline bytes with_standard_tables(std::span<const std::byte> encoded) {
  constexpr std::size_t more = sizeof standard_huffman_tables;
  bytes out(encoded.size() + more);
  std::memcpy(out.data(), encoded.data(), 2);
  std::memcpy(out.data() + 2, standard_huffman_tables, more);
  std::memcpy(out.data() + 2 + more, encoded.data() + 2, encoded.size() - 2);
  return out;
}

}  // namespace wick::detail

// ==== wick/codec/detail/palette.hpp
/// \file
/// Numbers that stand for colors: what a palette, or a scale of gray of few bits, gives for each.

namespace wick::detail {

/// Pillow's convert("L"): ITU-R 601-2 luma, rounded. Of 16 bits as well.
constexpr std::uint32_t rounded_luma(std::uint32_t r, std::uint32_t g, std::uint32_t b) noexcept {
  return (r * 19595u + g * 38470u + b * 7471u + 0x8000u) >> 16;
}

struct palette_table {
  /// Those that are not set are black.
  std::array<std::array<std::uint8_t, 4>, 256> rgba{};

  palette_table() noexcept {
    for (auto& c : rgba) c[3] = 255;
  }
  void set(std::size_t i, int r, int g, int b, int a) noexcept {
    rgba[i] = {static_cast<std::uint8_t>(r), static_cast<std::uint8_t>(g), static_cast<std::uint8_t>(b),
               static_cast<std::uint8_t>(a)};
  }
};

/// What each number becomes in a picture of 1 to 4 channels: the channels of its color, or the number itself.
class picked_levels {
 public:
  picked_levels(const palette_table& colors, int channels, bool indexes) noexcept : channels_(channels) {
    for (std::size_t i = 0; i < 256; ++i) {
      const auto& [r, g, b, a] = colors.rgba[i];
      const auto gray = static_cast<std::uint8_t>(rounded_luma(r, g, b));
      if (indexes)
        levels_[i] = {static_cast<std::uint8_t>(i), 0, 0, 0};
      else if (channels >= 3)
        levels_[i] = {r, g, b, a};
      else
        levels_[i] = {gray, a, 0, 0};
    }
  }

  void write(const std::uint8_t* numbers, std::size_t count, std::uint8_t* out) const noexcept {
    switch (channels_) {
      case 1:
        return write_each<1>(numbers, count, out);
      case 2:
        return write_each<2>(numbers, count, out);
      case 3:
        return write_each<3>(numbers, count, out);
      default:
        return write_each<4>(numbers, count, out);
    }
  }

 private:
  template <std::size_t Channels>
  void write_each(const std::uint8_t* numbers, std::size_t count, std::uint8_t* out) const noexcept {
    for (std::size_t i = 0; i < count; ++i, out += Channels) {
      const auto& color = levels_[numbers[i]];
      for (std::size_t c = 0; c < Channels; ++c) out[c] = color[c];
    }
  }

  int channels_;
  std::array<std::array<std::uint8_t, 4>, 256> levels_{};
};

}  // namespace wick::detail

// ==== wick/codec/detail/png_header.hpp
/// \file
/// A PNG without decoding it: the header chunk, and whether all chunks are there and undamaged.

namespace wick::detail {

inline constexpr std::string_view png_signature{"\x89PNG\r\n\x1a\n", 8};

/// Tables to take eight bytes a step: CRC-32, polynomial 0xEDB88320 (ISO 3309), "slicing by 8".
inline constexpr auto crc_tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0xEDB88320u : 0u);
    tables[0][i] = c;
  }
  for (std::size_t t = 1; t < 8; ++t) {
    for (std::size_t i = 0; i < 256; ++i)
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 255];
  }
  return tables;
}();

inline std::uint32_t crc32(std::span<const std::byte> data) noexcept {
  const auto& t = crc_tables;
  std::uint32_t crc = ~0u;
  std::size_t i = 0;
  for (; i + 8 <= data.size(); i += 8) {
    const std::uint32_t low = crc ^ little32(data, i), high = little32(data, i + 4);
    crc = t[7][low & 255] ^ t[6][(low >> 8) & 255] ^ t[5][(low >> 16) & 255] ^ t[4][low >> 24] ^  //
          t[3][high & 255] ^ t[2][(high >> 8) & 255] ^ t[1][(high >> 16) & 255] ^ t[0][high >> 24];
  }
  for (; i < data.size(); ++i) crc = (crc >> 8) ^ t[0][(crc ^ byte_at(data, i)) & 255];
  return ~crc;
}

constexpr std::uint32_t chunk_type(const char (&name)[5]) noexcept {
  std::uint32_t type = 0;
  for (int i = 0; i < 4; ++i) type = type << 8 | static_cast<unsigned char>(name[i]);
  return type;
}

/// \throws wick::error when the header chunk is not all there
inline bool probe_png(std::span<const std::byte> encoded, picture_info& info) {
  if (!starts_with(encoded, png_signature)) return false;
  info.format = "PNG";
  if (encoded.size() < 33) throw_truncated("PNG", encoded.size(), "inside its header");
  if (big32(encoded, 8) != 13 || big32(encoded, 12) != chunk_type("IHDR")) {
    throw error("damaged PNG: its first chunk is not IHDR (Apple's CgBI variant?); convert it or remove it");
  }
  info.width = big32(encoded, 16);
  info.height = big32(encoded, 20);
  info.bits = static_cast<int>(byte_at(encoded, 24));
  const std::uint32_t color = byte_at(encoded, 25);
  info.channels = color == 0 ? 1 : color == 4 ? 2 : color == 6 ? 4 : 3;
  info.palette = color == 3;
  if (info.channels == 2 || info.channels == 4) return true;
  // A tRNS chunk before the pixels makes one color, or palette entries, transparent.
  for (std::uint64_t at = 33; at + 8 <= encoded.size();) {
    const std::uint32_t type = big32(encoded, static_cast<std::size_t>(at) + 4);
    if (type == chunk_type("tRNS")) ++info.channels;
    if (type == chunk_type("tRNS") || type == chunk_type("IDAT") || type == chunk_type("IEND")) break;
    at += std::uint64_t{12} + big32(encoded, static_cast<std::size_t>(at));
  }
  return true;
}

/// \throws wick::error when a chunk or IEND is missing, or a chunk that matters does not have the checksum it
/// names
inline void check_png_complete(std::span<const std::byte> encoded) {
  for (std::size_t at = png_signature.size();;) {
    if (encoded.size() - at < 12) throw_truncated("PNG", encoded.size(), "without an IEND chunk");
    const std::uint32_t length = big32(encoded, at), type = big32(encoded, at + 4);
    std::string name;
    for (std::size_t i = 0; i < 4; ++i) name += static_cast<char>(byte_at(encoded, at + 4 + i));
    if (encoded.size() - at - 12 < length) {
      throw_truncated("PNG", encoded.size(),
                      "inside the " + printable(name) + " chunk at " + std::to_string(at) + ", which has " +
                          std::to_string(length) + " bytes");
    }
    const bool critical = (type & 0x20000000u) == 0;
    if (critical &&
        crc32(encoded.subspan(at + 4, std::size_t{length} + 4)) != big32(encoded, at + 8 + length)) {
      throw error("damaged PNG: the checksum of the " + printable(name) + " chunk at " + std::to_string(at) +
                  " does not match; fetch or write the file again" + or_leave_it_out);
    }
    if (type == chunk_type("IEND")) return;
    at += std::size_t{12} + length;
  }
}

}  // namespace wick::detail

namespace wick::detail {

// Defined in codec/detail/stb_implementation.hpp.

/// Pixels from allocate_block, `channels` a pixel; null on failure, with stb's reason in `why`. When
/// `cleared`, all of stb's memory is zero at first: what it leaves out is the same each time. With `limits`
/// it gets no more than those.
std::uint8_t* stb_load(const std::byte* encoded, int size, int channels, int& width, int& height,
                       const char*& why, stb_limit& limit, bool cleared = false) noexcept;
/// The same of a JPEG whose components are `colors`, with libjpeg-turbo's upsampling.
std::uint8_t* stb_load_jpeg(const std::byte* encoded, int size, jpeg_color_model colors, int channels,
                            int& width, int& height, const char*& why, stb_limit& limit,
                            bool cleared) noexcept;

// Defined in codec/detail/png_implementation.hpp and gif_implementation.hpp, which are compiled with it.

/// The rows of `part`, in full width. \throws wick::error when they are damaged
image decode_png(std::span<const std::byte> encoded, const rect& part, int channels, bool indexes);
wide_rows decode_wide_png(std::span<const std::byte> encoded, const rect& part, int channels);
image decode_gif(std::span<const std::byte> encoded, const picture_info& info, int channels, bool indexes);

inline bool stb_probe(std::span<const std::byte> encoded, picture_info& info) {
  return probe_jpeg(encoded, info) || probe_png(encoded, info) || probe_bmp(encoded, info) ||
         probe_gif(encoded, info);
}

inline void stb_check_complete(std::span<const std::byte> encoded, const picture_info& info) {
  if (info.format == "JPEG") check_jpeg_complete(encoded);
  if (info.format == "PNG") check_png_complete(encoded);
  if (info.format == "BMP") check_bmp_complete(encoded, info);
  if (info.format == "GIF") check_gif_complete(encoded);
}

[[noreturn]] inline void throw_stb_refusal(const picture_info& info, const char* reason,
                                           const stb_limit& limit) {
  if (limit.exceeded) throw_over_limit(info, limit);
  const std::string_view why = reason != nullptr ? reason : "no reason";
  if (why == "outofmem") throw std::bad_alloc();
  throw error("damaged " + std::string(info.format) +
              ", or of a kind that stb_image does not read (it says: " + std::string(why) +
              "); write the file again, convert it" + or_leave_it_out);
}

inline image stb_decode_jpeg(std::span<const std::byte> encoded, const picture_info& info, int channels) {
  const bool cleared = !check_jpeg_tables(encoded);
  const jpeg_layout layout(encoded);
  bytes with_tables;
  if (layout.wants_standard_tables()) {
    with_tables = with_standard_tables(encoded);
    encoded = with_tables.span();
  }
  int width = 0, height = 0;
  const char* why = "";
  stb_limit limit = limit_of(info);
  std::uint8_t* const pixels = stb_load_jpeg(encoded.data(), static_cast<int>(encoded.size()),
                                             layout.colors(), channels, width, height, why, limit, cleared);
  if (pixels == nullptr) throw_stb_refusal(info, why, limit);
  return image::adopt(pixels, width, height, channels);
}

/// What a BMP of at most 8 bits has for a header. stb_image reads a color that its palette leaves out from
/// memory that nobody has written, and takes the palette of OS/2's short header, of three bytes a color, to
/// be four colors shorter than it is.
struct bmp_palette {
  explicit bmp_palette(std::span<const std::byte> encoded)
      : header(little32(encoded, 14)),
        entry(header == 12 ? 3 : 4),
        bits(little16(encoded, header == 12 ? 24 : 28)) {
    offset = std::min<std::size_t>(little32(encoded, 10), encoded.size());
    stored = offset > 14 + header ? (offset - 14 - header) / entry : 0;
    plain = header == 12 || little32(encoded, 30) == 0;
  }
  std::size_t colors() const noexcept { return std::size_t{1} << bits; }
  /// Whether stb_image must be given another file.
  bool incomplete() const noexcept { return bits <= 8 && plain && (header == 12 || stored < colors()); }

  std::size_t header, entry, bits;
  std::size_t offset = 0;  ///< of the pixels
  std::size_t stored = 0;  ///< colors
  bool plain = false;      ///< not compressed
};

/// The same with a header of forty bytes and all colors, the missing ones black.
inline bytes bmp_with_whole_palette(std::span<const std::byte> encoded, const bmp_palette& of) {
  const std::size_t start = 54 + 4 * of.colors();
  bytes out(start + encoded.size() - of.offset);
  std::byte* const to = out.data();
  std::memset(to, 0, start);
  const auto put = [to](std::size_t at, std::size_t value, int count) {
    for (int i = 0; i < count; ++i)
      to[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(value >> (8 * i) & 255u);
  };
  const bool small = of.header == 12;
  std::memcpy(to, encoded.data(), 2);
  put(10, start, 4);
  put(14, 40, 4);
  put(18, small ? little16(encoded, 18) : little32(encoded, 18), 4);
  put(22, small ? little16(encoded, 20) : little32(encoded, 22), 4);
  put(26, 1, 2);
  put(28, of.bits, 2);
  for (std::size_t i = 0; i < std::min(of.colors(), of.stored); ++i)
    std::memcpy(to + 54 + 4 * i, encoded.data() + 14 + of.header + of.entry * i, 3);
  std::memcpy(to + start, encoded.data() + of.offset, encoded.size() - of.offset);
  return out;
}

inline image stb_decode_bmp(std::span<const std::byte> encoded, const picture_info& info, int channels) {
  bytes with_header;
  if (const bmp_palette palette(encoded); palette.incomplete()) {
    with_header = bmp_with_whole_palette(encoded, palette);
    encoded = with_header.span();
  }
  // stb_image takes a fourth byte for alpha that the header doesn't call so; and its weights of gray are not
  // Pillow's.
  const int stored = info.channels;
  int width = 0, height = 0;
  const char* why = "";
  stb_limit limit = limit_of(info);
  std::uint8_t* const pixels =
      stb_load(encoded.data(), static_cast<int>(encoded.size()), stored, width, height, why, limit);
  if (pixels == nullptr) throw_stb_refusal(info, why, limit);
  image all = image::adopt(pixels, width, height, stored);
  if (stored == channels) return all;
  image out(width, height, channels);
  const std::uint8_t* from = all.data();
  std::uint8_t* to = out.data();
  for (std::size_t n = out.pixels().size() / static_cast<std::size_t>(channels); n > 0;
       --n, from += stored, to += channels) {
    if (channels >= 3)
      std::memcpy(to, from, 3);
    else
      to[0] = static_cast<std::uint8_t>(rounded_luma(from[0], from[1], from[2]));
    if (channels % 2 == 0) to[channels - 1] = stored == 4 ? from[3] : std::uint8_t{255};
  }
  return out;
}

inline decoded_picture stb_decode(std::span<const std::byte> encoded, const picture_info& info,
                                  const decode_request& request) {
  if (encoded.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw error(std::string(info.format) + " of " + std::to_string(encoded.size()) +
                " bytes: stb_image takes at most 2 GiB; store it in parts");
  }
  decoded_picture out;
  if (info.format == "PNG") {
    out.pixels = decode_png(encoded, request.wanted, request.channels, request.indexes);
    out.top = request.wanted.y;
    return out;
  }
  if (info.format == "GIF") {
    out.pixels = decode_gif(encoded, info, request.channels, request.indexes);
    return out;
  }
  out.pixels = info.format == "JPEG" ? stb_decode_jpeg(encoded, info, request.channels)
                                     : stb_decode_bmp(encoded, info, request.channels);
  const int width = out.pixels.width(), height = out.pixels.height();
  if (width != info.width || height != info.height) {
    throw error("damaged " + std::string(info.format) + ": the header says " +
                size_text(info.width, info.height) + " px, the pixels are " + size_text(width, height) +
                "; write the file again or remove it");
  }
  return out;
}

inline wide_rows stb_decode_wide(std::span<const std::byte> encoded, const picture_info& info,
                                 const decode_request& request) {
  if (info.format != "PNG")
    throw error(std::string(info.format) + " of 16 bits a channel is not read; convert it to PNG");
  return decode_wide_png(encoded, request.wanted, request.channels);
}

/// The decoder that is always there, at full size: JPEG and BMP by stb_image, PNG and GIF by wick.
inline constexpr codec stb_codec{"stb_image", &stb_probe, &stb_check_complete,
                                 &stb_decode, nullptr,    &stb_decode_wide};

}  // namespace wick::detail

namespace wick {

/// The channels that a decoded picture has. Conversions are those of Pillow's convert(); alpha is dropped,
/// not blended.
enum class color : std::uint8_t {
  unchanged,  ///< those that are stored
  gray,       ///< one channel
  rgb,        ///< three channels
  rgba,       ///< four channels; opaque where none is stored
  /// One channel of the numbers that are stored, for masks: those of a palette's colors (PNG, GIF), or a gray
  /// PNG's levels, of few bits too, as they are. They are never blended: a resize must be `nearest`.
  index,
};

namespace detail {

struct decode_options {
  color mode = color::rgb;  ///< the channels
  /// uint8: levels of 8 bits, and a PNG of 16 bits is an error. int32: levels as they are, 0 to 65535 of 16
  /// bits, 0 to 255 of
  /// 8. float32: levels divided by 65535 or 255. The two are written by batch(); of 16 bits they go with
  /// crops, resizes and flips.
  dtype type = dtype::uint8;
  bool reduce_16_bits = false;  ///< take the upper 8 bits of PNGs of 16, in place of the error
  std::int64_t max_pixels =
      178'956'970;  ///< more in a header is an error before memory is taken; Pillow's limit. Decoding takes
                    ///< up to 16 bytes a pixel while it lasts (24 for a 16-bit PNG), whatever the file holds
  bool allow_truncated =
      false;           ///< take JPEGs that break off; what is missing is gray. Other formats stay errors.
  bool exact = false;  ///< never decode a JPEG smaller than it is, even where a smaller one covers the output
  bool orient =
      false;  ///< turn a JPEG upright as its EXIF orientation says; a quarter turn decodes the whole picture
};

class decode_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint, hook::note>;
  static constexpr std::string_view name = "decode";

  /// \throws wick::error when max_pixels is less than 1
  explicit decode_stage(const decode_options& options) : options_(options) {
    if (options.max_pixels < 1) {
      throw error("decode: max_pixels = " + std::to_string(options.max_pixels) +
                  " refuses every picture; give at least 1");
    }
    if (options.type != dtype::uint8 && options.type != dtype::int32 && options.type != dtype::float32) {
      throw error("decode: .type = " + std::string(to_string(options.type)) +
                  "; give uint8, int32 or float32");
    }
    if (options.mode == color::index && (options.type == dtype::float32 || options.reduce_16_bits)) {
      throw error(
          "decode: color::index gives numbers of classes, which are neither scaled nor reduced; give .type = "
          "uint8, or int32 for more than 256");
    }
    if (options.reduce_16_bits && options.type != dtype::uint8) {
      throw error("decode: .reduce_16_bits gives uint8, and .type is " +
                  std::string(to_string(options.type)) + "; leave one of them out");
    }
  }

  /// Reads the header. \throws wick::error when the bytes are no picture, break off, or claim too many pixels
  lazy_image operator()(bytes encoded, context&) const {
    const picture_info info = codecs().probe(encoded.span());
    seen_.saw(info);
    check_size(info, options_.max_pixels);
    const pixel_numbers as = numbers(info);
    if (info.decoder->check_complete != nullptr) {
      try {
        info.decoder->check_complete(encoded.span(), info);
      } catch (const error&) {
        if (!options_.allow_truncated || info.format != "JPEG") throw;
        encoded = with_end_of_image(encoded);
      }
    }
    const int turn = options_.orient && info.format == "JPEG" ? detail::exif_orientation(encoded.span()) : 1;
    lazy_image picture(std::move(encoded), info, channels(info), options_.exact, as);
    return turn == 1 ? std::move(picture) : upright(std::move(picture), turn);
  }
  /// Not of max_pixels, allow_truncated and reduce_16_bits: a training may go on with those that let it.
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash::of(options_.mode, options_.exact, options_.orient, options_.type);
  }
  /// For the report: what the decoders have to say, who decodes what, and when it could be done faster.
  std::string note() const {
    std::string text = codecs().note();
    const std::string seen = seen_.text();
    if (seen.empty()) return text;
    text += (text.empty() ? "decode: " : "; decode: ") + seen;
    if (seen_.saw("JPEG", detail::stb_codec.name)) {
      text +=
          "; libjpeg-turbo is about three times as fast for JPEGs: install it (apt-get install libjpeg-dev) "
          "and build wick anew, without WICK_JPEG=stb";
    }
    return text;
  }

 private:
  /// stb_image wants an end-of-image marker, wherever it comes.
  static bytes with_end_of_image(const bytes& broken) {
    bytes mended(broken.size() + 2);
    std::memcpy(mended.data(), broken.data(), broken.size());
    mended.data()[broken.size()] = std::byte{0xFF};
    mended.data()[broken.size() + 1] = std::byte{0xD9};
    return mended;
  }
  /// What is stored turned as EXIF numbers it, turned back.
  static lazy_image upright(lazy_image picture, int turn) {
    // NOLINTNEXTLINE(bugprone-use-after-move): what was moved out is replaced
    if (turn > 4) picture.replace_pixels(detail::transposed(std::move(picture).pixels()));
    if (turn == 2 || turn == 3 || turn == 6 || turn == 7) picture.mirror_x();
    if (turn == 3 || turn == 4 || turn == 7 || turn == 8) picture.mirror_y();
    return picture;
  }
  /// What the picture can't be had in is an error, here rather than in wrong numbers.
  pixel_numbers numbers(const picture_info& info) const {
    const bool indexes = options_.mode == color::index;
    const std::string what(info.format);
    if (indexes && !info.palette && (info.channels > 2 || info.format == "JPEG")) {
      throw error(what + " of " + (info.channels <= 2 ? "gray levels" : "colors") +
                  ", which stores no numbers of classes: color::index is for PNGs and GIFs with a palette "
                  "and for gray PNGs; "
                  "convert the masks to such PNGs");
    }
    const bool wide = info.bits == 16 && info.format != "JPEG" && info.decoder->decode_wide != nullptr;
    if (wide && options_.type == dtype::uint8 && !options_.reduce_16_bits) {
      throw error(
          what +
          " of 16 bits a channel, of which decode() would lose 8; write wick::decode({.type = "
          "wick::dtype::int32}) for its values as they are, wick::dtype::float32 for values in [0, 1]" +
          (indexes ? "" : ", or wick::decode({.reduce_16_bits = true}) for the upper 8 bits"));
    }
    return {options_.type, wide && options_.type != dtype::uint8, indexes};
  }
  int channels(const picture_info& info) const noexcept {
    switch (options_.mode) {
      case color::gray:
      case color::index:
        return 1;
      case color::rgb:
        return 3;
      case color::rgba:
        return 4;
      default:
        return info.channels;
    }
  }
  decode_options options_;
  mutable detail::decoders_seen seen_;
};

template <>
struct once_decoded<bytes> {
  using type = lazy_image;
};

}  // namespace detail

/// Bytes → picture: JPEG, PNG, BMP and GIF (its first frame), told apart by their contents. 8 bits a channel,
/// in RGB, unless the options say otherwise: a PNG of 16 bits is an error then, and palettes are looked up.
/// Damage that only decoding shows is thrown where the pixels are made, by batch() or a stage that asks for
/// them.
inline detail::decode_stage decode(const detail::decode_options& options = {}) {
  return detail::decode_stage(options);
}

}  // namespace wick

// ==== wick/image/flip.hpp
/// \file
/// Mirroring stages, sure and random. They turn a flag of the plan; the pixels are written mirrored in the
/// first place.

namespace wick {

namespace detail {

struct horizontal_flip_stage {
  using stage_kind = on_data;
  static constexpr std::string_view name = "horizontal_flip";

  lazy_image operator()(lazy_image picture, context&) const noexcept {
    picture.mirror_x();
    return picture;
  }
};

struct vertical_flip_stage {
  using stage_kind = on_data;
  static constexpr std::string_view name = "vertical_flip";

  lazy_image operator()(lazy_image picture, context&) const noexcept {
    picture.mirror_y();
    return picture;
  }
};

class random_horizontal_flip_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "random_horizontal_flip";

  explicit random_horizontal_flip_stage(double p) : p_(p) { detail::require_probability(name, p); }
  lazy_image operator()(lazy_image picture, context& ctx) const noexcept {
    if (ctx.random().bernoulli(p_)) picture.mirror_x();
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(p_); }

 private:
  double p_;
};

class random_vertical_flip_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "random_vertical_flip";

  explicit random_vertical_flip_stage(double p) : p_(p) { detail::require_probability(name, p); }
  lazy_image operator()(lazy_image picture, context& ctx) const noexcept {
    if (ctx.random().bernoulli(p_)) picture.mirror_y();
    return picture;
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash::of(p_); }

 private:
  double p_;
};

}  // namespace detail

/// Left and right change places.
inline detail::horizontal_flip_stage horizontal_flip() noexcept { return {}; }
/// Top and bottom change places.
inline detail::vertical_flip_stage vertical_flip() noexcept { return {}; }
/// Left and right change places with probability p. torchvision.transforms.RandomHorizontalFlip.
inline detail::random_horizontal_flip_stage random_horizontal_flip(double p = 0.5) {
  return detail::random_horizontal_flip_stage(p);
}
/// Top and bottom change places with probability p. torchvision.transforms.RandomVerticalFlip.
inline detail::random_vertical_flip_stage random_vertical_flip(double p = 0.5) {
  return detail::random_vertical_flip_stage(p);
}

}  // namespace wick

// ==== wick/image/normalize.hpp
/// \file
/// The normalize stage on single pictures: bytes become float32 with mean 0 and deviation 1, written straight
/// into the batch's slot. (After transfer() the same stage works on whole batches, on the device: see
/// torch/.)

namespace wick {

namespace detail {

/// A number for each channel, or one for all: `0.5`, `{0.485, 0.456, 0.406}`.
struct channel_values {
  std::array<float, 4> values{};
  int count = 0;

  channel_values(double all) noexcept
      : values{static_cast<float>(all)}, count(1) {}  // NOLINT: implicit on purpose
  /// \throws wick::error unless there are one to four
  channel_values(std::initializer_list<double> each) : count(static_cast<int>(each.size())) {
    if (each.size() < 1 || each.size() > values.size()) {
      throw error("normalize: " + std::to_string(each.size()) +
                  " values; give one for each channel, or one for all");
    }
    std::size_t i = 0;
    for (const double v : each) values[i++] = static_cast<float>(v);
  }
};

class normalize_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "normalize";

  normalize_stage(const channel_values& mean, const channel_values& deviation)
      : by_{mean.values, deviation.values, std::max(mean.count, deviation.count)} {
    if (mean.count != deviation.count && mean.count != 1 && deviation.count != 1) {
      throw error("normalize: " + std::to_string(mean.count) + " means and " +
                  std::to_string(deviation.count) + " deviations; give as many of each");
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(by_.count); ++i) {
      if (mean.count == 1) by_.mean[i] = mean.values[0];
      if (deviation.count == 1) by_.deviation[i] = deviation.values[0];
      if (!std::isfinite(by_.mean[i]) || !std::isfinite(by_.deviation[i]) || !(by_.deviation[i] > 0)) {
        throw error("normalize: mean " + std::to_string(by_.mean[i]) + ", deviation " +
                    std::to_string(by_.deviation[i]) +
                    "; give finite means, and deviations above 0, for pixels in [0, 1]");
      }
    }
  }

  lazy_image operator()(lazy_image picture, context&) const {
    picture.normalize(by_);
    return picture;
  }

  /// The first count() are meant; with a count of 1 they hold for every channel.
  const std::array<float, 4>& mean() const noexcept { return by_.mean; }
  const std::array<float, 4>& std() const noexcept { return by_.deviation; }
  int count() const noexcept { return by_.count; }
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash::of(by_.mean, by_.deviation, by_.count);
  }

 private:
  normalization by_;
};

}  // namespace detail

/// (x / 255 - mean) / std as float32, per channel; mean and std are for pixels in [0, 1], as torchvision's
/// Normalize after ToTensor. The last picture stage.
inline detail::normalize_stage normalize(const detail::channel_values& mean,
                                         const detail::channel_values& std) {
  return {mean, std};
}

}  // namespace wick

// ==== wick/image/resize.hpp
/// \file
/// The resize stage: to a size, or by the shorter edge. It notes the size; the filtering happens in the
/// batch's slot.

namespace wick {

namespace detail {

struct resize_options {
  int max_size = 0;  ///< limit of the longer edge when resizing by the shorter one; 0: none
  wick::interpolation interpolation = wick::interpolation::bilinear;  ///< the filter
};

class resize_stage {
 public:
  using stage_kind = on_data;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "resize";

  resize_stage(int height, int width, const resize_options& options)
      : height_(height), width_(width), options_(options) {
    detail::require_size(name, height, width);
    if (options.max_size != 0)
      throw error("resize: max_size goes with resize(shorter_edge); leave it out here");
  }
  resize_stage(int shorter_edge, const resize_options& options) : shorter_(shorter_edge), options_(options) {
    detail::require_size(name, shorter_edge, shorter_edge);
    if (options.max_size != 0 && options.max_size <= shorter_edge) {
      throw error("resize: max_size " + std::to_string(options.max_size) +
                  " must be larger than the shorter edge, " + std::to_string(shorter_edge));
    }
  }
  lazy_image operator()(lazy_image picture, context&) const {
    const auto [width, height] = size_for(picture.width(), picture.height());
    picture.resize(width, height, options_.interpolation);
    return picture;
  }

  /// Width and height for a picture of this size. By the shorter edge the longer one is cut off to a whole
  /// number, as torchvision's int() does.
  std::pair<int, int> size_for(int width, int height) const noexcept {
    if (shorter_ == 0) return {width_, height_};
    const double is_short = std::min(width, height), is_long = std::max(width, height);
    int new_short = shorter_,
        new_long = static_cast<int>(std::min(shorter_ * is_long / is_short, 2147483000.0));
    if (options_.max_size != 0 && new_long > options_.max_size) {
      new_short =
          std::max(1, static_cast<int>(static_cast<double>(options_.max_size) * new_short / new_long));
      new_long = options_.max_size;
    }
    return width <= height ? std::pair{new_short, new_long} : std::pair{new_long, new_short};
  }
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash::of(shorter_, height_, width_, options_.max_size, options_.interpolation);
  }

 private:
  int shorter_ = 0, height_ = 0, width_ = 0;
  resize_options options_;
};

}  // namespace detail

/// To height x width px, antialiased. torchvision.transforms.Resize((height, width)).
inline detail::resize_stage resize(int height, int width, const detail::resize_options& options = {}) {
  return {height, width, options};
}
/// Until the shorter edge has that many pixels, in the same proportions. torchvision.transforms.Resize(size).
inline detail::resize_stage resize(int shorter_edge, const detail::resize_options& options = {}) {
  return {shorter_edge, options};
}

}  // namespace wick

// ==== wick/loader/loader.hpp
/// \file
/// The loader: what a training program holds. It runs a pipeline and gives batches, epoch after epoch, in
/// order.

#include <filesystem>
#include <iterator>

// ==== wick/failure/detail/error_account.hpp
/// \file
/// The books on failures, kept by the consumer in the order of delivery: the ledger, its file, the limits,
/// and what shall be quarantined.

#include <map>

// ==== wick/failure/detail/failed_sample.hpp
/// \file
/// What is known of a sample that failed, from the failure on until its batch is delivered.

// ==== wick/failure/on_error.hpp
/// \file
/// What becomes of a sample that fails: its batch fails, it is left out, another takes its place, it is tried
/// again.

namespace wick {

/// What was done about a failure.
enum class error_action : std::uint8_t {
  fail,     ///< taking its batch throws wick::sample_error
  skip,     ///< left out: its batch is shorter, or filled from the end of the epoch (error_options::compact)
  replace,  ///< another sample of the epoch stands in its place
  retry,    ///< tried again, and it went well
};

/// "fail", "skip", "replace", "retry".
constexpr std::string_view to_string(error_action a) noexcept {
  constexpr std::string_view names[] = {"fail", "skip", "replace", "retry"};
  return names[static_cast<std::size_t>(a)];
}

namespace detail {

/// The same as it is told of a sample in the report.
constexpr std::string_view outcome_of(error_action a) noexcept {
  constexpr std::string_view outcomes[] = {"failed", "skipped", "replaced", "good when tried again"};
  return outcomes[static_cast<std::size_t>(a)];
}

/// How often a failing sample is tried again, and what is done when that doesn't help: wick::fail,
/// wick::skip, wick::replace, wick::retry(…), or `retry(3).then(skip)`.
struct error_rule {
  unsigned retries = 0;                     ///< how often a failing sample is tried again
  std::chrono::duration<double> backoff{};  ///< before the first retry, doubled before each further one
  /// Not set: what is done about other stages, and where that says nothing either: fail.
  std::optional<error_action> action;

  /// What is done when the last retry has failed.
  constexpr error_rule then(const error_rule& last) const noexcept {
    error_rule out = *this;
    out.action = last.action;
    return out;
  }
};

}  // namespace detail

/// The sample's batch fails: taking it throws wick::sample_error. The default.
inline constexpr detail::error_rule fail{0, {}, error_action::fail};
/// The sample is left out: its batch is shorter, or filled from the end of the epoch
/// (error_options::compact).
inline constexpr detail::error_rule skip{0, {}, error_action::skip};
/// Another sample of the epoch takes its place; seed, epoch and position say which.
inline constexpr detail::error_rule replace{0, {}, error_action::replace};

/// Up to `times` more tries, each from the source on and with the random numbers of the first, so that a
/// sample that succeeds late is the same. `backoff` passes before the first of them, twice as long before the
/// second, and so on; no worker waits meanwhile, also in a pipeline without a stage that suspends. \throws
/// wick::error when times is 0 or more than 1,000, or backoff is negative or not a number
inline detail::error_rule retry(unsigned times, std::chrono::duration<double> backoff = {}) {
  if (times == 0) throw error("retry(0): a retry is at least one more try; leave it out to have none");
  if (times > 1000) {
    throw error("retry(" + std::to_string(times) +
                "): at most 1000; a sample that fails as often will not get better");
  }
  if (!(backoff.count() >= 0))
    throw error("retry: a backoff of " + std::to_string(backoff.count()) + " seconds; wanted is 0 or more");
  return {times, backoff, std::nullopt};
}

/// Limits, and details of skip and replace. What is beyond a limit makes taking the batch throw
/// wick::too_many_errors: always the same batch, since failures are counted in the order of delivery. Each
/// rank counts its own samples.
struct error_options {
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  /// Failed samples in the whole training; goes on across load_state().
  std::uint64_t count = unlimited;
  /// The share of an epoch's positions, of those whose turn has come in it, whose own sample failed, 0 … 1;
  /// what was drawn in its place and failed, too, doesn't count again. The first 1,000 positions count as
  /// 1,000 (or as all of a smaller epoch), so that an early failure is no 100 %.
  double rate = 1;
  /// Failed samples one after another: a disk that is gone, a server that is down.
  std::uint64_t consecutive = unlimited;
  /// replace: so many are drawn for one place; when all fail, the batch fails.
  unsigned substitutes = 16;
  /// skip: batches stay full until the end of the epoch. A gap is filled by the sample that stands last in
  /// the epoch and has not been moved yet. For one rank: which samples move depends on all failures before,
  /// and the others' are not known.
  bool compact = false;
};

namespace detail {

/// What a loader does about failing samples; made by on_error(). The default is fail for all.
///
/// Outcomes depend on the data, the seed, the epoch and the position alone, so batches are the same with any
/// number of workers and (but for compact) of ranks. What no sample is to blame for fails its batch under
/// every policy: samples of different shapes, and a batch stage that throws.
class error_policy {
 public:
  error_policy() = default;
  /// \throws wick::error when rate is not in [0, 1], substitutes is 0, or an option has no use with this rule
  error_policy(const error_rule& for_all, error_options options) : for_all_(for_all), options_(options) {
    if (!(options.rate >= 0 && options.rate <= 1)) {
      throw error("on_error: a rate of " + std::to_string(options.rate) +
                  "; wanted is a share of the samples, 0 to 1");
    }
    if (options.substitutes == 0) {
      throw error("on_error: substitutes = 0; replace draws at least one (use skip or fail to have none)");
    }
  }
  /// Another rule for one stage, by its name in errors and in the report. What was put off by decode() and
  /// fails in the batch is a failure of decode. Stages of one name share the rule; the one set last counts.
  error_policy& at(std::string stage, const error_rule& rule) & {
    for (auto& [name, old] : stages_) {
      if (name == stage) {
        old = rule;
        return *this;
      }
    }
    stages_.emplace_back(std::move(stage), rule);
    return *this;
  }
  error_policy&& at(std::string stage, const error_rule& rule) && {
    at(std::move(stage), rule);
    return std::move(*this);
  }

  const error_options& options() const noexcept { return options_; }
  /// The rule for failures of this stage, with an action.
  error_rule rule_for(std::string_view stage) const noexcept {
    error_rule rule = for_all_;
    for (const auto& [name, own] : stages_) {
      if (name == stage) rule = own;
    }
    if (!rule.action) rule.action = for_all_.action.value_or(error_action::fail);
    return rule;
  }
  /// Nothing is ever done but to fail the batch.
  bool only_fails() const noexcept {
    const auto fails = [&](const error_rule& r) {
      return r.retries == 0 && r.action.value_or(error_action::fail) == error_action::fail;
    };
    return fails(for_all_) && std::all_of(stages_.begin(), stages_.end(), [&](const auto& s) {
             return s.second.retries == 0 && rule_for(s.first).action == error_action::fail;
           });
  }
  bool ever(error_action a) const noexcept {
    return for_all_.action == a ||
           std::any_of(stages_.begin(), stages_.end(), [&](const auto& s) { return s.second.action == a; });
  }
  /// The stages that have rules of their own.
  std::vector<std::string_view> stages() const {
    std::vector<std::string_view> out;
    for (const auto& s : stages_) out.emplace_back(s.first);
    return out;
  }

 private:
  error_rule for_all_ = fail;
  error_options options_;
  std::vector<std::pair<std::string, error_rule>> stages_;
};

}  // namespace detail

/// Says what becomes of failing samples, for loader_options::on_error: `on_error(replace)`,
/// `on_error(skip, {.rate = 0.01})`, `on_error(skip).at("read", retry(3, 100ms))`.
/// \throws wick::error for options out of range
inline detail::error_policy on_error(const detail::error_rule& for_all, error_options options = {}) {
  return {for_all, options};
}

/// More samples failed than error_options allows; thrown in place of the batch in which that happened. Who
/// goes on gets the batches behind it, until the next failure.
class too_many_errors : public error {
 public:
  using error::error;
};

}  // namespace wick

namespace wick::detail {

/// In place of a sample that is known to be bad.
class quarantined_sample : public error {
 public:
  quarantined_sample()
      : error("on the quarantine list, so it was not tried; take it off there to try it again") {}
};

/// Its shape is not that of the others.
class misshapen : public error {
 public:
  using error::error;
};

/// A sample that failed, and what was done about it.
struct failure {
  static constexpr std::uint64_t whole_batch = ~std::uint64_t{0};  ///< in place of a slot
  static constexpr std::uint64_t nobody = ~std::uint64_t{0};       ///< in place of an index

  std::uint64_t slot = 0;
  std::uint32_t stage = 0;
  std::exception_ptr cause;
  std::uint64_t position = 0, index = 0;
  std::uint32_t number = 0;  ///< of those in this slot, in their order
  error_action action = error_action::fail;
  std::uint32_t tries = 1;
  std::uint64_t substitute = nobody;  ///< the index of what was drawn in its place
  std::uint32_t drawn = 0;            ///< how many were drawn for this position, up to that
};

}  // namespace wick::detail

// ==== wick/failure/detail/ledger_file.hpp
/// \file
/// The ledger as a file: a JSON object a line, written as failures are delivered.

#include <cerrno>

// ==== wick/failure/ledger.hpp
/// \file
/// The account of samples that failed: none disappears silently.

namespace wick {

/// What kind of failure it was.
enum class error_kind : std::uint8_t {
  data,         ///< a stage threw wick::error: it said what is wrong with the sample
  exception,    ///< a stage threw something else
  system,       ///< std::system_error
  memory,       ///< std::bad_alloc
  shape,        ///< it has another shape than the others of its batch
  batch,        ///< a stage behind batch() threw
  quarantined,  ///< it was not tried: an earlier run put it on the quarantine list
};

/// "data", "exception", "system", ….
constexpr std::string_view to_string(error_kind k) noexcept {
  constexpr std::string_view names[] = {"data",  "exception", "system",     "memory",
                                        "shape", "batch",     "quarantined"};
  return names[static_cast<std::size_t>(k)];
}

/// One failed sample. A substitute that fails too has an entry of its own, at the same position.
struct ledger_entry {
  std::string key;                           ///< the sample's name, as its source gives it
  std::string stage;                         ///< that failed
  std::uint64_t epoch = 0;                   ///< in which it failed
  std::uint64_t position = 0;                ///< in the epoch, over all ranks
  std::string text;                          ///< what was found and what to do
  error_kind kind = error_kind::exception;   ///< of the failure
  error_action action = error_action::fail;  ///< what was done about it
  unsigned tries = 1;                        ///< how often it was tried; 0 when it was quarantined
  std::string substitute = {};               ///< replace: the key of the sample that was drawn for it
};

namespace detail {

/// How many failures of a stage met with an action.
struct error_count {
  std::string stage;
  error_action action = error_action::fail;
  std::uint64_t count = 0;
};

}  // namespace detail

/// Failures in the order of delivery. Belongs to the loader; read it from the thread that takes the batches.
class ledger {
 public:
  static constexpr std::size_t max_kept = 10'000;

  /// The first 10,000 entries; total() says how many there were. loader_options::ledger_file gets all of
  /// them.
  const std::vector<ledger_entry>& entries() const noexcept { return entries_; }
  /// Entries whose sample was not delivered: all but those with the action retry.
  std::uint64_t total() const noexcept { return total_; }
  /// total() and those with the action retry, by stage and action, in the order of the first of each.
  const std::vector<detail::error_count>& counts() const noexcept { return counts_; }
  /// Failures of the training so far: total(), and those that a loaded state brought.
  std::uint64_t of_training() const noexcept { return before_ + total_; }
  /// For the loader: what was counted before the state that it goes on from.
  void go_on_from(std::uint64_t of_training) noexcept { before_ = of_training - total_; }
  /// For the loader: one more failure.
  void add(ledger_entry e) {
    if (e.action != error_action::retry) ++total_;
    count(e);
    if (entries_.size() < max_kept) entries_.push_back(std::move(e));
  }

 private:
  void count(const ledger_entry& e) {
    for (detail::error_count& c : counts_) {
      if (c.action == e.action && c.stage == e.stage) {
        ++c.count;
        return;
      }
    }
    counts_.push_back({e.stage, e.action, 1});
  }

  std::vector<ledger_entry> entries_;
  std::vector<detail::error_count> counts_;
  std::uint64_t total_ = 0;
  std::uint64_t before_ = 0;  // modulo 2^64: a state may be older than what this loader has counted
};

}  // namespace wick

// ==== wick/system/detail/line_file.hpp
/// \file
/// A file to which any number of processes append lines, each whole, whatever stops them.

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ==== wick/system/detail/plain_file.hpp
/// \file
/// Opening a path that should be a regular file: what is none is named, and never waited for.

namespace wick::detail {

/// A file descriptor that closes itself.
class file_handle {
 public:
  file_handle() noexcept = default;
  explicit file_handle(int fd) noexcept : fd_(fd) {}
  file_handle(file_handle&& other) noexcept : fd_(other.release()) {}
  file_handle& operator=(file_handle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~file_handle() { close(); }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  /// Whether all was written: some file systems say only here that it was not.
  bool close() noexcept {
    const int fd = release();
    return fd < 0 || ::close(fd) == 0 || errno == EINTR;
  }

 private:
  int fd_ = -1;
};

/// "a FIFO (named pipe)"; null for a regular file.
inline const char* other_than_file(::mode_t mode) noexcept {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return nullptr;
    case S_IFDIR:
      return "a folder";
    case S_IFIFO:
      return "a FIFO (named pipe)";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    default:
      return "neither a file nor a folder";
  }
}

/// "is a FIFO (named pipe), not a file; …"
inline std::string not_a_file(const char* what) {
  return std::string("is ") + what + ", not a file; give the path of a regular file, or leave it out";
}

/// What became of opening a path for reading.
struct plain_file {
  file_handle file;
  struct ::stat about {};       ///< of the file that is open
  const char* other = nullptr;  ///< what it is, when it is no regular file; then nothing is open
  int fault = 0;                ///< errno, when it could not be opened
};

/// Opens a regular file for reading. A FIFO would make open() wait for somebody who writes into it, and a
/// terminal or another device for what it stands for: those are recognized without waiting.
inline plain_file open_plain(const char* path) noexcept {
  plain_file out;
  const auto open = [&](int more) {
    int fd;
    do {
      fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | more);
    } while (fd < 0 && errno == EINTR);
    out.file = file_handle(fd);
    out.fault = fd < 0 ? errno : 0;
  };
  open(O_NONBLOCK);
  const bool looked = out.file ? ::fstat(out.file.get(), &out.about) == 0 : ::stat(path, &out.about) == 0;
  if (looked) out.other = other_than_file(out.about.st_mode);
  if (out.file && !looked) out.fault = errno;
  // A file server may hold a lease on a file, which it gives up when it is asked: that is worth waiting for.
  if (out.fault == EAGAIN && looked && out.other == nullptr) {
    open(0);
    if (out.file && ::fstat(out.file.get(), &out.about) != 0) out.fault = errno;
  }
  if (out.other != nullptr || out.fault != 0) out.file.close();
  return out;
}

}  // namespace wick::detail

namespace wick::detail {

/// Whether `text` is one JSON object from its first to its last character, as far as braces and quotes tell.
inline bool is_whole_object(std::string_view text) noexcept {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && (depth == 0 || --depth == 0)) {
      return i + 1 == text.size();
    }
    if (depth == 0) return false;
  }
  return false;
}

/// Lines of JSON objects that begin with `head`.
///
/// A line is one write in append mode, so lines of several writers don't mix. What tears one is a full disk
/// or a kill in the middle of a write: then its beginning is taken back, at once or by whoever opens or
/// writes the file next, under a lock of the file. What is not known to be the beginning of such a line is
/// kept, and ended. The lock is not waited for longer than a few milliseconds, since who holds it may be
/// stopped; without it nothing is taken back, and the next line begins anew.
class line_file {
 public:
  /// Look at fault() and other() then.
  line_file(const char* path, std::string_view head) noexcept : head_(head) {
    do {
      file_ =
          file_handle(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
    } while (!file_ && errno == EINTR);
    struct ::stat status {};
    fault_ = file_ ? 0 : errno;
    const bool looked = (file_ ? ::fstat(file_.get(), &status) : ::stat(path, &status)) == 0;
    regular_ = looked && S_ISREG(status.st_mode);
    if (!file_ && looked) other_ = other_than_file(status.st_mode);
    if (!file_ || !regular_) return;
    plain_file again = open_plain(path);
    if (again.file && again.about.st_dev == status.st_dev && again.about.st_ino == status.st_ino) {
      look_ = std::move(again.file);
    }
    const lock held(*this);
    if (const std::string_view begin = beginning(held.held()); !begin.empty()) write(begin);
  }

  /// errno, when it can't be opened.
  int fault() const noexcept { return fault_; }
  /// What it is, when it can't be opened and is no regular file.
  const char* other() const noexcept { return other_; }

  /// Adds a line, without its end. 0, or errno when that failed; nothing of it is left then, or the next line
  /// begins anew. \throws std::bad_alloc
  int add(std::string_view line) {
    const lock held(*this);
    std::string text(beginning(held.held()));
    text.append(line).push_back('\n');
    struct ::stat before {};
    const bool known = regular_ && ::fstat(file_.get(), &before) == 0;
    std::size_t written = 0;
    const int fault = write(text, &written);
    torn_ = fault != 0 && written != 0;
    if (torn_ && known && held.held()) take_back(before.st_size, static_cast<::off_t>(written));
    return fault;
  }

 private:
  class lock {
   public:
    explicit lock(line_file& of) noexcept : of_(of) {
      if (!of.regular_) return;
      // Others hold it for the time of a write.
      for (int tries = 0; tries < (of.patient_ ? 300 : 1); ++tries) {
        if (tries > 100) {
          const ::timespec pause{0, 100'000};
          ::nanosleep(&pause, nullptr);
        } else if (tries > 0) {
          ::sched_yield();
        }
        held_ = ::flock(of.file_.get(), LOCK_EX | LOCK_NB) == 0;
        if (held_ || (errno != EWOULDBLOCK && errno != EINTR)) break;
      }
      of.patient_ = held_;
    }
    lock(const lock&) = delete;
    lock& operator=(const lock&) = delete;
    ~lock() {
      if (held_) ::flock(of_.file_.get(), LOCK_UN);
    }
    bool held() const noexcept { return held_; }

   private:
    line_file& of_;
    bool held_ = false;
  };

  /// What must come before the next line: nothing behind a whole one, and once the beginning of one was taken
  /// back.
  std::string_view beginning(bool locked) noexcept {
    if (!regular_) return torn_ ? "\n" : "";
    struct ::stat status {};
    if (::fstat(file_.get(), &status) != 0 || !look_) return torn_ ? "\n" : "";
    char tail[16384];
    if (status.st_size == 0 || !read(tail, 1, status.st_size - 1) || tail[0] == '\n') return "";
    if (!locked) return "\n";
    const auto size = static_cast<std::size_t>(std::min<::off_t>(status.st_size, sizeof(tail)));
    if (!read(tail, size, status.st_size - static_cast<::off_t>(size))) return "\n";
    const std::string_view text(tail, size);
    const std::size_t end = text.rfind('\n');
    if (end == std::string_view::npos && static_cast<::off_t>(size) != status.st_size) return "\n";
    const std::string_view line = text.substr(end == std::string_view::npos ? 0 : end + 1);
    const bool ours = line.substr(0, head_.size()) == head_.substr(0, line.size());
    if (!ours || is_whole_object(line)) return "\n";
    const bool gone = ::ftruncate(file_.get(), status.st_size - static_cast<::off_t>(line.size())) == 0;
    return gone ? "" : "\n";
  }

  /// Unless somebody without the lock has written behind it.
  void take_back(::off_t size, ::off_t written) noexcept {
    struct ::stat now {};
    if (::fstat(file_.get(), &now) != 0 || now.st_size != size + written) return;
    if (::ftruncate(file_.get(), size) == 0) torn_ = false;
  }

  bool read(char* to, std::size_t size, ::off_t offset) const noexcept {
    return ::pread(look_.get(), to, size, offset) == static_cast<::ssize_t>(size);
  }
  int write(std::string_view text, std::size_t* written = nullptr) noexcept {
    while (!text.empty()) {
      const ::ssize_t n = ::write(file_.get(), text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      if (n == 0) return ENOSPC;
      text.remove_prefix(static_cast<std::size_t>(n));
      if (written != nullptr) *written += static_cast<std::size_t>(n);
    }
    return 0;
  }

  std::string_view head_;
  file_handle file_, look_;  // to write, and to see what is there
  int fault_ = 0;
  const char* other_ = nullptr;
  bool regular_ = false;
  bool torn_ = false;  // this one's last line, for all it knows
  bool patient_ = true;
};

}  // namespace wick::detail

namespace wick::detail {

/// How many bytes of `text` the UTF-8 character at its beginning has; 0 when there is none (RFC 3629: no
/// overlong forms, no surrogates, nothing above U+10FFFF).
inline std::size_t utf8_character(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return at(i) >= low && at(i) <= high;
  };
  const unsigned lead = at(0);
  if (text.empty()) return 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    return follows(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    return follows(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) && follows(2) && follows(3) ? 4
                                                                                                          : 0;
  }
  return 0;
}

/// `text` as a JSON string with its quotes (RFC 8259). Bytes that are no UTF-8 are written as the characters
/// \xNN, as printable() does, since JSON has no other bytes.
inline std::string json_string(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t length = utf8_character(text);
    if (length == 0) {
      out += "\\\\x";
      out += {digits[byte >> 4], digits[byte & 15]};
    } else if (byte == '"' || byte == '\\') {
      out += {'\\', text[0]};
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += {digits[byte >> 4], digits[byte & 15]};
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out += '"';
}

/// One line of JSON, without its end:
/// {"epoch":0,"position":17,"key":"cat/0012.jpg","stage":"decode","kind":"data",
/// "action":"replace","tries":1,"substitute":"cat/0431.jpg","text":"not a JPEG or PNG …"}.
inline std::string to_json(const ledger_entry& e) {
  std::string out = "{\"epoch\":" + std::to_string(e.epoch) + ",\"position\":" + std::to_string(e.position) +
                    ",\"key\":" + detail::json_string(e.key) + ",\"stage\":" + detail::json_string(e.stage) +
                    ",\"kind\":\"" + std::string(to_string(e.kind)) + "\",\"action\":\"" +
                    std::string(to_string(e.action)) + "\",\"tries\":" + std::to_string(e.tries);
  if (!e.substitute.empty()) out += ",\"substitute\":" + detail::json_string(e.substitute);
  return out + ",\"text\":" + detail::json_string(e.text) + "}";
}

/// A file that grows by a line a failure. Each is written at once and whole, so any number of ranks may have
/// the same file, and whoever reads it while the training runs, or after a crash, finds whole lines. What a
/// full disk or a kill has left of a line is taken back; a last line of anybody else's that has no end gets
/// one.
class ledger_file {
 public:
  /// Appends to what is there. \throws wick::error when it can't be opened
  explicit ledger_file(std::filesystem::path path)
      : path_(std::move(path)), file_(path_.c_str(), "{\"epoch\":") {
    if (file_.fault() == 0) return;
    const char* const other = file_.other();
    throw error(printable(path_.native()) + ": ledger_file: can't be opened: " +
                (other != nullptr ? std::string("it is ") + other : reason(file_.fault())) +
                "; give a path in a folder that exists and may be written to");
  }

  /// A line that can't be written does not stop the training: trouble() says so from then on.
  void add(const ledger_entry& e) noexcept try {
    if (const int fault = file_.add(to_json(e)); fault != 0) lost(fault);
  } catch (...) {
    lost(ENOMEM);
  }

  /// What went wrong, empty when nothing did.
  std::string trouble() const {
    if (lost_ == 0) return {};
    return printable(path_.native()) + ": ledger_file: " + std::to_string(lost_) +
           " lines could not be written: " + reason(fault_) + "; loader.ledger() has them";
  }

 private:
  static std::string reason(int fault) { return std::generic_category().message(fault); }
  void lost(int fault) noexcept {
    fault_ = fault;
    ++lost_;
  }

  std::filesystem::path path_;
  detail::line_file file_;
  int fault_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace wick::detail

// ==== wick/failure/quarantine.hpp
/// \file
/// Samples that are known to be bad: a file that one run writes and a later one loads, so as not to try them
/// again.

#include <fstream>

// ==== wick/resume/state.hpp
/// \file
/// Where a training stands, in at most 4 KiB: what loader.state() gives and load_state() takes, on any number
/// of workers and ranks.

namespace wick::detail {

/// A stage as a state knows it: its name, and the fingerprint of its parameters where it has one.
struct stage_identity {
  std::string name;
  std::uint64_t parameters = 0;
};

/// What must be the same for a state to be of use: with it the same position means the same sample. Workers,
/// prefetch, memory, error policies and the number of ranks are not in it.
struct pipeline_identity {
  std::uint64_t data = 0;     ///< fingerprint of the source
  std::uint64_t samples = 0;  ///< of the source
  std::uint64_t seed = 0;
  std::uint64_t batch = 0;  ///< samples of a batch over all ranks
  bool batched =
      true;  ///< false: the pipeline has no batch(), and `batch` is how many samples are planned at a time
  std::vector<stage_identity> stages;
};

/// A place in the training: `batch` batches of `epoch` were handed over.
struct loader_state {
  static constexpr std::size_t max_bytes = 4096;
  static constexpr std::uint32_t version = 3;  // 1: positions of another shuffle; 2: no limits

  pipeline_identity of;
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;
  std::uint64_t sample =
      0;  ///< without batch(): samples of the group behind them that were handed over, on each rank
  std::uint64_t failures = 0;  ///< in the ledger of the rank that wrote it
  // The same as error_options counts them.
  std::uint64_t counted_failures = 0, epoch_failures = 0, consecutive_failures = 0;
  std::uint64_t moved = 0;  ///< samples of the epoch's end that stand in gaps (error_options::compact)

  /// From behind the last batch of an epoch.
  void begin_next_epoch() noexcept {
    ++epoch;
    batch = sample = moved = epoch_failures = 0;
  }

  /// Little-endian, with version, length and checksum. Long names are shortened, and stages beyond about 70
  /// told as one.
  inline std::vector<std::byte> to_bytes() const;
  /// \throws wick::error when these bytes are no state, are damaged, or are of a newer format
  static inline loader_state from_bytes(std::span<const std::byte> bytes);
};

inline constexpr std::string_view state_magic = "wick-st\n";
inline constexpr std::size_t max_state_name = 40;

class state_writer {
 public:
  template <class T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      out_.push_back(static_cast<std::byte>(std::uint64_t{value} >> (8 * i)));
  }
  void text(std::string_view t) {
    for (const char c : t) out_.push_back(static_cast<std::byte>(c));
  }
  std::vector<std::byte>& bytes() noexcept { return out_; }

 private:
  std::vector<std::byte> out_;
};

class state_reader {
 public:
  explicit state_reader(std::span<const std::byte> in) noexcept : in_(in) {}
  template <class T>
  T number() {
    const auto raw = take(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value |= std::uint64_t{std::to_integer<std::uint8_t>(raw[i])} << (8 * i);
    return static_cast<T>(value);
  }
  std::string text(std::size_t size) {
    const auto raw = take(size);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }

 private:
  std::span<const std::byte> take(std::size_t n) {
    if (n > in_.size())
      throw error("load_state: the state says that it has more than it holds; it was not written by wick");
    const auto taken = in_.first(n);
    in_ = in_.subspan(n);
    return taken;
  }
  std::span<const std::byte> in_;
};

inline std::uint64_t state_checksum(std::span<const std::byte> bytes) noexcept {
  return fingerprint_hash().add(bytes.data(), bytes.size()).value();
}

/// So that shortened names of different stages differ, and all that did not find room counts.
inline std::vector<stage_identity> shortened(const std::vector<stage_identity>& stages) {
  constexpr std::size_t most = 70;
  std::vector<stage_identity> out;
  for (std::size_t i = 0; i < stages.size() && i < most; ++i) {
    const auto& [name, parameters] = stages[i];
    if (name.size() <= max_state_name)
      out.push_back(stages[i]);
    else
      out.push_back({name.substr(0, max_state_name), fingerprint_hash().add(name).add(parameters).value()});
  }
  if (stages.size() > most) {
    fingerprint_hash h;
    for (std::size_t i = most; i < stages.size(); ++i) h.add(stages[i].name).add(stages[i].parameters);
    out.push_back({"further stages", h.value()});
  }
  return out;
}

inline std::string hex(std::uint64_t n) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "0x";
  for (int shift = 60; shift >= 0; shift -= 4) out += digits[(n >> shift) & 15];
  return out;
}

/// What differs, in words; empty when the state can be gone on with. `saved` is as it was read: shortened
/// already.
inline std::string difference(const pipeline_identity& saved, const pipeline_identity& mine) {
  const auto number = [](std::uint64_t n) { return std::to_string(n); };
  if (saved.samples != mine.samples) {
    return "another data set: it has " + number(saved.samples) + " samples, this loader's has " +
           number(mine.samples) + "; give the source that the state was made with";
  }
  if (saved.data != mine.data) {
    return "another data set: of the same size, with fingerprint " + hex(saved.data) +
           ", this loader's has " + hex(mine.data) + "; names, labels or contents differ";
  }
  const std::vector<stage_identity>& before = saved.stages;
  const std::vector<stage_identity> now = shortened(mine.stages);
  for (std::size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
    const std::string at = "another pipeline: stage " + number(i + 1) + " behind the source ";
    if (i >= now.size())
      return at + "was " + printable(before[i].name) + ", and this loader has no such stage";
    if (i >= before.size()) return at + "is " + printable(now[i].name) + ", which it did not have";
    if (before[i].name != now[i].name)
      return at + "was " + printable(before[i].name) + ", now it is " + printable(now[i].name);
    if (before[i].parameters != now[i].parameters)
      return at + "(" + printable(now[i].name) + ") had other parameters";
  }
  if (saved.seed != mine.seed) {
    return "another seed: " + number(saved.seed) + ", this loader has " + number(mine.seed) +
           "; set loader_options::seed";
  }
  if (saved.batch != mine.batch) {
    if (!mine.batched) {
      return "another number of ranks (" + number(saved.batch) + " samples are planned at a time, here " +
             number(mine.batch) + "); a pipeline without batch() goes on only with as many ranks as before";
    }
    return "another global batch: " + number(saved.batch) + " samples over all ranks, this loader has " +
           number(mine.batch) + "; give batch() that number whatever the number of ranks is";
  }
  return {};
}

inline std::vector<std::byte> loader_state::to_bytes() const {
  detail::state_writer w;
  w.text(detail::state_magic);
  w.number(version);
  w.number(std::uint32_t{0});  // length, below
  for (const std::uint64_t n :
       {of.data, of.samples, of.seed, of.batch, std::uint64_t{of.batched}, epoch, batch, sample, failures,
        counted_failures, epoch_failures, consecutive_failures, moved}) {
    w.number(n);
  }
  const auto stages = detail::shortened(of.stages);
  w.number(static_cast<std::uint16_t>(stages.size()));
  for (const stage_identity& s : stages) {
    w.number(static_cast<std::uint8_t>(s.name.size()));
    w.text(s.name);
    w.number(s.parameters);
  }
  auto& bytes = w.bytes();
  const std::uint64_t length = bytes.size() + sizeof(std::uint64_t);
  for (std::size_t i = 0; i < 4; ++i) bytes[12 + i] = static_cast<std::byte>(length >> (8 * i));
  w.number(detail::state_checksum(bytes));
  return std::move(bytes);
}
// Magic, version, length, numbers, stages with the longest names, checksum.
static_assert(8 + 4 + 4 + 13 * 8 + 2 + 71 * (1 + detail::max_state_name + 8) + 8 <= loader_state::max_bytes);

inline loader_state loader_state::from_bytes(std::span<const std::byte> bytes) {
  const std::string size = std::to_string(bytes.size()) + " bytes";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(detail::state_magic.substr(0, bytes.size())) || bytes.empty()) {
    throw error("load_state: these " + size +
                " are no state of a wick loader, which begins with \"wick-st\"; is it the right file?");
  }
  if (bytes.size() < 16)
    throw error("load_state: the state was cut off after " + size + "; take an older one");
  detail::state_reader r(bytes.subspan(detail::state_magic.size()));
  const auto format = r.number<std::uint32_t>();
  if (format != version) {
    throw error("load_state: the state has format " + std::to_string(format) +
                ", and this wick knows format " + std::to_string(version) + "; " +
                (format == 0 || format >= 1000 ? "it is damaged: take an older one"
                 : format > version            ? "it was written by a newer wick"
                                               : "it was written by an older wick: begin its epoch anew"));
  }
  const auto length = r.number<std::uint32_t>();
  if (length < 24 || length > max_bytes)
    throw error("load_state: the state is damaged (a length of " + std::to_string(length) +
                " bytes); take an older one");
  if (bytes.size() != length) {
    throw error(
        "load_state: the state has " + std::to_string(length) + " bytes, and there are " + size + "; " +
        (bytes.size() < length ? "it was cut off: take an older one" : "give exactly what state() gave"));
  }
  detail::state_reader end(bytes.last(8));
  if (end.number<std::uint64_t>() != detail::state_checksum(bytes.first(length - 8))) {
    throw error(
        "load_state: the state is damaged (its checksum is not that of its bytes); take an older one");
  }
  loader_state s;
  std::uint64_t batched = 0;
  for (std::uint64_t* n :
       {&s.of.data, &s.of.samples, &s.of.seed, &s.of.batch, &batched, &s.epoch, &s.batch, &s.sample,
        &s.failures, &s.counted_failures, &s.epoch_failures, &s.consecutive_failures, &s.moved}) {
    *n = r.number<std::uint64_t>();
  }
  s.of.batched = batched != 0;
  const auto stages = r.number<std::uint16_t>();
  for (std::size_t i = 0; i < stages; ++i) {
    const auto letters = r.number<std::uint8_t>();
    std::string name = r.text(letters);
    s.of.stages.push_back({std::move(name), r.number<std::uint64_t>()});
  }
  return s;
}

}  // namespace wick::detail

// ==== wick/resume/state_file.hpp
/// \file
/// A state in a file of its own, that is whole at any moment: the old one or the new one, whenever the
/// machine stops.

// ==== wick/resume/detail/replace_file.hpp
/// \file
/// Puts a whole file in the place of another: whoever looks finds the old or the new one, whatever stops the
/// writer.

#include <dirent.h>
#include <sys/random.h>

// ==== wick/system/detail/file_system.hpp
/// \file
/// Which kind of file system a file lies on: one of this machine's own, or one that others answer for.

#ifdef __linux__
#include <sys/vfs.h>
#endif

namespace wick::detail {

/// Whether a file system of this type is in the hands of this machine's kernel alone. Any other (NFS, SMB,
/// 9P, Ceph, Lustre, FUSE with all that is behind it) asks a server or a program, which may take as long as
/// it likes, also to open a file whose bytes are in the page cache. What is not known here counts as one of
/// those. overlayfs is local, since a container's own files lie on it; where its lower layers are not (images
/// that are pulled as they are read), opening a file may keep a worker for a moment.
constexpr bool is_local_type(std::uint64_t type) noexcept {
  constexpr std::uint64_t local[] = {
      0xEF53,      // ext2, ext3, ext4
      0x58465342,  // XFS
      0x9123683E,  // Btrfs
      0xF2F52010,  // F2FS
      0xCA451A4E,  // bcachefs
      0x2FC12FC1,  // ZFS
      0x794C7630,  // overlayfs
      0x01021994,  // tmpfs
      0x858458F6,  // ramfs
      0x958458F6,  // hugetlbfs
      0x73717368,  // SquashFS
      0xE0F5E1E2,  // EROFS
      0x9660,      // ISO 9660
      0x15013346,  // UDF
      0x4D44,      // FAT
      0x2011BAB0,  // exFAT
      0x7366746E,  // NTFS (ntfs3)
      0x3153464A,  // JFS
      0x52654973,  // ReiserFS
      0x3434,      // NILFS2
      0x5A4F4653,  // zonefs
      0x28CD3D45,  // cramfs
  };
  for (const std::uint64_t t : local) {
    if (t == type) return true;
  }
  return false;
}

/// Asks the file system itself, so it may block. False when it can't tell.
inline bool is_local(int file) noexcept {
#ifdef __linux__
  struct ::statfs about;
  return ::fstatfs(file, &about) == 0 && is_local_type(static_cast<std::uint32_t>(about.f_type));
#else
  (void)file;
  return false;
#endif
}

}  // namespace wick::detail

namespace wick::detail {

[[noreturn]] inline void state_file_error(const char* what, const std::filesystem::path& path, int fault,
                                          const char* advice, const char* kind = "state") {
  throw error(printable(path.native()) + ": " + kind + ": " + what + ": " +
              std::generic_category().message(fault) + "; " + advice);
}

/// The file that becomes the new one: a neighbor of the old one, under a name that nobody else has, until it
/// takes the old one's. It is gone with its scope if it never does.
///
/// As long as its writer lives, the file is locked. So one whose lock can be had was left behind by a process
/// that was killed, and whoever writes into the folder next removes it. Where a lock may be known to one
/// machine only (NFS and its like), it must be an hour old as well, and a day where there are no locks.
class neighbor_file {
 public:
  /// Makes it in `folder`, an open one. `mode` is what open() gets, so that the umask holds.
  neighbor_file(int folder, ::mode_t mode) noexcept : folder_(folder) {
    for (int tries = 0; tries < 100; ++tries) {
      choose_name();
      do {
        file_ =
            file_handle(::openat(folder_, name_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
      } while (!file_ && errno == EINTR);
      fault_ = file_ ? 0 : errno;
      if (fault_ == EEXIST) continue;
      if (fault_ != 0) return;
      // Whoever tidies up may have seen it before it was locked.
      if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        discard();
        continue;
      }
      struct ::stat named {};
      if (::fstatat(folder_, name_, &named, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT) return;
      discard();
      fault_ = ENOENT;
    }
  }
  neighbor_file(const neighbor_file&) = delete;
  neighbor_file& operator=(const neighbor_file&) = delete;
  ~neighbor_file() { discard(); }

  int get() const noexcept { return file_.get(); }
  /// errno, when it could not be made.
  int fault() const noexcept { return fault_; }

  /// False: errno says why.
  bool write(std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
      const ::ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n == 0) errno = ENOSPC;
      if (n <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return true;
  }
  /// Brings it to the disk. Some file systems say only at its end that not all was written: close a second
  /// descriptor, since the lock lies on this one.
  bool sync() noexcept {
    int done;
    do {
      done = ::fsync(file_.get());
    } while (done != 0 && errno == EINTR);
    if (done != 0) return false;
    file_handle second(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
    return !second || second.close();
  }
  bool rename_to(const char* name) noexcept {
    if (::renameat(folder_, name_, folder_, name) != 0) return false;
    file_.close();
    return true;
  }

  /// Removes what killed writers left behind in `folder`.
  static void tidy_up(int folder) noexcept {
    struct ::stat status {};
    if (::fstat(folder, &status) != 0) return;
    // A folder of very many files is looked through once.
    constexpr std::uint64_t many = 10'000;
    static constinit std::atomic<std::uint64_t> last_large{0};
    const std::uint64_t self = (std::uint64_t{status.st_dev} * 0x9E3779B97F4A7C15u) ^ status.st_ino;
    if (self == last_large.load(std::memory_order_relaxed)) return;
    struct closer {
      void operator()(::DIR* d) const noexcept { ::closedir(d); }
    };
    file_handle again(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!again) return;
    const std::unique_ptr<::DIR, closer> listing(::fdopendir(again.get()));
    if (listing == nullptr) return;
    again.release();
    const bool local = is_local(folder);
    std::uint64_t entries = 0;
    for (const ::dirent* e = ::readdir(listing.get()); e != nullptr;
         e = ::readdir(listing.get()), ++entries) {
      if (is_name(e->d_name)) remove_if_left(folder, e->d_name, local);
    }
    if (entries > many) last_large.store(self, std::memory_order_relaxed);
  }

 private:
  static constexpr std::string_view prefix = ".wick-writing-";
  static constexpr std::size_t digits = 16;

  static bool is_name(std::string_view name) noexcept {
    return name.size() == prefix.size() + digits && name.starts_with(prefix) &&
           name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string_view::npos;
  }
  static void remove_if_left(int folder, const char* name, bool local) noexcept {
    const file_handle left(::openat(folder, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    struct ::stat status {};
    if (!left || ::fstat(left.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    const auto age = ::time(nullptr) - status.st_mtime;
    constexpr auto hour = 3600, day = 24 * hour;
    const bool free = ::flock(left.get(), LOCK_EX | LOCK_NB) == 0;
    if (!free && errno == EWOULDBLOCK) return;
    if (free ? local || age > hour : age > day) ::unlinkat(folder, name, 0);
  }
  void choose_name() noexcept {
    // Threads, processes and containers that share nothing but the folder must not agree: neither a counter
    // nor the process id would do. Where there is no randomness, O_EXCL finds another.
    std::uint64_t number = 0;
    if (::getentropy(&number, sizeof(number)) != 0) {
      static constinit std::atomic<std::uint64_t> next{0};
      number = next.fetch_add(1, std::memory_order_relaxed) + (static_cast<std::uint64_t>(::getpid()) << 32);
    }
    std::memcpy(name_, prefix.data(), prefix.size());
    for (std::size_t i = 0; i < digits; ++i, number >>= 4)
      name_[prefix.size() + i] = "0123456789abcdef"[number & 15];
  }
  void discard() noexcept {
    if (!file_) return;
    ::unlinkat(folder_, name_, 0);
    file_.close();
  }

  int folder_;
  int fault_ = 0;
  file_handle file_;
  char name_[prefix.size() + digits + 1] = {};
};

/// Replaces the file at `path` by these bytes; `kind` is its name in errors. A link there is replaced, not
/// what it leads to. \throws wick::error when a step fails, and the old file is as it was
inline void replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                         const char* kind) {
  constexpr const char* advice = "the file is as it was; is there room, and may this program write there?";
  const std::filesystem::path parent =
      path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const std::string name = path.filename().native();
  // All goes by the open folder: it may be renamed meanwhile, and the name may be as long as names get.
  const file_handle folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) state_file_error("can't be created, its folder can't be opened", path, errno, advice, kind);
  if (name.empty() || name == "." || name == "..") {
    state_file_error("can't be created", path, EISDIR, "give the path of a file", kind);
  }
  struct ::stat old {};
  const bool is_there = ::fstatat(folder.get(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  const char* other = is_there && !S_ISLNK(old.st_mode) ? other_than_file(old.st_mode) : nullptr;
  if (other != nullptr) {
    throw error(printable(path.native()) + ": " + kind + ": is " + other +
                ", and only a regular file is replaced; give another path");
  }
  const bool keeps_mode = is_there && S_ISREG(old.st_mode);

  neighbor_file::tidy_up(folder.get());
  neighbor_file next(folder.get(), keeps_mode ? old.st_mode & 0666 : 0666);
  const auto failed = [&](const char* what) { state_file_error(what, path, errno, advice, kind); };
  if (next.fault() != 0) {
    errno = next.fault();
    failed("can't be created");
  }
  // Not every file system has modes: then it stays as open() made it, which is never for more than the old
  // one was.
  if (keeps_mode) static_cast<void>(::fchmod(next.get(), old.st_mode & 0777) == 0);
  if (!next.write(bytes)) failed("can't be written");
  if (!next.sync()) failed("can't be brought to the disk");
  if (!next.rename_to(name.c_str())) failed("can't take its name");
  // The name lies in the folder: it is on the disk when the folder is.
  if (::fsync(folder.get()) != 0 && errno != EINVAL) {
    state_file_error("was written, but its folder can't be brought to the disk", path, errno,
                     "after a power failure the old one may be back", kind);
  }
}

}  // namespace wick::detail

namespace wick {

/// Replaces the file at `path` by these bytes: they are written to a neighbor, brought to the disk, and take
/// the name then. Whoever reads meanwhile, or after a crash, finds the whole old or the whole new one. Any
/// number of threads and processes may write the same path at once: they don't mix, and the last one wins.
/// The new file has the old one's mode. A link at `path` is replaced, and what it led to stays. What a writer
/// that was killed left behind (.wick-writing-…) is removed by the next one in that folder. Keeps no other
/// bytes than those of a state: give it a training's whole checkpoint if that is small enough. \throws
/// wick::error when a step fails, or something else than a regular file is there; what was there is as it was
inline void write_state(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  detail::replace_file(path, bytes, "state");
}

/// The bytes of a file that write_state() wrote, up to a state's size; load_state() checks them.
/// \throws wick::error when the file can't be read, or is too large for a state
inline std::vector<std::byte> read_state(const std::filesystem::path& path) {
  detail::plain_file opened = detail::open_plain(path.c_str());
  if (opened.other != nullptr)
    throw error(detail::printable(path.native()) + ": state: " + detail::not_a_file(opened.other));
  if (opened.fault != 0) {
    detail::state_file_error("can't be opened", path, opened.fault,
                             "begin a training without it, or give its path");
  }
  const detail::file_handle file = std::move(opened.file);
  std::vector<std::byte> out(detail::loader_state::max_bytes + 1);
  std::size_t size = 0;
  while (size < out.size()) {
    const ::ssize_t n = ::read(file.get(), out.data() + size, out.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) detail::state_file_error("can't be read", path, errno, "take an older one");
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  if (size > detail::loader_state::max_bytes) {
    throw error(detail::printable(path.native()) + ": state: has more than the " +
                std::to_string(detail::loader_state::max_bytes) +
                " bytes that a state has at most; is it the right file?");
  }
  out.resize(size);
  return out;
}

}  // namespace wick

namespace wick::detail {

/// Indexes of a source, each with the stage in which the sample failed. Once it is made, any thread may ask.
class quarantine {
 public:
  struct entry {
    std::uint64_t index = 0;
    std::size_t stage = 0;  ///< its number in the names
  };

  quarantine() = default;
  /// Of several entries for one index the first counts.
  explicit quarantine(std::vector<entry> entries, std::vector<std::string> stages = {})
      : entries_(std::move(entries)), stages_(std::move(stages)) {
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const entry& a, const entry& b) { return a.index < b.index; });
    entries_.erase(std::unique(entries_.begin(), entries_.end(),
                               [](const entry& a, const entry& b) { return a.index == b.index; }),
                   entries_.end());
    if (entries_.empty()) return;
    places_.assign(std::bit_ceil(2 * entries_.size() + 1), nobody);
    for (const entry& e : entries_) {
      std::size_t p = first_place(e.index);
      while (places_[p] != nobody) p = (p + 1) & (places_.size() - 1);
      places_[p] = e.index;
    }
  }

  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  /// By rising index.
  const std::vector<entry>& entries() const noexcept { return entries_; }
  bool has(std::uint64_t index) const noexcept {
    if (places_.empty()) return false;
    for (std::size_t p = first_place(index);; p = (p + 1) & (places_.size() - 1)) {
      if (places_[p] == index) return true;
      if (places_[p] == nobody) return false;
    }
  }
  /// In which stage it failed; empty when that is not known.
  std::string stage_of(std::uint64_t index) const {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), index,
                                     [](const entry& e, std::uint64_t i) { return e.index < i; });
    return at != entries_.end() && at->index == index && at->stage < stages_.size() ? stages_[at->stage]
                                                                                    : std::string();
  }

 private:
  static constexpr std::uint64_t nobody = ~std::uint64_t{0};
  std::size_t first_place(std::uint64_t index) const noexcept {
    return static_cast<std::size_t>((index * 0x9E3779B97F4A7C15u) >> 32) & (places_.size() - 1);
  }
  std::vector<entry> entries_;
  std::vector<std::string> stages_;
  std::vector<std::uint64_t> places_;
};

inline std::string quarantine_head(std::uint64_t samples, std::uint64_t data) {
  return "{\"wick_quarantine\":1,\"samples\":" + std::to_string(samples) + ",\"data\":\"" + hex(data) + "\"}";
}
inline std::string quarantine_line(std::uint64_t index, std::string_view key, std::string_view stage) {
  return "{\"index\":" + std::to_string(index) + ",\"key\":" + json_string(key) +
         ",\"stage\":" + json_string(stage) + "}";
}

/// Replaces the file at `path` by these samples of `from`: a line of JSON that says of which data set, and
/// one a sample with its index, its key and the stage (a number in `stages`). Whoever reads meanwhile finds
/// the old file or the new one. \throws wick::error
template <source Source>
void write_quarantine(const std::filesystem::path& path, const Source& from,
                      std::span<const quarantine::entry> entries, std::span<const std::string> stages) {
  std::string out = detail::quarantine_head(from.size(), fingerprint_of(from)) + "\n";
  for (const quarantine::entry& e : entries) {
    out += detail::quarantine_line(e.index, key_of(from, e.index),
                                   e.stage < stages.size() ? stages[e.stage] : "") +
           "\n";
  }
  detail::replace_file(path, std::as_bytes(std::span<const char>(out)), "quarantine");
}

/// The samples of `from` that a file of write_quarantine() names. A stage that is not among `stages` (the
/// pipeline has changed since) is stages.size(). \throws wick::error when it can't be read, is no such file,
/// is of another data set, or names a sample by another key
template <source Source>
std::vector<quarantine::entry> read_quarantine(const std::filesystem::path& path, const Source& from,
                                               std::span<const std::string> stages) {
  const std::string who = printable(path.native()) + ": quarantine: ";
  constexpr const char* advice = "; give a file that loader.write_quarantine() wrote";
  const detail::plain_file look = detail::open_plain(path.c_str());
  if (look.other != nullptr) throw error(who + detail::not_a_file(look.other));
  std::ifstream in(path, std::ios::binary);
  if (!in) throw error(who + "can't be opened: " + std::generic_category().message(errno) + advice);
  const auto check_end = [&](std::uint64_t number, const std::string& line) {
    if (in.eof() && !line.ends_with('}')) {
      throw error(who + "line " + std::to_string(number) + " is cut off (" + printable(line.substr(0, 100)) +
                  "): the list was not copied whole; make the list anew");
    }
  };
  const std::string head = detail::quarantine_head(from.size(), fingerprint_of(from));
  std::string line;
  if (!std::getline(in, line)) throw error(who + (in.bad() ? "can't be read" : "is empty") + advice);
  if (!line.starts_with("{\"wick_quarantine\":")) throw error(who + "is no quarantine list" + advice);
  check_end(1, line);
  if (!line.starts_with("{\"wick_quarantine\":1,")) {
    throw error(who + "has a format that this wick doesn't know; it was written by a newer one");
  }
  if (line != head) {
    throw error(who + "is of another data set (" + printable(line) + "; this loader's is " + head +
                "): its names, labels or number of samples differ; make the list anew");
  }
  std::vector<quarantine::entry> out;
  for (std::uint64_t number = 2; std::getline(in, line); ++number) {
    check_end(number, line);
    const std::string where = who + "line " + std::to_string(number);
    constexpr std::string_view begin = "{\"index\":";
    quarantine::entry e;
    if (!line.starts_with(begin) ||
        std::from_chars(line.data() + begin.size(), line.data() + line.size(), e.index).ec != std::errc() ||
        e.index >= from.size()) {
      throw error(where + " names no sample of the data set (" + printable(line.substr(0, 100)) +
                  "); make the list anew");
    }
    const std::string wanted = detail::quarantine_line(e.index, key_of(from, e.index), "");
    const std::string_view until_stage = std::string_view(wanted).substr(0, wanted.size() - 3);  // ""}
    if (!line.starts_with(until_stage) || !line.ends_with("\"}")) {
      throw error(where + " says " + printable(line.substr(0, 200)) + ", and sample " +
                  std::to_string(e.index) + " is " + printable(key_of(from, e.index)) +
                  "; make the list anew");
    }
    const std::string_view stage =
        std::string_view(line).substr(until_stage.size(), line.size() - until_stage.size() - 1);
    while (e.stage < stages.size() && detail::json_string(stages[e.stage]) != stage) ++e.stage;
    out.push_back(e);
  }
  if (in.bad()) throw error(who + "can't be read to its end" + advice);
  return out;
}

}  // namespace wick::detail

// ==== wick/observe/report.hpp
/// \file
/// Where the time went: a table of stages, the share of waiting, and what to change.

// ==== wick/observe/detail/advice.hpp
/// \file
/// What to change, in a sentence, from what was measured of a loader. Arithmetic and words; measuring is
/// elsewhere.

namespace wick::detail {

/// Measured while batches were being taken. Shares are 0 … 1.
struct load_figures {
  std::uint64_t iterations = 0;  // batches that the loop came for
  double wait = 0;               // share of the loop's time in which it had no batch
  double helped = 0;             // share of the loop's time in which it then ran samples itself
  std::size_t workers = 0, io_threads = 0, cpus = 0;
  double processors = 0;  // share of the time of all `cpus` that this program took
  double pipeline = 1;    // share of that which workers, I/O threads and the helping loop took
  double busy = 0;        // share of the workers' time in which they were at work, for whomever
  double running = 0;     // share of the workers' time in which they had a processor
  double own = 1;         // share of the workers' work that was this loader's
  double io_busy = 0;     // share of the I/O threads' time in which they were in a call
  double suspended = 0;   // samples that waited in a stage, on average
  std::string slowest;    // the stage with the most work
  double slowest_share = 0;
  std::string waits_in;  // the stage in which samples waited most
};

/// "4.2 %", from a tenth on "42 %".
inline std::string format_percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), share < 0.1 ? "%.1f %%" : "%.0f %%", share * 100);
  return text;
}

inline std::string advise(const load_figures& f) {
  constexpr double hardly = 0.01;  // of the loop's time
  constexpr double full =
      0.85;  // of all processors: the rest is lost to scheduling and to what else runs there
  constexpr double most = 0.7;  // of a thread's time: it is what holds the others up
  const auto number = [](std::size_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  const std::string cpus = number(f.cpus, "processor"), workers = number(f.workers, "worker");
  const std::string cheaper =
      "make that stage cheaper (smaller pictures on disk, work moved to the device, a faster codec)";
  const std::string slowest = f.slowest.empty() ? ""
                                                : ", with '" + f.slowest + "' for " +
                                                      format_percent(f.slowest_share) + " of their time";
  const std::string others =
      "other loaders have this one's workers for " + format_percent(1 - f.own) + " of their work";

  if (f.iterations == 0) return "nothing was taken yet";
  if (f.wait < hardly) return "the training loop hardly waits for data: the model sets the pace";
  const bool helps = f.helped > f.wait / 2;
  std::string text = "the training loop waits " + format_percent(f.wait) + " of its time";
  if (helps) text += ", and runs samples itself meanwhile";
  text += "; ";

  if (f.processors >= full) {
    text += "all of the time of " + cpus + " is used";
    if (f.pipeline < 0.5) {
      return text + ", " + format_percent(1 - f.pipeline) +
             " of it by the rest of the program: leave the pipeline more (wick::share_cores, fewer threads "
             "of the "
             "model's)";
    }
    if (f.own < 0.5)
      return text + ", and " + others + ": take from fewer loaders at a time, or make their stages cheaper";
    text += slowest.empty() ? ": make the stages cheaper" : ", by '" + f.slowest + "' most: " + cheaper;
    return text + "; more threads would only take turns" +
           (f.workers > f.cpus ? ", as the " + workers + " do already" : "");
  }
  if (f.busy >= most) {
    const bool room = f.workers < f.cpus;
    const std::string more = "use more workers (" + std::to_string(f.workers) + " now, " + cpus + ")";
    if (f.own < 0.5) {
      return text + others + ": " +
             (room ? more : "take from fewer loaders at a time, or make their stages cheaper");
    }
    if (f.running < f.busy - 0.3) {
      return text + "the workers are at work for " + format_percent(f.busy) +
             " of their time, and have a processor for " + format_percent(f.running) +
             ": either a stage blocks them" + (f.slowest.empty() ? "" : ", probably '" + f.slowest + "'") +
             " (a lock, a read or a wait of its own: see io_pool), or other programs have the processors";
    }
    return text + "the workers are busy" + slowest + ": " + (room ? more : cheaper);
  }
  if (helps) {
    return text + "samples are so short that it makes many of them, and the workers are free for " +
           format_percent(1 - f.busy) +
           " of their time: raise prefetch or make batches larger, so that there is more to share";
  }
  if (f.suspended >= 0.5 && !f.waits_in.empty()) {
    char many[32];
    std::snprintf(many, sizeof(many), f.suspended < 10 ? "%.1f" : "%.0f", f.suspended);
    text +=
        "the workers are idle and " + std::string(many) + " samples at a time wait in '" + f.waits_in + "': ";
    if (f.io_busy >= most) {
      return text + "raise io_threads (" + std::to_string(f.io_threads) +
             " now, all in use), or bring the data closer";
    }
    return text + "raise prefetch, so that more wait at a time, or bring closer what they wait for";
  }
  return text + "the workers are idle: raise prefetch";
}

}  // namespace wick::detail

namespace wick {

namespace detail {

/// How often a stage ran, and how long that took.
struct stage_report {
  std::string name;         ///< as errors show it
  std::uint64_t count = 0;  ///< samples, each as often as it was tried; for stages behind batch() batches
  double busy = 0;          ///< seconds of work, summed over workers
  double blocked = 0;       ///< seconds of suspension, summed over samples (many wait at the same time)
};

/// What became of samples that failed in a stage: "decode", "replaced", 12.
struct outcome_report {
  std::string stage;         ///< that failed
  std::string_view outcome;  ///< "failed", "skipped", "replaced", "good when tried again"
  std::uint64_t count = 0;   ///< samples
};

}  // namespace detail

/// What loader::report() gives: everything since the report before it. Print it.
struct report {
  double seconds = 0;          ///< since the report before
  double taking = 0;           ///< of these, while an epoch was being taken: from epoch() to its end
  std::size_t workers = 0;     ///< of the executor
  std::size_t io_threads = 0;  ///< of the executor
  std::size_t cpus = 0;        ///< processors that the program may use
  std::uint64_t batches = 0;   ///< delivered
  std::uint64_t samples = 0;   ///< delivered
  // While an epoch was being taken:
  double worked = 0;    ///< seconds for which workers ran this loader's samples and batches, summed over them
  double others = 0;    ///< the same of other loaders on the executor
  double helped = 0;    ///< seconds in which the waiting training loop ran samples itself
  double io_calls = 0;  ///< seconds that I/O threads were in calls, for whomever, summed over them
  double worker_processor =
      0;  ///< processor time that the workers took, for whomever; 0 where the system doesn't say
  double io_processor = 0;       ///< the same of the I/O threads
  double processor = 0;          ///< the same of the whole program
  double wait_mean = 0;          ///< share of the training loop's time spent waiting for data, 0 … 1
  double wait_median = 0;        ///< the same of the median iteration
  std::uint64_t iterations = 0;  ///< of the training loop
  std::uint64_t failures = 0;    ///< samples that could not be delivered
  std::vector<detail::outcome_report> outcomes;  ///< what became of them, and of those that a retry has saved
  std::vector<detail::stage_report> stages;      ///< in the order of the pipeline
  std::vector<std::string> notes;                ///< what is worth knowing, a line each

  /// Seconds of work in all stages, summed over workers.
  double busy() const noexcept {
    double sum = 0;
    for (const detail::stage_report& s : stages) sum += s.busy;
    return sum;
  }
  /// Share of the workers' time in which they worked for this loader, 0 … 1.
  double utilization() const noexcept { return share(worked, workers); }
  /// `some` of the time that `threads` had while an epoch was being taken, 0 … 1.
  double share(double some, std::size_t threads) const noexcept {
    if (taking <= 0 || threads == 0) return 0;
    return std::clamp(some / (taking * static_cast<double>(threads)), 0.0, 1.0);
  }
  /// One sentence: is the loop kept waiting, by what, and what would help.
  std::string advice() const;
  /// All of it as text, a line a stage: what `std::cout << train.report()` prints.
  std::string to_string() const;
};

namespace detail {
/// "12.30 ms": the unit is chosen by what will be printed, so 0.999999 s is "1.00 s" and not "1000.00 ms".
inline std::string format_duration(double seconds) {
  char text[32];
  if (seconds >= 99.995)
    std::snprintf(text, sizeof(text), "%.0f s", seconds);
  else if (seconds >= 0.999995)
    std::snprintf(text, sizeof(text), "%.2f s", seconds);
  else if (seconds >= 0.999995e-3)
    std::snprintf(text, sizeof(text), "%.2f ms", seconds * 1e3);
  else if (seconds >= 0.9995e-6)
    std::snprintf(text, sizeof(text), "%.2f us", seconds * 1e6);
  else
    std::snprintf(text, sizeof(text), "%.0f ns", seconds * 1e9);
  return text;
}
}  // namespace detail

/// One sentence: is the loop kept waiting, by what, and what would help.
inline std::string report::advice() const {
  detail::load_figures f;
  f.iterations = iterations;
  f.wait = wait_mean;
  f.helped = share(helped, 1);
  f.workers = workers;
  f.io_threads = io_threads;
  f.cpus = cpus;
  f.processors = share(processor, cpus);
  if (processor > 0)
    f.pipeline = std::clamp((worker_processor + io_processor + helped) / processor, 0.0, 1.0);
  f.busy = share(worked + others, workers);
  f.running = worker_processor > 0 ? share(worker_processor, workers) : f.busy;
  f.busy = std::max(f.busy, f.running);
  if (worked + others > 0) f.own = worked / (worked + others);
  f.io_busy = share(io_calls, io_threads);
  double blocked = 0;
  const detail::stage_report *slowest = nullptr, *waiting = nullptr;
  for (const detail::stage_report& s : stages) {
    blocked += s.blocked;
    if (s.busy > 0 && (slowest == nullptr || s.busy > slowest->busy)) slowest = &s;
    if (s.blocked > 0 && (waiting == nullptr || s.blocked > waiting->blocked)) waiting = &s;
  }
  if (seconds > 0) f.suspended = blocked / seconds;
  if (slowest != nullptr) f.slowest = slowest->name, f.slowest_share = slowest->busy / busy();
  if (waiting != nullptr) f.waits_in = waiting->name;
  return detail::advise(f);
}

/// The table, one line a stage.
inline std::string report::to_string() const {
  char line[256];
  std::string out;
  std::snprintf(line, sizeof(line), "%llu samples in %s (%.0f samples/s), %llu batches, %zu worker%s %s busy",
                static_cast<unsigned long long>(samples), detail::format_duration(taking).c_str(),
                taking > 0 ? static_cast<double>(samples) / taking : 0.0,
                static_cast<unsigned long long>(batches), workers, workers == 1 ? "" : "s",
                detail::format_percent(utilization()).c_str());
  out += line;
  if (share(others, workers) > 0.005) {
    out += ", with other loaders " + detail::format_percent(share(others, workers));
  }
  if (share(helped, 1) > 0.005) {
    out += ", the waiting loop helps " + detail::format_percent(share(helped, 1)) + " of its time";
  }
  out += '\n';
  if (taking > 0 && processor > 0) {
    std::snprintf(line, sizeof(line),
                  "processors: %.2f of %zu in use, %.2f by workers, %.2f by I/O threads\n",
                  processor / taking, cpus, worker_processor / taking, io_processor / taking);
    out += line;
  }
  std::size_t width = 5;
  for (const detail::stage_report& s : stages) width = std::max(width, s.name.size());
  const int w = static_cast<int>(std::min<std::size_t>(width, 40));
  std::snprintf(line, sizeof(line), "  %-*s %10s %10s %7s %10s %10s\n", w, "stage", "count", "busy", "share",
                "each", "blocked");
  out += line;
  const double all = busy();
  for (const detail::stage_report& s : stages) {
    std::snprintf(line, sizeof(line), "  %-*.40s %10llu %10s %7s %10s %10s\n", w, s.name.c_str(),
                  static_cast<unsigned long long>(s.count), detail::format_duration(s.busy).c_str(),
                  detail::format_percent(all > 0 ? s.busy / all : 0).c_str(),
                  s.count ? detail::format_duration(s.busy / static_cast<double>(s.count)).c_str() : "-",
                  s.blocked > 0 ? detail::format_duration(s.blocked).c_str() : "-");
    out += line;
  }
  std::snprintf(line, sizeof(line), "waiting for data: mean %s, median %s of %llu iterations\n",
                detail::format_percent(wait_mean).c_str(), detail::format_percent(wait_median).c_str(),
                static_cast<unsigned long long>(iterations));
  out += line;
  if (failures != 0 || !outcomes.empty()) {
    out += std::to_string(failures) + (failures == 1 ? " sample failed" : " samples failed");
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      out += (i == 0 ? " (" : ", ") + outcomes[i].stage + ": " + std::to_string(outcomes[i].count) + " " +
             std::string(outcomes[i].outcome);
    }
    out += outcomes.empty() ? "; see loader.ledger()\n" : "); see loader.ledger()\n";
  }
  for (const std::string& n : notes) out += "note: " + n + "\n";
  return out + advice() + "\n";
}

template <class Stream>
  requires requires(Stream& s, const std::string& text) { s << text; }
Stream& operator<<(Stream& to, const report& r) {
  to << r.to_string();
  return to;
}

}  // namespace wick

namespace wick::detail {

/// A failure as it is told: the entry, and what goes with it.
struct told_failure {
  std::uint64_t slot = 0;
  std::uint64_t index = 0;
  std::size_t stage = 0;  // in the pipeline's names
  bool planned = true;    // the sample of the position itself, no substitute
  bool known = false;     // on the quarantine list
  ledger_entry entry;
  std::exception_ptr cause;
};

/// Kind and text of what was thrown; a late_error names the stage, too.
inline void describe_cause(const std::exception_ptr& cause, ledger_entry& to) {
  const auto is = [&](error_kind kind, std::string text) {
    to.kind = kind;
    to.text = std::move(text);
  };
  try {
    std::rethrow_exception(cause);
  } catch (const late_error& e) {
    is(error_kind::data, e.what());
    to.stage = e.stage();
  } catch (const quarantined_sample& e) {
    is(error_kind::quarantined, e.what());
  } catch (const misshapen& e) {
    is(error_kind::shape, e.what());
  } catch (const error& e) {
    is(error_kind::data, e.what());
  } catch (const std::system_error& e) {
    is(error_kind::system, e.what());
  } catch (const std::bad_alloc& e) {
    is(error_kind::memory, e.what());
  } catch (const std::exception& e) {
    is(error_kind::exception, e.what());
  } catch (...) {
    is(error_kind::exception, "threw something that is no std::exception");
  }
  // A stage's own message may begin with its name: once is enough.
  if (to.text.starts_with(to.stage + ": ")) to.text.erase(0, to.stage.size() + 2);
}

/// The key of a sample, for messages.
template <class Source>
std::string printable_key(const Source& source, std::uint64_t index) {
  try {
    return printable(key_of(source, index));
  } catch (const std::exception&) {
    return "sample " + std::to_string(index);
  }
}

/// `names` are the stages', `source` knows the keys, `bad` the stages for which samples were put on the
/// quarantine list.
template <class Job, class Source>
told_failure tell(const failure& f, const Job& job, const std::vector<std::string>& names,
                  const Source& source, const quarantine& bad) {
  const bool whole = f.slot == failure::whole_batch;
  told_failure out{f.slot, f.index, f.stage, f.number == 0 && !whole, f.tries == 0, {}, f.cause};
  ledger_entry& e = out.entry;
  e.key = whole ? "batch " + std::to_string(job.number) : printable_key(source, f.index);
  e.stage = f.stage < names.size() ? names[f.stage] : "loader";
  if (out.known) {
    if (std::string known = bad.stage_of(f.index); !known.empty()) e.stage = std::move(known);
  }
  e.epoch = job.epoch;
  e.position = f.position;
  e.action = f.action;
  e.tries = f.tries;
  describe_cause(f.cause, e);
  if (whole) e.kind = error_kind::batch;
  if (f.substitute != failure::nobody) e.substitute = printable_key(source, f.substitute);
  if (f.action == error_action::fail && f.drawn != 0) {
    e.text += "; none of the " + std::to_string(f.drawn) + " samples drawn for this position could be had";
  }
  out.stage = static_cast<std::size_t>(std::find(names.begin(), names.end(), e.stage) - names.begin());
  return out;
}

/// All that is told of a batch, or (without batch()) of a group of samples.
template <bool Batched, class Job, class Source, class Plan>
void tell_all(const Job& job, const std::vector<std::string>& names, const Source& source,
              const quarantine& bad, const Plan& plan, std::vector<told_failure>& to) {
  const auto add = [&](const failure& f) { to.push_back(tell(f, job, names, source, bad)); };
  for (const failure& f : job.failures) add(f);
  if (!job.unlisted) return;
  if constexpr (Batched) {
    add(*job.unlisted);
  } else {  // all that are missing without a word
    for (std::uint64_t slot = 0; slot < job.count; ++slot) {
      failure f = *job.unlisted;
      f.slot = slot;
      f.position = job.first + slot;
      f.index = plan.index(job.order, f.position);
      const auto same = [&](const failure& other) {
        return other.slot == slot &&
               (other.action == error_action::fail || other.action == error_action::skip);
      };
      const bool missing = !job.value || !(*job.value)[slot];
      if (missing && std::none_of(job.failures.begin(), job.failures.end(), same)) add(f);
    }
  }
}

inline sample_error to_exception(const told_failure& f) {
  return sample_error(f.entry.key, f.entry.stage, f.entry.epoch, f.entry.position, f.entry.text, f.cause);
}

class error_account {
 public:
  static constexpr std::size_t max_quarantined = 1'000'000;

  error_account(const error_options& limits, const std::filesystem::path& lines, const quarantine& known)
      : limits_(limits) {
    if (!lines.empty()) file_ = std::make_unique<ledger_file>(lines);
    for (const quarantine::entry& e : known.entries()) bad_.emplace(e.index, e.stage);
  }

  const wick::ledger& ledger() const noexcept { return ledger_; }
  std::string trouble() const { return file_ ? file_->trouble() : std::string(); }

  /// What is told of some positions of an epoch: `count` of them, of which these (rising by slot, counted
  /// from `first_slot`) have failed. `passed` of this rank's `of_epoch` positions have had their turn then.
  /// \throws too_many_errors when they make it more than is allowed
  void add(std::uint64_t epoch, std::uint64_t first_slot, std::uint64_t count, std::uint64_t passed,
           std::uint64_t of_epoch, const std::vector<told_failure>& failures) {
    if (epoch != epoch_) epoch_failures_ = 0;
    epoch_ = epoch;
    std::uint64_t next = first_slot, longest = 0;
    const told_failure* last = nullptr;
    for (const told_failure& f : failures) {
      if (file_) file_->add(f.entry);
      remember(f);
      ledger_.add(f.entry);
      if (f.known || f.entry.action == error_action::retry) continue;
      ++counted_;
      last = &f;
      if (!f.planned) continue;
      ++epoch_failures_;
      if (f.slot < next) continue;
      consecutive_ = f.slot == next ? consecutive_ + 1 : 1;
      longest = std::max(longest, consecutive_);
      next = f.slot + 1;
    }
    if (next < first_slot + count) consecutive_ = 0;
    if (last != nullptr) check(*last, longest, passed, of_epoch);
  }

  /// Samples that a later run need not try, by rising index: those that the quarantine had, and those that
  /// failed since.
  std::vector<quarantine::entry> bad() const {
    std::vector<quarantine::entry> out;
    for (const auto& [index, stage] : bad_) out.push_back({index, stage});
    return out;
  }

  void write(loader_state& to) const {
    to.failures = ledger_.of_training();
    to.counted_failures = counted_;
    to.epoch_failures = epoch_failures_;
    to.consecutive_failures = consecutive_;
  }
  void read(const loader_state& from) {
    ledger_.go_on_from(from.failures);
    counted_ = from.counted_failures;
    epoch_ = from.epoch;
    epoch_failures_ = from.epoch_failures;
    consecutive_ = from.consecutive_failures;
  }
  /// An epoch begins at its beginning.
  void begin(std::uint64_t epoch) noexcept {
    epoch_ = epoch;
    epoch_failures_ = 0;
  }

 private:
  void remember(const told_failure& f) {
    const error_kind k = f.entry.kind;
    const bool of_the_sample = k == error_kind::data || k == error_kind::exception || k == error_kind::system;
    if (of_the_sample && f.entry.action != error_action::retry && bad_.size() < max_quarantined) {
      bad_.emplace(f.index, f.stage);
    }
  }

  void check(const told_failure& last, std::uint64_t longest, std::uint64_t passed,
             std::uint64_t of_epoch) const {
    const auto beyond = [&](const std::string& what, const std::string& allowed) {
      throw too_many_errors("loader: " + what + ", and on_error allows " + allowed + "; the last was " +
                            last.entry.key + ": " + last.entry.stage + ": " + last.entry.text +
                            "; loader.ledger() has all");
    };
    const auto number = [](std::uint64_t n) { return std::to_string(n); };
    if (counted_ > limits_.count)
      beyond(number(counted_) + " samples failed in this training", number(limits_.count));
    if (longest > limits_.consecutive) {
      beyond(number(longest) + " samples failed one after another", number(limits_.consecutive));
    }
    const std::uint64_t of = std::max(passed, std::min<std::uint64_t>(1000, of_epoch));
    if (static_cast<double>(epoch_failures_) > limits_.rate * static_cast<double>(of)) {
      beyond(number(epoch_failures_) + " samples of the first " + number(passed) + " of epoch " +
                 number(epoch_) + " failed",
             "a rate of " + std::to_string(limits_.rate));
    }
  }

  const error_options limits_;
  wick::ledger ledger_;
  std::unique_ptr<ledger_file> file_;
  std::map<std::uint64_t, std::size_t> bad_;
  // As the limits count: without those that were known.
  std::uint64_t counted_ = 0, epoch_failures_ = 0, consecutive_ = 0;
  std::uint64_t epoch_ = 0;
};

/// For the report: what became of failures since `before` was counted.
inline std::vector<outcome_report> outcomes_since(const std::vector<error_count>& before,
                                                  const std::vector<error_count>& now) {
  std::vector<outcome_report> out;
  for (std::size_t i = 0; i < now.size(); ++i) {  // counts are only ever added at the end
    const std::uint64_t more = now[i].count - (i < before.size() ? before[i].count : 0);
    if (more != 0) out.push_back({now[i].stage, outcome_of(now[i].action), more});
  }
  return out;
}

/// The fingerprints of the last epochs.
class print_book {
 public:
  static constexpr std::size_t max_kept = 64;

  /// An epoch begins, or goes on behind what another loader has delivered.
  void begin(std::uint64_t epoch) {
    std::erase_if(epochs_, [&](const auto& e) { return e.first == epoch; });
    if (epochs_.size() == max_kept) epochs_.erase(epochs_.begin());
    epochs_.emplace_back(epoch, epoch_fingerprint{});
  }
  void add(const epoch_fingerprint& some) noexcept { epochs_.back().second += some; }
  /// `data` tells the data set, `batch` is the size of the global batch.
  epoch_fingerprint of(std::uint64_t epoch, std::uint64_t data, std::uint64_t batch) const noexcept {
    for (const auto& [number, sum] : epochs_) {
      if (number != epoch) continue;
      epoch_fingerprint out = sum;
      out.value *=
          fingerprint_hash().add(data).add(epoch).add(batch).value() | 1;  // a factor, so that sums stay sums
      return out;
    }
    return {};
  }

 private:
  std::vector<std::pair<std::uint64_t, epoch_fingerprint>> epochs_;
};

}  // namespace wick::detail

// ==== wick/loader/detail/batch_delivery.hpp
/// \file
/// Handing over whole batches.

// ==== wick/loader/detail/delivery.hpp
/// \file
/// What the consumer does with a batch that it has taken: its failures are told, what was delivered is
/// counted, and its place in the ring is given back. The two ways of handing over are in batch_delivery.hpp
/// and sample_delivery.hpp.

// ==== wick/loader/detail/report_book.hpp
/// \file
/// What a loader's report is made of: what the loop took, how long it waited, and the clocks of the stages.

// ==== wick/loader/detail/books.hpp
/// \file
/// The loader's clocks: one for each stage on each worker, and one for all that a worker ran.

// ==== wick/observe/stage_clock.hpp
/// \file
/// Where the time of a stage goes: how often it ran, how long it worked, how long it waited.

namespace wick::detail {

/// One stage on one worker. Written by that worker alone, read by any thread that makes a report: plain loads
/// and stores, relaxed, because a report needs each number whole and not all of the same instant. Short
/// samples are timed now and then only, so the time of all is inferred from the timed ones.
class stage_clock {
 public:
  void ran(std::uint64_t times) noexcept { add(count_, times); }
  void worked(std::uint64_t times, std::uint64_t ticks) noexcept {
    add(timed_, times);
    add(ticks_, ticks);
  }
  void waited(std::uint64_t ticks) noexcept { add(waited_, ticks); }

  std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  std::uint64_t timed() const noexcept { return timed_.load(std::memory_order_relaxed); }
  std::uint64_t timed_ticks() const noexcept { return ticks_.load(std::memory_order_relaxed); }
  std::uint64_t waited_ticks() const noexcept { return waited_.load(std::memory_order_relaxed); }

 private:
  static void add(std::atomic<std::uint64_t>& to, std::uint64_t n) noexcept {
    to.store(to.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> count_{0}, timed_{0}, ticks_{0}, waited_{0};
};

}  // namespace wick::detail

namespace wick::detail {

/// The clocks of stages that don't suspend are read for some samples only, and what the others took is
/// inferred. How long runs of samples took is known of each: nothing that is said of a stage may be more than
/// that.
class books {
 public:
  /// Rows up to `batching` and from `stages` on are of samples, those between of batches. `suspend`: samples
  /// may, so that their clocks are always read.
  books(executor& on, std::size_t rows, std::size_t batching, std::size_t stages, bool suspend)
      : on_(on), stages_(rows), batching_(batching), batch_end_(stages), suspend_(suspend) {
    for (std::size_t slot = 0; slot < on.slots(); ++slot) rows_.push_back(make_row(rows + 1));
    on.tenants().enter(this,
                       [](const void* self) { return static_cast<const books*>(self)->ticks().workers; });
  }
  books(const books&) = delete;
  books& operator=(const books&) = delete;
  ~books() {
    if (!on_.forked()) on_.tenants().leave(this);
  }

  /// The clocks of the calling worker; may be kept as long as the coroutine does not suspend.
  [[gnu::noinline]] stage_clock* mine() noexcept { return rows_[on_.this_slot()].get(); }

  /// A run of samples, by its own row of clocks.
  void ran(stage_clock* mine, std::uint64_t count, std::uint64_t ticks) const noexcept {
    mine[stages_].worked(count, ticks);
  }
  void worked(std::uint32_t stage, std::uint64_t ticks) noexcept {
    stage_clock& c = mine()[stage];
    c.ran(1);
    c.worked(1, ticks);
  }
  void worked_before_suspending(std::uint32_t stage, std::uint64_t ticks) noexcept {
    stage_clock& c = mine()[stage];
    c.ran(1);
    c.worked(1, ticks);
    c.waited(std::uint64_t{0} - ticks);  // waited() below counts from the beginning
  }
  void waited(std::uint32_t stage, std::uint64_t ticks) noexcept { mine()[stage].waited(ticks); }

  struct sum {
    std::uint64_t count = 0, timed = 0, timed_ticks = 0, waited = 0;
  };
  std::vector<sum> totals() const {
    std::vector<sum> out(stages_);
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < stages_; ++i) {
        out[i].count += row[i].count();
        out[i].timed += row[i].timed();
        out[i].timed_ticks += row[i].timed_ticks();
        out[i].waited += row[i].waited_ticks();
      }
    }
    return out;
  }

  /// All that was run so far, on workers and on threads that helped.
  struct usage {
    std::uint64_t workers = 0, helpers = 0;
  };
  usage ticks() const noexcept {
    usage out;
    for (std::size_t slot = 0; slot < rows_.size(); ++slot) {
      std::uint64_t samples = rows_[slot][stages_].timed_ticks(), timed = 0, batches = 0;
      for (std::size_t i = 0; i < stages_; ++i) {
        (of_samples(i) ? timed : batches) += rows_[slot][i].timed_ticks();
      }
      // What is run of a sample after it was suspended is in no run.
      if (suspend_) samples = std::max(samples, timed);
      (slot < on_.workers() ? out.workers : out.helpers) += samples + batches;
    }
    return out;
  }
  bool of_samples(std::size_t row) const noexcept { return row <= batching_ || row >= batch_end_; }
  bool clocks_always_read() const noexcept { return suspend_; }
  /// Of all runs, as in sum::timed_ticks.
  std::uint64_t run_ticks() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& row : rows_) sum += row[stages_].timed_ticks();
    return sum;
  }

 private:
  // In lines of its own: each is written by one worker for each run of samples.
  static constexpr std::align_val_t line{64};
  struct free_row {
    void operator()(stage_clock* clocks) const noexcept { ::operator delete(clocks, line); }
  };
  using row = std::unique_ptr<stage_clock[], free_row>;
  static row make_row(std::size_t clocks) {
    const std::size_t bytes = (clocks * sizeof(stage_clock) + 63) / 64 * 64;
    auto* const memory = static_cast<stage_clock*>(::operator new(bytes, line));
    std::uninitialized_value_construct_n(memory, clocks);
    return row(memory);
  }

  executor& on_;
  const std::size_t stages_, batching_, batch_end_;  // stages_: rows of clocks but for that of the runs
  const bool suspend_;
  std::vector<row> rows_;
};

}  // namespace wick::detail

// ==== wick/observe/stall_meter.hpp
/// \file
/// How much of the training loop's time is waiting for data: the one number that tells whether input is the
/// problem.

namespace wick::detail {

/// For each iteration of the consumer: ticks spent waiting, ticks in all. Keeps the mean and the median of
/// the share over all iterations since the last reset, in constant memory (bins of 0.1 %). One thread.
class stall_meter {
 public:
  void iteration(std::uint64_t waited, std::uint64_t total) noexcept {
    if (total == 0) return;
    if (waited > total) waited = total;
    ++count_;
    waited_ += waited;
    total_ += total;
    ++bins_[static_cast<std::size_t>(static_cast<double>(waited) / static_cast<double>(total) * bins)];
  }
  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t waited_ticks() const noexcept { return waited_; }
  std::uint64_t total_ticks() const noexcept { return total_; }
  /// Share of all time, 0 … 1.
  double mean() const noexcept {
    return total_ == 0 ? 0.0 : static_cast<double>(waited_) / static_cast<double>(total_);
  }
  /// Share of the middle iteration (of an even number the lower one), rounded down to 0.1 %: a few slow ones
  /// don't move it.
  double median() const noexcept {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
      below += bins_[i];
      if (2 * below >= count_ && count_ != 0) return static_cast<double>(i) / bins;
    }
    return 0.0;
  }
  void reset() noexcept { *this = {}; }

 private:
  static constexpr std::size_t bins = 1000;
  std::array<std::uint64_t, bins + 1> bins_{};
  std::uint64_t count_ = 0, waited_ = 0, total_ = 0;
};

}  // namespace wick::detail

namespace wick::detail {

/// Kept by the consumer. Threads' clocks are read when an epoch is begun, at its end, and for a report.
class report_book {
 public:
  /// Batches are taken from now on.
  template <class Feed>
  void begin(Feed& feed) {
    end(feed);
    taking_ = true;
    since_ = usage_of(feed);
    if (last_taken_ != 0)
      last_taken_ = now_ticks();  // what the loop did since the epoch before is none of its waiting
  }
  /// There are no more, until the next epoch.
  template <class Feed>
  void end(Feed& feed) {
    if (!std::exchange(taking_, false)) return;
    used_.add(usage_of(feed), since_);
  }
  /// A batch came, for which the loop has waited since then.
  void waited(std::uint64_t begun_at) noexcept {
    const std::uint64_t now = now_ticks();
    if (last_taken_ != 0) stalls_.iteration(now - begun_at, now - last_taken_);
    last_taken_ = now;
  }
  /// Since then the loop, while it waited, ran samples.
  void helped(std::uint64_t begun_at) noexcept { helped_ticks_ += now_ticks() - begun_at; }
  void took_batch() noexcept { ++taken_; }
  void took(std::uint64_t samples) noexcept { samples_ += samples; }

  /// All since it was called last. `trouble` is a note more, unless it is empty.
  template <class Feed>
  report close(Feed& feed, const ledger& failures, std::string trouble) {
    const usage now = usage_of(feed);
    if (taking_) used_.add(now, since_);
    since_ = now;
    report r;
    const double tick = scale_.seconds_per_tick();
    const books& clocks = feed.path().clocks();
    const std::vector<books::sum> totals = clocks.totals();
    if (reported_.clocks.empty()) reported_.clocks.resize(totals.size());
    const std::vector<std::string> names = feed.path().stage_names();
    r.seconds = now.time - reported_.time;
    r.taking = used_.time;
    r.workers = feed.on().workers();
    r.io_threads = feed.on().io().threads();
    r.cpus = available_cpus();
    r.batches = taken_ - reported_.taken;
    r.samples = samples_ - reported_.samples;
    r.worked = static_cast<double>(used_.own) * tick;
    r.others = static_cast<double>(used_.others) * tick;
    r.helped = static_cast<double>(std::exchange(helped_ticks_, 0)) * tick;
    r.io_calls = used_.io_calls;
    r.worker_processor = used_.workers;
    r.io_processor = used_.io;
    r.processor = used_.program;
    r.failures = failures.total() - reported_.failures;
    r.outcomes = outcomes_since(reported_.outcomes, failures.counts());
    r.wait_mean = stalls_.mean();
    r.wait_median = stalls_.median();
    r.iterations = stalls_.count();
    const auto rows = [&](std::size_t i) { return since_reported(totals[i], reported_.clocks[i]); };
    double samples = 0, batches = 0;
    for (std::size_t i = 0; i < totals.size(); ++i)
      (clocks.of_samples(i) ? samples : batches) += rows(i).busy;
    // What is inferred of the stages is made to fit what is known of the runs.
    const std::uint64_t run_ticks = clocks.run_ticks();
    const double runs = static_cast<double>(run_ticks - reported_.run_ticks);
    const double fit = clocks.clocks_always_read() || samples <= 0 ? 1 : runs / samples;
    // Clocks are read while workers go on: a run may end in between that began before the last report.
    const double limit = r.seconds * static_cast<double>(r.workers) + r.helped;
    const double busy = (samples * fit + batches) * tick;
    const double bound = busy > limit && busy > 0 ? limit / busy : 1;
    const auto row = [&](std::size_t i, std::string name) {
      const clocked c = rows(i);
      stage_report s;
      s.name = std::move(name);
      s.count = c.count;
      s.busy = c.busy * (clocks.of_samples(i) ? fit : 1) * bound * tick;
      s.blocked = c.blocked * tick;
      return s;
    };
    r.stages.push_back(row(Feed::order_row, "order"));
    for (std::size_t i = 0; i < names.size(); ++i) {
      stage_report s = row(i, names[i]);
      if (i == Feed::batching) {
        for (std::size_t p = 0; p < phase_count; ++p) {
          stage_report inside = row(Feed::phase_row + p, s.name + ": " + std::string(phase_names[p]));
          if (inside.busy > 0) r.stages.push_back(std::move(inside));
        }
      }
      if (s.count != 0) r.stages.push_back(std::move(s));
    }
    r.notes = feed.path().notes();
    if (!trouble.empty()) r.notes.push_back(std::move(trouble));
    reported_ = {totals, run_ticks, now.time, taken_, samples_, failures.total(), failures.counts()};
    stalls_.reset();
    used_ = {};
    return r;
  }

 private:
  /// All in seconds but the last two, which are ticks of the workers.
  struct usage {
    double time = 0, program = 0, workers = 0, io = 0, io_calls = 0;
    std::uint64_t own = 0, others = 0;

    void add(const usage& until, const usage& since) noexcept {
      time += until.time - since.time;
      program += until.program - since.program;
      workers += until.workers - since.workers;
      io += until.io - since.io;
      io_calls += until.io_calls - since.io_calls;
      own += until.own - since.own;
      others += until.others - since.others;
    }
  };
  template <class Feed>
  usage usage_of(Feed& feed) const {
    executor& on = feed.on();
    const io_pool::usage io = on.io().used();
    const books& clocks = feed.path().clocks();
    return {scale_.elapsed(),
            process_seconds(),
            on.worker_seconds(),
            io.processor,
            io.calls,
            clocks.ticks().workers,
            on.tenants().ticks_of_others(&clocks)};
  }

  struct clocked {
    std::uint64_t count = 0;
    double busy = 0, blocked = 0;  // ticks
  };
  static clocked since_reported(const books::sum& now, const books::sum& before) noexcept {
    clocked c;
    c.count = now.count - before.count;
    const double timed = static_cast<double>(now.timed - before.timed);
    if (timed > 0) {
      c.busy =
          static_cast<double>(now.timed_ticks - before.timed_ticks) * static_cast<double>(c.count) / timed;
    }
    const auto waited = static_cast<std::int64_t>(now.waited - before.waited);
    if (waited > 0) c.blocked = static_cast<double>(waited);
    return c;
  }

  stall_meter stalls_;
  std::uint64_t last_taken_ = 0;
  std::uint64_t helped_ticks_ = 0;  // since the last report
  std::uint64_t taken_ = 0, samples_ = 0;
  tick_scale scale_;
  bool taking_ = false;
  usage since_, used_;  // when taking began or was last reported; in all since the last report
  struct snapshot {
    std::vector<books::sum> clocks;
    std::uint64_t run_ticks = 0;
    double time = 0;
    std::uint64_t taken = 0, samples = 0, failures = 0;
    std::vector<error_count> outcomes;
  } reported_;
};

}  // namespace wick::detail

namespace wick::detail {

/// What is kept of all that was handed over, epoch after epoch.
struct delivery_books {
  error_account account;
  print_book prints;
  report_book report;
};

/// A batch's place in the ring: free afterwards, whatever is thrown.
template <class Feed, class Job>
class taken_job {
 public:
  taken_job(Feed& of, Job* job) noexcept : of_(of), job_(job) {}
  taken_job(const taken_job&) = delete;
  taken_job& operator=(const taken_job&) = delete;
  ~taken_job() { release(); }
  Job* operator->() const noexcept { return job_; }
  Job& operator*() const noexcept { return *job_; }
  /// What is needed of it afterwards was copied.
  void release() noexcept {
    if (job_ != nullptr) of_.release(std::exchange(job_, nullptr));
  }

 private:
  Feed& of_;
  Job* job_;
};

/// What there is to tell of a batch, by rising slot.
template <class Feed, class Job>
void tell_in_order(const Feed& feed, const Job& job, std::vector<told_failure>& to) {
  to.clear();
  if (job.failures.empty() && !job.unlisted) return;
  tell_all<Feed::batched>(job, feed.path().stage_names(), feed.origin(), feed.runs().bad, feed.plan(), to);
  std::stable_sort(to.begin(), to.end(), [](const auto& a, const auto& b) { return a.slot < b.slot; });
}

}  // namespace wick::detail

namespace wick::detail {

template <class Feed>
class batch_delivery {
 public:
  using value_type = typename Feed::delivered;

  /// What is taken next stands behind `moved` samples that were moved to earlier batches.
  void begin(std::uint64_t, std::uint64_t moved) noexcept { moved_ = moved; }
  /// Samples of the epoch that were moved to the batches handed over so far.
  std::uint64_t moved() const noexcept { return moved_; }
  void write(loader_state& to) const noexcept { to.moved = moved_; }

  /// \throws what one of its samples failed with, where on_error says nothing else; too_many_errors
  /// \returns nothing when it has no samples: those of an epoch's end may have been moved to earlier batches
  template <class Job>
  std::optional<value_type> take(Feed& feed, Job* job, delivery_books& books) {
    taken_job<Feed, Job> taken(feed, job);
    feed.make(job);
    tell_in_order(feed, *taken, told_);
    moved_ = taken->moved;
    const epoch_fingerprint print{taken->print.load(std::memory_order_relaxed), taken->rows(), 1};
    const std::uint64_t epoch = taken->epoch, number = taken->number, count = taken->count;
    std::optional<value_type> batch = std::exchange(taken->value, std::nullopt);
    taken.release();
    const auto& plan = feed.plan();
    books.account.add(epoch, 0, count, plan.passed(number + 1), plan.passed(plan.batches()), told_);
    if (!batch) {
      for (const told_failure& f : told_) {
        if (f.entry.action == error_action::fail) throw to_exception(f);
      }
      return std::nullopt;
    }
    books.report.took(print.samples);
    books.prints.add(print);
    feed.path().for_each_batch_stage([&](auto& s) {
      if constexpr (has_hook<decltype(s), hook::deliver>) s.deliver(*batch);
    });
    return batch;
  }

 private:
  std::uint64_t moved_ = 0;
  std::vector<told_failure> told_;
};

}  // namespace wick::detail

// ==== wick/loader/detail/feed.hpp
/// \file
/// The engine room of a loader: hands out positions, runs samples through the stages, finishes batches, keeps
/// a window of them ahead of the consumer, across the ends of epochs.

// ==== wick/loader/detail/batch_job.hpp
/// \file
/// One batch in the making: which positions are still to be claimed, how many are unfinished, what went
/// wrong.

namespace wick::detail {

/// Where a batch is on its way.
enum class batch_state : unsigned char {
  making,        ///< its samples run
  remaking,      ///< they run again: one that failed had said what shape they have
  lost,          ///< it fails, as soon as all of them have ended
  past_the_end,  ///< no sample is left for it: batches before it have taken them
  whole,         ///< its columns are: what leaves is made of them by the consumer
};

/// A place in the loader's ring, used for one batch after another. `Order` is the epoch's position functions,
/// `Columns` where samples are put, `Value` what leaves.
template <class Order, class Columns, class Value>
struct alignas(64) batch_job {
  // How many positions nobody has claimed, and above them which batch's they are (its sequence, as far as it
  // fits): a worker that comes late, with the ring gone round meanwhile, finds nothing to claim rather than
  // the newest batch's. The fields below are read only after a claim succeeded, and stay until all claimed
  // samples are finished.
  std::atomic<std::uint64_t> left{0};
  alignas(64) std::atomic<std::uint64_t> unfinished{0};
  std::atomic<std::uint64_t> print{
      0};  // of its samples, as epoch_fingerprint adds them up; written as seldom

  alignas(64) std::uint64_t sequence = 0;  // number since the loader began
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;  // in its epoch
  std::uint32_t pass = 0;    // tells apart what is gone through: an epoch may be twice, or be begun anew
  std::uint64_t first = 0;   // position of slot 0
  std::uint64_t count = 0;
  Order order;
  Columns columns;
  std::optional<Value> value;
  std::atomic<bool> cancelled{false};
  std::mutex mutex;  // of what follows, until all samples have ended
  std::vector<failure> failures;
  std::vector<std::size_t> gaps;  // slots without a sample
  batch_state state = batch_state::making;
  std::optional<failure> unlisted;  // the lowest of those for which `failures` had no memory

  // Of compaction: slots that got the sample of another position, how many were moved in the epoch up to
  // here, whether nothing is left for this batch.
  std::vector<std::pair<std::size_t, std::uint64_t>> fills;
  std::optional<std::uint64_t> moved_before;  // unknown: as the batch before it has left it
  std::uint64_t moved = 0;

  /// Samples that it has in the end.
  std::size_t rows() const noexcept { return static_cast<std::size_t>(count) - gaps.size(); }

  struct run {
    std::uint64_t from = 0, count = 0;
  };
  /// `count` slots of batch `sequence` may be claimed from now on.
  void offer() noexcept { left.store(tag_of(sequence) | count, std::memory_order_release); }
  /// Slots that nobody has claimed.
  std::uint64_t unclaimed() const noexcept { return left.load(std::memory_order_acquire) & count_mask; }
  /// Up to `most` slots of batch `of` that nobody else has, or all that are left when these are no more than
  /// `at_end`.
  run claim(std::uint64_t of, std::uint64_t most, std::uint64_t at_end = 0) noexcept {
    std::uint64_t seen = left.load(std::memory_order_acquire);
    while ((seen & count_mask) != 0 && (seen & ~count_mask) == tag_of(of)) {
      const std::uint64_t there = seen & count_mask, n = there <= at_end ? there : std::min(there, most);
      if (left.compare_exchange_weak(seen, seen - n, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return {count - (seen & count_mask), n};
      }
    }
    return {};
  }
  /// All that nobody has claimed; how many they were.
  std::uint64_t claim_rest() noexcept { return left.exchange(0, std::memory_order_acq_rel) & count_mask; }

  /// Writes a failure down, with what is to be done about it: a slot that is left out is a gap from then on,
  /// and a batch that has to fail is lost; so is one for whose failures there is no memory. Any thread.
  void note(failure f) noexcept {
    std::lock_guard lock(mutex);
    const bool skipped = f.action == error_action::skip;
    try {
      if (failures.size() == failures.capacity()) failures.reserve(2 * failures.size() + 4);
      if (skipped) gaps.push_back(static_cast<std::size_t>(f.slot));
    } catch (...) {
      state = batch_state::lost;
      f.action = error_action::fail;
      if (!unlisted || f.slot < unlisted->slot) unlisted = std::move(f);
      return;
    }
    if (f.action == error_action::fail) state = batch_state::lost;
    failures.push_back(std::move(f));
  }
  /// There was no memory to do what is to be done about a failure: its batch fails.
  void lose(failure f) noexcept {
    f.action = error_action::fail;
    note(std::move(f));
  }
  /// A stage behind batch() failed, or what the loader does there.
  void fail_whole(std::uint32_t stage, std::exception_ptr cause) noexcept {
    failure f;
    f.slot = failure::whole_batch;
    f.stage = stage;
    f.cause = std::move(cause);
    f.position = first;
    note(std::move(f));
  }
  /// Of the failures of a slot, the next.
  std::uint32_t next_number(std::uint64_t slot) const noexcept {
    std::uint32_t n = 0;
    for (const failure& f : failures) n = f.slot == slot ? std::max(n, f.number + 1) : n;
    return n;
  }
  /// Of the batch that was here before.
  void forget() noexcept {
    failures.clear();
    gaps.clear();
    fills.clear();
    unlisted.reset();
    state = batch_state::making;
    cancelled.store(false, std::memory_order_relaxed);
    print.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned count_bits = 40;
  static constexpr std::uint64_t count_mask = (std::uint64_t{1} << count_bits) - 1;
  static constexpr std::uint64_t tag_of(std::uint64_t of) noexcept { return of << count_bits; }
};

}  // namespace wick::detail

// ==== wick/loader/detail/claimed_runs.hpp
/// \file
/// A run of samples that a worker has claimed: each goes through the stages into its slot; what fails is
/// settled.

// ==== wick/loader/detail/pace.hpp
/// \file
/// How long samples take, and what follows from it: how many a worker claims at a time, whether the consumer
/// may help.

namespace wick::detail {

/// Any thread may call any member. Numbers are hints: two threads that learn at once may lose what one of
/// them said.
class pace {
 public:
  static constexpr std::uint64_t max_run = 4096;
  static constexpr std::uint64_t run_ticks = 40'000;  // 10–20 µs

  /// What a run took: a moving mean a sample, and whether long ones are among them again and again.
  void learn(std::uint64_t count, std::uint64_t ticks) noexcept {
    const std::uint64_t now = ticks / count + 1, before = each_.load(std::memory_order_relaxed);
    each_.store(before == 0 ? now : (7 * before + now) / 8, std::memory_order_relaxed);
    const std::uint64_t long_ones = long_ones_.load(std::memory_order_relaxed);
    const std::uint64_t next = ticks > long_ticks + 16 * before
                                   ? std::min(long_ones + a_long_one, 4 * a_long_one)
                                   : long_ones - std::min(long_ones, count);
    if (next != long_ones) long_ones_.store(next, std::memory_order_relaxed);
  }

  /// Samples that are claimed together: as many as take run_ticks, so that claiming costs little and nobody
  /// waits long for the last of a batch.
  std::uint64_t run_length() const noexcept {
    const std::uint64_t each = each_.load(std::memory_order_relaxed);
    return each == 0 ? 1 : std::clamp<std::uint64_t>(run_ticks / each, 1, max_run);
  }
  /// So many are claimed when they are the last of a batch: a short rest would send another worker to the
  /// same memory. When others have batches to go to, a whole one is no more than a rest: where two write one,
  /// its lines go from core to core, now and each time its memory is used again.
  std::uint64_t run_length_at_end(bool more_batches) const noexcept {
    const std::uint64_t n = run_length();
    return std::min(more_batches ? 4 * n : n + n / 2, max_run);
  }
  /// A thread that waits for its batch may take part when samples take less than about 10 µs, so that being
  /// woken for each batch would cost something, and none much longer than the others: it must not be late
  /// when its batch is ready, nor be one thread too many on the processors while it is in a long one.
  bool short_samples() const noexcept {
    return each_.load(std::memory_order_relaxed) < 25'000 &&
           long_ones_.load(std::memory_order_relaxed) <= a_long_one;
  }
  /// So few that waking somebody takes longer than running them.
  bool not_worth_a_wake(std::uint64_t samples) const noexcept {
    const std::uint64_t each = each_.load(std::memory_order_relaxed);
    return each != 0 && samples < 30'000 / each;
  }
  /// Reading clocks between the stages costs nothing next to the sample itself.
  bool slow_samples() const noexcept { return each_.load(std::memory_order_relaxed) > 10'000; }

 private:
  // More than an interrupt (80 µs), and than a run of many. One alone is forgotten: its thread may have been
  // without a processor.
  static constexpr std::uint64_t long_ticks = 200'000;
  // A second one counts when it comes within so many samples; after four, it takes three times as many
  // without any.
  static constexpr std::uint64_t a_long_one = 400;

  std::atomic<std::uint64_t> each_{0};       // ticks a sample
  std::atomic<std::uint64_t> long_ones_{0};  // a_long_one for each, less one for each sample since
};

}  // namespace wick::detail

// ==== wick/loader/detail/prefetch_choice.hpp
/// \file
/// How far ahead samples that lie in memory are fetched into the cache: tried out while the loader runs,
/// since processors differ by a factor of two in what is best.

namespace wick::detail {

/// So many samples ahead, so many bytes of each.
struct prefetch_depth {
  std::uint32_t samples = 0, bytes = 0;
};

/// Each run of short samples uses one of a few depths, and says how long it took. All are tried in turns at
/// first; then the fastest is used, and now and then another is tried again, since data, machine and
/// neighbors change. What is tried costs about 0.3 % at worst. Which of them is used changes no sample.
///
/// Any thread may call any member. Numbers are hints: two threads that learn at once may lose what one of
/// them said.
class prefetch_choice {
 public:
  /// A few lines and the processor's own look-ahead for the rest; whole samples, for cores that can wait for
  /// many lines at a time; something between; nothing, for data that is in a cache anyway.
  static constexpr std::array<prefetch_depth, 4> all{{{4, 512}, {12, 4096}, {8, 1024}, {0, 0}}};
  static constexpr std::size_t most_samples = 12;
  /// Runs of each depth before one is preferred; then every so many runs another one is tried.
  static constexpr std::uint64_t first_runs = 16, try_every = 64;

  /// The depth for the next run, by its number in `all`.
  std::size_t next() noexcept {
    const std::uint64_t t = turn_.load(std::memory_order_relaxed);
    turn_.store(t + 1, std::memory_order_relaxed);
    if (t < first_runs * all.size()) return t % all.size();
    return t % try_every == 0 ? t / try_every % all.size() : best_.load(std::memory_order_relaxed);
  }
  /// What a run of `count` samples took.
  void learn(std::size_t which, std::uint64_t count, std::uint64_t ticks) noexcept {
    if (count < least_count) return;
    const std::uint64_t before = each_[which].load(std::memory_order_relaxed);
    std::uint64_t now = ticks * parts / count + 1;
    if (before != 0) {
      // Down faster than up: what a run takes at best tells the depths apart, interrupts and neighbors come
      // to all of them.
      now = now < before ? before - (before - now) / 2 : before + std::min(now - before, before / 4) / 8;
    }
    each_[which].store(now, std::memory_order_relaxed);
    const std::size_t best = best_.load(std::memory_order_relaxed);
    for (std::size_t other = 0; other < all.size(); ++other) {
      const std::uint64_t there = each_[other].load(std::memory_order_relaxed);
      // A little better is none: the numbers scatter.
      if (there != 0 && there * 17 < each_[best].load(std::memory_order_relaxed) * 16)
        best_.store(other, std::memory_order_relaxed);
    }
  }
  std::size_t best() const noexcept { return best_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t parts = 64;        // of a tick
  static constexpr std::uint64_t least_count = 16;  // where the beginning of a run doesn't count for much

  std::atomic<std::uint64_t> turn_{0};
  std::atomic<std::size_t> best_{0};
  std::array<std::atomic<std::uint64_t>, all.size()> each_{};
};

}  // namespace wick::detail

// ==== wick/loader/detail/settling.hpp
/// \file
/// What is done about a sample that failed: it is tried again, another is drawn in its place, it is left out,
/// or its batch fails.

// ==== wick/run/sleep.hpp
/// \file
/// Letting time pass without keeping a worker: pauses between retries, timeouts, polling.

// ==== wick/run/environment.hpp
/// \file
/// What every wait of the engine wants to know: where to go on afterwards, and what may call it off.

namespace wick {

class executor;

namespace detail {

/// The executor that a coroutine continues on, and the stop token that cancels its wait (an environment in
/// the words of P2300). Anything with `on()` and `stop()` converts to it: a stage hands its `context&`, a
/// task its `scope&`; elsewhere it is written out, `{ex}` or `{ex, stop.token()}`. Copied for nothing. The
/// executor and the token's source must outlive the wait.
///
/// A wait whose stop was requested throws wick::cancelled, also when it could have succeeded at once, and has
/// taken nothing then. A stop that comes while it waits resumes it promptly, on the executor.
class environment {
 public:
  environment(executor& on, stop_token stop = {}) noexcept : on_(&on), stop_(stop) {}
  /// \throws std::logic_error for a context that was made by hand, without an executor
  template <class From>
    requires(!std::same_as<std::remove_const_t<From>, environment>) && requires(From& from) {
      from.on();
      { from.stop() } -> std::convertible_to<stop_token>;
    }
  environment(From& from) : stop_(from.stop()) {
    if constexpr (std::is_pointer_v<decltype(from.on())>)
      on_ = from.on();
    else
      on_ = &from.on();
    if (on_ == nullptr) {
      throw std::logic_error(
          "wick: this context has no executor to continue on; a wait needs one: give the context a "
          "wick::executor, or run the stage in a loader");
    }
  }

  executor& on() const noexcept { return *on_; }
  const stop_token& stop() const noexcept { return stop_; }

 private:
  executor* on_;
  stop_token stop_;
};

}  // namespace detail

}  // namespace wick

namespace wick {

namespace detail {

/// What sleep_for and sleep_until give; to be awaited, once.
class [[nodiscard]] sleep_awaiter : job, timer {
 public:
  sleep_awaiter(environment env, clock::time_point until) noexcept : env_(env) { due = until; }
  /// Before it is awaited: it may be handed to when_any.
  sleep_awaiter(sleep_awaiter&& other) noexcept : sleep_awaiter(other.env_, other.due) {}
  sleep_awaiter& operator=(sleep_awaiter&&) = delete;

  bool await_ready() noexcept {
    called_off_ = env_.stop().stop_requested();
    return called_off_ || due <= clock::now();
  }
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> h) {
    handle_ = h;
    execute = [](job* j) noexcept { detail::resume(static_cast<sleep_awaiter*>(j)->handle_); };
    expired = [](timer* t, bool on_time) noexcept { static_cast<sleep_awaiter*>(t)->wake(on_time); };
    // First the callback, then the timer: a stop between the two marks the timer, and add refuses it.
    if (env_.stop().stop_possible()) calling_off_.emplace(env_.stop(), on_stop{this});
    called_off_ = true;  // unless it expires: written before add, since afterwards this may be gone
    return env_.on().timers().add(*this);
  }
  void await_resume() {
    calling_off_.reset();
    if (called_off_) throw cancelled();
  }

 private:
  struct on_stop {
    sleep_awaiter* self;
    void operator()() const noexcept {
      if (self->env_.on().timers().cancel(*self)) self->wake(false);
    }
  };
  void wake(bool on_time) noexcept {
    called_off_ = !on_time;
    env_.on().post(this);
  }

  environment env_;
  std::coroutine_handle<> handle_;
  bool called_off_ = false;
  std::optional<stop_callback<on_stop>> calling_off_;
};

/// `co_await wick::sleep_until(t, c);` suspends until then and continues on the executor; at once when it has
/// passed. `c` is the stage's context, a scope, or {executor, token}. \throws wick::cancelled promptly when a
/// stop is requested, or the executor is being destroyed
inline sleep_awaiter sleep_until(timer::clock::time_point t, environment env) noexcept { return {env, t}; }

}  // namespace detail

/// `co_await wick::sleep_for(100ms, c);` suspends for that long and continues on the executor; no worker
/// waits meanwhile. `c` is the stage's context, or {executor, token}. What is longer than a hundred years is
/// a hundred years, less than nothing (and a duration that is not a number) is nothing. \throws
/// wick::cancelled promptly when a stop is requested, or the executor is being destroyed
template <class Rep, class Period>
detail::sleep_awaiter sleep_for(std::chrono::duration<Rep, Period> d, detail::environment env) noexcept {
  using seconds = std::chrono::duration<double>;
  constexpr seconds longest = std::chrono::hours(24 * 365 * 100);
  const auto now = detail::timer::clock::now();
  const seconds wanted = std::chrono::duration_cast<seconds>(d);
  if (!(wanted > seconds::zero())) return {env, now};
  if (wanted >= longest)
    return {env, now + std::chrono::duration_cast<detail::timer::clock::duration>(longest)};
  return {env, now + std::chrono::ceil<detail::timer::clock::duration>(d)};
}

}  // namespace wick

namespace wick::detail {

/// `Runs` has the pipeline and the policy. A substitute is drawn from a random stream of the position's own,
/// and a sample on the quarantine list counts as one that was tried and has failed: a run with the list gives
/// the same batches as the one that made it.
template <class Runs>
class settling {
  using types = typename Runs::types;
  using path_type = typename Runs::path_type;
  using job_type = typename Runs::job_type;

 public:
  /// Does about a failure what the policy says, and writes it down. Whether the slot has a sample afterwards;
  /// else it is a gap, or its batch is lost. \throws std::bad_alloc
  static task<bool> settle(Runs* self, job_type* j, context* c, failure f) {
    if (self->only_fails) {
      j->note(std::move(f));
      co_return false;
    }
    const std::uint64_t counted = print_of(f.position, f.index);  // as if it had gone well
    random_stream draws(self->seed, c->epoch(), f.position, substitute_stream);
    std::vector<std::uint64_t> tried;  // indexes that are no good here
    for (;;) {
      if (f.tries == 0 || !j->cancelled.load(std::memory_order_relaxed)) {
        task<bool> retrying = try_again(self, j, c, &f);
        const bool good = co_await retrying;
        if (good)
          f.action = error_action::retry;
        else if (!j->cancelled.load(std::memory_order_relaxed))
          f.action = *rule_for(*self, f).action;
      }
      tried.push_back(f.index);
      if (f.action == error_action::replace && !draw(*self, *j, draws, tried, f))
        f.action = error_action::fail;
      if (f.action == error_action::skip) {
        j->print.fetch_add(print_of(f.position, left_out) - counted, std::memory_order_relaxed);
      }
      const bool over = f.action != error_action::replace, good = f.action == error_action::retry;
      if (good && f.index != tried.front()) count_substitute(*j, f.position, f.index, counted);
      failure next;
      next.slot = f.slot;
      next.position = f.position;
      next.number = f.number + 1;
      next.index = f.substitute;
      next.tries = 0;
      next.drawn = f.drawn;
      j->note(std::move(f));
      if (over) co_return good;
      f = std::move(next);
      task<bool> trying = attempt(self, j, c, &f);
      const bool substituted = co_await trying;
      if (substituted) {
        count_substitute(*j, f.position, f.index, counted);
        co_return true;
      }
    }
  }

  /// Runs a sample for the first time, outside of a run; a failure is settled. Whether the slot has a sample.
  static task<bool> run_or_settle(Runs* self, job_type* j, context* c, failure f) {
    task<bool> trying = attempt(self, j, c, &f);
    const bool good = co_await trying;
    if (good) co_return true;
    task<bool> rest = settle(self, j, c, std::move(f));
    const bool settled = co_await rest;
    co_return settled;
  }
  /// The same where a failure fails the batch.
  static task<bool> run_or_fail(Runs* self, job_type* j, context* c, failure f) {
    task<bool> trying = attempt(self, j, c, &f);
    const bool good = co_await trying;
    if (!good) j->note(std::move(f));
    co_return good;
  }

 private:
  static constexpr std::uint32_t substitute_stream = 0xFFFF;  // of no stage

  /// A sample that runs alone, in a pipeline where none suspends, is on the clocks like a run of one.
  struct on_the_clocks {
    path_type& path;
    std::uint64_t ticks[path_type::rows] = {};
    const std::uint64_t begun = now_ticks();
    explicit on_the_clocks(path_type& p) noexcept : path(p) {}
    ~on_the_clocks() {
      stage_clock* const mine = path.clocks().mine();
      path_type::write_down(mine, types::order_end, 1, ticks);
      path_type::count(mine, types::order_end, 1);
      path.clocks().ran(mine, 1, now_ticks() - begun);
    }
  };

  static error_rule rule_for(const Runs& runs, const failure& f) {
    return runs.policy.rule_for(runs.stage_of(f));
  }

  /// Runs a sample once. What went wrong is in `f` afterwards.
  static task<bool> attempt(Runs* self, job_type* j, context* c, failure* f) {
    c->move_to({self->seed, c->epoch(), f->position, f->index});
    c->enter(static_cast<std::uint32_t>(types::order_end));
    std::exception_ptr cause;
    bool quarantined = false;
    try {
      j->columns.forget(static_cast<std::size_t>(f->slot));
      if constexpr (types::samples_suspend) {
        task<void> running = Runs::run_async(self, j, f->slot, c);
        co_await running;
      } else {
        if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
        if (self->is_bad(f->index)) self->refuse(*c);
        const typename Runs::end_of_sample end{c};
        on_the_clocks clocks(self->path);
        self->template run<true>(*j, f->slot, *c, clocks.ticks);
      }
    } catch (const quarantined_sample&) {
      cause = std::current_exception();
      quarantined = true;
    } catch (...) {
      cause = std::current_exception();
    }
    if (self->on.this_slot() == executor::none) co_await self->on.schedule();  // a stranger resumed us
    if (cause == nullptr) co_return true;
    f->cause = std::move(cause);
    f->stage = c->stage();
    if (!quarantined) ++f->tries;
    co_return false;
  }

  /// As often as the rule for what went wrong last says, with its pauses.
  static task<bool> try_again(Runs* self, job_type* j, context* c, failure* f) {
    if (f->tries == 0) co_return false;  // on the quarantine list
    for (;;) {
      const error_rule rule = rule_for(*self, *f);
      if (f->tries > rule.retries || j->cancelled.load(std::memory_order_relaxed)) co_return false;
      bool stopped = false;
      try {
        if (rule.backoff.count() > 0) {
          auto pause = sleep_for(rule.backoff * std::ldexp(1.0, static_cast<int>(f->tries) - 1), *c);
          co_await pause;
        }
      } catch (...) {
        stopped = true;
      }
      if (stopped) co_return false;
      task<bool> trying = attempt(self, j, c, f);
      const bool good = co_await trying;
      if (good) {
        ++f->tries;
        co_return true;
      }
    }
  }

  /// Draws a substitute from the samples of the epoch, in f.substitute. False when enough were drawn.
  static bool draw(const Runs& runs, const job_type& j, random_stream& from,
                   std::vector<std::uint64_t>& tried, failure& f) {
    while (f.drawn < runs.policy.options().substitutes) {
      ++f.drawn;
      const std::uint64_t index = runs.plan.index(j.order, from.below(runs.plan.ordered()));
      if (std::find(tried.begin(), tried.end(), index) != tried.end()) continue;
      f.substitute = index;
      return true;
    }
    return false;
  }
  static void count_substitute(job_type& j, std::uint64_t position, std::uint64_t index,
                               std::uint64_t counted) noexcept {
    j.print.fetch_add(print_of(position, index) - counted, std::memory_order_relaxed);
  }
};

}  // namespace wick::detail

// ==== wick/loader/detail/walk_ahead.hpp
/// \file
/// Going through a run of positions: which samples stand there is computed a little at a time, and samples
/// that lie in memory are fetched into the cache some way ahead; the one goes on during the other.

namespace wick::detail {

/// Calls `one(i, index)` for each of `count` positions from `first` on, i counted from 0, and before that,
/// for a few of them at a time, `computed(position, indexes, how many)`.
template <class Plan, class Order, class Source, class Computed, class One>
void walk_ahead(const Plan& plan, const Order& order, const Source& source, std::uint64_t first,
                std::uint64_t count, const prefetch_depth& depth, Computed&& computed, One&& one) {
  constexpr std::uint64_t stride = 32;
  static_assert(prefetch_choice::most_samples <= stride);
  std::uint64_t indexes[2 * stride];
  const auto index = [&](std::uint64_t i) -> std::uint64_t& { return indexes[i % (2 * stride)]; };
  const std::uint64_t ahead = prefetching_source<Source> ? depth.samples : 0;
  std::uint64_t known = 0;
  const auto foresee = [&](std::uint64_t end) {
    for (end = std::min(end, count); known < end; known += stride) {
      const std::uint64_t n = std::min(stride, count - known);
      plan.indexes(order, first + known, n, &index(known));
      computed(first + known, &index(known), n);
    }
  };
  foresee(ahead);
  for (std::uint64_t i = 0; i < std::min(ahead, count); ++i) prefetch_sample(source, index(i), depth.bytes);
  for (std::uint64_t next = 0; next < count;) {
    const std::uint64_t end = std::min(next + stride, count);
    foresee(end + ahead);
    for (; next < end; ++next) {
      if (ahead != 0 && next + ahead < count) prefetch_sample(source, index(next + ahead), depth.bytes);
      one(next, index(next));
    }
  }
}

}  // namespace wick::detail

namespace wick::detail {

/// `Owner` is told of the samples that have ended, by finish_some(job, count), and, where samples suspend,
/// gets back a token for each. Any thread that has a slot.
template <class Runs, class Owner>
class claimed_runs {
  using types = typename Runs::types;
  using path_type = typename Runs::path_type;
  using job_type = typename Runs::job_type;
  using source_type = std::remove_cvref_t<decltype(std::declval<const path_type&>().source())>;
  static constexpr bool batched = types::batched;
  static constexpr std::size_t order_row = path_type::order_row;

 public:
  claimed_runs(Runs& runs, Owner& owner) noexcept : runs_(runs), owner_(owner) {}

  /// How long samples take.
  const wick::detail::pace& pace() const noexcept { return pace_; }

  /// Slots [from, from + count) of a batch. Those that suspend end later, on any worker.
  void run(job_type& j, std::uint64_t from, std::uint64_t count) noexcept {
    const std::uint64_t first = j.first + from, moved_from = runs_.moved_from(j);
    if (const std::uint64_t own = moved_from - std::min(first, moved_from); own < count) {
      // The rest stands elsewhere by now, and its slots are left out.
      const std::uint64_t rest = count - own;
      if (own != 0) run_all(j, from, own);
      owner_.give_tokens(rest);
      owner_.finish_some(j, rest);
    } else {
      run_all(j, from, count);
    }
  }

 private:
  void run_all(job_type& j, std::uint64_t from, std::uint64_t count) noexcept {
    stage_clock* const clocks = runs_.path.clocks().mine();
    const std::uint64_t begun = now_ticks();
    const bool chooses = prefetching_source<source_type> && !types::samples_suspend && !pace_.slow_samples();
    const std::size_t depth = chooses ? depths_.next() : 0;
    std::uint64_t print = 0;
    const auto computed = [&](std::uint64_t first, const std::uint64_t* indexes, std::uint64_t n) {
      if constexpr (batched) {
        print += prints_of(first, indexes, n);
        // A sample that may end while others are begun is counted before it is.
        if constexpr (types::samples_suspend)
          j.print.fetch_add(std::exchange(print, 0), std::memory_order_relaxed);
      }
    };
    const auto for_each = [&](auto&& one) {
      walk_ahead(runs_.plan, j.order, runs_.path.source(), j.first + from, count, prefetch_choice::all[depth],
                 computed, one);
    };
    if constexpr (types::samples_suspend) {
      clocks[order_row].ran(count);  // before the batch can end, so that a report then has them
      for_each([&](std::uint64_t i, std::uint64_t index) {
        const place where = runs_.place_of(j, from + i, index);
        try {
          resume(run_one(this, &j, from + i, where).handle);
        } catch (...) {  // no memory for its frame: nothing of it has begun
          lose(j, from + i, where);
        }
      });
      took(clocks, count, now_ticks() - begun);
    } else {
      // Clocks are read between stages for slow samples, and for one in 64 runs of the fast ones, which
      // counts as 64.
      const bool slow = pace_.slow_samples();
      const bool timed = slow || clocks[order_row].count() % (64 * count) < count;
      context c = runs_.context_at({}, j);
      std::vector<failure> failed;
      const quarantine* const bad = runs_.bad.empty() ? nullptr : &runs_.bad;
      if (timed) {
        std::uint64_t ticks[path_type::rows] = {};
        ticks[order_row] = now_ticks() - begun;
        for_each([&](std::uint64_t i, std::uint64_t index) {
          run_here<true>(j, from + i, index, bad, c, ticks, failed);
        });
        // A fast run in 64 stands for all of them.
        const std::uint64_t weight = slow ? 1 : 64;
        path_type::write_down(clocks, types::order_end, count, ticks, weight);
        clocks[order_row].worked(weight * count, weight * ticks[order_row]);
      } else {
        for_each([&](std::uint64_t i, std::uint64_t index) {
          run_here<false>(j, from + i, index, bad, c, nullptr, failed);
        });
      }
      c.give_back();
      path_type::count(clocks, types::order_end, count);
      clocks[order_row].ran(count);
      const std::uint64_t passed = now_ticks() - begun;
      took(clocks, count, passed);
      if (chooses && !timed) depths_.learn(depth, count, passed);
      const std::uint64_t good = count - failed.size();
      j.print.fetch_add(print, std::memory_order_relaxed);
      if (!failed.empty()) settle_all(j, failed);
      owner_.finish_some(j, good);
    }
  }

  void took(stage_clock* clocks, std::uint64_t count, std::uint64_t ticks) noexcept {
    pace_.learn(count, ticks);
    runs_.path.clocks().ran(clocks, count, ticks);
  }

  template <bool Timed>
  void run_here(job_type& j, std::uint64_t slot, std::uint64_t index, const quarantine* bad, context& c,
                std::uint64_t* ticks, std::vector<failure>& failed) noexcept {
    c.move_to(runs_.place_of(j, slot, index));
    try {
      if (bad != nullptr && bad->has(index)) runs_.refuse(c);
      runs_.template run<Timed>(j, slot, c, ticks);
    } catch (...) {
      add_failed(j, failed, slot, c);
    }
  }
  [[gnu::noinline]] void add_failed(job_type& j, std::vector<failure>& to, std::uint64_t slot,
                                    const context& c) noexcept {
    failure f = runs_.failed(slot, c, std::current_exception());
    try {
      to.push_back(f);
    } catch (...) {
      j.lose(std::move(f));  // and with it the batch: this one counts as ended
    }
  }
  [[gnu::noinline]] void settle_all(job_type& j, std::vector<failure>& failed) noexcept {
    for (failure& f : failed) {
      try {
        resume(settle_one(this, &j, &f).handle);
      } catch (...) {
        j.lose(std::move(f));
        owner_.finish_some(j, 1);
      }
    }
  }
  /// What has failed in a pipeline where no stage suspends. It waits for a retry all the same.
  static detached settle_one(claimed_runs* self, job_type* j, failure* of) {
    failure f = std::move(*of);
    context c = self->runs_.context_at({self->runs_.seed, j->epoch, f.position, f.index}, *j);
    try {
      task<bool> settled = settling<Runs>::settle(&self->runs_, j, &c, f);
      co_await settled;
    } catch (...) {
      j->lose(f);
    }
    f.cause = nullptr;  // whatever was thrown is gone when the sample has ended
    self->owner_.finish_some(*j, 1);
  }
  /// A sample for which there was no memory; called where that was caught.
  [[gnu::noinline]] void lose(job_type& j, std::uint64_t slot, const place& where) noexcept {
    context c = runs_.context_at(where, j);
    c.enter(static_cast<std::uint32_t>(types::order_end));
    j.lose(runs_.failed(slot, c, std::current_exception()));
    owner_.give_tokens(1);
    owner_.finish_some(j, 1);
  }

  // ---- samples that suspend ----

  static detached run_one(claimed_runs* self, job_type* j, std::uint64_t slot, place where) {
    context c = self->runs_.context_at(where, *j);
    failure f;
    try {
      task<void> running = Runs::run_async(&self->runs_, j, slot, &c);
      co_await running;
    } catch (...) {
      f = self->runs_.failed(slot, c, std::current_exception());
    }
    if (self->runs_.on.this_slot() == executor::none) co_await self->runs_.on.schedule();
    if (f.cause != nullptr) {
      try {
        task<bool> settled = settling<Runs>::settle(&self->runs_, j, &c, f);
        co_await settled;
      } catch (...) {
        j->lose(f);
      }
      f.cause = nullptr;  // whatever was thrown is gone when the sample has ended
      // Where settling ended early it may have been anywhere.
      if (self->runs_.on.this_slot() == executor::none) co_await self->runs_.on.schedule();
    }
    // Before the sample counts as finished: afterwards the loader may be gone.
    self->owner_.give_tokens(1);
    self->owner_.finish_some(*j, 1);
  }

  Runs& runs_;
  Owner& owner_;
  alignas(64) wick::detail::pace pace_;
  alignas(64) prefetch_choice depths_;
};

}  // namespace wick::detail

// ==== wick/loader/detail/finishing.hpp
/// \file
/// The end of a batch: all its samples have ended, well or not; it is judged, its gaps are closed or filled,
/// and it goes through the batch stages.

// ==== wick/loader/detail/compaction.hpp
/// \file
/// Closing the gaps of an epoch by the samples at its end.

// ==== wick/loader/detail/sample_runs.hpp
/// \file
/// One sample on its way into its slot, and what is done when it fails: it is tried again, or another is
/// drawn.

// ==== wick/loader/detail/stage_path.hpp
/// \file
/// The way of a sample through the stages, and of a batch through those behind it, with a clock at each.
/// Knows nothing of who starts them and when.

// ==== wick/loader/detail/pipeline_types.hpp
/// \file
/// The types of a pipeline, worked out once: where the order stages end, where batches begin, what flows
/// between.

namespace wick::detail {

/// The column of a pipeline without batch(): each sample by itself, in groups that only the loader sees.
template <class Item>
class single_column {
 public:
  using output = std::vector<std::optional<Item>>;
  void begin(std::size_t n, layout, const std::shared_ptr<slab_pool>&) {
    slots_.clear();
    slots_.resize(n);
  }
  void put(std::size_t i, Item&& value) { slots_[i].emplace(std::move(value)); }
  std::optional<misfit> first_misfit(std::size_t, const std::vector<std::size_t>&) const {
    return std::nullopt;
  }
  void forget(std::size_t) noexcept {}
  bool stale(const std::vector<std::size_t>&) const noexcept { return false; }
  output finish(std::size_t) { return std::move(slots_); }
  void drop() noexcept { slots_.clear(); }
  /// Memory that finish() gave away, for the next time.
  void reuse(output&& used) noexcept {
    if (slots_.capacity() == 0) slots_ = std::move(used);
  }

 private:
  output slots_;
};

template <class Source, class... S>
struct pipeline_types {
  static constexpr std::size_t size = sizeof...(S);
  template <std::size_t I>
  using stage_at = std::tuple_element_t<I, std::tuple<S...>>;

  static constexpr std::size_t order_end = [] {
    std::size_t n = 0;
    ((stage_of<S, on_order> ? ++n : n), ...);
    return n;
  }();
  static constexpr std::size_t batching = [] {  // size when there is none
    constexpr bool is[] = {stage_of<S, on_batching>..., true};
    std::size_t n = 0;
    while (!is[n]) ++n;
    return n;
  }();
  static constexpr bool batched = batching < size;

  template <std::size_t I>
  static consteval auto item_before() {
    return []<std::size_t... J>(std::index_sequence<J...>) {
      return std::type_identity<typename items_after<source_item<Source>, stage_at<J>...>::type>{};
    }(std::make_index_sequence<I>{});
  }
  /// What stage I is given; I == size: what leaves the pipeline.
  template <std::size_t I>
  using item = typename decltype(item_before<I>())::type;

  using last_sample = item<batching>;

  template <bool Batched, class Dummy = void>
  struct collation {
    using columns = single_column<materialized_t<last_sample>>;
    using value = typename columns::output;
    using delivered = materialized_t<last_sample>;
    static constexpr bool objects = true;
  };
  template <class Dummy>
  struct collation<true, Dummy> {
    using stage = stage_at<batching>;
    using columns = typename stage::template collator<last_sample>;
    using value = item<size>;
    using delivered = value;
    static constexpr bool objects = false;
  };
  using columns = typename collation<batched>::columns;
  using value = typename collation<batched>::value;
  /// What the training loop gets.
  using delivered = typename collation<batched>::delivered;
  static constexpr bool materialize_last = collation<batched>::objects;

  /// The first of the stages [I, End) that suspends; End when none does.
  template <std::size_t I, std::size_t End>
  static consteval std::size_t next_async() {
    if constexpr (I >= End)
      return End;
    else if constexpr (is_async<stage_at<I>, item<I>>)
      return I;
    else
      return next_async<I + 1, End>();
  }
  static constexpr bool samples_suspend = next_async<order_end, batching>() < batching;
  static constexpr bool batches_suspend = batched && next_async<batching + 1, size>() < size;

  /// The order stages' functions for one epoch.
  template <std::size_t... I>
  static auto order_of(std::index_sequence<I...>)
      -> std::tuple<decltype(std::declval<const stage_at<I>&>().prepare(0, 0, 0, 0u))...>;
  using order = decltype(order_of(std::make_index_sequence<order_end>{}));
};

}  // namespace wick::detail

// ==== wick/pipeline/detail/timed_await.hpp
/// \file
/// Awaits and keeps the books: what a stage worked before it suspended, and how long it then waited.

namespace wick::detail {

template <class A>
decltype(auto) awaiter_in(A& a) {
  if constexpr (awaiter<A>)
    return (a);
  else
    return awaiter_of(std::move(a));
}

/// `Books` has worked(stage, ticks) and waited(stage, ticks), callable on any worker, and outlives the
/// coroutine.
template <class Inner, class Books>
class timed_await {
 public:
  timed_await(Inner&& inner, Books* books, std::uint32_t stage, std::uint64_t begun) noexcept
      : inner_(static_cast<Inner&&>(inner)), books_(books), stage_(stage), begun_(begun) {}

  bool await_ready() { return inner_.await_ready(); }

  template <class Promise>
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> handle) {
    // Once the inner awaiter has let the coroutine go, another worker may run and end it: only copies are
    // used then.
    Books* const books = books_;
    const std::uint32_t stage = stage_;
    const std::uint64_t begun = begun_;
    suspended_ = true;
    bool suspends = true;
    if constexpr (std::is_void_v<decltype(inner_.await_suspend(handle))>) {
      inner_.await_suspend(handle);
    } else if constexpr (std::is_same_v<decltype(inner_.await_suspend(handle)), bool>) {
      suspends = inner_.await_suspend(handle);
    } else {
      inner_.await_suspend(handle).resume();
    }
    if (suspends) {
      const std::uint64_t worked = now_ticks() - begun;
      books->worked_before_suspending(stage, worked);
    } else {
      suspended_ = false;
    }
    return suspends;
  }

  decltype(auto) await_resume() {
    ended_ = now_ticks();
    return inner_.await_resume();
  }

  /// Writes down what the await took. On a worker, after the await.
  void settle() noexcept {
    if (suspended_)
      books_->waited(stage_, ended_ - begun_);
    else
      books_->worked(stage_, ended_ - begun_);
  }

 private:
  Inner inner_;
  Books* books_;
  std::uint32_t stage_;
  std::uint64_t begun_, ended_ = 0;
  bool suspended_ = false;
};

}  // namespace wick::detail

namespace wick::detail {

template <class Pipeline>
class stage_path;

/// Owns the source and the stages. All workers call it at once.
template <class Source, class... S>
class stage_path<pipeline<Source, S...>> {
 public:
  using types = pipeline_types<Source, S...>;
  using value = typename types::value;
  static constexpr std::size_t stages = sizeof...(S);
  /// Clocks: one a stage, one for order and source, one a phase inside the slot.
  static constexpr std::size_t order_row = stages, phase_row = stages + 1, rows = phase_row + phase_count;

  stage_path(pipeline<Source, S...> what, executor& on)
      : source_(std::move(what.origin)),
        stages_(std::move(what.stages)),
        on_(on),
        books_(on, rows, types::batching, stages, types::samples_suspend) {
    static_assert(types::batching >= types::order_end);
    const auto attach = [&](auto& s) {
      if constexpr (has_hook<decltype(s), hook::attach>) s.attach(on_);
    };
    std::apply([&](auto&... s) { (attach(s), ...); }, stages_);
  }

  const Source& source() const noexcept { return source_; }
  template <std::size_t I>
  const auto& stage() const noexcept {
    return std::get<I>(stages_);
  }
  books& clocks() noexcept { return books_; }
  const books& clocks() const noexcept { return books_; }

  std::vector<std::string> stage_names() const {
    std::vector<std::string> out;
    std::apply([&](const auto&... s) { (out.emplace_back(stage_name(s)), ...); }, stages_);
    return out;
  }
  /// The loader's own name where there is no stage of that number.
  std::string stage_name_at(std::size_t i) const {
    std::vector<std::string> names = stage_names();
    return i < names.size() ? std::move(names[i]) : "loader";
  }
  /// What decides which sample stands where and what becomes of it, as far as the stages tell. Random numbers
  /// go by a stage's number, so each counts; of shard() only that it is there.
  std::vector<stage_identity> identity() const {
    std::vector<stage_identity> out;
    const auto ask = [&](const auto& s) {
      stage_identity one{std::string(stage_name(s)), 0};
      if constexpr (has_hook<decltype(s), hook::fingerprint>) one.parameters = s.fingerprint();
      out.push_back(std::move(one));
    };
    std::apply([&](const auto&... s) { (ask(s), ...); }, stages_);
    return out;
  }
  /// What stages have to say for the report.
  std::vector<std::string> notes() const {
    std::vector<std::string> out;
    const auto ask = [&](const auto& s) {
      if constexpr (has_hook<decltype(s), hook::note>) {
        if (std::string text = s.note(); !text.empty()) out.push_back(std::move(text));
      }
    };
    std::apply([&](const auto&... s) { (ask(s), ...); }, stages_);
    return out;
  }
  shard_stage shard() const {
    shard_stage found;
    const auto look = [&](const auto& s) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(s)>, shard_stage>) found = s;
    };
    std::apply([&](const auto&... s) { (look(s), ...); }, stages_);
    return found;
  }
  template <class F>
  void for_each_batch_stage(F&& f) {
    if constexpr (types::batched) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (f(std::get<types::batching + 1 + I>(stages_)), ...);
      }(std::make_index_sequence<stages - types::batching - 1>{});
    }
  }
  /// Where batches shall lie: what a batch stage asks for (pin does), else ordinary memory.
  std::shared_ptr<slab_memory> batch_memory() {
    std::shared_ptr<slab_memory> wanted;
    for_each_batch_stage([&](auto& s) {
      if constexpr (has_hook<decltype(s), hook::slab_memory>) {
        if (wanted == nullptr) wanted = s.slab_memory();
      }
    });
    return wanted != nullptr ? wanted : std::make_shared<host_slab_memory>();
  }

  // ---- samples ----

  /// Ticks of the stages from `first` up to batch, and of the phases; `weight`: they stand for so many times
  /// as many samples.
  static void write_down(stage_clock* clocks, std::size_t first, std::uint64_t count,
                         const std::uint64_t* ticks, std::uint64_t weight = 1) noexcept {
    for (std::size_t s = first; s <= types::batching && s < stages; ++s) {
      clocks[s].worked(weight * count, weight * ticks[s]);
    }
    for (std::size_t s = phase_row; s < rows; ++s) clocks[s].worked(weight * count, weight * ticks[s]);
  }

  /// Samples that went through them, well or not.
  static void count(stage_clock* clocks, std::size_t first, std::uint64_t samples) noexcept {
    for (std::size_t s = first; s <= types::batching && s < stages; ++s) clocks[s].ran(samples);
    for (std::size_t s = phase_row; s < rows; ++s) clocks[s].ran(samples);
  }

  /// Through the stages from I on, which don't suspend, into the slot.
  template <std::size_t I, bool Timed, class Item, class Job>
  void pass(Item&& item, context& c, Job& j, std::uint64_t slot, std::uint64_t* ticks, std::uint64_t& last) {
    c.enter(static_cast<std::uint32_t>(I));
    if constexpr (I == types::batching) {
      if constexpr (Timed) phase_ticks::take();
      if constexpr (types::materialize_last) {
        j.columns.put(slot,
                      materialized<std::remove_cvref_t<Item>>::make(to_rvalue(std::forward<Item>(item))));
      } else {
        j.columns.put(slot, to_rvalue(std::forward<Item>(item)));
      }
      if constexpr (Timed && I < stages) {
        mark(ticks[I], last);
        const phase_ticks::values inside = phase_ticks::take();
        for (std::size_t p = 0; p < phase_count; ++p) {
          ticks[phase_row + p] += inside[p];
          ticks[I] -= std::min(inside[p], ticks[I]);
        }
      }
    } else {
      auto&& next = apply(std::get<I>(stages_), to_rvalue(std::forward<Item>(item)), c);
      if constexpr (Timed) mark(ticks[I], last);
      pass<I + 1, Timed>(std::move(next), c, j, slot, ticks, last);
    }
  }
  /// A source may give references to what it owns: those are copied, what it gives by value moves on.
  template <class Item>
  static decltype(auto) to_rvalue(Item&& item) {
    if constexpr (std::is_lvalue_reference_v<Item&&>)
      return std::remove_cvref_t<Item>(item);
    else
      return std::move(item);
  }
  static void mark(std::uint64_t& to, std::uint64_t& last) noexcept {
    const std::uint64_t now = now_ticks();
    to += now - last;
    last = now;
  }

  /// The same through stages that suspend: from one to the next, as a coroutine.
  template <std::size_t I, class Item, class Job>
  static task<void> pass_async(stage_path* self, Item item, context* c, Job* j, std::uint64_t slot) {
    constexpr std::size_t stage = types::template next_async<I, types::batching>();
    using stage_type = typename types::template stage_at<stage>;
    using given = typename types::template item<stage>;
    using next_type = typename types::template item<stage + 1>;
    using how = application<stage_type, given>;

    auto prepared = how::prepare(self->template pass_until<I, stage>(std::move(item), *c));
    c->enter(static_cast<std::uint32_t>(stage));
    const std::uint64_t begun = now_ticks();
    auto operation = call(std::get<stage>(self->stages_), how::argument(prepared), *c);
    decltype(auto) inner = awaiter_in(operation);
    using inner_type = decltype(inner);
    timed_await<inner_type, books> timed(static_cast<inner_type&&>(inner), &self->books_,
                                         static_cast<std::uint32_t>(stage), begun);
    if constexpr (std::is_void_v<value_once_awaited_t<typename how::raw>>) {
      co_await timed;
      if (self->on_.this_slot() == executor::none) co_await self->on_.schedule();  // a stranger resumed us
      timed.settle();
      if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
      next_type next(std::move(prepared));
      if constexpr (types::template next_async<stage + 1, types::batching>() < types::batching) {
        task<void> rest = pass_async<stage + 1, next_type>(self, std::move(next), c, j, slot);
        co_await rest;
      } else {
        self->template pass_rest<stage + 1>(std::move(next), *c, *j, slot);
      }
    } else {
      auto result = co_await timed;
      if (self->on_.this_slot() == executor::none) co_await self->on_.schedule();  // a stranger resumed us
      timed.settle();
      if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
      next_type next = rebuild<next_type>(std::move(prepared), std::move(result));
      if constexpr (types::template next_async<stage + 1, types::batching>() < types::batching) {
        task<void> rest = pass_async<stage + 1, next_type>(self, std::move(next), c, j, slot);
        co_await rest;
      } else {
        self->template pass_rest<stage + 1>(std::move(next), *c, *j, slot);
      }
    }
  }

  template <std::size_t I, std::size_t End, class Item>
  auto pass_until(Item&& item, context& c) {
    if constexpr (I == End) {
      return std::remove_cvref_t<Item>(std::move(item));
    } else {
      c.enter(static_cast<std::uint32_t>(I));
      const std::uint64_t begun = now_ticks();
      auto next = apply(std::get<I>(stages_), std::move(item), c);
      books_.worked(static_cast<std::uint32_t>(I), now_ticks() - begun);
      return pass_until<I + 1, End>(std::move(next), c);
    }
  }
  template <std::size_t I, class Item, class Job>
  void pass_rest(Item&& item, context& c, Job& j, std::uint64_t slot) {
    std::uint64_t ticks[rows] = {};
    std::uint64_t last = now_ticks();
    pass<I, true>(std::move(item), c, j, slot, ticks, last);
    stage_clock* const clocks = books_.mine();
    write_down(clocks, I, 1, ticks);
    count(clocks, I, 1);
  }

  // ---- batches ----

  /// Through the batch stages from I on, which don't suspend.
  template <std::size_t I, class Batch>
  auto pass_batch(Batch&& batch, context& c) {
    if constexpr (I == stages) {
      return std::remove_cvref_t<Batch>(std::move(batch));
    } else {
      c.enter(static_cast<std::uint32_t>(I));
      const std::uint64_t begun = now_ticks();
      auto rest = [&](auto next) {
        count_batch(I, begun);
        return pass_batch<I + 1>(std::move(next), c);
      };
      auto& stage = std::get<I>(stages_);
      // A stage that wraps those behind it (to set their stream) calls them itself.
      if constexpr (has_hook<decltype(stage), hook::around>)
        return stage.around(std::move(batch), rest);
      else
        return rest(apply(stage, std::move(batch), c));
    }
  }
  void count_batch(std::size_t stage, std::uint64_t begun) noexcept {
    if (on_.this_slot() == executor::none) return;  // the consumer, of an empty batch
    books_.worked(static_cast<std::uint32_t>(stage), now_ticks() - begun);
  }

  /// The same through stages that suspend.
  template <std::size_t I, class Batch>
  static task<value> pass_batch_async(stage_path* self, Batch batch, context* c) {
    if constexpr (I == stages) {
      co_return std::move(batch);
    } else {
      c->enter(static_cast<std::uint32_t>(I));
      const std::uint64_t begun = now_ticks();
      using stage_type = typename types::template stage_at<I>;
      if constexpr (is_async<stage_type, Batch>) {
        task<next_item<stage_type, Batch>> one =
            apply_async(&std::get<I>(self->stages_), std::move(batch), c);
        auto next = co_await one;
        self->count_batch(I, begun);
        task<value> rest = pass_batch_async<I + 1, decltype(next)>(self, std::move(next), c);
        value v = co_await rest;
        co_return std::move(v);
      } else {
        static_assert(
            !has_hook<stage_type, hook::around>,
            "wick: a batch stage that suspends can't be in a pipeline with transfer(); write it as a stage "
            "of samples, or as a plain callable");
        auto next = apply(std::get<I>(self->stages_), std::move(batch), *c);
        self->count_batch(I, begun);
        task<value> rest = pass_batch_async<I + 1, decltype(next)>(self, std::move(next), c);
        value v = co_await rest;
        co_return std::move(v);
      }
    }
  }

 private:
  Source source_;
  std::tuple<S...> stages_;
  executor& on_;
  books books_;
};

}  // namespace wick::detail

// ==== wick/loader/loader_options.hpp
/// \file
/// What a loader may be told.

namespace wick {

class executor;

/// What a loader may be told beside its pipeline: `wick::loader train(pipeline, {.seed = 42, .workers = 8})`.
struct loader_options {
  /// All randomness comes from this: the same seed, data and pipeline give the same batches on any machine.
  std::uint64_t seed = 0;
  /// Threads that decode and transform; 0: as many as processors are available. Not with `executor`.
  std::size_t workers = 0;
  /// Threads for blocking reads; 0: twice the workers, at least 4, at most 32. Not with `executor`.
  std::size_t io_threads = 0;
  /// Batches ready or in the making ahead of the training loop; 0: 8 with 8 workers or more, else 4, or up to
  /// 8 while these and the loop's fit into 16 MiB.
  std::size_t prefetch = 0;
  /// Bound on what samples take while they are on their way into their batches, in bytes: what read() reads,
  /// and what stages ask for with context::reserve().
  std::size_t memory = std::size_t{512} << 20;
  /// Samples that may be under way at a time where stages suspend; 0: chosen from workers and I/O threads.
  std::size_t in_flight = 0;
  /// Begin the next epoch while the last batches of this one are being consumed; false: when epoch() asks for
  /// it, so that the data may change between epochs (see the concept source).
  bool prefetch_next_epoch = true;
  /// Run on this executor, shared with other loaders; it must outlive them. Null: an executor of its own.
  wick::executor* executor = nullptr;
  /// What is done about samples that fail: `on_error(replace)`, see there. Default: their batch fails.
  detail::error_policy on_error = {};
  /// Every failure is appended to this file as a line of JSON when its batch is delivered; empty: none.
  std::filesystem::path ledger_file = {};
  /// Files of loader.write_quarantine(): the samples in them are not tried, and count as failed. Give all
  /// ranks the same.
  std::vector<std::filesystem::path> quarantine = {};
  /// loader.fingerprint() covers the samples' bytes, too; about 0.1 ns a byte.
  bool content_fingerprint = false;
};

}  // namespace wick

// ==== wick/order/detail/epoch_plan.hpp
/// \file
/// Which positions make up which batch, and which sample of the source stands at a position.

namespace wick::detail {

/// All by computation: from the size of the source, the order stages, the global batch and this rank's share
/// of it.
template <class Path>
class epoch_plan {
  using types = typename Path::types;

 public:
  using order_type = typename types::order;
  struct range {
    std::uint64_t first = 0, count = 0;
  };

  /// \throws wick::error when an epoch would be empty, or a batch too small to be shared
  explicit epoch_plan(const Path& path) : path_(path), shard_(path.shard()) {
    positions_ = path.source().size();
    each_order_stage([&](auto i, const auto& s) {
      sizes_[i] = positions_;
      positions_ = s.size(positions_);
    });
    ordered_ = positions_;
    bool drop_last = false, pad_last = false;
    if constexpr (types::batched) {
      const auto& s = path.template stage<types::batching>();
      batch_size_ = s.size();
      drop_last = s.drop_last();
      pad_last = s.pad_last();
    } else {
      batch_size_ = unbatched_group * shard_.world;
    }
    batches_ = drop_last ? positions_ / batch_size_ : (positions_ + batch_size_ - 1) / batch_size_;
    if (pad_last) positions_ = batches_ * batch_size_;
    check();
  }

  /// Of an epoch, over all ranks.
  std::uint64_t positions() const noexcept { return positions_; }
  std::uint64_t batches() const noexcept { return batches_; }
  /// Those that the order stages give: without what pads the last batch, with what drop_last leaves out.
  std::uint64_t ordered() const noexcept { return ordered_; }
  /// Samples of a batch over all ranks; without batch() those that are planned at a time.
  std::uint64_t batch_size() const noexcept { return batch_size_; }
  /// The most samples that a rank has of a batch: its share of one that is full, or of all there are where
  /// they don't fill one.
  std::size_t slots() const noexcept {
    return static_cast<std::size_t>((std::min(batch_size_, positions_) + shard_.world - 1) / shard_.world);
  }
  /// This rank's positions of a batch.
  range slice(std::uint64_t batch) const noexcept {
    const std::uint64_t begin = batch * batch_size_;
    const std::uint64_t length = std::min(batch_size_, positions_ - begin);
    const std::uint64_t from = length * shard_.rank / shard_.world,
                        to = length * (shard_.rank + 1) / shard_.world;
    return {begin + from, to - from};
  }

  /// How many positions of this rank (about: its equal share) the first `batches` have.
  std::uint64_t passed(std::uint64_t batches) const noexcept {
    return std::min(batches * batch_size_, positions_) / shard_.world;
  }

  /// The order stages' functions for one epoch.
  order_type order(std::uint64_t seed, std::uint64_t epoch) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return order_type{
          path_.template stage<I>().prepare(sizes_[I], seed, epoch, static_cast<std::uint32_t>(I))...};
    }(std::make_index_sequence<types::order_end>{});
  }
  /// Where in the source a position is; the stage nearest to the source has the last word.
  std::uint64_t index(const order_type& order, std::uint64_t position) const noexcept {
    if (position >= ordered_) position %= ordered_;  // what pads the last batch
    return index_behind(order, position);
  }

  /// The same for `count` positions from `first` on.
  void indexes(const order_type& order, std::uint64_t first, std::uint64_t count,
               std::uint64_t* out) const noexcept {
    for (std::uint64_t i = 0; i < count; ++i) out[i] = first + i;
    if (first + count > ordered_) {
      for (std::uint64_t i = 0; i < count; ++i) out[i] %= ordered_;
    }
    map_behind<types::order_end>(order, out, static_cast<std::size_t>(count));
  }

 private:
  static constexpr std::uint64_t unbatched_group = 16;

  template <std::size_t N>
  static void map_behind(const order_type& order, std::uint64_t* p, std::size_t count) noexcept {
    if constexpr (N != 0) {
      const auto& f = std::get<N - 1>(order);
      if constexpr (requires { f.map(p, count); }) {
        f.map(p, count);
      } else {
        for (std::size_t i = 0; i < count; ++i) p[i] = f(p[i]);
      }
      map_behind<N - 1>(order, p, count);
    }
  }
  template <class F>
  void each_order_stage(F&& f) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(I, path_.template stage<I>()), ...);
    }(std::make_index_sequence<types::order_end>{});
  }

  void check() const {
    if (positions_ == 0) throw error("loader: the source is empty; an epoch would have no sample");
    if (batches_ == 0) {
      throw error("loader: " + std::to_string(positions_) + " samples make no full batch of " +
                  std::to_string(batch_size_) + "; make it smaller, or leave drop_last out");
    }
    if constexpr (types::batched) {
      if (batch_size_ < shard_.world) {
        throw error("loader: a global batch of " + std::to_string(batch_size_) +
                    " samples can't be shared by " + std::to_string(shard_.world) +
                    " ranks; batch() takes the size for all ranks together");
      }
    }
  }

  const Path& path_;
  const shard_stage shard_;
  std::uint64_t sizes_[types::order_end + 1] = {};  // before each order stage
  std::uint64_t ordered_ = 0;                       // positions that the order stages give
  std::uint64_t positions_ = 0, batch_size_ = 0, batches_ = 0;
};

}  // namespace wick::detail

namespace wick::detail {

template <class Pipeline>
class sample_runs;

/// Owns the pipeline, and what samples need to run. All workers call it at once.
///
/// What becomes of a position depends on the data, the seed, the epoch and the position: a substitute is
/// drawn from a random stream of the position's own, and a sample on the quarantine list counts as one that
/// was tried and has failed, so that a run with the list gives the same batches as the one that made it.
template <class Source, class... S>
class sample_runs<pipeline<Source, S...>> {
 public:
  using path_type = stage_path<pipeline<Source, S...>>;
  using types = typename path_type::types;
  using job_type = batch_job<typename types::order, typename types::columns, typename types::value>;

  sample_runs(pipeline<Source, S...> what, const loader_options& options, executor& on)
      : path(std::move(what), on),
        seed(options.seed),
        on(on),
        budget(options.memory),
        policy(options.on_error),
        only_fails(policy.only_fails()),
        bad(load(path, options)) {
    check();
  }

  sample_runs(const sample_runs&) = delete;
  sample_runs& operator=(const sample_runs&) = delete;

  context context_at(place where, const job_type& of) noexcept {
    return context(where, &on, &budget, stop->token(), of.pass);
  }
  place place_of(const job_type& j, std::uint64_t slot, std::uint64_t index) const noexcept {
    return {seed, j.epoch, j.first + slot, index};
  }
  bool is_bad(std::uint64_t index) const noexcept { return !bad.empty() && bad.has(index); }

  /// Compaction: positions from here on have been moved to where others failed, as far as that is known by
  /// now. Their own batches leave them out, so that they need not be run there.
  std::uint64_t moved_from(const job_type& j) const noexcept {
    const std::uint64_t seen = moved_.load(std::memory_order_relaxed), count = seen & 0xFFFFFFFF;
    if (count == 0 || seen >> 32 != j.pass) return everything;
    return plan.ordered() - std::min(count, plan.ordered());
  }
  void note_moved(const job_type& j, std::uint64_t moved) noexcept {
    moved_.store(std::uint64_t{j.pass} << 32 | std::min<std::uint64_t>(moved, 0xFFFFFFFF),
                 std::memory_order_relaxed);
  }

  /// \throws quarantined_sample
  [[noreturn, gnu::noinline]] void refuse(context& c) const {
    c.enter(static_cast<std::uint32_t>(types::order_end));
    throw quarantined_sample();
  }

  /// Whatever became of a sample, and wherever its bytes are now: they are no longer in flight.
  struct end_of_sample {
    context* c;
    ~end_of_sample() { c->give_back(); }
  };

  /// Through all stages into the slot, in a pipeline where none suspends.
  template <bool Timed>
  void run(job_type& j, std::uint64_t slot, context& c, std::uint64_t* ticks) {
    std::uint64_t last = Timed ? now_ticks() : 0;
    path.template pass<types::order_end, Timed>(path.source().at(c.index()), c, j, slot, ticks, last);
  }
  /// The same where one may.
  static task<void> run_async(sample_runs* self, job_type* j, std::uint64_t slot, context* c) {
    const end_of_sample end{c};
    c->enter(static_cast<std::uint32_t>(types::order_end));
    if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
    if (self->is_bad(c->index())) self->refuse(*c);
    auto item = path_type::to_rvalue(self->path.source().at(c->index()));
    task<void> rest = path_type::template pass_async<types::order_end, decltype(item)>(
        &self->path, std::move(item), c, j, slot);
    co_await rest;
  }

  /// That the sample at `c` has failed in this slot just now.
  failure failed(std::uint64_t slot, const context& c, std::exception_ptr cause) const {
    failure f;
    f.slot = slot;
    f.stage = c.stage();
    f.cause = std::move(cause);
    f.position = c.position();
    f.index = c.index();
    if (is_bad(f.index)) f.tries = 0;
    return f;
  }

  /// The sample in a slot that is no gap: the one planned, or what came in its place.
  failure standing_at(const job_type& j, std::uint64_t slot) const {
    failure out;
    out.slot = slot;
    out.position = j.first + slot;
    for (const auto& [gap, position] : j.fills) {
      if (gap == slot) out.position = position;
    }
    const failure* last = nullptr;
    for (const failure& f : j.failures) {
      if (f.slot == slot && f.position == out.position && (last == nullptr || f.number > last->number))
        last = &f;
    }
    if (last == nullptr)
      out.index = plan.index(j.order, out.position);
    else
      out.index = last->action == error_action::replace ? last->substitute : last->index;
    return out;
  }

  /// There is no memory to end a batch as it should be; called where that was caught.
  static void lose(job_type& j) noexcept {
    j.fail_whole(static_cast<std::uint32_t>(types::batching), std::current_exception());
  }

  /// What the sample was found to be bad in: the stage it failed in, or was found to fail in by an earlier
  /// run.
  std::string stage_of(const failure& f) const {
    try {
      std::rethrow_exception(f.cause);
    } catch (const late_error& e) {
      return e.stage();
    } catch (const quarantined_sample&) {
      return bad.stage_of(f.index);
    } catch (...) {
      return path.stage_name_at(f.stage);
    }
  }

  path_type path;
  const epoch_plan<path_type> plan{path};
  const std::uint64_t seed;
  executor& on;
  byte_budget budget;
  const error_policy policy;
  const bool only_fails;
  const quarantine bad;
  std::unique_ptr<stop_source> stop = std::make_unique<stop_source>();

 private:
  static constexpr std::uint64_t everything = ~std::uint64_t{0};
  std::atomic<std::uint64_t> moved_{0};  // which pass, how many

  static quarantine load(const path_type& path, const loader_options& options) {
    std::vector<quarantine::entry> all;
    std::vector<std::string> names = path.stage_names();
    for (const auto& file : options.quarantine) {
      const std::vector<quarantine::entry> some = read_quarantine(file, path.source(), names);
      all.insert(all.end(), some.begin(), some.end());
    }
    return quarantine(std::move(all), std::move(names));
  }

  /// \throws wick::error
  void check() const {
    const std::vector<std::string> names = path.stage_names();
    const auto begin = names.begin() + static_cast<std::ptrdiff_t>(types::order_end);
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(types::batching + 1, names.size()));
    for (const std::string_view wanted : policy.stages()) {
      if (std::find(begin, end, wanted) != end) continue;
      std::string known;
      for (auto n = begin; n != end; ++n) known += (known.empty() ? "" : ", ") + *n;
      throw error("on_error: no stage of samples is called " + printable(wanted) + "; there are: " + known);
    }
    if (!bad.empty() && !policy.ever(error_action::skip) && !policy.ever(error_action::replace)) {
      throw error("quarantine: " + std::to_string(bad.size()) +
                  " samples are not to be tried, and nothing is said of what comes in their place; set "
                  "loader_options::on_error to on_error(skip) or on_error(replace)");
    }
    if (!policy.options().compact) return;
    if (!policy.ever(error_action::skip))
      throw error("on_error: compact is for skip; fail and replace leave no gaps");
    if (path.shard().world > 1) {
      throw error("on_error: compact with " + std::to_string(path.shard().world) +
                  " ranks: what fills a gap depends on what failed on the other ranks, which this one can't "
                  "know; use "
                  "replace, which keeps batches full and equal on every rank");
    }
    if constexpr (types::batched) {
      if (path.template stage<types::batching>().pad_last()) {
        throw error(
            "on_error: compact with pad_last: an epoch gets shorter by what is left out, and would have to "
            "be "
            "padded by what is not known in advance; use replace, or leave one of the two out");
      }
    }
  }
};

}  // namespace wick::detail

namespace wick::detail {

/// Batches go through this in their order, whatever order their samples end in: what fills a gap depends on
/// all failures of the epoch before it. Then `Finishing` goes on with each.
template <class Runs, class Finishing>
class compaction {
  using types = typename Runs::types;
  using path_type = typename Runs::path_type;
  using job_type = typename Runs::job_type;
  static constexpr bool batched = types::batched;

 public:
  compaction(Runs& runs, Finishing& finishing, std::size_t batches) : runs_(runs), finishing_(finishing) {
    waiting_.reserve(batches);
  }

  /// All samples of a batch have ended.
  void enter(job_type& j) noexcept {
    if (job_type* const next = turn_of(&j, nullptr)) settle(next);
  }

 private:
  /// `ended` has only samples that have ended; `settled` is done with. The batch whose turn it is, for the
  /// caller to settle; null when that is somebody else's or is not ready.
  job_type* turn_of(job_type* ended, job_type* settled) noexcept {
    std::lock_guard lock(mutex_);
    if (ended != nullptr) {
      waiting_.push_back(ended);
      if (busy_) return nullptr;
    }
    if (settled != nullptr) ++turn_;
    const auto next =
        std::find_if(waiting_.begin(), waiting_.end(), [&](job_type* j) { return j->sequence == turn_; });
    busy_ = next != waiting_.end();
    if (!busy_) return nullptr;
    job_type* const j = *next;
    waiting_.erase(next);
    return j;
  }

  void settle(job_type* j) noexcept {
    while (j != nullptr) {
      try {
        return resume(settle_from(this, j).handle);
      } catch (...) {
        leave_unfilled(*j);
      }
      job_type* const next = turn_of(nullptr, j);
      finishing_.finish(*j);
      j = next;
    }
  }
  /// Whose turn comes next is asked before a batch is published: while one is to be settled, the loader
  /// stays.
  static detached settle_from(compaction* self, job_type* j) {
    while (j != nullptr) {
      if (!j->cancelled.load(std::memory_order_relaxed)) {
        try {
          task<void> filling = fill(self, j);
          co_await filling;
        } catch (...) {
          self->leave_unfilled(*j);
        }
      }
      job_type* const next = self->turn_of(nullptr, j);
      self->finishing_.finish(*j);
      j = next;
    }
  }
  /// Called where want of memory was caught: the batch fails, and the epoch's account of moved samples goes
  /// on.
  void leave_unfilled(job_type& j) noexcept {
    Runs::lose(j);
    if (j.moved_before) moved_ = *j.moved_before;
    j.moved = moved_;
  }

  /// Fills the gaps from the end of the epoch, and leaves out what batches before have taken from there.
  static task<void> fill(compaction* self, job_type* j) {
    Runs& runs = self->runs_;
    if (j->moved_before) self->moved_ = *j->moved_before;
    std::uint64_t end = runs.plan.ordered() - std::min(self->moved_, runs.plan.ordered());
    const std::uint64_t own = end <= j->first ? 0 : std::min(j->count, end - j->first);
    self->leave_to_others(*j, own);
    std::sort(j->gaps.begin(), j->gaps.end());
    std::vector<std::size_t> gaps, unfilled;
    gaps.swap(j->gaps);
    for (const std::size_t gap : gaps) {
      bool filled = false;
      while (!filled && j->state != batch_state::lost && end > j->first + j->count) {
        --end;
        const std::uint64_t index = runs.plan.index(j->order, end);
        runs.path.clocks().mine()[path_type::order_row].ran(1);
        j->print.fetch_add(print_of(end, index), std::memory_order_relaxed);
        context c = runs.context_at({runs.seed, j->epoch, end, index}, *j);
        failure f;
        f.slot = gap;
        f.position = end;
        f.index = index;
        f.number = j->next_number(gap);
        f.tries = 0;
        task<bool> running = settling<Runs>::run_or_settle(&runs, j, &c, std::move(f));
        filled = co_await running;
      }
      std::erase(j->gaps, gap);
      if (filled) {
        j->fills.emplace_back(gap, end);
        // It counts where it stands.
        const std::uint64_t place = j->first + gap, index = runs.standing_at(*j, gap).index;
        j->print.fetch_add(print_of(place, index) - print_of(place, left_out) - print_of(end, index),
                           std::memory_order_relaxed);
      } else {
        unfilled.push_back(gap);
      }
    }
    j->gaps.swap(unfilled);
    for (std::uint64_t slot = own; slot < j->count; ++slot) j->gaps.push_back(static_cast<std::size_t>(slot));
    self->moved_ = runs.plan.ordered() - end;
    j->moved = self->moved_;
    runs.note_moved(*j, self->moved_);
    bool short_one = j->gaps.size() == j->count;
    if constexpr (batched) {
      short_one = short_one || (runs.path.template stage<types::batching>().drop_last() && !j->gaps.empty());
    }
    if (short_one && j->state != batch_state::lost) j->state = batch_state::past_the_end;
  }
  /// Slots from `own` on belong to batches before: neither their samples nor their failures count here.
  void leave_to_others(job_type& j, std::uint64_t own) {
    if (own == j.count) return;
    std::erase_if(j.failures,
                  [&](const failure& f) { return f.slot >= own && f.slot != failure::whole_batch; });
    std::erase_if(j.gaps, [&](std::size_t slot) { return slot >= own; });
    // What those were counted as is not known any more: all is counted anew.
    std::uint64_t print = 0;
    for (std::uint64_t slot = 0; slot < own; ++slot) {
      const bool gap = std::find(j.gaps.begin(), j.gaps.end(), slot) != j.gaps.end();
      print += print_of(j.first + slot, gap ? left_out : runs_.standing_at(j, slot).index);
    }
    j.print.store(print, std::memory_order_relaxed);
    if (j.unlisted && j.unlisted->slot >= own && j.unlisted->slot != failure::whole_batch) j.unlisted.reset();
    const bool lost = j.unlisted || std::any_of(j.failures.begin(), j.failures.end(), [](const failure& f) {
                        return f.action == error_action::fail;
                      });
    j.state = lost ? batch_state::lost : batch_state::making;
  }

  Runs& runs_;
  Finishing& finishing_;

  std::mutex mutex_;  // of whose turn it is
  std::uint64_t turn_ = 0;
  bool busy_ = false;
  std::vector<job_type*> waiting_;
  // Of the batch whose turn it is.
  std::uint64_t moved_ = 0;  // samples of its epoch that stand where others failed
};

}  // namespace wick::detail

// ==== wick/run/sequencer.hpp
/// \file
/// The reorder ring: things are finished in any order and taken in theirs.

namespace wick::detail {

/// Items numbered 0, 1, 2, … are published once each by any thread and taken in order by one consumer. At
/// most `capacity` numbers may be under way at a time: who hands out numbers keeps to that (taken() +
/// capacity).
///
/// What was written before publish is visible to the consumer; what it did before it took a number must be
/// made visible to who publishes `capacity` numbers later by whoever hands those out. The consumer may move
/// from thread to thread if something orders its calls, as awaiting does. The items are not owned; they must
/// not be null.
///
/// Each slot is one word: empty, "the consumer waits here", or the item. Publishing is one exchange that also
/// tells whether somebody must be woken; nothing of the sequencer is touched after that, so the consumer may
/// destroy it as soon as it has the last item.
template <class T, class Atomics = detail::std_atomics, class Executor = executor>
class sequencer {
  using slot = typename Atomics::template atomic<std::uintptr_t>;

 public:
  explicit sequencer(std::size_t capacity)
      : mask_(std::bit_ceil(capacity < 1 ? std::size_t{1} : capacity) - 1), slots_(new slot[mask_ + 1]()) {}

  std::size_t capacity() const noexcept { return mask_ + 1; }

  /// Any thread, once a number.
  void publish(std::uint64_t number, T* item) noexcept {
    const std::uintptr_t before =
        slots_[number & mask_].exchange(reinterpret_cast<std::uintptr_t>(item), std::memory_order_acq_rel);
    if (before == empty) return;
    // The consumer waits for this very number, and stays until it is told.
    if (before == waits_asleep)
      awake_.set();
    else
      reinterpret_cast<awaiter*>(before & ~std::uintptr_t{1})->wake();
  }

  /// The next number to be taken. Consumer.
  std::uint64_t taken() const noexcept { return next_; }

  /// The next item if it is there, else null. Consumer.
  T* try_take() noexcept {
    slot& place = slots_[next_ & mask_];
    const std::uintptr_t item = place.load(std::memory_order_acquire);
    if (item == empty) return nullptr;
    place.store(empty, std::memory_order_relaxed);
    ++next_;
    return reinterpret_cast<T*>(item);
  }

  /// Sleeps until the next item is there. Consumer; not on a worker.
  T* take() noexcept {
    std::uintptr_t seen = empty;
    awake_.clear();
    if (slots_[next_ & mask_].compare_exchange_strong(seen, waits_asleep, std::memory_order_acq_rel))
      awake_.wait();
    return try_take();
  }

  /// `T* item = co_await s.next(on);` Consumer; continues on `on`.
  class [[nodiscard]] awaiter : job {
   public:
    awaiter(sequencer& s, Executor& on) noexcept : sequencer_(s), on_(on) {}
    bool await_ready() const noexcept {
      return sequencer_.slots_[sequencer_.next_ & sequencer_.mask_].load(std::memory_order_acquire) != empty;
    }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> handle) noexcept {
      handle_ = handle;
      execute = [](job* j) noexcept { detail::resume(static_cast<awaiter*>(j)->handle_); };
      std::uintptr_t seen = empty;
      return sequencer_.slots_[sequencer_.next_ & sequencer_.mask_].compare_exchange_strong(
          seen, reinterpret_cast<std::uintptr_t>(this) | 1, std::memory_order_acq_rel);
    }
    T* await_resume() noexcept { return sequencer_.try_take(); }

   private:
    friend class sequencer;
    void wake() noexcept { on_.post(this); }
    sequencer& sequencer_;
    Executor& on_;
    std::coroutine_handle<> handle_;
  };
  awaiter next(Executor& on) noexcept { return awaiter(*this, on); }

 private:
  static_assert(alignof(T) > 1 && alignof(awaiter) > 1, "wick: the lowest bit of a pointer must be free");
  static constexpr std::uintptr_t empty = 0,
                                  waits_asleep = 1;  // an awaiter's address with the lowest bit set: waits

  const std::size_t mask_;
  const std::unique_ptr<slot[]> slots_;
  std::uint64_t next_ = 0;
  detail::basic_wake_flag<Atomics> awake_;
};

}  // namespace wick::detail

namespace wick::detail {

/// Called for each batch by whoever ended its last sample; publishes it in the end. Batches that have nothing
/// to do with each other are finished in any order, but compaction goes by their numbers: what fills a gap
/// depends on all failures of the epoch before it.
template <class Runs>
class finishing {
  using types = typename Runs::types;
  using path_type = typename Runs::path_type;
  using job_type = typename Runs::job_type;
  using value = typename types::value;
  static constexpr bool batched = types::batched;

 public:
  /// Where nothing comes behind batch(), what leaves is made by the consumer, in make(): what a worker makes
  /// and the consumer drops goes from processor to processor, its memory to another thread's allocator, for
  /// each batch.
  static constexpr bool made_by_consumer = batched && types::batching + 1 == types::size;

  finishing(Runs& runs, sequencer<job_type>& done, std::shared_ptr<slab_pool> pool, bool with_content)
      : runs_(runs),
        done_(done),
        pool_(std::move(pool)),
        with_content_(with_content),
        compact_(batched && runs.policy.options().compact),
        compaction_(runs, *this, done.capacity()) {}

  /// Makes room for the samples of a batch. `moved`: of the epoch's samples, by the batches before, where
  /// that is known.
  void begin(job_type& j, std::optional<std::uint64_t> moved) {
    j.forget();
    j.moved = moved.value_or(0);
    j.moved_before = moved || j.number != 0 ? moved : std::uint64_t{0};
    begin_columns(j);
  }

  /// Nothing of the loader may be touched after this: the consumer may have taken the batch and destroyed it.
  /// What follows runs stages, so it needs a thread with a slot: a consumer that drops its batches, or that
  /// opens one which workers have ended before it is done with that, has none.
  void run(job_type& j) noexcept {
    if (runs_.on.this_slot() == executor::none) {
      try {
        return resume(run_on_worker(this, &j).handle);
      } catch (...) {  // here, then, in a slot that helpers have
        const executor::helper slot(runs_.on);
        if constexpr (batched) lose(j);
        return end(j);
      }
    }
    end(j);
  }

  /// The consumer, for a batch that it has taken.
  static void make(job_type& j) noexcept {
    if (j.state != batch_state::whole) return;
    try {
      j.value.emplace(j.columns.finish(j.rows()));
    } catch (...) {
      lose(j);
    }
  }

 private:
  void end(job_type& j) noexcept {
    if (compact_)
      compaction_.enter(j);
    else
      finish(j);
  }
  static void lose(job_type& j) noexcept { Runs::lose(j); }

  static detached run_on_worker(finishing* self, job_type* j) {
    co_await self->runs_.on.schedule();
    self->run(*j);
  }

  // Always of the full size, so that a short last batch uses the same memory as the others.
  void begin_columns(job_type& j) {
    if constexpr (batched) {
      j.columns.begin(runs_.plan.slots(), runs_.path.template stage<types::batching>().order(), pool_);
    } else {
      j.columns.begin(j.count, layout::channels_last, pool_);
    }
  }

  // ---- judging ----

  friend class compaction<Runs, finishing>;
  void finish(job_type& j) noexcept {
    try {
      if (judge(j)) return resume(remake(this, &j).handle);
    } catch (...) {
      lose(j);
    }
    conclude(j);
  }

  bool deliverable(const job_type& j) const noexcept {
    if (j.cancelled.load(std::memory_order_relaxed)) return false;
    return !batched || (j.state != batch_state::lost &&
                        j.state != batch_state::past_the_end);  // without batch() each sample is on its own
  }

  /// Whether its samples have to be made again: one that failed had said what shape they have.
  bool judge(job_type& j) {
    if constexpr (batched) {
      if (!deliverable(j)) return false;
      std::sort(j.gaps.begin(), j.gaps.end());
      if (auto m = j.columns.first_misfit(static_cast<std::size_t>(j.count), j.gaps)) {
        failure f = runs_.standing_at(j, m->slot);
        f.number = j.next_number(m->slot);
        f.stage = static_cast<std::uint32_t>(types::batching);
        f.cause = std::make_exception_ptr(misshapen(m->text));
        j.note(std::move(f));
      } else if (j.columns.stale(j.gaps)) {
        if (j.state != batch_state::remaking) return true;
        throw error("its samples have other shapes each time they are made");
      }
    }
    return false;
  }

  static detached remake(finishing* self, job_type* j) {
    j->state = batch_state::remaking;
    try {
      self->begin_columns(*j);
      for (std::uint64_t slot = 0; slot < j->count && j->state != batch_state::lost; ++slot) {
        if (std::binary_search(j->gaps.begin(), j->gaps.end(), slot)) continue;
        failure f = self->runs_.standing_at(*j, slot);
        f.number = j->next_number(slot);
        context c = self->runs_.context_at({self->runs_.seed, j->epoch, f.position, f.index}, *j);
        f.tries = 0;
        task<bool> running = settling<Runs>::run_or_fail(&self->runs_, j, &c, std::move(f));
        co_await running;
      }
    } catch (...) {
      lose(*j);
    }
    self->finish(*j);
  }

  // ---- the batch stages ----

  void conclude(job_type& j) noexcept {
    if constexpr (types::batches_suspend) {
      try {
        if (deliverable(j)) return resume(conclude_async(this, &j).handle);
      } catch (...) {
        lose(j);
      }
    }
    context c = batch_context(j);
    c.enter(static_cast<std::uint32_t>(types::batching));
    try {
      if (!deliverable(j)) {
        j.columns.drop();
      } else if constexpr (types::batches_suspend) {
        // conclude_async does the rest
      } else if constexpr (made_by_consumer) {
        close(j);
        j.state = batch_state::whole;
      } else if constexpr (batched) {
        close(j);
        j.value.emplace(runs_.path.template pass_batch<types::batching + 1>(j.columns.finish(j.rows()), c));
      } else {
        j.value.emplace(j.columns.finish(j.count));
      }
    } catch (...) {
      j.fail_whole(c.stage(), std::current_exception());
    }
    c.give_back();
    done_.publish(j.sequence, &j);
  }

  static detached conclude_async(finishing* self, job_type* j) {
    context c = self->batch_context(*j);
    c.enter(static_cast<std::uint32_t>(types::batching));
    try {
      self->close(*j);
      auto batch = j->columns.finish(j->rows());
      task<value> rest =
          path_type::template pass_batch_async<types::batching + 1>(&self->runs_.path, std::move(batch), &c);
      value v = co_await rest;
      j->value.emplace(std::move(v));
    } catch (...) {
      j->fail_whole(c.stage(), std::current_exception());
    }
    c.give_back();
    self->done_.publish(j->sequence, j);
  }

  context batch_context(const job_type& j) noexcept {
    return runs_.context_at({runs_.seed, j.epoch, j.first, j.number}, j);
  }

  /// What was delivered is counted, and the gaps are gone.
  void close(job_type& j) {
    if (j.rows() == 0) return begin_columns(j);  // as a batch that never had a sample
    fingerprint_hash shape;
    j.columns.describe(shape);
    std::uint64_t print = shape.value() * j.rows();
    if (with_content_) {
      for (std::uint64_t slot = 0, gap = 0; slot < j.count; ++slot) {
        if (gap < j.gaps.size() && j.gaps[gap] == slot) {
          ++gap;
        } else {
          print += j.columns.content(static_cast<std::size_t>(slot), j.first + slot);
        }
      }
    }
    j.print.fetch_add(print, std::memory_order_relaxed);
    if (!j.gaps.empty()) j.columns.close(j.gaps, static_cast<std::size_t>(j.count));
  }

  Runs& runs_;
  sequencer<job_type>& done_;
  const std::shared_ptr<slab_pool> pool_;
  const bool with_content_, compact_;
  compaction<Runs, finishing> compaction_;
};

}  // namespace wick::detail

// ==== wick/loader/detail/open_batches.hpp
/// \file
/// The batches that a loader is ahead of its consumer, and how workers claim samples of them.

namespace wick::detail {

/// A ring of batches, oldest first. One thread at a time opens them, in order; all workers claim runs of
/// positions from the oldest that has any left, without a lock. Whoever opens must know that the place of the
/// batch is free.
template <class Job>
class open_batches {
 public:
  /// What was claimed; `job` is null when nothing was left.
  struct run {
    Job* job = nullptr;
    std::uint64_t from = 0, count = 0;
  };

  explicit open_batches(std::size_t most)
      : ring_(new Job[std::bit_ceil(most)]), mask_(std::bit_ceil(most) - 1) {}

  /// The place of the batch with this sequence number.
  Job& at(std::uint64_t sequence) noexcept { return ring_[sequence & mask_]; }
  /// No batch before this one was in its place.
  bool is_first_in_place(std::uint64_t sequence) const noexcept { return sequence <= mask_; }

  /// How many were opened so far. For the thread that opens, and those that synchronize with it.
  std::uint64_t count() const noexcept { return opened_.load(std::memory_order_relaxed); }
  /// The batch number count() is ready to be claimed from.
  void publish() noexcept { opened_.store(count() + 1, std::memory_order_release); }

  /// Any thread. Samples that nobody has claimed.
  std::uint64_t unclaimed() const noexcept {
    std::uint64_t samples = 0;
    const std::uint64_t opened = opened_.load(std::memory_order_acquire);
    for (std::uint64_t s = frontier_.load(std::memory_order_acquire); s < opened; ++s) {
      samples += ring_[s & mask_].unclaimed();
    }
    return samples;
  }
  /// Any thread. Whether there are more of them than `length`, as far as the two oldest batches tell.
  bool has_more_than(std::uint64_t length) const noexcept {
    const std::uint64_t opened = opened_.load(std::memory_order_acquire);
    const std::uint64_t s = frontier_.load(std::memory_order_acquire);
    return s + 1 < opened || (s < opened && ring_[s & mask_].unclaimed() > length);
  }

  /// Any thread. Claims up to `most` samples of the oldest batch that has any left; near its end, up to
  /// `at_end(another batch follows)`.
  template <class AtEnd>
  run claim(std::uint64_t most, AtEnd at_end) noexcept {
    for (;;) {
      const std::uint64_t s = frontier_.load(std::memory_order_acquire);
      const std::uint64_t opened = opened_.load(std::memory_order_acquire);
      if (s >= opened) return {};
      Job& j = ring_[s & mask_];
      const auto claimed = j.claim(s, most, at_end(s + 1 < opened));
      if (claimed.count != 0) return {&j, claimed.from, claimed.count};
      std::uint64_t expected = s;
      frontier_.compare_exchange_strong(expected, s + 1, std::memory_order_acq_rel);
    }
  }

 private:
  std::unique_ptr<Job[]> ring_;
  const std::uint64_t mask_;
  alignas(64) std::atomic<std::uint64_t> opened_{0};
  alignas(64) std::atomic<std::uint64_t> frontier_{0};  // the oldest batch that may have unclaimed positions
};

}  // namespace wick::detail

// ==== wick/loader/detail/pump_crew.hpp
/// \file
/// Who runs a loader's samples: jobs on the executor, as many at a time as are of use.

namespace wick::detail {

/// A pump is a job that calls `Owner::run_pump` on a worker; it goes on by posting itself, or is put away.
/// There are as many as workers. A consumer that helps (see loader) counts as one of them as long as it takes
/// up a processor, since three threads on two processors only take turns, and their caches with them.
///
/// start, put_away and wait_all_away under the owner's mutex, the rest on any thread.
template <class Owner>
class pump_crew {
 public:
  struct pump : job {
    Owner* of = nullptr;
  };

  pump_crew(Owner& of, executor& on)
      : on_(on),
        pumps_(on.workers()),
        beside_consumer_(std::clamp<std::size_t>(available_cpus(), 2, pumps_.size() + 1) - 1) {
    free_.reserve(pumps_.size());
    for (pump& p : pumps_) {
      p.of = &of;
      p.execute = [](job* j) noexcept { static_cast<pump*>(j)->of->run_pump(static_cast<pump*>(j)); };
      free_.push_back(&p);
    }
    idle_.store(free_.size(), std::memory_order_relaxed);
  }
  pump_crew(const pump_crew&) = delete;
  pump_crew& operator=(const pump_crew&) = delete;

  /// One more, if may_start(): it starts the next.
  void start() noexcept {
    pump* const p = free_.back();
    free_.pop_back();
    idle_.store(free_.size(), std::memory_order_relaxed);
    on_.post(p);
  }
  void put_away(pump* p) noexcept {
    free_.push_back(p);
    idle_.store(free_.size(), std::memory_order_relaxed);
    if (working() == 0) all_away_.notify_all();
  }
  void wait_all_away(std::unique_lock<std::mutex>& lock) {
    all_away_.wait(lock, [&] { return working() == 0; });
  }

  /// A hint: false when all are at work, or as many as the consumer leaves room for.
  bool may_start() const noexcept {
    const std::size_t idle = idle_.load(std::memory_order_relaxed);
    return idle != 0 && (pumps_.size() - idle < beside_consumer_ || !consumer_helps());
  }
  /// A hint: more are at work than the consumer leaves room for.
  bool too_many() const noexcept {
    return pumps_.size() - idle_.load(std::memory_order_relaxed) > beside_consumer_ && consumer_helps();
  }
  /// It has run samples just now, and will again unless something else keeps it.
  bool consumer_helps() const noexcept {
    // Signed: two processors' clocks may differ by a little.
    return static_cast<std::int64_t>(now_ticks() - helped_.load(std::memory_order_relaxed)) < away_ticks;
  }
  /// Told by the consumer while it runs samples.
  void helped() noexcept { helped_.store(now_ticks(), std::memory_order_relaxed); }
  /// By the consumer, before it sleeps, under the mutex.
  void helps_no_more() noexcept { helped_.store(0, std::memory_order_relaxed); }
  /// Asked by the consumer. Whatever the time: somebody may have relied on it.
  bool has_helped() const noexcept { return helped_.load(std::memory_order_relaxed) != 0; }

 private:
  static constexpr std::int64_t away_ticks = 500'000;  // about 200 µs

  std::size_t working() const noexcept { return pumps_.size() - free_.size(); }

  executor& on_;
  std::vector<pump> pumps_;
  const std::size_t beside_consumer_;
  std::vector<pump*> free_;
  condition all_away_;
  alignas(64) std::atomic<std::size_t> idle_{0};
  alignas(64) std::atomic<std::uint64_t> helped_{0};
};

}  // namespace wick::detail

// ==== wick/loader/detail/tokens.hpp
/// \file
/// How many samples may be under way at a time, when samples suspend.

namespace wick::detail {

/// Taken by many at once, never waited for: who finds none goes away, and who gives back the first one is
/// told so, to fetch somebody. Any thread.
class tokens {
 public:
  explicit tokens(std::uint64_t limit) noexcept : limit_(limit) {}

  /// Up to `most` of those that are left.
  std::uint64_t take(std::uint64_t most) noexcept {
    std::uint64_t taken = taken_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint64_t n = std::min(most, limit_ - taken);
      if (n == 0 || taken_.compare_exchange_weak(taken, taken + n, std::memory_order_acq_rel,
                                                 std::memory_order_acquire)) {
        return n;
      }
    }
  }
  /// True when there was none before.
  bool give(std::uint64_t n) noexcept { return taken_.fetch_sub(n, std::memory_order_acq_rel) == limit_; }
  bool any() const noexcept { return taken_.load(std::memory_order_acquire) < limit_; }

 private:
  const std::uint64_t limit_;
  alignas(64) std::atomic<std::uint64_t> taken_{0};
};

}  // namespace wick::detail

// ==== wick/sample/detail/source_size.hpp
/// \file
/// Notices when a source has another size than all was planned for.

namespace wick::detail {

/// Asked by the consumer.
template <class Source>
class source_size {
 public:
  explicit source_size(const Source& of) : of_(of), planned_(of.size()) {}
  std::uint64_t planned() const noexcept { return planned_; }
  std::uint64_t now() const { return of_.size(); }
  /// \throws wick::error when it has changed, and what the source's size() throws
  void require_same() const {
    const std::uint64_t found = now();
    if (found == planned_) return;
    throw error("loader: the source had " + std::to_string(planned_) +
                " samples when this loader was made, and has " + std::to_string(found) +
                " now; make a new loader for data of another size");
  }
  bool changed() const noexcept {
    try {
      return now() != planned_;
    } catch (...) {
      return true;
    }
  }

 private:
  const Source& of_;
  const std::uint64_t planned_;
};

}  // namespace wick::detail

namespace wick::detail {

template <class Pipeline>
class feed;

/// One consumer. Everything public is called by it, except where it says "worker".
///
/// The control mutex guards opening batches and starting pumps and
/// is taken about once a batch; claiming and finishing samples takes no lock. A pump is a job on the executor
/// that claims runs of positions from the oldest batch that has any, until there are none; there are at most
/// as many as workers.
template <class Source, class... S>
class feed<pipeline<Source, S...>> {
  using runs_type = sample_runs<pipeline<Source, S...>>;
  using path_type = typename runs_type::path_type;
  using types = typename path_type::types;
  using job_type = typename runs_type::job_type;

 public:
  using value = typename types::value;
  using delivered = typename types::delivered;
  static constexpr bool batched = types::batched;
  /// Of the number of stages: the row behind which the phases belong.
  static constexpr std::size_t batching = types::batching;
  static constexpr std::size_t stages = path_type::stages, order_row = path_type::order_row,
                               phase_row = path_type::phase_row;

  feed(pipeline<Source, S...> what, const loader_options& options, executor& on)
      : runs_(std::move(what), options, on),
        on_(on),
        few_(options.prefetch != 0 ? options.prefetch
             : on.workers() < 8    ? 4
                                   : 8),
        most_(options.prefetch != 0 ? options.prefetch : 8),
        tokens_(options.in_flight != 0 ? options.in_flight : 4 * on.workers() + 2 * on.io().threads() + 16),
        run_ahead_(options.prefetch_next_epoch),
        done_(most_),
        pool_(std::make_shared<slab_pool>(runs_.path.batch_memory(), (most_ + 2) * 8, few_ + 1, most_ + 1)),
        finishing_(runs_, done_, pool_, options.content_fingerprint),
        ahead_(most_),
        claimed_(runs_, *this),
        crew_(*this, on) {}
  feed(const feed&) = delete;
  feed& operator=(const feed&) = delete;

  /// Prompt: what was not begun is not begun, what waits is asked to stop, what runs is waited for.
  ~feed() {
    if (on_.forked()) return;  // the child of a fork has no workers: nobody would ever finish anything
    drain(nullptr);
    std::unique_lock lock(mutex_);
    crew_.wait_all_away(lock);
  }

  const auto& plan() const noexcept { return runs_.plan; }
  std::uint64_t seed() const noexcept { return runs_.seed; }
  const Source& origin() const noexcept { return runs_.path.source(); }
  const source_size<Source>& size() const noexcept { return size_; }
  runs_type& runs() noexcept { return runs_; }
  const runs_type& runs() const noexcept { return runs_; }
  path_type& path() noexcept { return runs_.path; }
  const path_type& path() const noexcept { return runs_.path; }
  const slab_pool& pool() const noexcept { return *pool_; }
  const byte_budget& budget() const noexcept { return runs_.budget; }
  executor& on() noexcept { return on_; }

  /// Batches come from (epoch, number) on, `moved` of the epoch's samples having been moved to those before.
  /// If that is what comes next anyway, nothing is lost.
  /// Not on a worker unless leaves_for() is false.
  void seek(std::uint64_t epoch, std::uint64_t number, std::uint64_t moved) {
    if (left_ || !comes_next(epoch, number)) {
      // Another epoch than the foreseen one. Whoever asks for the same again will do so the next time too.
      if (started_) {
        drain(std::make_unique<stop_source>());
        left_ = false;
        epoch_step_ = epoch == current_epoch_ ? 0 : 1;
      }
      next_out_ = next_in_ = {epoch, number};
      ++pass_;
      moved_ = moved;
      started_ = true;
    }
    current_epoch_ = epoch;
    to_open_ = runs_.plan.batches() - number - (ahead_.count() - done_.taken());
    const auto lock = lock_briefly(mutex_);
    open_more();
  }

  /// Whether seek() to there drops batches that are under way, and waits for those that have begun.
  bool leaves_for(std::uint64_t epoch, std::uint64_t number) const noexcept {
    return started_ && (left_ || !comes_next(epoch, number));
  }
  /// Begins to drop them, without waiting. Nothing is taken before the next seek().
  void leave() noexcept {
    left_ = true;
    cancel();
  }
  /// Then seek() waits no more.
  task<void> left_async() {
    while (done_.taken() < ahead_.count()) {
      job_type* const job = co_await done_.next(on_);
      drop(*job);
    }
  }

  /// The next batch if it is finished, else null. Keep it until release().
  job_type* try_take() noexcept {
    job_type* const j = done_.try_take();
    if (j != nullptr) fetch_lines(*j);
    return j;
  }
  /// Sleeps until it is finished.
  /// \throws std::bad_alloc, and wick::error when the source has another size; nothing is lost then
  job_type* take() {
    before_waiting();
    return done_.take();
  }
  auto next_async() {
    before_waiting();
    return done_.next(on_);
  }
  /// Before what is in a job that was taken is looked at.
  static void make(job_type* j) noexcept {
    if constexpr (finishing<runs_type>::made_by_consumer) finishing<runs_type>::make(*j);
  }
  /// The batch was moved out of its job: its place in the ring is free.
  void release(job_type* j) noexcept {
    j->value.reset();
    advance(next_out_);
    const auto lock = lock_briefly(mutex_);
    try {
      open_more();
    } catch (...) {  // no memory: who waits for a batch that was not opened tries again
    }
  }

  /// Runs a few samples on the calling thread (which has a slot), while it would only wait. False: none left.
  bool help() noexcept {
    crew_.helped();
    return run_some();
  }
  /// A thread that waits may take part when samples are this short: it must not be late when its batch is
  /// ready.
  bool short_samples() const noexcept { return claimed_.pace().short_samples(); }

 private:
  friend class pump_crew<feed>;
  friend class claimed_runs<runs_type, feed>;
  using pump = typename pump_crew<feed>::pump;
  struct cursor {
    std::uint64_t epoch = 0, number = 0;
  };

  // ---- opening batches and starting pumps (consumer and workers, under the mutex) ----

  void advance(cursor& c) const noexcept {
    if (++c.number == runs_.plan.batches()) c = {c.epoch + epoch_step_, 0};
  }

  /// Batches ahead. Four small ones are made in no time, and used up while a thread is interrupted for less
  /// than a millisecond: there are more where that costs little memory.
  std::size_t window() const noexcept {
    const std::size_t bytes = pool_->bytes_asked();
    return bytes == 0 ? few_ : slab_pool::cheap_blocks(bytes, few_ + 1, most_ + 1) - 1;
  }

  void open_more() {
    const std::uint64_t end = done_.taken() + window();
    while (ahead_.count() < end) {
      if (next_in_.number == 0 && size_.changed()) break;  // the next epoch()'s to say
      if (!run_ahead_ && to_open_ == 0) break;
      open(ahead_.at(ahead_.count()), ahead_.count());
      if (!run_ahead_) --to_open_;
      advance(next_in_);
      ahead_.publish();
    }
    start_pump();
  }

  void open(job_type& j, std::uint64_t sequence) {
    const auto mine = runs_.plan.slice(next_in_.number);
    j.sequence = sequence;
    j.number = next_in_.number;
    j.first = mine.first;
    j.count = mine.count;
    if (ahead_.is_first_in_place(sequence) || j.epoch != next_in_.epoch)
      j.order = runs_.plan.order(runs_.seed, next_in_.epoch);
    j.epoch = next_in_.epoch;
    if (j.number == 0) ++pass_;
    j.pass = pass_;
    finishing_.begin(j, moved_);
    moved_.reset();
    j.unfinished.store(j.count + 1, std::memory_order_relaxed);  // one for this function
    j.offer();
    finish_some(j, 1);
  }

  bool may_claim() const noexcept {
    if constexpr (types::samples_suspend)
      return tokens_.any();
    else
      return true;
  }
  /// \throws std::bad_alloc or wick::error when no batch could be begun that could be waited for
  void before_waiting() {
    stop_helping();
    if (ahead_.count() != done_.taken()) return;
    const auto lock = lock_briefly(mutex_);
    open_more();
    if (ahead_.count() != done_.taken()) return;
    size_.require_same();
    throw error(
        "loader: the source's size changes while an epoch is begun; see the concept source for when it may");
  }
  /// Before the consumer sleeps: what was left for it to run is left to others now.
  void stop_helping() noexcept {
    if (!crew_.has_helped()) return;
    const auto lock = lock_briefly(mutex_);
    crew_.helps_no_more();
    start_pump();
  }
  void start_pump() noexcept {
    if (!crew_.may_start()) return;  // before anything that workers are writing is looked at
    const std::uint64_t left = ahead_.unclaimed();
    if (left == 0 || !may_claim()) return;
    if (crew_.consumer_helps() && claimed_.pace().not_worth_a_wake(left))
      return;  // it takes them when it comes for them
    crew_.start();
  }
  /// True when the pump was put away; false when there is work for it after all.
  bool retire(pump* p) noexcept {
    const auto lock = lock_briefly(mutex_);
    if (!crew_.too_many() && may_claim() && ahead_.unclaimed() != 0) return false;
    crew_.put_away(p);
    return true;
  }

  bool comes_next(std::uint64_t epoch, std::uint64_t number) const noexcept {
    return started_ && next_out_.epoch == epoch && next_out_.number == number;
  }

  /// Leaves all batches that are under way: unclaimed samples are not begun, the others end. What comes
  /// afterwards is stopped by `next_stop`.
  void drain(std::unique_ptr<stop_source> next_stop) noexcept {
    if (cancel()) {
      while (done_.taken() < ahead_.count()) drop(*done_.take());
    }
    if (next_stop == nullptr || !runs_.stop->stop_requested()) return;
    // The callbacks and tokens of the old source are gone with the samples that had them.
    const auto lock = lock_briefly(mutex_);
    runs_.stop = std::move(next_stop);
  }
  /// False when there are none.
  bool cancel() noexcept {
    std::uint64_t opened;
    {
      const auto lock = lock_briefly(mutex_);
      opened = ahead_.count();
    }
    if (done_.taken() == opened) return false;
    runs_.stop->request_stop();
    for (std::uint64_t s = done_.taken(); s < opened; ++s) {
      job_type& j = ahead_.at(s);
      j.cancelled.store(true, std::memory_order_relaxed);
      finish_some(j, j.claim_rest());
    }
    return true;
  }
  static void drop(job_type& j) noexcept {
    j.value.reset();
    j.columns.drop();
  }

  // ---- workers ----

  void run_pump(pump* p) noexcept {
    std::uint64_t until = 0;
    do {
      if (const std::uint64_t now = now_ticks(); now >= until) {
        if (until != 0) {
          if (crew_.too_many()) break;
          if (on_.job_waits()) return on_.post(p);  // others' turn: samples that can go on, other loaders
        }
        until = now + 2 * pace::run_ticks;
        if (crew_.may_start() && ahead_.has_more_than(claimed_.pace().run_length())) {
          const auto lock = lock_briefly(mutex_);
          start_pump();
        }
      }
    } while (may_claim() && run_some());
    if (!retire(p)) on_.post(p);
  }

  /// Claims one run from the oldest batch that has any left, and runs it.
  bool run_some() noexcept {
    const std::uint64_t most = take_tokens(claimed_.pace().run_length());
    if (most == 0) return false;
    const auto claimed = ahead_.claim(most, [&](bool another_follows) {
      return types::samples_suspend ? most : claimed_.pace().run_length_at_end(another_follows);
    });
    give_tokens(most - claimed.count);
    if (claimed.job == nullptr) return false;
    fetch_lines(*claimed.job);
    claimed_.run(*claimed.job, claimed.from, claimed.count);
    return true;
  }

  /// Of a batch whose samples are short they would be waited for one by one.
  void fetch_lines(const job_type& j) const noexcept {
    if (!short_samples()) return;
    fetch_to_write(&j, sizeof j);
    fetch_to_write(pool_.get(), sizeof *pool_);
  }
  /// Up to `most` of the samples that may be under way.
  std::uint64_t take_tokens(std::uint64_t most) noexcept {
    if constexpr (types::samples_suspend)
      return tokens_.take(most);
    else
      return most;
  }
  /// Pumps that found all taken have retired: whoever gives the first back starts one.
  void give_tokens(std::uint64_t n) noexcept {
    if constexpr (types::samples_suspend) {
      if (n == 0 || !tokens_.give(n)) return;
      const auto lock = lock_briefly(mutex_);
      start_pump();
    }
  }

  /// Nothing of the loader may be touched after this: the consumer may have taken the batch and destroyed it.
  void finish_some(job_type& j, std::uint64_t count) noexcept {
    if (count == 0 || j.unfinished.fetch_sub(count, std::memory_order_acq_rel) != count) return;
    finishing_.run(j);
  }

  runs_type runs_;
  const source_size<Source> size_{origin()};
  executor& on_;
  const std::size_t few_, most_;  // batches ahead, whatever they take and where they take little
  tokens tokens_;                 // of samples that may be under way at a time
  const bool run_ahead_;

  // the consumer's
  bool started_ = false;
  bool left_ = false;  // what is under way is being dropped
  std::uint64_t epoch_step_ = 1, current_epoch_ = 0;
  std::uint32_t pass_ = 0;     // what batches are opened of
  std::uint64_t to_open_ = 0;  // of the epoch asked for, when the next is not begun ahead
  std::optional<std::uint64_t> moved_ =
      0;                       // before the batch that is opened next, where only the consumer knows
  cursor next_out_, next_in_;  // next_in_ and epoch_step_ also by open_more, which the consumer alone calls

  sequencer<job_type> done_;
  std::shared_ptr<slab_pool> pool_;
  finishing<runs_type> finishing_;

  open_batches<job_type> ahead_;
  claimed_runs<runs_type, feed> claimed_;

  std::mutex mutex_;
  pump_crew<feed> crew_;
};

}  // namespace wick::detail

// ==== wick/loader/detail/sample_delivery.hpp
/// \file
/// Handing over sample by sample, for pipelines without batch(): a batch is a group that only the loader
/// sees.

namespace wick::detail {

template <class Feed>
class sample_delivery {
 public:
  using value_type = typename Feed::delivered;

  /// Of the group that is taken next, `sample` were handed over before.
  void begin(std::uint64_t sample, std::uint64_t) noexcept {
    group_.clear();
    next_ = 0;
    skip_ = sample;
  }
  static constexpr std::uint64_t moved() noexcept { return 0; }
  /// Where the next sample stands: in the group being handed over, which counts as taken, or in the one after
  /// it.
  void write(loader_state& to) const noexcept {
    to.sample = skip_;
    if (!under_way()) return;
    --to.batch;
    to.sample = next_;
  }
  /// Whether the group has samples left.
  bool under_way() const noexcept { return next_ < group_.size(); }

  /// The group is handed over from now on, by next().
  template <class Job>
  void take(Feed& feed, Job* job, delivery_books& books) {
    taken_job<Feed, Job> taken(feed, job);
    tell_in_order(feed, *taken, told_);
    next_ = static_cast<std::size_t>(std::exchange(skip_, 0));
    next_told_ = 0;
    number_ = taken->number;
    epoch_ = taken->epoch;
    group_.clear();
    print(feed, *taken);
    if (taken->value) {
      group_.swap(*taken->value);
      taken->columns.reuse(std::move(*taken->value));
    }
    group_.resize(static_cast<std::size_t>(taken->count));
    if (told_.empty()) books.account.add(epoch_, 0, taken->count, 0, 0, told_);
    taken.release();
    next_ = std::min(next_, group_.size());
    while (next_told_ < told_.size() && told_[next_told_].slot < next_) ++next_told_;
  }
  /// The next sample of the group; nothing when it has no more.
  /// \throws what it failed with, where on_error says nothing else; too_many_errors
  std::optional<value_type> next(Feed& feed, delivery_books& books) {
    while (under_way()) {
      const std::size_t slot = next_++;
      if (!told_.empty()) tell(feed, slot, books);  // else take() has counted all of them
      books.prints.add({prints_[slot], group_[slot] ? 1u : 0u, 0});
      if (!group_[slot]) continue;
      books.report.took(1);
      return std::exchange(group_[slot], std::nullopt);
    }
    return std::nullopt;
  }

 private:
  /// What each sample of a group counts as in the fingerprint.
  template <class Job>
  void print(const Feed& feed, const Job& job) {
    prints_.resize(static_cast<std::size_t>(job.count));
    feed.plan().indexes(job.order, job.first, job.count, prints_.data());
    for (const failure& f : job.failures) {
      if (f.slot == failure::whole_batch) continue;
      std::uint64_t& index = prints_[static_cast<std::size_t>(f.slot)];
      if (f.action == error_action::skip) index = left_out;
      if (f.action == error_action::replace) index = f.substitute;
    }
    for (std::size_t i = 0; i < prints_.size(); ++i) prints_[i] = print_of(job.first + i, prints_[i]);
  }
  /// Counts a sample of a group in which some failed. \throws what is told in its place
  void tell(const Feed& feed, std::size_t slot, delivery_books& books) {
    const auto& plan = feed.plan();
    const std::uint64_t before = plan.passed(number_), all = plan.passed(plan.batches());
    if (next_told_ < told_.size() && told_.front().slot == failure::whole_batch) {
      next_ = group_.size();
      books.account.add(epoch_, 0, 0, before, all, told_);
      throw to_exception(told_[next_told_++]);
    }
    std::vector<told_failure> here;
    for (; next_told_ < told_.size() && told_[next_told_].slot == slot; ++next_told_) {
      here.push_back(std::move(told_[next_told_]));
    }
    books.account.add(epoch_, slot, 1, before + slot + 1, all, here);
    for (const told_failure& f : here) {
      if (f.entry.action == error_action::fail) throw to_exception(f);
    }
  }

  std::vector<std::optional<value_type>> group_;
  std::vector<std::uint64_t> prints_;  // of its samples
  std::vector<told_failure> told_;
  std::size_t next_ = 0, next_told_ = 0;
  std::uint64_t number_ = 0, epoch_ = 0;
  std::uint64_t skip_ = 0;  // samples of the next group that were handed over before the state was written
};

}  // namespace wick::detail

// ==== wick/loader/detail/single_user.hpp
/// \file
/// Tells two threads that use at the same time what is made for one.

namespace wick::detail {

inline constinit thread_local char thread_mark = 0;  // each thread's has another address

/// What one user did is visible to the next, so taking turns is safe on any threads.
class single_user {
 public:
  single_user() = default;
  single_user(single_user&&) noexcept {}  // of what nobody uses at that moment

  /// In use as long as this lives; may be kept over a suspension.
  class hold {
   public:
    /// \throws std::logic_error when somebody else uses it at this moment
    hold(single_user& of, const char* call) : of_(of) {
      if (of.used_.exchange(true, std::memory_order_acquire)) refuse(call);
      of.last_.store(nullptr, std::memory_order_relaxed);
    }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    /// The calling thread was looked at: it may go on with what it has got.
    void remember_thread() noexcept { of_.last_.store(&thread_mark, std::memory_order_relaxed); }
    ~hold() { of_.used_.store(false, std::memory_order_release); }

   private:
    [[noreturn, gnu::noinline]] static void refuse(const char* call) {
      throw std::logic_error(
          std::string("wick: ") + call +
          ": two threads or coroutines use one loader at the same time; let one take the batches, or "
          "give each a loader of its own (they may share an executor)");
    }
    single_user& of_;
  };

  /// Whether nobody else has used it since this thread was remembered.
  bool still_this_thread() const noexcept { return last_.load(std::memory_order_relaxed) == &thread_mark; }

 private:
  std::atomic<bool> used_{false};
  std::atomic<const void*> last_{nullptr};
};

}  // namespace wick::detail

namespace wick {

template <class Pipeline>
class loader;

/// Runs a pipeline. Workers, pools, open files and the user's stages live as long as this; nothing is torn
/// down between epochs, and the next epoch's first batches are made while the last of this one are consumed.
///
/// One thread (or one coroutine) takes the batches and calls the other members; two that take at the same
/// time are told so by a std::logic_error (not looked at within a group of 16 samples without batch()). What
/// is in a batch depends on the data, the pipeline, the seed, the epoch and the batch's number, never on
/// workers or timing. What becomes of a failing sample is loader_options::on_error. Where that says nothing,
/// wick::sample_error is thrown when its batch is taken; taking goes on with the batch after it. Destroying a
/// loader in the middle of an epoch is prompt: what has begun ends, nothing else is begun. A coroutine that
/// waits in next_async() is using it, as a thread in next() is: let it go on first.
template <class Source, class... S>
class loader<pipeline<Source, S...>> {
  using feed_type = detail::feed<pipeline<Source, S...>>;
  using job_type = std::remove_pointer_t<decltype(std::declval<feed_type&>().try_take())>;

 public:
  /// What an epoch gives: a batch (wick::sample of tensors for a source of samples), or a sample when the
  /// pipeline has no batch().
  using value_type = typename feed_type::delivered;

  /// \throws wick::error when an epoch would be empty, when on_error can't be done with this pipeline, when
  /// workers are
  ///   given beside an executor, or when a
  ///   ledger or quarantine file can't be opened or is of another data set
  explicit loader(pipeline<Source, S...> what, loader_options options = {})
      : own_(own_executor(options)),
        feed_(std::make_unique<feed_type>(std::move(what), options, own_ ? *own_ : *options.executor)),
        books_{{options.on_error.options(), options.ledger_file, feed_->runs().bad}, {}, {}} {}

  class epoch_range;

  /// Begins an epoch: `for (auto& batch : train.epoch(e))`. When it follows the one before, its first batches
  /// are ready already; else what was prefetched is dropped. An epoch that was left early begins anew. The
  /// epoch of a state that was loaded goes on where the state stands, once; asking for another one instead
  /// forgets the state. May be called on a worker, too: there next_async() waits for what is dropped to end.
  /// \throws wick::error when the source has another size than when the loader was made; nothing has changed
  /// then
  epoch_range epoch(std::uint64_t e) {
    const detail::single_user::hold mine(user_, "epoch()");
    begin(e);
    return epoch_range(*this);
  }

  /// Where the training stands: behind the last batch (without batch(): the last sample) that was handed
  /// over, in at most 4 KiB. What was prefetched is neither lost nor repeated. Behind the last batch of an
  /// epoch that is the beginning of the next one. Write it into the model's checkpoint, or with write_state()
  /// into a file of its own. It is the same on every rank but for the failures it counts.
  std::vector<std::byte> state() const {
    detail::loader_state s;
    s.of = identity();
    books_.account.write(s);
    if (resume_) {
      s.moved = resume_->moved;
      s.epoch = resume_->epoch;
      s.batch = resume_->batch;
      s.sample = resume_->sample;
    } else if (epoch_) {
      s.epoch = *epoch_;
      s.batch = feed_->plan().batches() - left_;
      delivery_.write(s);
      if (ends(s)) s.begin_next_epoch();
    }
    return s.to_bytes();
  }
  /// Goes on from a state, on any number of workers and ranks with the same global batch: the next
  /// epoch(current_epoch()) or next() begins with the batch behind it. No batch before it is made again.
  /// \throws wick::error when it is damaged, or of another data set, pipeline, seed or global batch; nothing
  /// has
  ///   changed then
  void load_state(std::span<const std::byte> bytes) {
    const detail::single_user::hold mine(user_, "load_state()");
    detail::loader_state s = detail::loader_state::from_bytes(bytes);
    if (const std::string what = detail::difference(s.of, identity()); !what.empty()) {
      throw error("load_state: the state is of " + what);
    }
    if (s.batch > feed_->plan().batches() ||
        (s.sample != 0 && (feed_type::batched || s.batch == feed_->plan().batches()))) {
      throw error("load_state: the state stands at batch " + std::to_string(s.batch) + " of an epoch of " +
                  std::to_string(feed_->plan().batches()) + "; it was not written by wick");
    }
    if (ends(s)) s.begin_next_epoch();  // written by an older wick
    if (s.moved != 0 && !feed_->runs().policy.options().compact) {
      throw error("load_state: " + std::to_string(s.moved) +
                  " samples of the rest of its epoch were delivered already, in the place of others; set "
                  "error_options::compact as it was when the state was written, or begin the next epoch");
    }
    resume_ = std::make_unique<const detail::loader_state>(std::move(s));
    books_.account.read(*resume_);
  }
  /// The epoch being delivered (to its end, until another one is begun), or the one that a state which was
  /// loaded goes on in: `for (auto e = train.current_epoch(); e < 90; ++e)`.
  std::uint64_t current_epoch() const noexcept { return resume_ ? resume_->epoch : epoch_.value_or(0); }

  /// The next batch of the epoch, or nothing at its end. Starts with epoch 0 if none was begun.
  /// \throws wick::sample_error when a sample of it failed and on_error doesn't say what else to do,
  ///   wick::too_many_errors at a limit of on_error; the next call goes on behind it
  /// \throws std::logic_error on a worker or an I/O thread of the loader's executor, which must not block (in
  /// a stage of
  ///   any loader on it, too): use next_async(); and while another thread or coroutine is in it
  std::optional<value_type> next() {
    if constexpr (!feed_type::batched) {
      if (user_.still_this_thread()) {  // most wait for nothing
        if (std::optional<value_type> value = next_of_group()) return value;
      }
    }
    require_outside();
    detail::single_user::hold mine(user_, "next()");
    mine.remember_thread();
    if (!begun()) return at_end();
    if (!sought_) seek();
    for (;;) {
      if (std::optional<value_type> value = next_of_group()) return value;
      if (left_ == 0) return at_end();
      if (std::optional<value_type> batch = deliver(wait())) return batch;
    }
  }

  /// The same for a coroutine: `auto batch = co_await train.next_async();`. Continues on a worker.
  task<std::optional<value_type>> next_async() {
    const detail::single_user::hold mine(user_, "next_async()");
    if (!begun()) co_return at_end();
    if (!sought_) {
      task<void> leaving = feed_->left_async();
      co_await leaving;
      seek();
    }
    for (;;) {
      if (std::optional<value_type> value = next_of_group()) co_return value;
      if (left_ == 0) co_return at_end();
      const std::uint64_t begun_at = detail::now_ticks();
      job_type* const job = co_await feed_->next_async();
      books_.report.waited(begun_at);
      if (std::optional<value_type> batch = deliver(job)) co_return batch;
    }
  }

  /// Batches an epoch (for a pipeline without batch(): groups of samples that only the loader sees).
  std::uint64_t batches() const noexcept { return feed_->plan().batches(); }
  /// Samples an epoch, over all ranks.
  std::uint64_t size() const noexcept { return feed_->plan().positions(); }
  /// The source, as it was given.
  const Source& source() const noexcept { return feed_->origin(); }
  /// Where it runs: loader_options::executor, or its own.
  executor& on() noexcept { return feed_->on(); }
  /// All failures that were told so far.
  const wick::ledger& ledger() const noexcept { return books_.account.ledger(); }
  /// What was delivered of an epoch since it was begun, or since it was gone on with; see there. Of the last
  /// 64 epochs; zero for others.
  epoch_fingerprint fingerprint(std::uint64_t epoch) const {
    return books_.prints.of(epoch, data(), feed_type::batched ? feed_->plan().batch_size() : 0);
  }
  /// Replaces the file at `path` by a list of the samples (a million at most) that failed here, or that the
  /// loader's quarantine files name, for a later run's loader_options::quarantine. Failures for want of
  /// memory, of shapes and of batch stages are not in it. \throws wick::error when it can't be written
  void write_quarantine(const std::filesystem::path& path) const {
    detail::write_quarantine(path, feed_->origin(),
                             std::span<const detail::quarantine::entry>(books_.account.bad()),
                             std::span<const std::string>(feed_->path().stage_names()));
  }
  /// Blocks of batch memory allocated so far; constant once the pipeline is warm.
  std::uint64_t slab_allocations() const noexcept { return feed_->pool().allocations(); }
  /// The most encoded bytes that were in flight at a time.
  std::size_t peak_bytes_in_flight() const noexcept { return feed_->budget().peak(); }

  /// Everything since the last report: time a stage, share of waiting, what to change.
  wick::report report();

  /// A range for one pass: its iterators take batches as they advance.
  class epoch_range {
   public:
    class iterator {
     public:
      using value_type = loader::value_type;
      using difference_type = std::ptrdiff_t;
      using iterator_concept = std::input_iterator_tag;
      iterator() = default;
      value_type& operator*() const noexcept { return *of_->current_; }
      value_type* operator->() const noexcept { return &*of_->current_; }
      iterator& operator++() {
        of_->advance();
        return *this;
      }
      void operator++(int) { ++*this; }
      friend bool operator==(const iterator& i, std::default_sentinel_t) noexcept { return i.at_end(); }

     private:
      friend class epoch_range;
      bool at_end() const noexcept { return of_ == nullptr || !of_->current_; }
      explicit iterator(loader* of) : of_(of) {}
      loader* of_ = nullptr;
    };

    iterator begin() {
      of_->advance();
      return iterator(of_);
    }
    std::default_sentinel_t end() const noexcept { return {}; }
    /// The same without iterators.
    std::optional<value_type> next() { return of_->next(); }

   private:
    friend class loader;
    explicit epoch_range(loader& of) : of_(&of) {}
    loader* of_;
  };

 private:
  static std::unique_ptr<executor> own_executor(const loader_options& options) {
    if (options.executor == nullptr) {
      return std::make_unique<executor>(executor_options{options.workers, options.io_threads});
    }
    if (options.workers != 0 || options.io_threads != 0) {
      throw error("loader: ." + std::string(options.workers != 0 ? "workers" : "io_threads") +
                  " is given beside .executor, which has threads of its own; leave one of the two out");
    }
    return nullptr;
  }

  void begin(std::uint64_t e) {
    feed_->on().require_workers();
    feed_->size().require_same();
    books_.prints.begin(e);  // before anything has changed: it may throw
    const bool goes_on = resume_ && resume_->epoch == e;
    const std::uint64_t number = goes_on ? resume_->batch : 0;
    delivery_.begin(goes_on ? resume_->sample : 0, goes_on ? resume_->moved : 0);
    resume_.reset();
    if (!goes_on) books_.account.begin(e);
    epoch_ = e;
    left_ = batches() - number;
    sought_ = false;
    books_.report.begin(*feed_);
    if (!feed_->on().owns_this_thread() || !feed_->leaves_for(e, number))
      seek();
    else
      feed_->leave();  // next() or next_async() waits for the end of what is under way
  }
  /// What it has not done when it throws it does the next time.
  void seek() {
    sought_ = false;
    if (left_ != 0) feed_->seek(*epoch_, batches() - left_, delivery_.moved());
    sought_ = true;
  }
  /// No batch of its epoch is left: what is behind stands in the gaps before.
  bool ends(const detail::loader_state& s) const noexcept {
    const auto& plan = feed_->plan();
    return s.batch == plan.batches() ||
           (s.moved != 0 && s.batch * plan.batch_size() + s.moved >= plan.ordered());
  }
  bool begun() {
    feed_->on().require_workers();
    if (!epoch_ || resume_) begin(current_epoch());
    return left_ != 0 || !feed_type::batched;
  }

  std::nullopt_t at_end() {
    books_.report.end(*feed_);
    return std::nullopt;
  }

  void advance() {
    require_outside();
    current_.reset();  // gives its memory back before the next is waited for
    current_ = next();
  }
  void require_outside() const { feed_->on().require_outside("next()", "co_await next_async()"); }

  job_type* wait() {
    const std::uint64_t begun_at = detail::now_ticks();
    job_type* job = feed_->try_take();
    if (job == nullptr) {
      if (feed_->short_samples()) {
        if (executor::helper slot(feed_->on()); slot) {
          while ((job = feed_->try_take()) == nullptr && feed_->short_samples() && feed_->help()) {
          }
          books_.report.helped(begun_at);
        }
      }
      if (job == nullptr) job = feed_->take();
    }
    books_.report.waited(begun_at);
    return job;
  }

  std::uint64_t data() const {
    if (!data_) data_ = detail::fingerprint_of(feed_->origin());
    return *data_;
  }
  detail::pipeline_identity identity() const {
    return {data(),
            feed_->size().planned(),
            feed_->seed(),
            feed_->plan().batch_size(),
            feed_type::batched,
            feed_->path().identity()};
  }

  /// The next sample of a group that was taken.
  std::optional<value_type> next_of_group() {
    if constexpr (feed_type::batched)
      return std::nullopt;
    else
      return delivery_.next(*feed_, books_);
  }
  /// Nothing when there is more to take first.
  std::optional<value_type> deliver(job_type* job) {
    --left_;
    books_.report.took_batch();
    if constexpr (feed_type::batched) {
      return delivery_.take(*feed_, job, books_);
    } else {
      delivery_.take(*feed_, job, books_);
      return delivery_.next(*feed_, books_);
    }
  }

  std::unique_ptr<executor> own_;
  std::unique_ptr<feed_type> feed_;
  std::optional<std::uint64_t> epoch_;
  std::uint64_t left_ = 0;
  bool sought_ = true;  // the feed is where these say
  detail::single_user user_;
  std::optional<value_type> current_;
  std::unique_ptr<const detail::loader_state> resume_;  // loaded, and not yet gone on from
  mutable std::optional<std::uint64_t> data_;           // the source's fingerprint, once it was asked for

  std::conditional_t<feed_type::batched, detail::batch_delivery<feed_type>,
                     detail::sample_delivery<feed_type>>
      delivery_;
  detail::delivery_books books_;
};

template <class Source, class... S>
loader(pipeline<Source, S...>, loader_options) -> loader<pipeline<Source, S...>>;
template <class Source, class... S>
loader(pipeline<Source, S...>) -> loader<pipeline<Source, S...>>;

/// A mistake, and one message: stages without a source.
template <class... S>
class loader<detail::chain<S...>> : public loader<detail::misfit_pipeline_of<S...>> {
  static_assert(sizeof...(S) == ~std::size_t{0},
                "wick: a loader needs a source, and this is a chain of stages; write loader(source | chain)");

 public:
  explicit loader(detail::chain<S...>, loader_options options = {})
      : loader<detail::misfit_pipeline_of<S...>>({}, options) {}
};
template <class... S>
loader(detail::chain<S...>, loader_options) -> loader<detail::chain<S...>>;
template <class... S>
loader(detail::chain<S...>) -> loader<detail::chain<S...>>;

template <class Source, class... S>
report loader<pipeline<Source, S...>>::report() {
  return books_.report.close(*feed_, ledger(), books_.account.trouble());
}

}  // namespace wick

// ==== wick/order/block_shuffle.hpp
/// \file
/// A shuffle for data that is fast only when it is read in runs: blocks in random order, samples mixed within
/// a window.

namespace wick {

namespace detail {

/// Two levels of permutation: of the blocks, and of the positions in each window of blocks. All by
/// computation. A window's permutation is set up anew for each position asked (about 100 ns), or once for
/// all that are asked together.
class block_order {
 public:
  block_order() noexcept = default;
  block_order(std::uint64_t n, std::uint64_t block, std::uint64_t window, std::uint64_t seed,
              std::uint64_t epoch, std::uint32_t stage) noexcept
      : n_(n),
        block_(block),
        window_(window),
        seed_(seed),
        epoch_(epoch),
        stage_(stage),
        full_(n / block),
        rest_(n % block) {
    if (full_ != 0) blocks_ = permutation(full_, seed, epoch, stage);
    // The short block has no like: it stands at a place drawn for it, the others are permuted around it.
    short_at_ = full_;
    if (rest_ != 0) short_at_ = random_stream(seed, epoch, 1, stage).below(full_ + 1);
  }

  /// Where position p comes from; p < n.
  std::uint64_t operator()(std::uint64_t p) const noexcept { return index_of(window_of(p), p); }

  /// The same for `count` positions, in place: neighbors share their window's permutation.
  void map(std::uint64_t* positions, std::size_t count) const noexcept {
    window w;
    for (std::uint64_t* p = positions; p != positions + count; ++p) {
      if (!w.holds(*p)) w = window_of(*p);
      *p = index_of(w, *p);
    }
  }

 private:
  struct place {
    std::uint64_t block, offset;  // in the order of this epoch
  };
  place place_of(std::uint64_t p) const noexcept {
    const std::uint64_t before = short_at_ * block_;
    if (rest_ == 0 || p < before) return {p / block_, p % block_};
    if (p < before + rest_) return {short_at_, p - before};
    const std::uint64_t behind = p - before - rest_;
    return {short_at_ + 1 + behind / block_, behind % block_};
  }
  /// Positions that are mixed with each other.
  struct window {
    std::uint64_t from = 0, to = 0;
    permutation order;
    bool holds(std::uint64_t p) const noexcept { return p >= from && p < to; }
  };
  window window_of(std::uint64_t p) const noexcept {
    const std::uint64_t first_block = place_of(p).block / window_ * window_;
    const std::uint64_t from = start_of(first_block), to = start_of(first_block + window_);
    const std::uint64_t seed = fingerprint_hash().add(seed_).add(first_block).value();
    return {from, to, permutation(to - from, seed, epoch_, stage_)};
  }
  std::uint64_t index_of(const window& w, std::uint64_t p) const noexcept {
    const place at = place_of(w.from + w.order(p - w.from));
    if (rest_ != 0 && at.block == short_at_) return full_ * block_ + at.offset;
    return blocks_(at.block - (rest_ != 0 && at.block > short_at_ ? 1 : 0)) * block_ + at.offset;
  }
  /// The first position of a block; n for one that there is not.
  std::uint64_t start_of(std::uint64_t b) const noexcept {
    if (b >= full_ + (rest_ != 0 ? 1 : 0)) return n_;
    return rest_ != 0 && b > short_at_ ? (b - 1) * block_ + rest_ : b * block_;
  }

  std::uint64_t n_ = 0, block_ = 1, window_ = 1, seed_ = 0, epoch_ = 0;
  std::uint32_t stage_ = 0;
  std::uint64_t full_ = 0, rest_ = 0, short_at_ = 0;
  permutation blocks_;
};

struct block_shuffle_stage {
  using stage_kind = on_order;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "block_shuffle";
  std::uint64_t block, window;
  std::uint64_t size(std::uint64_t n) const noexcept { return n; }
  block_order prepare(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                      std::uint32_t stage) const noexcept {
    return {n, block, window, seed, epoch, stage};
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash().add(block).add(window).value(); }
};

}  // namespace detail

/// A new order each epoch, for data that is fast only in runs (tar archives over a network): runs of `block`
/// samples that are neighbors in the source come in random order, and the samples of each `window` blocks
/// are shuffled among themselves, so that only `window` blocks are read at a time. The same seed and epoch
/// give the same order everywhere. \throws wick::error when either is 0
inline detail::block_shuffle_stage block_shuffle(std::uint64_t block, std::uint64_t window) {
  if (block == 0 || window == 0) {
    throw error("block_shuffle(" + std::to_string(block) + ", " + std::to_string(window) +
                "): a block has at least one sample, and a window at least one block");
  }
  if (window > detail::endless / block)
    window = detail::endless / block + 1;  // all blocks: nothing overflows
  return {block, window};
}

}  // namespace wick

// ==== wick/order/concat.hpp
/// \file
/// concat(sources…): several sources as one, end to end.

namespace wick {

namespace detail {

/// Sources of one item type: index i is that of the first, then of the second, …
template <source First, source... Rest>
class concat_source {
  static_assert((std::is_same_v<item_of<First>, item_of<Rest>> && ...),
                "wick: concat() and mix() put sources together that give the same type; convert the items of "
                "the others "
                "with a source of your own, whose at(i) gives that type");
  // References go on only where all sources give the same kind.
  using at_first = decltype(std::declval<const First&>().at(0));
  using result =
      std::conditional_t<(std::is_same_v<at_first, decltype(std::declval<const Rest&>().at(0))> && ...),
                         at_first, item_of<First>>;

 public:
  static constexpr std::size_t sources = 1 + sizeof...(Rest);

  explicit concat_source(First first, Rest... rest) : sources_(std::move(first), std::move(rest)...) {
    std::uint64_t end = 0;
    std::size_t s = 0;
    std::apply([&](const auto&... each) { ((ends_[s++] = end += each.size()), ...); }, sources_);
  }

  /// As many as the sources have at this moment. Where each begins was settled when this was made: a loader
  /// refuses them when it is another number now.
  std::uint64_t size() const {
    return std::apply([](const auto&... each) { return (std::uint64_t{0} + ... + each.size()); }, sources_);
  }
  result at(std::uint64_t i) const {
    return visit(i, [](const auto& s, std::uint64_t j) -> result { return s.at(j); });
  }
  std::string key(std::uint64_t i) const {
    return visit(i, [](const auto& s, std::uint64_t j) { return key_of(s, j); });
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    visit(i, [most](const auto& s, std::uint64_t j) { prefetch_sample(s, j, most); });
  }
  std::uint64_t fingerprint() const {
    fingerprint_hash h;
    std::apply([&](const auto&... s) { (h.add(fingerprint_of(s)), ...); }, sources_);
    return h.value();
  }
  /// The I-th source, as it was given.
  template <std::size_t I>
  const auto& get() const noexcept {
    return std::get<I>(sources_);
  }

 private:
  template <std::size_t I = 0, class F>
  decltype(auto) visit(std::uint64_t i, F&& f) const {
    if constexpr (I + 1 == sources) {
      return f(std::get<I>(sources_), i - begin(I));
    } else {
      if (i < ends_[I]) return f(std::get<I>(sources_), i - begin(I));
      return visit<I + 1>(i, std::forward<F>(f));
    }
  }
  std::uint64_t begin(std::size_t s) const noexcept { return s == 0 ? 0 : ends_[s - 1]; }

  std::tuple<First, Rest...> sources_;
  std::array<std::uint64_t, sources> ends_{};
};

}  // namespace detail

/// Several sources as one: the samples of the first, then those of the second, … They must give the same
/// type.
template <class... Sources>
  requires(sizeof...(Sources) > 0 && (source<std::remove_cvref_t<Sources>> && ...))
auto concat(Sources&&... sources) {
  return detail::concat_source<std::remove_cvref_t<Sources>...>(std::forward<Sources>(sources)...);
}

}  // namespace wick

// ==== wick/order/mix.hpp
/// \file
/// mix({source, weight}…): several sources interleaved by weight.

namespace wick {

/// When an epoch of a mix ends.
enum class mix_until {
  first_exhausted,  ///< as soon as a source would begin anew: no sample twice
  all_exhausted,    ///< when each source was gone through once; the others begin anew meanwhile
  forever           ///< never (2^48 positions); each source begins anew as often as needed
};

namespace detail {

/// Whose turn is it? A cascade of evenly spaced choices: the first source takes its share of the positions,
/// as evenly as whole numbers can be, the second its share of what is left, … Any position is reached at
/// once, and the number of a source's turns before it comes with it. Shares are fractions of 2^64, so that
/// every machine counts alike.
template <std::size_t N>
class interleave {
 public:
  struct turn {
    std::size_t source;
    std::uint64_t number;  // of this source's turns, from 0
  };

  explicit interleave(const std::array<double, N>& weights) {
    double left = 0;
    for (const double w : weights) {
      if (!(w > 0) || !std::isfinite(w)) {
        throw error("mix: a weight of " + std::to_string(w) + "; weights are finite and above 0");
      }
      left += w;
    }
    if (!std::isfinite(left)) throw error("mix: the sum of the weights is not finite; make them smaller");
    for (std::size_t s = 0; s + 1 < N; ++s) {
      left = 0;
      for (std::size_t i = s; i < N; ++i) left += weights[i];
      share_[s] =
          static_cast<std::uint64_t>(std::min(std::ldexp(weights[s] / left, 64), 0x1.fffffffffffffp63));
    }
  }

  turn at(std::uint64_t p) const noexcept {
    for (std::size_t s = 0; s + 1 < N; ++s) {
      const std::uint64_t before = turns(s, p);
      if (turns(s, p + 1) != before) return {s, before};
      p -= before;
    }
    return {N - 1, p};
  }
  /// How many of the positions below p are source s's.
  std::uint64_t count(std::size_t s, std::uint64_t p) const noexcept {
    for (std::size_t i = 0; i < s; ++i) p -= turns(i, p);
    return s + 1 == N ? p : turns(s, p);
  }
  /// The lowest p ≤ endless with at least `n` turns of source s below it.
  std::uint64_t positions_for(std::size_t s, std::uint64_t n) const noexcept {
    std::uint64_t low = 0, high = endless;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (count(s, middle) >= n)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

 private:
  /// p · share, rounded: its steps are 0 or 1, and half a period stands at the beginning.
  std::uint64_t turns(std::size_t s, std::uint64_t p) const noexcept {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<wide>(p) * share_[s] + (std::uint64_t{1} << 63)) >> 64);
  }
  std::array<std::uint64_t, N> share_{};
};

/// A source with order stages of its own.
template <class Source, class... Order>
class mix_part {
 public:
  mix_part(const Source& from, std::tuple<Order...> order) : stages_(std::move(order)), all_(from.size()) {
    std::uint64_t n = all_;
    each([&](std::size_t i, const auto& s) {
      before_[i] = n;
      n = s.size(n);
    });
    size_ = n;
  }
  std::uint64_t size() const noexcept { return size_; }  // of one pass
  std::uint64_t all() const noexcept { return all_; }    // of the source
  void add_to(fingerprint_hash& h) const {
    h.add(size_);
    each([&](std::size_t, const auto& s) {
      h.add(s.name);
      if constexpr (requires { s.fingerprint(); }) h.add(s.fingerprint());
    });
  }

  /// The functions of one pass.
  auto prepare(std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple{
          std::get<I>(stages_).prepare(before_[I], seed, epoch, stage + static_cast<std::uint32_t>(I))...};
    }(std::index_sequence_for<Order...>{});
  }

 private:
  template <class F>
  void each(F&& f) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(I, std::get<I>(stages_)), ...);
    }(std::index_sequence_for<Order...>{});
  }
  std::tuple<Order...> stages_;
  std::array<std::uint64_t, sizeof...(Order) + 1> before_{};
  std::uint64_t all_, size_ = 0;
};

/// The order of a mix over the sources end to end.
template <class... Parts>
class mix_stage {
  static constexpr std::size_t parts = sizeof...(Parts);
  struct table {
    std::tuple<Parts...> part;
    std::array<double, parts> weights;
    mix_until until;
    detail::interleave<parts> turns;
    std::array<std::uint64_t, parts> begin{};  // in the joined source
    std::uint64_t all = 0, size = 0;
  };

 public:
  using stage_kind = on_order;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "mix";

  mix_stage(std::tuple<Parts...> part, const std::array<double, parts>& weights, mix_until until) {
    auto t =
        std::make_shared<table>(table{std::move(part), weights, until, detail::interleave<parts>(weights)});
    t->size = until == mix_until::all_exhausted ? 0 : endless;
    each(*t, [&](std::size_t i, const auto& p) {
      if (p.size() == 0)
        throw error("mix: source " + std::to_string(i) + " (counted from 0) is empty; leave it out");
      t->begin[i] = t->all;
      t->all += p.all();
      // The turn that would begin source i anew is not taken any more.
      if (until == mix_until::first_exhausted)
        t->size = std::min(t->size, t->turns.positions_for(i, p.size() + 1) - 1);
      if (until == mix_until::all_exhausted) t->size = std::max(t->size, t->turns.positions_for(i, p.size()));
    });
    table_ = std::move(t);
  }

  std::uint64_t size(std::uint64_t) const noexcept { return table_->size; }
  std::uint64_t fingerprint() const {
    fingerprint_hash h;
    h.add(static_cast<std::uint64_t>(table_->until)).add(table_->weights.data(), sizeof(table_->weights));
    each(*table_, [&](std::size_t, const auto& p) { p.add_to(h); });
    return h.value();
  }

  /// The functions of each part's first pass; those of a later one are set up for each position asked.
  class mixed {
   public:
    mixed() = default;
    std::uint64_t operator()(std::uint64_t p) const noexcept {
      const auto turn = table_->turns.at(p);
      return find<0>(turn.source, turn.number);
    }

   private:
    friend class mix_stage;
    mixed(std::shared_ptr<const table> t, std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage)
        : table_(std::move(t)),
          seed_(seed),
          epoch_(epoch),
          stage_(stage),
          first_(first(std::index_sequence_for<Parts...>{})) {}

    template <std::size_t... I>
    auto first(std::index_sequence<I...>) const {
      return std::tuple{std::get<I>(table_->part).prepare(seed_of(I, 0), epoch_, stage_)...};
    }
    template <std::size_t I>
    std::uint64_t find(std::size_t source, std::uint64_t number) const noexcept {
      if constexpr (I + 1 < parts) {
        if (source != I) return find<I + 1>(source, number);
      }
      const auto& part = std::get<I>(table_->part);
      if (number < part.size()) return table_->begin[I] + detail::index_behind(std::get<I>(first_), number);
      const std::uint64_t pass = number / part.size();
      return table_->begin[I] +
             detail::index_behind(part.prepare(seed_of(I, pass), epoch_, stage_), number % part.size());
    }
    std::uint64_t seed_of(std::uint64_t source, std::uint64_t pass) const noexcept {
      return fingerprint_hash().add(seed_).add(source).add(pass).value();
    }

    std::shared_ptr<const table> table_;
    std::uint64_t seed_ = 0, epoch_ = 0;
    std::uint32_t stage_ = 0;
    std::tuple<decltype(std::declval<const Parts&>().prepare(0, 0, 0u))...> first_;
  };
  mixed prepare(std::uint64_t, std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage) const {
    return mixed(table_, seed, epoch, stage);
  }

 private:
  template <class F>
  static void each(const table& t, F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(I, std::get<I>(t.part)), ...);
    }(std::index_sequence_for<Parts...>{});
  }
  std::shared_ptr<const table> table_;
};

}  // namespace detail

/// A source, or a source with order stages (`images | shuffle()`), and how often it has its turn.
template <class Part>
struct weighted_source {
  Part part;      ///< the source, with its order stages
  double weight;  ///< its share of the turns, above 0; of the sum of all weights
};
template <class Part>
weighted_source(Part, double) -> weighted_source<Part>;

namespace detail {

template <class T>
inline constexpr bool can_be_mixed = source<T>;
template <class Src, class... S>
inline constexpr bool can_be_mixed<pipeline<Src, S...>> =
    only_order_stages<S...> && !(std::is_same_v<S, shard_stage> || ...);

template <class T>
decltype(auto) source_of(T& part) {
  if constexpr (is_pipeline<T>)
    return (part.origin);
  else
    return (part);
}
template <class Src, class... S>
mix_part<Src, S...> part_of(const pipeline<Src, S...>& p) {
  return {p.origin, p.stages};
}
template <source Src>
mix_part<Src> part_of(const Src& s) {
  return {s, {}};
}
}  // namespace detail

/// Several sources interleaved by weight:
/// `mix(mix_until::all_exhausted, weighted_source{images | shuffle(), 3}, weighted_source{drawings, 1})` is
/// three images, then a drawing, … A source has its turns as evenly as its weight allows, whatever is
/// prefetched, and goes through its samples in the order it has itself, another one each time it begins anew.
/// `| shuffle()` behind mix() shuffles the whole. A mix can be sharded as any source can.
/// \throws wick::error for a weight that is not above 0, or an empty source
template <class... Parts>
  requires(sizeof...(Parts) > 0)
auto mix(mix_until until, weighted_source<Parts>... each) {
  static_assert((detail::can_be_mixed<Parts> && ...),
                "wick: mix() takes sources, or sources with order stages (shuffle, take, …): read(), "
                "decode() and all else "
                "that works on samples, and shard(), stand behind mix()");
  using stage = detail::mix_stage<decltype(detail::part_of(each.part))...>;
  stage order({detail::part_of(each.part)...}, {each.weight...}, until);
  return from(detail::concat_source<std::remove_cvref_t<decltype(detail::source_of(each.part))>...>(
             std::move(detail::source_of(each.part))...)) |
         std::move(order);
}
/// The same until the first source is exhausted.
template <class... Parts>
auto mix(weighted_source<Parts>... each) {
  return mix(mix_until::first_exhausted, std::move(each)...);
}

}  // namespace wick

// ==== wick/order/weighted.hpp
/// \file
/// weighted(weights): samples are drawn with a probability each, with replacement or without.

namespace wick {

namespace detail {

struct weighted_options {
  /// Draws an epoch; 0: as many as there are weights.
  std::uint64_t samples = 0;
  /// A sample may be drawn again in the same epoch.
  bool replacement = true;
};

/// Draws an index with a probability proportional to its weight from two random numbers, whatever their count
/// is. Walker: "New fast method for generating discrete random numbers with arbitrary frequency
/// distributions", 1974; the table is filled as Vose has it ("A linear algorithm …", 1991). 16 bytes a
/// weight.
class alias_table {
 public:
  /// Weights are finite, not negative, and not all 0.
  explicit alias_table(const std::vector<double>& weights) : columns_(weights.size()) {
    const double most = *std::max_element(weights.begin(), weights.end());
    double sum = 0;
    for (const double w : weights) sum += w / most;  // no sum of finite weights overflows
    const auto count = static_cast<double>(weights.size());
    std::vector<std::uint64_t> small, large;
    for (std::uint64_t i = 0; i < weights.size(); ++i) {
      columns_[i] = {weights[i] / most / sum * count, i};
      (columns_[i].keep < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
      column& under = columns_[small.back()];
      const std::uint64_t over = large.back();
      small.pop_back();
      under.alias = over;
      columns_[over].keep = columns_[over].keep + under.keep - 1;
      if (columns_[over].keep < 1) {
        large.pop_back();
        small.push_back(over);
      }
    }
    // What is left over is so by rounding alone. A weight of 0 never is the last: someone is above 1 for it.
    for (const std::uint64_t i : small)
      columns_[i] = {weights[i] > 0 ? 1.0 : 0.0, weights[i] > 0 ? i : heaviest(weights)};
    for (const std::uint64_t i : large) columns_[i].keep = 1;
  }
  std::uint64_t operator()(random_stream& random) const noexcept {
    const std::uint64_t i = random.below(columns_.size());
    return random.uniform() < columns_[i].keep ? i : columns_[i].alias;
  }

 private:
  struct column {
    double keep;
    std::uint64_t alias;
  };
  static std::uint64_t heaviest(const std::vector<double>& w) {
    return static_cast<std::uint64_t>(std::max_element(w.begin(), w.end()) - w.begin());
  }
  std::vector<column> columns_;
};

class weighted_stage {
 public:
  using stage_kind = on_order;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "weighted";

  weighted_stage(std::vector<double> weights, weighted_options options) : table_(std::make_shared<table>()) {
    table_->options = options;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
        throw error("weighted: weight " + std::to_string(i) + " is " + std::to_string(weights[i]) +
                    "; weights are finite and not negative");
      }
      table_->drawable += weights[i] > 0;
    }
    if (table_->drawable == 0) throw error("weighted: no weight is above 0, so no sample could be drawn");
    if (table_->options.samples == 0) table_->options.samples = weights.size();
    if (!options.replacement && table_->options.samples > table_->drawable) {
      throw error("weighted: " + std::to_string(table_->options.samples) +
                  " samples can't be drawn without replacement from " + std::to_string(table_->drawable) +
                  " with a weight above 0; say how many with {.samples = …}");
    }
    if (options.replacement) table_->alias.emplace_back(weights);
    table_->weights = std::move(weights);
  }

  /// \throws wick::error when there are not as many weights as samples
  std::uint64_t size(std::uint64_t n) const {
    if (n != table_->weights.size()) {
      throw error("weighted: " + std::to_string(table_->weights.size()) + " weights for " +
                  std::to_string(n) + " samples; give one to each sample before weighted()");
    }
    return table_->options.samples;
  }

  class drawn;
  inline drawn prepare(std::uint64_t, std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage) const;
  std::uint64_t fingerprint() const noexcept {
    const auto& [samples, replacement] = table_->options;
    return fingerprint_hash()
        .add(samples)
        .add(replacement)
        .add(table_->weights.data(), table_->weights.size() * sizeof(double))
        .value();
  }

 private:
  using list = std::shared_ptr<const std::vector<std::uint64_t>>;
  struct key {
    std::uint64_t seed = 0, epoch = 0;
    std::uint32_t stage = 0;
    bool operator==(const key&) const = default;
  };
  struct table {
    weighted_options options;
    std::uint64_t drawable = 0;
    std::vector<double> weights;
    std::vector<alias_table> alias;  // one, with replacement
    std::mutex mutex;
    std::vector<std::pair<key, list>> lists;  // without: of the epochs last asked for
  };
  static constexpr std::size_t kept_lists = 4;

  /// An exponential time by comparisons of whole numbers alone, so that it is the same on every machine; the
  /// last digit of std::log is not. Von Neumann: "Various techniques used in connection with random digits",
  /// 1951.
  static double exponential(random_stream& random) noexcept {
    const auto draw = [&]() -> std::uint64_t {
      const std::uint64_t high = random();
      return (high << 32) | random();
    };
    for (double whole = 0;; ++whole) {
      const std::uint64_t part = draw();
      bool odd = true;  // the length of the run of falling numbers that `part` begins
      for (std::uint64_t last = part, next; (next = draw()) < last; last = next) odd = !odd;
      if (odd) return whole + static_cast<double>(part >> 11) * 0x1p-53;
    }
  }
  /// time / weight, with an exponent that no two weights are too far apart for.
  struct arrival {
    int exponent;
    double mantissa;
    std::uint64_t index;
    arrival(double time, double weight, std::uint64_t i) noexcept : index(i) {
      int of_time = 0, of_weight = 0, of_both = 0;
      const double t = std::frexp(time, &of_time), w = std::frexp(weight, &of_weight);
      mantissa = std::frexp(t / w, &of_both);
      exponent = time > 0 ? of_time - of_weight + of_both : std::numeric_limits<int>::min();
    }
    bool operator<(const arrival& other) const noexcept {
      return std::tie(exponent, mantissa, index) < std::tie(other.exponent, other.mantissa, other.index);
    }
  };

  /// Each index waits an exponential time with its weight as the rate; who comes first is drawn first.
  /// Efraimidis, Spirakis: "Weighted random sampling with a reservoir", 2006.
  list draw_all(key k) const {
    std::lock_guard lock(table_->mutex);
    for (const auto& [of, made] : table_->lists) {
      if (of == k) return made;
    }
    std::vector<arrival> times;
    times.reserve(table_->drawable);
    for (std::uint64_t i = 0; i < table_->weights.size(); ++i) {
      if (table_->weights[i] == 0) continue;
      random_stream random(k.seed, k.epoch, i, k.stage);
      times.emplace_back(exponential(random), table_->weights[i], i);
    }
    const auto end = times.begin() + static_cast<std::ptrdiff_t>(table_->options.samples);
    std::partial_sort(times.begin(), end, times.end());
    auto made = std::make_shared<std::vector<std::uint64_t>>();
    made->reserve(table_->options.samples);
    for (auto t = times.begin(); t != end; ++t) made->push_back(t->index);
    if (table_->lists.size() == kept_lists) table_->lists.erase(table_->lists.begin());
    table_->lists.emplace_back(k, made);
    return made;
  }

  std::shared_ptr<table> table_;
};

}  // namespace detail

/// What stands where in one epoch: a draw a position, or a look into the epoch's list.
class detail::weighted_stage::drawn {
 public:
  drawn() noexcept = default;
  std::uint64_t operator()(std::uint64_t p) const noexcept {
    if (list_ != nullptr) return (*list_)[p];
    random_stream random(key_.seed, key_.epoch, p, key_.stage);
    return table_->alias.front()(random);
  }

 private:
  friend class detail::weighted_stage;
  drawn(std::shared_ptr<const table> t, list l, key k) noexcept
      : table_(std::move(t)), list_(std::move(l)), key_(k) {}
  std::shared_ptr<const table> table_;
  list list_;
  key key_;
};

inline detail::weighted_stage::drawn detail::weighted_stage::prepare(std::uint64_t, std::uint64_t seed,
                                                                     std::uint64_t epoch,
                                                                     std::uint32_t stage) const {
  const key k{seed, epoch, stage};
  return drawn(table_, table_->options.replacement ? nullptr : draw_all(k), k);
}

namespace detail {}  // namespace detail

/// Draws samples, each with a probability proportional to its weight: one weight a sample before this stage.
/// With replacement each position is a draw of its own, reachable at once. Without, the epoch's order is a
/// list of 8 bytes a draw, sorted when the epoch begins (about 0.3 s for a million). \throws wick::error for
/// a weight that is negative or not finite, or more draws than there are samples to draw
inline detail::weighted_stage weighted(std::vector<double> weights, detail::weighted_options options = {}) {
  return {std::move(weights), options};
}

}  // namespace wick

// ==== wick/pipeline/per_worker.hpp
/// \file
/// per_worker(make, f): a stage with one state a worker, for what is costly to make and not thread-safe.

// ==== wick/run/worker_local.hpp
/// \file
/// One object a worker: scratch memory, a decompressor, a tokenizer that is not thread-safe.

namespace wick::detail {

/// Made by `make()` on the worker that first asks, and kept until this is destroyed. Each lies in cache lines
/// of its own. A coroutine must not keep the reference over a suspension: it may wake up on another worker.
///
/// get: workers and helpers of this executor, without a lock, since each touches its own. The objects are
/// destroyed on the thread that destroys this, when no worker uses it any more; the executor may be gone by
/// then.
template <class T>
class worker_local {
 public:
  explicit worker_local(const executor& on) : on_(&on), count_(on.slots()), slots_(new slot[count_]) {}

  /// The calling worker's object. \throws std::logic_error on a thread that is neither worker nor helper
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

  /// Calls f(T&) for each object there is. Only while no worker uses them.
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
  std::unique_ptr<slot[]> slots_;
};

}  // namespace wick::detail

namespace wick {

namespace detail {

template <class Make, class F>
class per_worker_stage {
  using state = std::remove_cvref_t<std::invoke_result_t<Make&>>;

 public:
  using stage_kind = on_sample_or_data;
  using stage_hooks = hooks<hook::label, hook::fingerprint, hook::attach>;
  static constexpr std::string_view name = "per_worker";

  per_worker_stage(std::string label, Make make, F f)
      : label_(std::move(label)), make_(std::move(make)), f_(std::move(f)) {}
  /// A copy has states of its own: a chain with this stage can stand in several pipelines.
  per_worker_stage(const per_worker_stage& other)
    requires(std::copy_constructible<Make> && std::copy_constructible<F>)
      : label_(other.label_), make_(other.make_), f_(other.f_) {}
  // NOLINTNEXTLINE(performance-noexcept-move-constructor): as Make and F are
  per_worker_stage(per_worker_stage&&) = default;
  std::string_view label() const noexcept { return label_; }
  std::uint64_t fingerprint() const {
    if constexpr (detail::has_parameters<F>)
      return f_.fingerprint();
    else
      return 0;
  }

  /// The loader says where it runs.
  void attach(executor& on) { states_ = std::make_unique<worker_local<state>>(on); }

  template <class X>
    requires accepts<F, state&, X, context&>
  decltype(auto) operator()(X&& x, context& c) {
    refuse_waiting<X, context&>();
    return f_(states_->get(make_), std::forward<X>(x), c);
  }
  template <class X>
    requires accepts<F, state&, X>
  decltype(auto) operator()(X&& x) {
    refuse_waiting<X>();
    return f_(states_->get(make_), std::forward<X>(x));
  }

 private:
  template <class... Args>
  static consteval void refuse_waiting() {
    constexpr bool waits = requires(F& f, state& s) {
      { f(s, std::declval<Args>()...) } -> awaitable;
    };
    static_assert(
        !waits,
        "wick: a per_worker stage can't suspend: it may wake up on another worker, whose state is another; "
        "do what needs the state in a plain callable, and the waiting in a stage of its own");
  }
  std::string label_;
  Make make_;
  F f_;
  std::unique_ptr<worker_local<state>> states_;
};

}  // namespace detail

/// A stage with one state a worker, for what is costly to make and not thread-safe:
/// `per_worker([] { return tokenizer(); }, [](tokenizer& t, wick::bytes text) { return t(text); })`. `make`
/// is called once on each worker, when it first needs one, and the state is kept as long as the loader. `f`
/// takes the state and what any stage takes. It must not suspend.
template <class Make, class F>
auto per_worker(Make&& make, F&& f) {
  return detail::per_worker_stage<std::decay_t<Make>, std::decay_t<F>>("per_worker", std::forward<Make>(make),
                                                                       std::forward<F>(f));
}
/// The same with a name for errors and the report.
template <class Make, class F>
auto per_worker(std::string name, Make&& make, F&& f) {
  return detail::per_worker_stage<std::decay_t<Make>, std::decay_t<F>>(
      std::move(name), std::forward<Make>(make), std::forward<F>(f));
}

}  // namespace wick

// ==== wick/read/files.hpp
/// \file
/// A source of files, one sample each.

// ==== wick/read/detail/glob.hpp
/// \file
/// Patterns for many files: "shard-{000..009}.tar", "photos/*.jpg", "logs/**/*.json".

#include <fnmatch.h>

// ==== wick/read/detail/folder.hpp
/// \file
/// Lists a folder without a stat for each file.

// ==== wick/read/detail/source_file.hpp
/// \file
/// What sources share: the form of their messages, and opening a file that must stay as it is.

// ==== wick/read/detail/file_io.hpp
/// \file
/// Opening and reading files, for threads that may block.

namespace wick::detail {

constexpr bool is_out_of_descriptors(int code) noexcept { return code == EMFILE || code == ENFILE; }

[[noreturn]] inline void throw_io(const char* doing, int code) {
  throw error(std::string("can't ") + doing + " it: " + std::generic_category().message(code) +
              (is_out_of_descriptors(code) ? "; raise the limit on open files (ulimit -n)" : ""));
}

/// \throws wick::error when it could not be opened or is no regular file
inline file_handle checked_file(plain_file opened) {
  if (opened.other != nullptr) throw error(not_a_file(opened.other));
  if (opened.fault != 0) throw_io("open", opened.fault);
  return std::move(opened.file);
}
/// \throws wick::error, also for what is no regular file
inline file_handle open_file(const char* path) { return checked_file(open_plain(path)); }

/// \throws wick::error for what is no regular file
inline std::uint64_t regular_size(const struct stat& about) {
  if (const char* other = other_than_file(about.st_mode)) throw error(not_a_file(other));
  return static_cast<std::uint64_t>(about.st_size);
}

/// \throws wick::error for what is no regular file
inline std::uint64_t size_of_file(int fd) {
  struct stat about;
  if (::fstat(fd, &about) != 0) throw_io("look at", errno);
  return regular_size(about);
}

/// The same without opening it. Blocks.
inline std::uint64_t size_of_file(const char* path) {
  struct stat about;
  if (::stat(path, &about) != 0) throw_io("open", errno);
  return regular_size(about);
}

/// How many of `size` bytes were read; fewer only at the end of the file.
inline std::size_t read_up_to(int fd, std::byte* to, std::size_t size, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(fd, to + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_io("read", errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

}  // namespace wick::detail

// ==== wick/read/file_stamp.hpp
/// \file
/// By what read() sees that a file is no longer the one that a source has looked at.

namespace wick::detail {

/// Which file it is, and in which state. A source that has looked into a file keeps one, and gives its
/// address with each location in that file.
struct file_stamp {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;  ///< of its last change
  bool linked = false;                        ///< it has a name
  bool local = false;  ///< its file system is in the hands of this machine's kernel alone

  /// Of an open file. Asks the file system, so it may block. \throws wick::error for what is no regular file
  static file_stamp of(int file) {
    struct ::stat about {};
    if (::fstat(file, &about) != 0) detail::throw_io("look at", errno);
    detail::regular_size(about);
    file_stamp out = of(about);
    out.local = detail::is_local(file);
    return out;
  }
  /// Of what fstat said; `local` stays false.
  static file_stamp of(const struct ::stat& about) noexcept {
#ifdef __APPLE__
    const ::timespec& changed = about.st_mtimespec;
#else
    const ::timespec& changed = about.st_mtim;
#endif
    return {.device = static_cast<std::uint64_t>(about.st_dev),
            .inode = static_cast<std::uint64_t>(about.st_ino),
            .size = static_cast<std::uint64_t>(about.st_size),
            .seconds = changed.tv_sec,
            .nanoseconds = changed.tv_nsec,
            .linked = about.st_nlink != 0};
  }

  /// What has happened to the file, as far as it shows; null when it is the same file, and as it was. Where
  /// others than the kernel answer (NFS, FUSE), device and inode are numbers that may be given anew, and
  /// don't count.
  const char* change(const file_stamp& now) const noexcept {
    if (local && (now.device != device || now.inode != inode)) return "was replaced";
    if (now.size != size || now.seconds != seconds || now.nanoseconds != nanoseconds) return "was changed";
    if (linked && !now.linked) return "was deleted or replaced";
    return nullptr;
  }
};

/// \throws wick::error "was changed since it was indexed (it had 100 bytes, and has 200); …" when it was
inline void require_same(const file_stamp& then, const file_stamp& now, const char* since,
                         const char* advice) {
  const char* const what = then.change(now);
  if (what == nullptr) return;
  std::string sizes;
  if (then.size != now.size)
    sizes = " (it had " + std::to_string(then.size) + " bytes, and has " + std::to_string(now.size) + ")";
  throw error(std::string("the file ") + what + " since it was " + since + sizes + "; " + advice);
}

/// A file that is being read: what it was when that began.
struct file_watch {
  file_stamp before;

  /// `indexed` may be null. \throws wick::error when it is not the file that was indexed, or not a file
  static file_watch begin(int file, const file_stamp* indexed) {
    struct ::stat about {};
    if (::fstat(file, &about) != 0) throw_io("look at", errno);
    regular_size(about);
    const file_watch out{file_stamp::of(about)};
    if (indexed != nullptr) {
      require_same(*indexed, out.before, "indexed",
                   "make the source and the loader anew, and give a changed file a new name while the old "
                   "one is read");
    }
    return out;
  }
  /// To be called when the bytes are there: whoever has changed them before is seen now. \throws wick::error
  void end(int file, const file_stamp* indexed) {
    const file_watch after = begin(file, indexed);
    before.linked = false;  // whoever has it open may read it, though it has lost its name
    require_same(before, after.before, "opened",
                 "let its writer end before it is read, or write under another name and rename it");
  }
};

}  // namespace wick::detail

namespace wick::detail {

/// "No such file or directory".
inline std::string system_text(int code) { return std::generic_category().message(code); }

/// "PATH: WHO: WHAT", as every message of a source begins.
inline error source_error(std::string_view path, std::string_view who, const std::string& what) {
  return error(printable(path) + ": " + std::string(who) + ": " + what);
}

struct opened_file {
  file_handle file;
  file_stamp stamp;
};

/// \throws wick::error naming the path, also for what is no regular file
inline opened_file open_regular(const std::string& path, std::string_view who) {
  try {
    opened_file out{open_file(path.c_str()), {}};
    out.stamp = file_stamp::of(out.file.get());
    return out;
  } catch (const error& e) {
    throw source_error(path, who, e.what());
  }
}

/// When a source has read all that it needs. \throws wick::error when the file was changed meanwhile
inline void require_unchanged(const opened_file& opened, const std::string& path, std::string_view who) {
  const char* const what = opened.stamp.change(file_stamp::of(opened.file.get()));
  if (what != nullptr)
    throw source_error(path, who, std::string("it ") + what + " while it was read; let its writer end first");
}

}  // namespace wick::detail

namespace wick::detail {

enum class entry_kind : unsigned char {
  file,  ///< a regular file, or a link that leads nowhere: reading it will say so
  folder,
  link,   ///< a link to a folder
  other,  ///< a device, a socket, …
};

inline entry_kind kind_of(int folder, const ::dirent& entry) noexcept {
  switch (entry.d_type) {
    case DT_REG:
      return entry_kind::file;
    case DT_DIR:
      return entry_kind::folder;
    case DT_LNK:
    case DT_UNKNOWN:
      break;
    default:
      return entry_kind::other;
  }
  struct ::stat status {};
  if (::fstatat(folder, entry.d_name, &status, 0) != 0 || S_ISREG(status.st_mode)) return entry_kind::file;
  if (!S_ISDIR(status.st_mode)) return entry_kind::other;
  if (entry.d_type == DT_LNK) return entry_kind::link;
  // Some file systems don't say what an entry is.
  struct ::stat own {};
  const bool link = ::fstatat(folder, entry.d_name, &own, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(own.st_mode);
  return link ? entry_kind::link : entry_kind::folder;
}

inline bool is_folder(entry_kind kind) noexcept {
  return kind == entry_kind::folder || kind == entry_kind::link;
}

/// Which folder this is, whatever path led to it.
struct folder_id {
  ::dev_t device = 0;
  ::ino_t inode = 0;
  friend auto operator<=>(const folder_id&, const folder_id&) = default;
};

/// Calls `each(std::string_view name, entry_kind)` for all but hidden entries, in the file system's order.
/// Returns the folder's identity. \throws wick::error when it can't be listed
template <class Each>
folder_id list_folder(const std::string& path, std::string_view who, Each&& each) {
  struct closer {
    void operator()(::DIR* d) const noexcept { ::closedir(d); }
  };
  const std::unique_ptr<::DIR, closer> folder(::opendir(path.c_str()));
  struct ::stat status {};
  if (folder == nullptr || ::fstat(::dirfd(folder.get()), &status) != 0) {
    const int code = errno;
    if (code == ENOENT) throw source_error(path, who, "no such folder; check the path");
    if (code == ENOTDIR) throw source_error(path, who, "is not a folder");
    throw source_error(path, who, "the folder cannot be listed: " + system_text(code));
  }
  for (;;) {
    errno = 0;
    const ::dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.')
      each(std::string_view(entry->d_name), kind_of(::dirfd(folder.get()), *entry));
  }
  if (errno != 0) throw source_error(path, who, "the folder cannot be listed: " + system_text(errno));
  return {status.st_dev, status.st_ino};
}

/// "a" + "b" → "a/b"; "a/" + "b" → "a/b"; "" + "b" → "b".
inline std::string join_path(std::string_view folder, std::string_view name) {
  std::string out;
  out.reserve(folder.size() + 1 + name.size());
  out += folder;
  if (!folder.empty() && folder.back() != '/') out += '/';
  out += name;
  return out;
}

}  // namespace wick::detail

// ==== wick/read/detail/walk.hpp
/// \file
/// All folders below a folder, and all wanted files in the order in which torchvision lists them.

#include <set>

namespace wick::detail {

struct folder_files {
  std::string folder;
  std::vector<std::string> names;
};

/// Whether `name` ends with one of `extensions` (lower case), in any case; always when there are none.
inline bool has_extension(std::string_view name, const std::vector<std::string>& extensions) noexcept {
  const auto same = [](char a, char lower) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == lower; };
  return extensions.empty() || std::any_of(extensions.begin(), extensions.end(), [&](std::string_view e) {
           return name.size() >= e.size() &&
                  std::equal(e.begin(), e.end(), name.end() - static_cast<std::ptrdiff_t>(e.size()),
                             [&](char lower, char a) { return same(a, lower); });
         });
}

/// Goes through the folders below one, links included.
///
/// A folder may have several names: each link that leads to it is one. As in os.walk(followlinks=True), its
/// files count under each of them. But there can be 2^n or n! ways through the links of n folders, so two
/// kinds of link are not followed: one back to a folder above it (a circle), and, inside of what a link led
/// to, one to a folder that was listed before. So m links among n folders make at most n (m + 1) listings.
class folder_walk {
 public:
  folder_walk(std::string_view who, bool (*wanted)(std::string_view name, const void* of), const void* of)
      : who_(who), wanted_(wanted), of_(of) {}

  /// The folders, with those of their files that are wanted, in no order that means anything.
  std::vector<folder_files> run(const std::string& start) {
    found_.clear();
    listed_.clear();
    above_.clear();
    visit(start, false);
    // Those that fewer links lead to come first, each row by name: which of several links is the one that is
    // followed does not depend on the order in which the file system lists them.
    while (!links_.empty()) {
      std::vector<link> row = std::move(links_);
      links_.clear();
      std::sort(row.begin(), row.end(), [](const link& a, const link& b) { return a.path < b.path; });
      for (link& l : row) {
        above_ = std::move(l.above);
        struct ::stat status {};
        const bool there = ::stat(l.path.c_str(), &status) == 0;
        if (there && l.inside_a_link && listed_.count({status.st_dev, status.st_ino}) != 0) continue;
        visit(l.path, true);
      }
    }
    return std::move(found_);
  }

 private:
  struct link {
    std::string path;
    std::vector<folder_id> above;
    bool inside_a_link;
  };

  void visit(const std::string& folder, bool inside_a_link) {
    folder_files here{folder, {}};
    std::vector<std::string> below, links;
    const folder_id self =
        list_folder(folder.empty() ? "." : folder, who_, [&](std::string_view name, entry_kind kind) {
          if (kind == entry_kind::folder) below.emplace_back(name);
          if (kind == entry_kind::link) links.emplace_back(name);
          if (kind == entry_kind::file && wanted_(name, of_)) here.names.emplace_back(name);
        });
    if (std::find(above_.begin(), above_.end(), self) != above_.end()) return;
    listed_.insert(self);
    found_.push_back(std::move(here));
    above_.push_back(self);
    for (const std::string& name : links) links_.push_back({join_path(folder, name), above_, inside_a_link});
    for (const std::string& name : below) visit(join_path(folder, name), inside_a_link);
    above_.pop_back();
  }

  std::string who_;
  bool (*wanted_)(std::string_view, const void*);
  const void* of_;
  std::vector<folder_id> above_;
  std::vector<link> links_;
  std::set<folder_id> listed_;
  std::vector<folder_files> found_;
};

/// All files below `folder` with one of these extensions, sorted by folder, then by name, as strings: the
/// order of sorted(os.walk(folder)). \throws wick::error when a folder can't be listed
inline std::vector<folder_files> walk_files(const std::string& folder, std::string_view who,
                                            const std::vector<std::string>& extensions) {
  folder_walk walk(
      who,
      [](std::string_view name, const void* of) {
        return has_extension(name, *static_cast<const std::vector<std::string>*>(of));
      },
      &extensions);
  std::vector<folder_files> found = walk.run(folder);
  std::erase_if(found, [](const folder_files& f) { return f.names.empty(); });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.folder < b.folder; });
  for (folder_files& f : found) std::sort(f.names.begin(), f.names.end());
  return found;
}

/// `folder` and all folders below it.
inline std::vector<std::string> walk_folders(const std::string& folder, std::string_view who) {
  folder_walk walk(
      who, [](std::string_view, const void*) { return false; }, nullptr);
  std::vector<std::string> out;
  for (folder_files& f : walk.run(folder)) out.push_back(std::move(f.folder));
  return out;
}

}  // namespace wick::detail

namespace wick::detail {

/// Numbers within names compare as numbers: "f2" before "f10". A total order.
inline bool natural_less(std::string_view a, std::string_view b) noexcept {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      while (i < a.size() && a[i] == '0') ++i;
      while (j < b.size() && b[j] == '0') ++j;
      const std::size_t first_a = i, first_b = j;
      while (i < a.size() && digit(a[i])) ++i;
      while (j < b.size() && digit(b[j])) ++j;
      if (i - first_a != j - first_b) return i - first_a < j - first_b;
      const int order = a.compare(first_a, i - first_a, b, first_b, j - first_b);
      if (order != 0) return order < 0;
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    } else {
      ++i, ++j;
    }
  }
  const std::size_t left_a = a.size() - i, left_b = b.size() - j;
  return left_a != left_b ? left_a < left_b : a < b;
}

inline bool has_wildcard(std::string_view text) noexcept {
  return text.find_first_of("*?[") != std::string_view::npos;
}

/// The bounds of "007..123".
struct brace_range {
  std::uint64_t first = 0, last = 0;
  std::size_t width = 0;  ///< digits to pad to; 0 for none

  static bool parse(std::string_view text, brace_range& out) noexcept {
    const std::size_t dots = text.find("..");
    if (dots == std::string_view::npos) return false;
    const std::string_view a = text.substr(0, dots), b = text.substr(dots + 2);
    const auto number = [](std::string_view digits, std::uint64_t& to) {
      const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
      return code == std::errc() && end == digits.data() + digits.size();
    };
    if (!number(a, out.first) || !number(b, out.last)) return false;
    const bool padded = (a.size() > 1 && a[0] == '0') || (b.size() > 1 && b[0] == '0');
    out.width = padded ? std::max(a.size(), b.size()) : 0;
    return true;
  }
};

/// As in a shell: "a{1..3}" → a1 a2 a3, "{01..10}" keeps its zeros, "{x,y}" → x y; braces may be nested.
/// \throws wick::error past a million names
inline std::vector<std::string> expand_braces(std::string_view pattern) {
  constexpr std::size_t limit = 1'000'000;
  std::vector<std::string> done,
      open{std::string(pattern)};  // `open` is a stack: what comes first lies on top
  while (!open.empty()) {
    const std::string text = std::move(open.back());
    open.pop_back();
    std::size_t first = std::string::npos, last = 0;
    std::vector<std::string> choices;
    for (std::size_t at = text.find('{'); at != std::string::npos && first == std::string::npos;
         at = text.find('{', at + 1)) {
      std::vector<std::size_t> cuts{at};
      std::size_t depth = 0;
      for (last = at; last < text.size(); ++last) {
        if (text[last] == '{') ++depth;
        if (text[last] == ',' && depth == 1) cuts.push_back(last);
        if (text[last] == '}' && --depth == 0) break;
      }
      if (last == text.size()) continue;  // never closed: an ordinary character
      cuts.push_back(last);
      brace_range range;
      if (cuts.size() > 2) {
        for (std::size_t c = 1; c < cuts.size(); ++c)
          choices.push_back(text.substr(cuts[c - 1] + 1, cuts[c] - cuts[c - 1] - 1));
        first = at;
      } else if (brace_range::parse(std::string_view(text).substr(at + 1, last - at - 1), range)) {
        const bool up = range.first <= range.last;
        const std::uint64_t steps = up ? range.last - range.first : range.first - range.last;
        if (steps >= limit) throw error(printable(pattern) + ": stands for more than a million names");
        for (std::uint64_t k = 0; k <= steps; ++k) {
          std::string number = std::to_string(up ? range.first + k : range.first - k);
          if (number.size() < range.width) number.insert(0, range.width - number.size(), '0');
          choices.push_back(std::move(number));
        }
        first = at;
      }
    }
    if (first == std::string::npos) {
      done.push_back(text);
    } else {
      for (std::size_t c = choices.size(); c-- > 0;) {
        open.push_back(text.substr(0, first) + choices[c] + text.substr(last + 1));
      }
    }
    if (done.size() + open.size() > limit)
      throw error(printable(pattern) + ": stands for more than a million names");
  }
  return done;
}

/// Collects the files that match `pattern` below `folder`.
inline void glob_into(const std::string& folder, std::string_view pattern, std::string_view who,
                      std::vector<std::string>& out) {
  std::string base = folder;
  std::string_view part;
  for (;;) {  // components without a wildcard need no listing
    const std::size_t slash = pattern.find('/');
    part = pattern.substr(0, slash);
    if (slash == std::string_view::npos || has_wildcard(part)) break;
    base = slash == 0 && base.empty() ? "/" : part.empty() ? base : join_path(base, part);
    pattern.remove_prefix(slash + 1);
  }
  const bool last = part.size() == pattern.size();
  std::string_view rest = last ? std::string_view() : pattern.substr(part.size() + 1);
  if (last && !has_wildcard(part)) {
    struct ::stat status {};
    std::string path = join_path(base, part);
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) out.push_back(std::move(path));
    return;
  }
  struct ::stat status {};
  if (::stat(base.empty() ? "." : base.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return;  // matches nothing
  if (part == "**" && !last) {
    while (rest.starts_with("**/")) rest.remove_prefix(3);  // as deep as one of them
    for (const std::string& f : walk_folders(base, who)) glob_into(f, rest, who, out);
    return;
  }
  const std::string glob(part);
  std::vector<std::string> folders;
  list_folder(base.empty() ? "." : base, who, [&](std::string_view name, entry_kind kind) {
    if (::fnmatch(glob.c_str(), name.data(), 0) != 0) return;
    if (is_folder(kind) && !last) folders.push_back(join_path(base, name));
    if (kind == entry_kind::file && last) out.push_back(join_path(base, name));
  });
  for (const std::string& f : folders) glob_into(f, rest, who, out);
}

/// Regular files that match, in natural order, each once. `*`, `?`, `[…]` within a name, `**` for any number
/// of folders; hidden files match only what names them in full. \throws wick::error when a folder can't be
/// listed
inline std::vector<std::string> glob_files(std::string_view pattern, std::string_view who) {
  std::vector<std::string> out;
  glob_into("", pattern, who, out);
  std::sort(out.begin(), out.end(),
            [](const std::string& a, const std::string& b) { return natural_less(a, b); });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// The files that `pattern` stands for: itself when such a file exists, else braces, then wildcards, are
/// expanded. A name without wildcards is kept whether it exists or not. \throws wick::error when a wildcard
/// matches nothing
inline std::vector<std::string> expand_pattern(const std::string& pattern, std::string_view who) {
  struct ::stat status {};
  if (pattern.empty()) throw error(std::string(who) + ": the path is empty");
  if (pattern.find("://") != std::string::npos) {
    throw source_error(pattern, who,
                       "is a URL, and only local files are read here; download it, or mount it");
  }
  if (::stat(pattern.c_str(), &status) == 0 && !S_ISDIR(status.st_mode)) return {pattern};
  std::vector<std::string> out;
  for (std::string& name : expand_braces(pattern)) {
    if (!has_wildcard(name)) {
      out.push_back(std::move(name));
      continue;
    }
    std::vector<std::string> found = glob_files(name, who);
    if (found.empty())
      throw source_error(name, who,
                         "matches no file; check the path, and that the pattern is not one for folders");
    out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  return out;
}

}  // namespace wick::detail

// ==== wick/read/location.hpp
/// \file
/// Where the encoded bytes of a sample lie on disk: what sources of files hand to read().

namespace wick {

namespace detail {

struct file_stamp;

}  // namespace detail

/// Bytes [offset, offset + length) of a file. Points into its source, which outlives it.
/// With `file` >= 0 that descriptor is open for as long as the source lives (read it with pread; `path` names
/// it in messages); else `path` is to be opened.
struct location {
  static constexpr std::uint64_t whole = ~std::uint64_t{0};

  const char* path = nullptr;    ///< of the file, ended by NUL
  int file = -1;                 ///< a descriptor of it, or -1
  std::uint64_t offset = 0;      ///< of the first byte
  std::uint64_t length = whole;  ///< bytes; `whole` means up to the end of the file
  /// What the file was when the source looked into it: read() refuses another, or one that was changed since.
  /// With null nothing is compared, and a descriptor is read by I/O threads only, since nobody knows whether
  /// it may block.
  const detail::file_stamp* indexed = nullptr;
};

namespace detail {

template <>
struct once_read<location> {
  using type = bytes;
};

}  // namespace detail

}  // namespace wick

namespace wick {

/// Each file is a sample: `at(i)` is its location. The paths are kept, not checked: a file that is missing or
/// unreadable is an error of its sample when it is read.
class files {
 public:
  /// These files, in this order. \throws wick::error for an empty list
  explicit files(const std::vector<std::filesystem::path>& paths) { keep(paths); }
  explicit files(std::initializer_list<std::filesystem::path> paths) { keep(paths); }

  /// All files that match "photos/*.jpg" (`*`, `?`, `[…]`, `**` for any depth of folders, `{a,b}`,
  /// `{00..12}`), in natural order (f2 before f10). Hidden files are left out. \throws wick::error when
  /// nothing matches, or a folder on the way can't be listed
  template <class Pattern>
    requires std::convertible_to<const Pattern&, std::string>
  explicit files(const Pattern& pattern) {
    const std::string text(pattern);
    const std::vector<std::string> found = detail::expand_pattern(text, "files");
    struct ::stat status {};
    if (found.size() == 1 && ::stat(found[0].c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
      throw detail::source_error(text, "files",
                                 "is a folder; write \"" + detail::join_path(detail::printable(text), "*") +
                                     "\", or use wick::image_folder");
    }
    keep(found);
  }

  std::uint64_t size() const noexcept { return data_->offsets.size(); }
  location at(std::uint64_t i) const noexcept { return {.path = path(i)}; }
  const char* path(std::uint64_t i) const noexcept { return data_->arena.data() + data_->offsets[i]; }
  std::string key(std::uint64_t i) const { return detail::printable(path(i)); }
  /// Of the paths below the folder that all share, so that the data may move.
  std::uint64_t fingerprint() const noexcept {
    fingerprint_hash h;
    for (std::uint64_t i = 0; i < size(); ++i) h.add(std::string_view(path(i)).substr(data_->shared_prefix));
    return h.add(size()).value();
  }

 private:
  struct table {
    std::string arena;  // path NUL path NUL …
    std::vector<std::uint64_t> offsets;
    std::size_t shared_prefix = 0;
  };

  template <class Paths>
  void keep(const Paths& paths) {
    if (std::size(paths) == 0) throw error("files: the list is empty; give it at least one path");
    auto data = std::make_shared<table>();
    std::size_t total = 0;
    for (const auto& p : paths) total += native(p).size() + 1;
    data->arena.reserve(total);
    data->offsets.reserve(std::size(paths));
    for (const auto& p : paths) {
      const std::string_view text = native(p);
      if (text.empty())
        throw error("files: path " + std::to_string(data->offsets.size()) + " of the list is empty");
      data->offsets.push_back(data->arena.size());
      data->arena.append(text).push_back('\0');
    }
    data->shared_prefix = shared_prefix(*data);
    data_ = std::move(data);
  }

  static std::string_view native(const std::filesystem::path& p) noexcept { return p.native(); }
  static std::string_view native(const std::string& p) noexcept { return p; }

  static std::size_t shared_prefix(const table& data) noexcept {
    const std::string_view first(data.arena.data());
    std::size_t shared = first.rfind('/') + 1;
    for (const std::uint64_t offset : data.offsets) {
      const std::string_view path(data.arena.data() + offset);
      while (shared > 0 && path.substr(0, shared) != first.substr(0, shared)) {
        shared = shared == 1 ? 0 : first.rfind('/', shared - 2) + 1;
      }
    }
    return shared;
  }

  std::shared_ptr<const table> data_;
};

namespace detail {}  // namespace detail

}  // namespace wick

// ==== wick/read/idx.hpp
/// \file
/// A source of the pictures and labels in idx files: MNIST, Fashion-MNIST, EMNIST, as they are distributed.

// ==== wick/read/detail/idx_file.hpp
/// \file
/// Reads an idx file (the format of MNIST), plain or gzip-compressed, whole and checked.

#include <zlib.h>

// ==== wick/read/detail/endian.hpp
/// \file
/// Big-endian numbers, as idx files have them.

namespace wick::detail {

inline std::uint32_t load_big_endian(const unsigned char* p) noexcept {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

inline std::uint16_t reverse_bytes(std::uint16_t v) noexcept { return __builtin_bswap16(v); }
inline std::uint32_t reverse_bytes(std::uint32_t v) noexcept { return __builtin_bswap32(v); }
inline std::uint64_t reverse_bytes(std::uint64_t v) noexcept { return __builtin_bswap64(v); }

template <std::unsigned_integral Word>
void reverse_each(std::byte* data, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i, data += sizeof(Word)) {
    Word word;
    std::memcpy(&word, data, sizeof(Word));
    word = reverse_bytes(word);
    std::memcpy(data, &word, sizeof(Word));
  }
}

/// In place, from the order of idx files to the machine's.
inline void big_endian_to_native(std::byte* data, std::size_t count, std::size_t element_size) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    switch (element_size) {
      case 2:
        reverse_each<std::uint16_t>(data, count);
        break;
      case 4:
        reverse_each<std::uint32_t>(data, count);
        break;
      case 8:
        reverse_each<std::uint64_t>(data, count);
        break;
      default:
        break;
    }
  }
}

}  // namespace wick::detail

namespace wick::detail {

/// An array [count, …] in memory, elements in the machine's byte order.
struct idx_array {
  std::uint64_t count = 0;
  shape row;
  dtype type = dtype::uint8;
  std::unique_ptr<std::byte[]> data;
};

class idx_file {
 public:
  explicit idx_file(const std::string& path) : path_(path) {
    opened_ = open_regular(path, "idx");
    unsigned char start[2] = {};
    file_size_ = opened_.stamp.size;
    packed_ = ::pread(opened_.file.get(), start, 2, 0) == 2 && start[0] == 0x1F && start[1] == 0x8B;
    file_handle second(::fcntl(opened_.file.get(), F_DUPFD_CLOEXEC, 0));  // zlib closes what it gets
    if (second) gz_.reset(::gzdopen(second.get(), "rb"));
    if (gz_ != nullptr) static_cast<void>(second.release());
    if (gz_ == nullptr) throw source_error(path_, "idx", "zlib can't open it: " + system_text(errno));
    ::gzbuffer(gz_.get(), 1 << 17);
  }

  /// Once. \throws wick::error naming the path, what was expected and what was found
  idx_array read() {
    try {
      idx_array out = read_all();
      require_unchanged(opened_, path_, "idx");
      return out;
    } catch (const error&) {
      require_unchanged(opened_, path_, "idx");  // that is the reason then
      throw;
    }
  }

 private:
  idx_array read_all() {
    idx_array out;
    const std::uint64_t bytes = read_header(out);
    out.data = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    const std::uint64_t got = fill(out.data.get(), bytes);
    if (got < bytes) {
      throw source_error(path_, "idx",
                         "cut off: its header announces " + std::to_string(bytes) +
                             " bytes of data, and there are " + std::to_string(got) +
                             "; copy or download it again");
    }
    std::byte more;
    if (fill(&more, 1) != 0) {
      throw source_error(path_, "idx",
                         "is longer than the " + std::to_string(bytes) +
                             " bytes of data that its header announces; copy or download it again");
    }
    const std::size_t element = size_of(out.type);
    big_endian_to_native(out.data.get(), static_cast<std::size_t>(bytes) / element, element);
    return out;
  }

  struct closer {
    void operator()(::gzFile f) const noexcept { ::gzclose(f); }
  };

  /// 0, 0, type, rank, then each extent as 4 bytes. Returns the bytes of data that must follow.
  std::uint64_t read_header(idx_array& out) {
    unsigned char magic[4] = {};
    const std::uint64_t got = fill(magic, 4);
    const std::optional<dtype> type = type_of(magic[2]);
    if (got < 4 || magic[0] != 0 || magic[1] != 0 || !type || magic[3] == 0) {
      static constexpr char digits[] = "0123456789abcdef";
      std::string found;
      for (std::uint64_t i = 0; i < got; ++i) found += {' ', digits[magic[i] >> 4], digits[magic[i] & 15]};
      throw source_error(path_, "idx",
                         "is not an idx file: it starts with" + (got == 0 ? " nothing" : found) +
                             ", and 00 00, a type (08 to 0e) and a rank were expected, such as 00 00 08 03");
    }
    if (magic[3] > shape::max_rank + 1) {
      throw source_error(path_, "idx",
                         "has " + std::to_string(magic[3]) + " dimensions, and at most 7 can be read");
    }
    out.type = *type;
    // What the file can hold at most: deflate packs no better than 1032 to 1. Nothing is allocated beyond
    // that.
    const std::uint64_t header = 4 + 4 * std::uint64_t{magic[3]};
    const std::uint64_t most = packed_ ? file_size_ * 1032 : file_size_ - std::min(file_size_, header);
    std::uint64_t bytes = size_of(out.type);
    bool too_many = false, none = false;
    for (int d = 0; d < magic[3]; ++d) {
      unsigned char extent[4];
      if (fill(extent, 4) < 4)
        throw source_error(path_, "idx", "cut off within its header; copy or download it again");
      const std::uint64_t n = load_big_endian(extent);
      if (d == 0)
        out.count = n;
      else
        out.row.push_back(static_cast<std::int64_t>(n));
      none |= n == 0;
      too_many |= n != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / n;
      if (!too_many) bytes *= n;
    }
    if (none) {
      throw source_error(
          path_, "idx",
          "is an array of no elements: " + std::to_string(out.count) + " × " + to_string(out.row));
    }
    if (too_many || bytes > most) {
      throw source_error(path_, "idx",
                         "cut off: its header announces " + std::to_string(out.count) + " × " +
                             to_string(out.row) + " " + std::string(to_string(out.type)) +
                             ", which a file of " + std::to_string(file_size_) +
                             " bytes cannot hold; copy or download it again");
    }
    return bytes;
  }

  static std::optional<dtype> type_of(unsigned char code) noexcept {
    switch (code) {
      case 0x08:
        return dtype::uint8;
      case 0x09:
        return dtype::int8;
      case 0x0B:
        return dtype::int16;
      case 0x0C:
        return dtype::int32;
      case 0x0D:
        return dtype::float32;
      case 0x0E:
        return dtype::float64;
      default:
        return std::nullopt;
    }
  }

  /// Reads up to `size` bytes, fewer only at the end.
  std::uint64_t fill(void* to, std::uint64_t size) {
    std::uint64_t done = 0;
    while (done < size) {
      const auto piece = static_cast<unsigned>(std::min<std::uint64_t>(size - done, 1 << 30));
      const int n = ::gzread(gz_.get(), static_cast<char*>(to) + done, piece);
      if (n > 0) done += static_cast<std::uint64_t>(n);
      if (n >= 0 && static_cast<unsigned>(n) == piece) continue;
      int code = Z_OK;
      const char* text = ::gzerror(gz_.get(), &code);
      if (code == Z_BUF_ERROR)
        throw source_error(path_, "idx", "cut off within its gzip data; copy or download it again");
      if (code == Z_ERRNO) throw source_error(path_, "idx", "can't read it: " + system_text(errno));
      if (code != Z_OK) {
        throw source_error(
            path_, "idx", std::string("its gzip data are damaged (") + text + "); copy or download it again");
      }
      break;
    }
    return done;
  }

  const std::string& path_;
  opened_file opened_;
  std::unique_ptr<::gzFile_s, closer> gz_;
  std::uint64_t file_size_ = 0;
  bool packed_ = false;
};

}  // namespace wick::detail

// ==== wick/read/memory.hpp
/// \file
/// Sources of samples that already lie in memory: a vector of anything, or the rows of an array with their
/// targets.

// ==== wick/read/memory_view.hpp
/// \file
/// A sample that already lies in memory as an array: batch() copies it into its slot, nobody decodes it.

namespace wick {

namespace detail {

/// How the elements of a row that don't lie side by side are put together: `run` bytes that do, again and
/// again, over some loops. Dimensions that can be walked as one are one loop.
class strided_walk {
 public:
  strided_walk() noexcept = default;
  /// `strides` in elements.
  strided_walk(const shape& extents, const shape& strides, std::size_t element) noexcept : run_(element) {
    span_ = element;
    for (std::size_t d = extents.rank(); d-- > 0;) {
      const std::int64_t extent = extents[d], step = strides[d] * static_cast<std::int64_t>(element);
      if (extent == 1) continue;
      span_ += static_cast<std::size_t>((extent - 1) * step);
      if (loops_ == 0 && step == static_cast<std::int64_t>(run_)) {
        run_ *= static_cast<std::size_t>(extent);
      } else if (loops_ != 0 && step == loop_[loops_ - 1].extent * loop_[loops_ - 1].step) {
        loop_[loops_ - 1].extent *= extent;
      } else {
        loop_[loops_++] = {extent, step};
      }
    }
  }
  /// All elements lie side by side.
  bool packed() const noexcept { return loops_ == 0; }
  /// From the first byte of a row to behind its last.
  std::size_t span() const noexcept { return span_; }

  void copy(const std::byte* from, std::byte* to) const noexcept {
    switch (loops_ == 0 ? 0 : run_) {
      case 0:
        std::memcpy(to, from, run_);
        break;
      case 1:
        walk<1>(from, to);
        break;
      case 2:
        walk<2>(from, to);
        break;
      case 3:
        walk<3>(from, to);
        break;
      case 4:
        walk<4>(from, to);
        break;
      case 8:
        walk<8>(from, to);
        break;
      case 12:
        walk<12>(from, to);
        break;
      case 16:
        walk<16>(from, to);
        break;
      default:
        walk<0>(from, to);
    }
  }

 private:
  struct loop {
    std::int64_t extent = 0, step = 0;  // step in bytes
  };

  /// `Run` is run_ where the compiler shall know it.
  template <std::size_t Run>
  void walk(const std::byte* from, std::byte* to) const noexcept {
    const std::size_t run = Run != 0 ? Run : run_;
    std::array<std::int64_t, shape::max_rank + 1> at{};
    for (;;) {
      const std::byte* p = from;
      for (std::int64_t i = loop_[0].extent; i > 0; --i, p += loop_[0].step, to += run) {
        std::memcpy(to, p, Run != 0 ? Run : run);
      }
      std::size_t l = 1;
      for (; l < loops_; ++l) {
        from += loop_[l].step;
        if (++at[l] < loop_[l].extent) break;
        from -= loop_[l].extent * loop_[l].step;
        at[l] = 0;
      }
      if (l >= loops_) return;
    }
  }

  std::array<loop, shape::max_rank + 1> loop_{};  // the innermost first
  std::size_t loops_ = 0, run_ = 0, span_ = 0;
};

/// What all rows of an array in memory have in common.
struct row_format {
  /// \throws wick::error for an extent below 1
  row_format(const shape& of, dtype element)
      : extents(of), type(element), bytes(static_cast<std::size_t>(of.count()) * size_of(element)) {
    for (const std::int64_t e : of) {
      if (e < 1)
        throw error("wick: a row of shape " + to_string(of) + " has no elements; extents are at least 1");
    }
  }
  /// Of rows whose elements lie `strides` elements apart, one stride for each extent, none negative.
  row_format(const shape& of, dtype element, const shape& strides) : row_format(of, element) {
    walk = detail::strided_walk(of, strides, size_of(element));
    packed = walk.packed();
  }
  /// From the first byte of a row in the array to behind its last.
  std::size_t span() const noexcept { return packed ? bytes : walk.span(); }

  shape extents;  ///< of one row: [28, 28] in an array [60000, 28, 28]
  dtype type;
  bool packed = true;  ///< its elements lie side by side in the array, the last dimension fastest
  std::size_t bytes;   ///< of one row, packed
  detail::strided_walk walk;
};

}  // namespace detail

/// One row of an array in memory. Two pointers, both into its source, which outlives it.
class memory_view {
 public:
  memory_view() noexcept = default;
  memory_view(const std::byte* data, const detail::row_format& format) noexcept
      : data_(data), format_(&format) {}

  /// The elements, side by side. \throws wick::error when they don't lie so in the array: write_to() copies
  /// them
  const std::byte* data() const {
    if (!format_->packed) refuse();
    return data_;
  }
  /// Bytes that write_to() writes.
  std::size_t size() const noexcept { return format_->bytes; }
  const shape& extents() const noexcept { return format_->extents; }
  dtype type() const noexcept { return format_->type; }
  void write_to(slot to) const noexcept {
    if (format_->packed) [[likely]]
      std::memcpy(to.data, data_, format_->bytes);
    else
      format_->walk.copy(data_, to.data);
  }

  /// The elements as what they are. \throws wick::error when `T` is not their type, or they don't lie side by
  /// side
  template <class T>
  const T* as() const {
    if (detail::dtype_of<T>() != type()) {
      throw error("wick::memory_view: elements are " + std::string(to_string(type())) + ", not " +
                  std::string(to_string(detail::dtype_of<T>())));
    }
    return reinterpret_cast<const T*>(data());
  }

 private:
  [[noreturn, gnu::noinline]] void refuse() const {
    throw error(
        "wick::memory_view: the elements of a row " + to_string(extents()) +
        " don't lie side by side; make the array contiguous before it becomes a source, or copy the row "
        "by write_to(), into size() bytes");
  }

  const std::byte* data_ = nullptr;
  const detail::row_format* format_ = nullptr;
};

}  // namespace wick

namespace wick {

namespace detail {

/// A vector as a source: `at(i)` is item i, a copy when that is at most two words, else a reference. Made by
/// in_memory(vector).
template <class T>
class memory_items {
  static_assert(!std::is_same_v<T, bool>,
                "wick: std::vector<bool> holds no bools to refer to; use std::vector<char>");

 public:
  explicit memory_items(std::vector<T> items)
      : items_(std::make_shared<const std::vector<T>>(std::move(items))) {
    if (items_->empty()) throw error("in_memory: the vector is empty; give it at least one sample");
    first_ = items_->data();
  }

  std::uint64_t size() const noexcept { return items_->size(); }
  decltype(auto) at(std::uint64_t i) const noexcept {
    if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= 16) {
      return T(first_[i]);
    } else {
      return static_cast<const T&>(first_[i]);
    }
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    prefetch_bytes(first_ + i, sizeof(T), most);
  }
  /// Of the items where their bytes or characters can be hashed, else of their number.
  std::uint64_t fingerprint() const noexcept {
    fingerprint_hash h;
    if constexpr (std::has_unique_object_representations_v<T> && !std::is_pointer_v<T>) {
      h.add(items_->data(), items_->size() * sizeof(T));
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      for (const T& item : *items_) h.add(std::string_view(item));
    }
    return h.add(size()).value();
  }

 private:
  std::shared_ptr<const std::vector<T>> items_;
  const T* first_;
};

/// The rows of an array and their targets: `at(i)` is a sample<memory_view, int64>, ready for batch(). Made
/// by in_memory(values, shape, targets) and by idx().
class memory_rows {
 public:
  /// `owner` keeps what `data` points to alive; it holds targets.size() rows of that format.
  memory_rows(std::shared_ptr<const void> owner, const std::byte* data, const row_format& format,
              std::vector<std::int64_t> targets)
      : kept_(std::make_shared<const kept>(kept{std::move(owner), format, std::move(targets)})),
        data_(data),
        stride_(format.bytes),
        format_(&kept_->format),
        targets_(kept_->targets.data()) {
    if (kept_->targets.empty()) throw error("in_memory: there are no targets, so no samples; give one a row");
  }

  std::uint64_t size() const noexcept { return kept_->targets.size(); }
  sample<memory_view, std::int64_t> at(std::uint64_t i) const noexcept {
    return {memory_view(data_ + i * stride_, *format_), targets_[i]};
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    prefetch_bytes(targets_ + i, sizeof(*targets_), most);
    prefetch_bytes(data_ + i * stride_, stride_, most);
  }
  const row_format& format() const noexcept { return *format_; }
  const std::vector<std::int64_t>& targets() const noexcept { return kept_->targets; }
  /// Of format, targets, and rows: all of them up to 16 MiB, else as many, evenly spaced.
  std::uint64_t fingerprint() const noexcept {
    fingerprint_hash h;
    h.add(to_string(format_->type));
    for (const std::int64_t e : format_->extents) h.add(static_cast<std::uint64_t>(e));
    for (const std::int64_t t : targets()) h.add(static_cast<std::uint64_t>(t));
    const std::uint64_t rows =
        std::min(size(), (std::uint64_t{16} << 20) / std::max<std::size_t>(stride_, 1) + 1);
    for (std::uint64_t r = 0; r < rows; ++r) h.add(data_ + r * size() / rows * stride_, stride_);
    return h.add(size()).value();
  }

 private:
  struct kept {
    std::shared_ptr<const void> owner;
    row_format format;
    std::vector<std::int64_t> targets;
  };
  std::shared_ptr<const kept> kept_;
  // What at() needs, without a way through kept_.
  const std::byte* data_;
  std::size_t stride_;
  const row_format* format_;
  const std::int64_t* targets_;
};

}  // namespace detail

/// A source of the items of a vector, which it takes over. \throws wick::error when the vector is empty
template <class T>
detail::memory_items<T> in_memory(std::vector<T> items) {
  return detail::memory_items<T>(std::move(items));
}

/// Of what only refers to its items (std::span), or is another range, there is none: say so.
template <class Range>
  requires requires(const Range& r) { r.begin() != r.end(); }
auto in_memory(const Range& items) {
  using item = std::remove_cvref_t<decltype(*items.begin())>;
  constexpr bool is_vector = sizeof(Range) == ~std::size_t{0};
  static_assert(is_vector,
                "wick: in_memory() takes a std::vector over, and a std::span or another range was found (see "
                "'Range'); write in_memory(std::vector(r.begin(), r.end())), which copies the items");
  return detail::memory_items<item>(std::vector<item>());
}

/// A source of the rows of a contiguous array [targets.size(), row…] of any arithmetic type, which it takes
/// over. `in_memory(std::move(pixels), {28, 28}, labels)` is TensorDataset without tensors. \throws
/// wick::error when sizes disagree, or there is no row
template <class T>
  requires std::is_arithmetic_v<T>
detail::memory_rows in_memory(std::vector<T> values, const shape& row, std::vector<std::int64_t> targets) {
  const detail::row_format format(row, detail::dtype_of<T>());
  if (values.size() != targets.size() * static_cast<std::size_t>(row.count())) {
    throw error("in_memory: " + std::to_string(values.size()) + " values are not " +
                std::to_string(targets.size()) + " rows (one a target) of shape " + to_string(row) +
                "; check both");
  }
  auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  const auto* data = reinterpret_cast<const std::byte*>(owner->data());
  return detail::memory_rows(std::move(owner), data, format, std::move(targets));
}

/// The same over memory of the caller's, who keeps it alive and unchanged.
/// \throws wick::error when there is no row, or a null pointer
template <class T>
  requires std::is_arithmetic_v<T>
detail::memory_rows in_memory(const T* values, const shape& row, std::vector<std::int64_t> targets) {
  if (values == nullptr) throw error("in_memory: the pointer to the values is null");
  return detail::memory_rows(nullptr, reinterpret_cast<const std::byte*>(values),
                             detail::row_format(row, detail::dtype_of<T>()), std::move(targets));
}

/// Neither of what only refers to its numbers.
template <class Range>
  requires requires(const Range& r) { r.begin() != r.end(); }
detail::memory_rows in_memory(const Range&, const shape& row, std::vector<std::int64_t> targets) {
  constexpr bool is_vector = sizeof(Range) == ~std::size_t{0};
  static_assert(
      is_vector,
      "wick: in_memory() takes a std::vector of numbers over, and a std::span or another range was "
      "found (see 'Range'); write in_memory(r.data(), row, targets) when what it refers to lives as "
      "long as the loader, else in_memory(std::vector(r.begin(), r.end()), row, targets)");
  return in_memory(std::vector<float>(), row, std::move(targets));
}

}  // namespace wick

namespace wick {

namespace detail {

struct idx_options {
  /// When not 0, every label must be in [0, classes).
  std::int64_t classes = 0;
};

}  // namespace detail

/// Two idx files, an array [N, …] and N integer labels, each plain or gzip-compressed (found by their first
/// bytes). They are read into memory here; a sample is a view of its row, [28, 28] uint8 in MNIST, and
/// batches without decoding. Link with zlib. Format: LeCun, Cortes, Burges, "The MNIST database of
/// handwritten digits".
class idx {
 public:
  /// \throws wick::error when a file is missing, no idx file, cut off or damaged, when the numbers of rows
  /// differ, or a label is out of range
  idx(const std::filesystem::path& data, const std::filesystem::path& labels,
      detail::idx_options options = {})
      : data_path_(data.native()), rows_(load(data.native(), labels.native(), options)) {}

  std::uint64_t size() const noexcept { return rows_.size(); }
  sample<memory_view, std::int64_t> at(std::uint64_t i) const noexcept { return rows_.at(i); }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept { rows_.prefetch(i, most); }
  std::string key(std::uint64_t i) const {
    return detail::printable(data_path_) + "[" + std::to_string(i) + "]";
  }
  std::uint64_t fingerprint() const noexcept { return rows_.fingerprint(); }
  /// Shape and type of one row.
  const detail::row_format& format() const noexcept { return rows_.format(); }
  const std::vector<std::int64_t>& targets() const noexcept { return rows_.targets(); }

 private:
  static detail::memory_rows load(const std::string& data_path, const std::string& labels_path,
                                  const detail::idx_options& options) {
    std::vector<std::int64_t> targets = read_labels(labels_path, options);
    detail::idx_array array = detail::idx_file(data_path).read();
    if (array.count != targets.size()) {
      throw error(detail::printable(data_path) + ": idx: " + std::to_string(array.count) + " rows, but " +
                  std::to_string(targets.size()) + " labels in " + detail::printable(labels_path) +
                  "; are these two of one set (train or t10k)?");
    }
    std::shared_ptr<const std::byte[]> owner(std::move(array.data));
    const std::byte* first = owner.get();
    return detail::memory_rows(std::move(owner), first, detail::row_format(array.row, array.type),
                               std::move(targets));
  }

  static std::vector<std::int64_t> read_labels(const std::string& path, const detail::idx_options& options) {
    const detail::idx_array array = detail::idx_file(path).read();
    if (array.row.rank() != 0) {
      throw error(detail::printable(path) + ": idx: labels are an array [N], found [" +
                  std::to_string(array.count) + "] × " + to_string(array.row) +
                  "; the order is idx(images, labels)");
    }
    std::vector<std::int64_t> out(static_cast<std::size_t>(array.count));
    const auto copy = [&]<class T>(T) {
      const std::byte* from = array.data.get();
      for (std::int64_t& label : out) {
        T value;
        std::memcpy(&value, from, sizeof(T));
        label = value;  // NOLINT(bugprone-signed-char-misuse): int8 has a sign
        from += sizeof(T);
      }
    };
    switch (array.type) {
      case dtype::uint8:
        copy(std::uint8_t{});
        break;
      case dtype::int8:
        copy(std::int8_t{});
        break;
      case dtype::int16:
        copy(std::int16_t{});
        break;
      case dtype::int32:
        copy(std::int32_t{});
        break;
      default:
        throw error(detail::printable(path) + ": idx: labels are integers, found " +
                    std::string(to_string(array.type)));
    }
    for (std::size_t i = 0; options.classes != 0 && i < out.size(); ++i) {
      if (out[i] < 0 || out[i] >= options.classes) {
        throw error(detail::printable(path) + ": idx: label " + std::to_string(i) + " is " +
                    std::to_string(out[i]) + ", out of range for " + std::to_string(options.classes) +
                    " classes; check the file, or set .classes");
      }
    }
    return out;
  }

  std::string data_path_;
  detail::memory_rows rows_;
};

namespace detail {}  // namespace detail

}  // namespace wick

// ==== wick/read/image_folder.hpp
/// \file
/// A source of pictures that lie in one sub-folder per class, as for torchvision's ImageFolder.

namespace wick {

namespace detail {

struct image_folder_options {
  /// Which files are pictures, by the end of their names, in lower or upper case; all files when empty.
  std::vector<std::string> extensions = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                         ".pgm", ".tif",  ".tiff", ".webp"};
  /// Let a class be without pictures.
  bool allow_empty = false;
};

}  // namespace detail

/// Pictures that lie as ROOT/CLASS/…/picture.jpg: the classes are the sub-folders of ROOT in the order of
/// their names, and a sample's target is the index of its class. Order, targets and extensions are those of
/// torchvision, except that hidden files and folders (._a.jpg, .ipynb_checkpoints) are left out. Links are
/// followed, and a folder with several names counts under each. Two links are not followed: one that leads
/// back to a folder above it, and one to a folder that was already listed, when a link led to where it lies.
/// Files directly in ROOT are no samples. The folders are listed once, here; 8 bytes and the path are kept
/// for each sample.
class image_folder {
 public:
  /// \throws wick::error when the folder is missing or can't be listed, has no class or no picture, or a
  /// class has none
  explicit image_folder(const std::filesystem::path& root, detail::image_folder_options options = {}) {
    std::string folder = root.native();
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    for (std::string& e : options.extensions) {
      for (char& c : e) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    auto data = std::make_shared<table>();
    data->root_size = folder.size();
    data->classes = list_classes(folder, options);
    for (const std::string& name : data->classes) {
      const std::string path = detail::join_path(folder, name);
      const std::vector<detail::folder_files> found =
          detail::walk_files(path, "image_folder", options.extensions);
      if (!keep(*data, found) && !options.allow_empty) throw no_pictures(path, options);
    }
    if (data->samples.empty()) throw no_pictures(folder, options);
    data->samples.shrink_to_fit();
    data_ = std::move(data);
  }

  std::uint64_t size() const noexcept { return data_->samples.size(); }
  sample<location, std::int64_t> at(std::uint64_t i) const noexcept {
    const entry e = data_->samples[i];
    return {{.path = data_->paths[e.target].get() + e.offset}, static_cast<std::int64_t>(e.target)};
  }
  std::string key(std::uint64_t i) const { return detail::printable(at(i).data.path); }
  /// The names of the sub-folders; a target is an index into them.
  const std::vector<std::string>& classes() const noexcept { return data_->classes; }
  /// Of class names and of paths below the root, so that the data may move.
  std::uint64_t fingerprint() const noexcept {
    fingerprint_hash h;
    for (const std::string& c : classes()) h.add(c);
    for (std::uint64_t i = 0; i < size(); ++i) h.add(std::string_view(at(i).data.path + data_->root_size));
    return h.add(size()).value();
  }

 private:
  struct entry {
    std::uint32_t target;
    std::uint32_t offset;  // of the path in its class's block
  };
  struct table {
    std::vector<std::string> classes;
    std::vector<std::unique_ptr<char[]>> paths;  // a block a class: path NUL path NUL …
    std::vector<entry> samples;
    std::size_t root_size = 0;
  };

  static std::vector<std::string> list_classes(const std::string& root,
                                               const detail::image_folder_options& options) {
    std::vector<std::string> classes;
    std::uint64_t pictures = 0;
    detail::list_folder(root, "image_folder", [&](std::string_view name, detail::entry_kind kind) {
      if (detail::is_folder(kind)) classes.emplace_back(name);
      if (kind == detail::entry_kind::file && detail::has_extension(name, options.extensions)) ++pictures;
    });
    if (classes.empty() && pictures == 0) {
      throw detail::source_error(root, "image_folder",
                                 "has no class sub-folders and no pictures; check the path");
    }
    if (classes.empty()) {
      throw detail::source_error(
          root, "image_folder",
          "has no class sub-folders (" + std::to_string(pictures) +
              " pictures lie directly in it); put them in one sub-folder per class, or use "
              "wick::files");
    }
    std::sort(classes.begin(), classes.end());
    return classes;
  }

  static error no_pictures(const std::string& folder, const detail::image_folder_options& options) {
    std::string wanted;
    for (const std::string& e : options.extensions) wanted += " " + e;
    return detail::source_error(
        folder, "image_folder",
        "has no pictures" + (wanted.empty() ? wanted : " (wanted:" + detail::printable(wanted) + ")") +
            "; remove the folder, name other extensions, or set .allow_empty = true");
  }

  /// Adds one class. Returns whether there was a picture.
  static bool keep(table& data, const std::vector<detail::folder_files>& found) {
    std::uint64_t bytes = 0, count = 0;
    for (const detail::folder_files& f : found) {
      count += f.names.size();
      for (const std::string& name : f.names) bytes += f.folder.size() + 1 + name.size() + 1;
    }
    if (bytes > std::numeric_limits<std::uint32_t>::max()) {
      throw error("image_folder: the paths of one class take more than 4 GiB");
    }
    const auto target = static_cast<std::uint32_t>(data.paths.size());
    data.paths.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    char* const block = data.paths.back().get();
    char* to = block;
    const auto append = [&to](std::string_view text) {
      std::memcpy(to, text.data(), text.size());
      to += text.size();
    };
    for (const detail::folder_files& f : found) {
      for (const std::string& name : f.names) {
        data.samples.push_back({target, static_cast<std::uint32_t>(to - block)});
        append(f.folder);
        append("/");
        append(name);
        *to++ = '\0';
      }
    }
    return count != 0;
  }

  std::shared_ptr<const table> data_;
};

namespace detail {}  // namespace detail

}  // namespace wick

// ==== wick/read/read.hpp
/// \file
/// read(): from where a sample lies to its bytes, on a worker when they are cached, else on an I/O thread.

// ==== wick/read/detail/cached_read.hpp
/// \file
/// Reading what lies in the page cache, for workers: nothing here ever waits.

#include <sys/uio.h>
#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

// ==== wick/read/detail/known_places.hpp
/// \file
/// What this process has found out about folders and devices, for workers that may not ask.

namespace wick::detail {

/// A map of 64 bits to 64 bits that only grows. Any thread, at any time: it neither locks nor moves an entry,
/// so a forked child may go on with it, and it never gives memory back, so the last thread of a process may
/// still ask. What finds no room any more, or no memory, is forgotten.
class growing_map {
 public:
  /// 0 when nothing was noted.
  std::uint64_t find(std::uint64_t key) const noexcept {
    for (std::size_t l = 0; l < levels; ++l) {
      const entry* const table = tables_[l].load(std::memory_order_acquire);
      if (table == nullptr) return 0;
      for (std::size_t p = 0; p < probes; ++p) {
        const entry& e = table[place(key, l, p)];
        const std::uint64_t there = e.key.load(std::memory_order_acquire);
        if (there == key) return e.value.load(std::memory_order_relaxed);
        if (there == 0) return 0;
      }
    }
    return 0;
  }
  /// `key` is not 0.
  void note(std::uint64_t key, std::uint64_t value) noexcept {
    for (std::size_t l = 0; l < levels; ++l) {
      entry* table = tables_[l].load(std::memory_order_acquire);
      if (table == nullptr) {
        entry* const mine = new (std::nothrow) entry[slots(l)];
        if (mine == nullptr) return;
        if (tables_[l].compare_exchange_strong(table, mine, std::memory_order_acq_rel))
          table = mine;
        else
          delete[] mine;
      }
      for (std::size_t p = 0; p < probes; ++p) {
        entry& e = table[place(key, l, p)];
        std::uint64_t there = e.key.load(std::memory_order_acquire);
        if (there == 0 && e.key.compare_exchange_strong(there, key, std::memory_order_acq_rel)) there = key;
        if (there != key) continue;
        e.value.store(value, std::memory_order_relaxed);
        return;
      }
    }
  }

  /// Blocks of memory that it has taken.
  std::size_t blocks() const noexcept {
    std::size_t n = 0;
    for (const auto& t : tables_) n += t.load(std::memory_order_relaxed) != nullptr;
    return n;
  }

 private:
  struct entry {
    std::atomic<std::uint64_t> key{0}, value{0};
  };
  static constexpr std::size_t levels = 7, probes = 4;  // 256 entries, and four times as many a level
  static constexpr std::size_t slots(std::size_t level) noexcept { return std::size_t{256} << (2 * level); }
  static std::size_t place(std::uint64_t key, std::size_t level, std::size_t probe) noexcept {
    return (static_cast<std::size_t>(key >> 8) + probe) & (slots(level) - 1);
  }

  std::atomic<entry*> tables_[levels] = {};
};

/// Which folders lie on a local file system, by the way they are written, and which devices can't say what is
/// in the page cache. Found out by the threads that may block, at the first file of a folder.
class known_places {
 public:
  static known_places& all() noexcept {
    static constinit known_places places;
    return places;
  }

  static std::uint64_t folder_of(std::string_view path) noexcept {
    const std::size_t slash = path.rfind('/');
    fingerprint_hash h;
    return h.add(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash + 1)).value() |
           1;
  }

  enum kind : unsigned char { unknown, remote, local };
  struct place {
    kind what = unknown;
    std::uint64_t device = 0;  ///< of a local one's files
  };
  place find(std::uint64_t folder) const noexcept {
    const std::uint64_t value = folders_.find(folder);
    return value < 2 ? place{static_cast<kind>(value), 0} : place{local, value - 2};
  }
  void note_local(std::uint64_t folder, std::uint64_t device) noexcept { folders_.note(folder, device + 2); }
  void note_remote(std::uint64_t folder) noexcept { folders_.note(folder, remote); }
  void forget(std::uint64_t folder) noexcept { folders_.note(folder, unknown); }

  bool tells_what_is_cached(std::uint64_t device) const noexcept { return silent_.find(device + 1) == 0; }
  void note_silent(std::uint64_t device) noexcept { silent_.note(device + 1, 1); }

  /// Blocks of memory, which stay until the process ends.
  std::size_t blocks() const noexcept { return folders_.blocks() + silent_.blocks(); }

 private:
  growing_map folders_, silent_;
};

}  // namespace wick::detail

#if defined(__linux__) && defined(SYS_openat2) && defined(RESOLVE_CACHED) && defined(RWF_NOWAIT)
#define WICK_DETAIL_CACHED_READS 1
#endif

namespace wick::detail {

#ifdef WICK_DETAIL_CACHED_READS

/// Whether an attempt that failed so says that the kernel, or a sandbox, does not have the call at all. Any
/// other failure is that of one file, or of one moment.
constexpr bool is_call_missing(int fault) noexcept {
  return fault == ENOSYS || fault == EPERM || fault == EINVAL || fault == E2BIG || fault == EACCES;
}

inline int open_from_caches(const char* path, std::uint64_t flags) noexcept {
  struct open_how how = {};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_CACHED;
  return static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
}

/// Tried once, with a path that there is no other reason to refuse.
inline bool can_open_from_caches() noexcept {
  static const bool can = [] {
    const file_handle root(open_from_caches("/", O_PATH));
    return root || !is_call_missing(errno);
  }();
  return can;
}

#endif

/// Tells the workers where a file lies that an I/O thread has opened by this path. May block.
inline void note_place(const char* path, int file) noexcept {
#ifdef WICK_DETAIL_CACHED_READS
  known_places& known = known_places::all();
  const std::uint64_t folder = known_places::folder_of(path);
  const known_places::place there = known.find(folder);
  struct ::stat about {};
  if (there.what == known_places::remote || ::fstat(file, &about) != 0) return;
  const auto device = static_cast<std::uint64_t>(about.st_dev);
  if (there.what == known_places::local && there.device == device) return;
  // What a link leads to says nothing of the folder that it lies in.
  struct ::stat name {};
  if (::lstat(path, &name) != 0 || S_ISLNK(name.st_mode)) return;
  if (is_local(file))
    known.note_local(folder, device);
  else
    known.note_remote(folder);
#else
  (void)path, (void)file;
#endif
}

/// Reads the parts of one sample, as far as that needs no waiting.
///
/// The kernel can be asked to look a path up in its caches alone, but it then opens the file as always, and a
/// file system that isn't local sends that to a server or a program. So only files of local file systems are
/// tried: those whose source has looked (location::indexed), and those by whose path an I/O thread has read a
/// neighbor. A link in the last part of a path may lead anywhere, and is left to the I/O threads.
class cached_reader {
 public:
  /// How many bytes lie there; false when that can't be told now. Opens the file, one a reader.
  bool measure(const location& where, std::uint64_t& length) noexcept {
#ifdef WICK_DETAIL_CACHED_READS
    length = where.length;
    if (where.indexed != nullptr && !may_read(where.indexed->local, where.indexed->device)) return false;
    if (where.file >= 0) {
      if (where.indexed == nullptr) return false;
      if (length == location::whole) length = up_to(where.indexed->size, where.offset);
      return true;
    }
    if (!open(where)) return false;
    if (length == location::whole) length = up_to(opened_.size, where.offset);
    return true;
#else
    (void)where, (void)length;
    return false;
#endif
  }

  /// After measure(). All `size` bytes, or false.
  bool read(const location& where, std::byte* to, std::size_t size) noexcept {
#ifdef WICK_DETAIL_CACHED_READS
    const int file = where.file >= 0 ? where.file : own_.get();
    if (file != last_ && !unchanged()) return false;
    last_ = file;
    before_ = where.file >= 0 ? *where.indexed : opened_;
    for (std::size_t done = 0; done < size;) {
      const struct ::iovec part = {to + done, size - done};
      const ::ssize_t n = ::preadv2(file, &part, 1, static_cast<::off_t>(where.offset + done), RWF_NOWAIT);
      if (n > 0) {
        done += static_cast<std::size_t>(n);
        continue;
      }
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EPERM))
        known_places::all().note_silent(before_.device);
      return false;
    }
    return true;
#else
    (void)where, (void)to, (void)size;
    return false;
#endif
  }

  /// After the last read(): whether what was read is what had been measured or indexed. Else the slow way
  /// says what happened.
  bool unchanged() const noexcept {
    struct ::stat about {};
    return last_ < 0 || (::fstat(last_, &about) == 0 && before_.change(file_stamp::of(about)) == nullptr);
  }

 private:
#ifdef WICK_DETAIL_CACHED_READS
  static std::uint64_t up_to(std::uint64_t size, std::uint64_t offset) noexcept {
    return size > offset ? size - offset : 0;
  }
  static bool may_read(bool local, std::uint64_t device) noexcept {
    return local && known_places::all().tells_what_is_cached(device);
  }

  bool open(const location& where) noexcept {
    if (!can_open_from_caches()) return false;
    known_places& known = known_places::all();
    std::uint64_t folder = 0;
    if (where.indexed == nullptr) {
      folder = known_places::folder_of(where.path);
      const known_places::place there = known.find(folder);
      if (!may_read(there.what == known_places::local, there.device)) return false;
      opened_.device = there.device;
    } else {
      opened_.device = where.indexed->device;
    }
    own_ = file_handle(open_from_caches(where.path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
    struct ::stat about {};
    if (!own_ || ::fstat(own_.get(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
    const std::uint64_t device = opened_.device;
    opened_ = file_stamp::of(about);
    opened_.local = true;
    if (opened_.device == device)
      return where.indexed == nullptr || where.indexed->change(opened_) == nullptr;
    if (folder != 0) known.forget(folder);  // something else was mounted there
    return false;
  }
#endif

  file_handle own_;
  file_stamp opened_;
  int last_ = -1;
  file_stamp before_;
};

}  // namespace wick::detail

#undef WICK_DETAIL_CACHED_READS

// ==== wick/read/record.hpp
/// \file
/// A sample of several named members, such as KEY.jpg + KEY.json of a tar shard, before and after they are
/// read.

namespace wick {

namespace detail {

/// The members that a source was asked for: extensions in lower case without the dot. One field may name
/// alternatives, "jpg;jpeg;png", of which the first that a sample has is taken.
class record_fields {
 public:
  static constexpr std::size_t max_fields = 8;

  /// \throws wick::error for no or more than 8 fields, an empty one, or an extension named twice
  explicit record_fields(const std::vector<std::string>& wanted) {
    if (wanted.empty() || wanted.size() > max_fields) {
      throw error("wick: a record has 1 to 8 members, found " + std::to_string(wanted.size()));
    }
    for (const std::string& field : wanted) add(field);
  }

  std::size_t size() const noexcept { return alternatives_.size(); }
  /// "jpg;jpeg;png", as it was asked for.
  const std::string& name(std::size_t field) const noexcept { return names_[field]; }
  const std::vector<std::string>& alternatives(std::size_t field) const noexcept {
    return alternatives_[field];
  }
  std::size_t find(std::string_view extension) const noexcept { return find_alternative(extension).first; }

  /// The field and the place among its alternatives; {size(), 0} when nobody asked for `extension`.
  std::pair<std::size_t, std::size_t> find_alternative(std::string_view extension) const noexcept {
    for (std::size_t f = 0; f < size(); ++f) {
      for (std::size_t a = 0; a < alternatives_[f].size(); ++a) {
        if (alternatives_[f][a] == extension) return {f, a};
      }
    }
    return {size(), 0};
  }

 private:
  void add(std::string_view field) {
    std::vector<std::string>& list = alternatives_.emplace_back();
    names_.emplace_back(field);
    for (;;) {
      const std::size_t end = field.find(';');
      std::string extension;
      for (const char c : field.substr(0, end)) {
        if (c != ' ') extension += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      }
      if (extension.starts_with('.')) extension.erase(0, 1);
      if (extension.empty()) {
        throw error("wick: \"" + printable(names_.back()) +
                    "\" names an empty extension; write \"jpg\" or \"jpg;png\"");
      }
      if (find(extension) != size())
        throw error("wick: the member \"" + printable(extension) + "\" is asked for twice");
      list.push_back(std::move(extension));
      if (end == std::string_view::npos) return;
      field.remove_prefix(end + 1);
    }
  }

  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> alternatives_;
};

}  // namespace detail

/// The wanted members of one sample, in the order they were asked for. `T` is location before read(), bytes
/// after. `key` and the names of the fields lie in the source, which outlives every record.
template <class T>
class record {
 public:
  using value_type = T;

  record() = default;
  record(std::string_view of, const detail::record_fields& fields) noexcept : key(of), fields_(&fields) {}
  /// The same key and fields, and no members yet: push_back what became of them.
  template <class U>
  explicit record(const record<U>& like) noexcept : key(like.key), fields_(like.fields()) {}

  std::string_view key;  ///< the member's path without its extension

  std::size_t size() const noexcept { return size_; }
  T& operator[](std::size_t i) noexcept { return members_[i]; }
  const T& operator[](std::size_t i) const noexcept { return members_[i]; }
  /// The member with that extension, or the field that has it among its alternatives.
  /// \throws wick::error when nobody asked for it
  T& at(std::string_view extension) { return members_[index(extension)]; }
  const T& at(std::string_view extension) const { return members_[index(extension)]; }

  T* begin() noexcept { return members_.data(); }
  T* end() noexcept { return members_.data() + size_; }
  const T* begin() const noexcept { return members_.data(); }
  const T* end() const noexcept { return members_.data() + size_; }

  /// At most 8.
  void push_back(T member) { members_.at(size_++) = std::move(member); }
  const detail::record_fields* fields() const noexcept { return fields_; }

 private:
  std::size_t index(std::string_view extension) const {
    const std::size_t i = fields_ != nullptr ? fields_->find(extension) : size_;
    if (i < size_) return i;
    std::string text =
        detail::printable(key) + ": no member \"" + detail::printable(extension) + "\" was asked for, only";
    for (std::size_t f = 0; fields_ != nullptr && f < fields_->size(); ++f)
      text += " \"" + fields_->name(f) + '"';
    throw error(text + "; name it in the list given to wick::tar");
  }

  const detail::record_fields* fields_ = nullptr;
  std::size_t size_ = 0;
  std::array<T, detail::record_fields::max_fields> members_{};
};

namespace detail {

template <>
struct once_read<record<location>> {
  using type = record<bytes>;
};

template <class T>
inline constexpr bool is_record = false;
template <class T>
inline constexpr bool is_record<record<T>> = true;

}  // namespace detail

}  // namespace wick

namespace wick {

namespace detail {

struct read_options {
  /// A sample with more bytes (all members of a record together) is an error of that sample.
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};

/// How many bytes lie there: as the source said, or up to the end of the file as it is now. May block; leaves
/// no file open. \throws wick::error
inline std::uint64_t length_of(const location& where) {
  if (where.length != location::whole) return where.length;
  const std::uint64_t size = where.file >= 0 ? size_of_file(where.file) : size_of_file(where.path);
  return size > where.offset ? size - where.offset : 0;
}

/// Reads locations one after another; neighbors in one file open it once. Blocks. For I/O threads.
class location_reader {
 public:
  location_reader() noexcept = default;
  location_reader(const location_reader&) = delete;
  location_reader& operator=(const location_reader&) = delete;
  ~location_reader() { close(); }

  /// `length`: what length_of() said. \throws wick::error when the file can't be opened, or isn't as long any
  /// more
  bytes read(const location& where, std::uint64_t length) {
    const int file = where.file >= 0 ? where.file : open(where.path);
    file_watch watch = file_watch::begin(file, where.indexed);
    if (where.length == location::whole) {
      const std::uint64_t size = watch.before.size;
      if (size != where.offset + length) {
        throw error("has " + std::to_string(size) + " bytes, and had " +
                    std::to_string(where.offset + length) +
                    " a moment ago; it is being written. Read it when that is done");
      }
    }
    bytes out(static_cast<std::size_t>(length));
    const std::size_t n = read_up_to(file, out.data(), out.size(), where.offset);
    watch.end(file, where.indexed);
    if (n != out.size()) {
      throw error("ends after " + std::to_string(where.offset + n) + " bytes, wanted were " +
                  std::to_string(where.offset + length) + "; the file became shorter since it was indexed");
    }
    return out;
  }

 private:
  int open(const char* path) {
    if (opened_ == nullptr || std::strcmp(opened_, path) != 0) {
      close();  // never two at a time
      own_ = open_when_possible(path);
      opened_ = path;
      note_place(path, own_.get());
    }
    return own_.get();
  }
  void close() noexcept {
    if (own_) open_now().fetch_sub(1, std::memory_order_relaxed);
    own_.close();
    opened_ = nullptr;
  }
  /// Files that reads have open in this process.
  static std::atomic<int>& open_now() noexcept {
    static constinit std::atomic<int> count{0};
    return count;
  }
  /// Where the process has no descriptor left, the other reads will give theirs back. When there are none for
  /// half a second the program has them all.
  static file_handle open_when_possible(const char* path) {
    constexpr auto pause = std::chrono::milliseconds(2);
    plain_file opened = open_plain(path);
    for (int alone = 0; is_out_of_descriptors(opened.fault) && alone < 250;) {
      std::this_thread::sleep_for(pause);
      alone = open_now().load(std::memory_order_relaxed) != 0 ? 0 : alone + 1;
      opened = open_plain(path);
    }
    file_handle out = checked_file(std::move(opened));
    open_now().fetch_add(1, std::memory_order_relaxed);
    return out;
  }

  file_handle own_;
  const char* opened_ = nullptr;
};

/// What read() does with one location and with a record of them, said once.
template <class From>
struct read_shape;
template <>
struct read_shape<location> {
  using to = bytes;
  using lengths = std::uint64_t;
  template <class F>
  static std::uint64_t measure(const location& where, lengths& out, F&& length) {
    return out = length(where);
  }
  template <class F>
  static bytes read(const location& where, const lengths& known, F&& one) {
    return one(where, known);
  }
};
template <>
struct read_shape<record<location>> {
  using to = record<bytes>;
  using lengths = std::array<std::uint64_t, record_fields::max_fields>;
  /// The sum; at most 2^64 - 1.
  template <class F>
  static std::uint64_t measure(const record<location>& where, lengths& out, F&& length) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < where.size(); ++i) {
      out[i] = length(where[i]);
      sum = out[i] > ~sum ? ~std::uint64_t{0} : sum + out[i];
    }
    return sum;
  }
  template <class F>
  static record<bytes> read(const record<location>& where, const lengths& known, F&& one) {
    record<bytes> out(where);
    for (std::size_t i = 0; i < where.size(); ++i) out.push_back(one(where[i], known[i]));
    return out;
  }
};

/// \throws wick::error
inline void check_size(std::uint64_t found, const read_options& options) {
  if (found <= options.max_bytes) return;
  throw error("has " + std::to_string(found) + " bytes, more than the " + std::to_string(options.max_bytes) +
              " that read() takes for a sample; write read({.max_bytes = " + std::to_string(found) +
              "}) if that is right");
}

/// Blocks. \throws wick::error
template <class From>
typename read_shape<From>::to read_now(const From& where, const typename read_shape<From>::lengths& known) {
  location_reader reader;
  return read_shape<From>::read(
      where, known, [&](const location& l, std::uint64_t length) { return reader.read(l, length); });
}

/// The slow way: an I/O thread looks how long the files are, and reads them at once where the memory bound
/// has room. Else the sample waits for room, with no file open, and goes there again. `reserved` bytes it has
/// already. All members of a record are reserved together.
template <class From>
task<typename read_shape<From>::to> read_waiting(From where, context* c, std::uint64_t reserved,
                                                 read_options options) {
  using shape = read_shape<From>;
  typename shape::lengths known{};
  std::uint64_t total = 0;
  auto looking = c->on()->io().run(*c->on(), [&where, &known, &total, c, reserved, options] {
    if (c->stop().stop_requested()) throw error("read: cancelled");
    std::optional<typename shape::to> got;
    total = shape::measure(where, known, length_of);
    check_size(total, options);
    if (total <= reserved || c->try_reserve(static_cast<std::size_t>(total - reserved)))
      got = read_now(where, known);
    return got;
  });
  std::optional<typename shape::to> got = co_await looking;
  if (got) co_return std::move(*got);
  auto room = c->reserve(static_cast<std::size_t>(total - reserved));
  co_await room;
  auto reading = c->on()->io().run(*c->on(), [&where, &known, c] {
    if (c->stop().stop_requested()) throw error("read: cancelled");
    return read_now(where, known);
  });
  typename shape::to out = co_await reading;
  co_return out;
}

/// What awaiting read() does: at once where all lies in the page cache, else by the I/O threads.
template <class From>
class [[nodiscard]] read_operation {
  using shape = detail::read_shape<From>;
  using to = typename shape::to;

 public:
  read_operation(From where, context& c, const read_options& options)
      : where_(std::move(where)), context_(&c), options_(options) {}

  bool await_ready() {
    if (context_->on() == nullptr) {  // no loader: a plain call
      typename shape::lengths known{};
      detail::check_size(shape::measure(where_, known, detail::length_of), options_);
      out_ = detail::read_now(where_, known);
      return true;
    }
    return try_cached();
  }
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> waiter) {
    slow_ = detail::read_waiting<From>(std::move(where_), context_, reserved_, options_);
    awaiting_.emplace(slow_.operator co_await());
    return awaiting_->await_suspend(waiter);
  }
  to await_resume() {
    if (awaiting_) return awaiting_->await_resume();
    return std::move(*out_);
  }

 private:
  bool try_cached() {
    detail::cached_reader reader;
    bool at_hand = true;
    typename shape::lengths known{};
    const std::uint64_t total = shape::measure(where_, known, [&](const location& l) {
      // Of a record only what is open already: one descriptor at a time is enough for a sample.
      std::uint64_t length = 0;
      at_hand = at_hand && (l.file >= 0 || std::is_same_v<From, location>)&&reader.measure(l, length);
      return length;
    });
    if (!at_hand) return false;
    detail::check_size(total, options_);
    if (!context_->try_reserve(static_cast<std::size_t>(total))) return false;
    reserved_ = total;
    bool all = true;
    to got = shape::read(where_, known, [&](const location& l, std::uint64_t length) {
      if (!all) return bytes();
      bytes one(static_cast<std::size_t>(length));
      all = reader.read(l, one.data(), one.size());
      return one;
    });
    if (!all || !reader.unchanged()) return false;
    out_ = std::move(got);
    return true;
  }

  From where_;
  context* context_;
  read_options options_;
  std::uint64_t reserved_ = 0;
  std::optional<to> out_;
  task<to> slow_;
  std::optional<typename task<to>::awaiter> awaiting_;
};

class read_stage {
 public:
  using stage_kind = on_data;
  static constexpr std::string_view name = "read";
  explicit read_stage(const read_options& options = {}) noexcept : options_(options) {}
  read_operation<location> operator()(location where, context& c) const { return {where, c, options_}; }
  read_operation<record<location>> operator()(record<location> where, context& c) const {
    return {std::move(where), c, options_};
  }

 private:
  read_options options_;
};

}  // namespace detail

/// Reads a location (or all members of a record) into wick::bytes. Never blocks a worker: what is not in the
/// page cache is read by the executor's I/O threads, and what exceeds the loader's memory bound waits, lowest
/// position first. A sample that waits for memory has no file open. A stage of the user's may read more:
/// `co_await wick::read()(where, c)`. \throws wick::error when the file can't be opened, ends early, or is
/// larger than `max_bytes`
inline detail::read_stage read(detail::read_options options = {}) noexcept {
  return detail::read_stage(options);
}

}  // namespace wick

// ==== wick/read/tar.hpp
/// \file
/// A source of samples in tar shards, named as WebDataset names them: KEY.jpg, KEY.cls, KEY.json, …

// ==== wick/read/detail/tar_index.hpp
/// \file
/// Which samples a set of tar shards holds, and where the wanted members of each lie. Built once, from
/// headers alone.

// ==== wick/read/detail/open_shards.hpp
/// \file
/// Keeps shards open as long as the process can afford the descriptors.

#include <sys/resource.h>

namespace wick::detail {

/// A share of the descriptors that this process may have. All sources together keep a quarter of
/// RLIMIT_NOFILE: the rest is the program's, and the reads' that open by path.
class descriptor_share {
 public:
  explicit descriptor_share(std::size_t wanted) noexcept {
    ::rlimit limit{};
    const std::size_t most =
        ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur / 4) : 64;
    std::size_t used = in_use().load(std::memory_order_relaxed);
    while (wanted <= most && used <= most - wanted) {
      if (in_use().compare_exchange_weak(used, used + wanted, std::memory_order_relaxed)) {
        held_ = wanted;
        return;
      }
    }
  }
  descriptor_share(descriptor_share&& other) noexcept : held_(std::exchange(other.held_, 0)) {}
  descriptor_share& operator=(descriptor_share&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~descriptor_share() { in_use().fetch_sub(held_, std::memory_order_relaxed); }
  bool granted() const noexcept { return held_ != 0; }

 private:
  static std::atomic<std::size_t>& in_use() noexcept {
    static std::atomic<std::size_t> count{0};
    return count;
  }
  std::size_t held_ = 0;
};

/// The descriptors of a set of shards: all of them, or none.
class open_shards {
 public:
  explicit open_shards(std::size_t count) noexcept : share_(count) {}
  void keep(file_handle file) {
    if (share_.granted()) files_.push_back(std::move(file));
  }
  /// -1: open it by its path.
  int operator[](std::size_t shard) const noexcept {
    return shard < files_.size() ? files_[shard].get() : -1;
  }

 private:
  descriptor_share share_;
  std::vector<file_handle> files_;
};

}  // namespace wick::detail

// ==== wick/read/detail/tar_scan.hpp
/// \file
/// Walks the headers of a tar archive from member to member without reading what lies between.

// ==== wick/read/detail/tar_header.hpp
/// \file
/// One header block of a tar archive: the fields of v7, ustar, GNU and star, decoded and checked.

namespace wick::detail {

inline constexpr std::size_t tar_block = 512;

constexpr std::uint64_t round_up_to_block(std::uint64_t size) noexcept {
  return (size + (tar_block - 1)) & ~std::uint64_t{tar_block - 1};
}

/// A view on the 512 bytes. Field offsets are those of POSIX.1-1988 (ustar).
class tar_header {
 public:
  explicit tar_header(const unsigned char* block) noexcept : block_(block) {}

  bool all_zero() const noexcept {
    return block_[0] == 0 && std::memcmp(block_, block_ + 1, tar_block - 1) == 0;
  }

  /// What the header says of itself, nothing when that is no number.
  std::optional<std::uint64_t> checksum() const noexcept { return number(148, 8); }
  /// What it should say: the sum of all bytes, its own field counted as blanks.
  std::uint64_t sum() const noexcept {
    std::uint64_t s = 8 * ' ';
    for (std::size_t i = 0; i < tar_block; ++i) s += i < 148 || i >= 156 ? block_[i] : 0;
    return s;
  }
  bool checksum_holds() const noexcept {
    const std::optional<std::uint64_t> said = checksum();
    if (!said || *said == sum()) return said.has_value();
    std::int64_t with_sign = 8 * ' ';  // some old writers added signed chars
    for (std::size_t i = 0; i < tar_block; ++i)
      with_sign += i < 148 || i >= 156 ? static_cast<signed char>(block_[i]) : 0;
    return with_sign >= 0 && *said == static_cast<std::uint64_t>(with_sign);
  }

  std::optional<std::uint64_t> size() const noexcept { return number(124, 12); }
  char type() const noexcept { return static_cast<char>(block_[156]); }
  /// With ustar's prefix. GNU's headers have other things in its place.
  std::string name() const {
    std::string out;
    if (std::memcmp(block_ + 257, "ustar\0", 6) == 0) {
      const bool star = std::memcmp(block_ + 508, "tar\0", 4) == 0;
      out = text(345, star ? 131 : 155);
      if (!out.empty()) out += '/';
    }
    return out += text(0, 100);
  }
  /// GNU's old sparse format: another block of its map follows this header, or this block of the map.
  bool sparse_map_goes_on() const noexcept { return block_[482] != 0; }
  static bool sparse_map_goes_on(const unsigned char* block) noexcept { return block[504] != 0; }

 private:
  std::string_view text(std::size_t at, std::size_t width) const noexcept {
    const auto* first = reinterpret_cast<const char*>(block_ + at);
    return {first, ::strnlen(first, width)};
  }

  /// Octal digits between blanks and NULs, or, when the first bit is set, a big-endian binary number (GNU).
  std::optional<std::uint64_t> number(std::size_t at, std::size_t width) const noexcept {
    const unsigned char* p = block_ + at;
    const unsigned char* const end = p + width;
    std::uint64_t value = 0;
    if (*p & 0x80) {
      if (*p != 0x80) return std::nullopt;  // negative, or beyond 64 bits
      for (++p; p != end; ++p) {
        if (value >> 56) return std::nullopt;
        value = value << 8 | *p;
      }
      return value;
    }
    while (p != end && *p == ' ') ++p;
    for (; p != end && *p >= '0' && *p <= '7'; ++p) value = value << 3 | static_cast<std::uint64_t>(*p - '0');
    for (; p != end; ++p) {
      if (*p != ' ' && *p != 0) return std::nullopt;
    }
    return value;
  }

  const unsigned char* block_;
};

}  // namespace wick::detail

namespace wick::detail {

/// Reads parts of a file that lie further and further on. Fetches 4 KiB where it must leap, and up to 64 KiB
/// at a time where what is asked for lies close together.
class forward_window {
 public:
  forward_window(int fd, std::uint64_t file_size) noexcept : fd_(fd), file_size_(file_size) {}

  /// `size` bytes at `offset`, valid until the next call; null when the file ends before. \throws wick::error
  const unsigned char* get(std::uint64_t offset, std::size_t size) {
    if (offset < first_ || offset + size > first_ + filled_) {
      const bool close = offset >= first_ && offset <= first_ + filled_ + least;
      ahead_ = close ? std::min(2 * ahead_, most) : least;
      const std::size_t wanted = static_cast<std::size_t>(
          std::min<std::uint64_t>(std::max(ahead_, size), file_size_ - std::min(offset, file_size_)));
      if (buffer_.size() < wanted) buffer_.resize(wanted);
      filled_ = 0;
      first_ = offset;
      filled_ = read_up_to(fd_, buffer_.data(), wanted, offset);
      bytes_read_ += filled_;
      if (filled_ < size) return nullptr;
    }
    return reinterpret_cast<const unsigned char*>(buffer_.data()) + (offset - first_);
  }
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  static constexpr std::size_t least = 4096, most = 65536;
  int fd_;
  std::uint64_t file_size_, first_ = 0, bytes_read_ = 0;
  std::size_t filled_ = 0, ahead_ = least;
  std::vector<std::byte> buffer_;
};

struct tar_entry {
  enum kind : unsigned char { file, sparse, link, other };
  std::string name;
  kind what = file;
  std::uint64_t header = 0;  // offset of its (first) header
  std::uint64_t offset = 0;  // of its data
  std::uint64_t length = 0;
};

/// Reads v7, ustar, GNU and pax archives, also several in one file (cat a.tar b.tar). All that is wrong with
/// the archive is a wick::error with the shard's path, the offset, what was expected and what was found.
class tar_scan {
 public:
  tar_scan(const std::string& path, int fd, std::uint64_t size)
      : path_(path), size_(size), window_(fd, size) {}

  /// The next member, whatever it is; false at the end of the archive.
  bool next(tar_entry& out) {
    extended own = global_;
    constexpr std::uint64_t none = ~std::uint64_t{0};
    std::uint64_t first = none;  // where the headers of the member begin
    for (;;) {
      const std::uint64_t at = position_;
      if (ended_ && size_ - at < tar_block) {
        if (first != none) fail(first, "announces a member that never comes");
        return false;
      }
      const tar_header header(block(at));
      position_ += tar_block;
      if (header.all_zero()) {
        if (first != none) fail(first, "announces a member, and zeros follow");
        ended_ = true;
        continue;
      }
      check(header, at);
      ended_ = false;
      if (first == none) first = at;
      const std::optional<std::uint64_t> size = header.size();
      if (!size) fail(at, "has a size that is no number");
      switch (header.type()) {
        case 'x':
          read_pax(own, at, *size);
          continue;
        case 'g':
          read_pax(global_, at, *size);
          own = global_;
          first = none;
          continue;
        case 'L':
          own.name = std::string(read_text(at, *size));
          continue;
        case 'K':
          position_ = skip(at, *size, "a link's name");
          continue;
        default:
          break;
      }
      out.name = own.name ? std::move(*own.name) : header.name();
      out.header = first;
      finish(out, header, own, at, *size);
      return true;
    }
  }

  /// What a small member holds.
  std::string_view data(const tar_entry& of) {
    return {reinterpret_cast<const char*>(bytes(of.offset, static_cast<std::size_t>(of.length))),
            static_cast<std::size_t>(of.length)};
  }
  std::uint64_t bytes_read() const noexcept { return window_.bytes_read(); }

 private:
  /// What pax and GNU headers say of the member that follows.
  struct extended {
    std::optional<std::string> name;
    std::optional<std::uint64_t> size;
    bool sparse = false;
  };

  [[noreturn]] void fail(std::uint64_t header, const std::string& what) const {
    throw source_error(path_, "tar",
                       "the header at offset " + std::to_string(header) + " " + what +
                           "; the archive is damaged, write or download it again");
  }
  [[noreturn]] void cut_off(const std::string& what, std::uint64_t needed) const {
    throw source_error(path_, "tar",
                       "cut off: " + what + " needs " + std::to_string(needed) +
                           " bytes of the file, which has " + std::to_string(size_) +
                           "; write or download it again");
  }

  const unsigned char* bytes(std::uint64_t offset, std::size_t size) {
    const unsigned char* p = nullptr;
    try {
      p = window_.get(offset, size);
    } catch (const error& e) {
      throw source_error(path_, "tar", std::string(e.what()) + " (at offset " + std::to_string(offset) + ")");
    }
    if (p == nullptr) cut_off("what lies at offset " + std::to_string(offset), offset + size);
    return p;
  }

  const unsigned char* block(std::uint64_t at) {
    if (at == size_ && at != 0) {
      throw source_error(path_, "tar",
                         "ends after " + std::to_string(at) +
                             " bytes without the blocks of zeros that end an archive, so it may be cut "
                             "off; if it is whole, add them: truncate -s +1024 FILE");
    }
    if (size_ == 0) throw source_error(path_, "tar", "is empty (0 bytes), not a tar archive");
    if (at > size_) cut_off("the member before offset " + std::to_string(at), at);
    if (size_ - at < tar_block && (at != 0 || size_ >= 4)) {
      if (at == 0) not_a_tar(bytes(0, 4));
      cut_off("the header at offset " + std::to_string(at), at + tar_block);
    }
    return bytes(at, tar_block);
  }

  void check(const tar_header& header, std::uint64_t at) {
    if (header.checksum_holds()) return;
    if (at == 0) not_a_tar(bytes(0, 4));
    if (ended_) {
      throw source_error(path_, "tar",
                         "has something at offset " + std::to_string(at) +
                             ", behind the end of the archive, that is no header; cut it off, or write "
                             "or download it again");
    }
    const std::optional<std::uint64_t> said = header.checksum();
    fail(at, "has a wrong checksum (says " + (said ? std::to_string(*said) : "no number") + ", and it is " +
                 std::to_string(header.sum()) + ")");
  }

  [[noreturn]] void not_a_tar(const unsigned char* p) const {
    static constexpr char digits[] = "0123456789abcdef";
    std::string start;
    for (int i = 0; i < 4; ++i) start += {digits[p[i] >> 4], digits[p[i] & 15], ' '};
    start.pop_back();
    const char* packer = p[0] == 0x1F && p[1] == 0x8B                                   ? "gzip"
                         : p[0] == 'B' && p[1] == 'Z' && p[2] == 'h'                    ? "bzip2"
                         : p[0] == 0x28 && p[1] == 0xB5 && p[2] == 0x2F && p[3] == 0xFD ? "zstd"
                         : p[0] == 0xFD && p[1] == '7' && p[2] == 'z' && p[3] == 'X'    ? "xz"
                                                                                        : nullptr;
    throw source_error(path_, "tar",
                       packer != nullptr
                           ? std::string("is compressed with ") + packer +
                                 ", and members of a compressed archive cannot be reached one by one; "
                                 "unpack it to a plain .tar"
                           : "is not a tar archive (starts with " + start + ", and no header is there)");
  }

  /// Where the next header lies, once it is sure that the data are there.
  std::uint64_t skip(std::uint64_t header, std::uint64_t size, std::string_view what) const {
    const std::uint64_t first = header + tar_block;
    if (first > size_ || size > size_ - first) {
      cut_off(std::string(what) + " (header at offset " + std::to_string(header) + ", " +
                  std::to_string(size) + " bytes)",
              size > ~first ? ~std::uint64_t{0} : first + size);
    }
    return first + round_up_to_block(size);
  }

  /// The contents of a header that is followed by text.
  std::string_view read_text(std::uint64_t header, std::uint64_t size) {
    if (size > 1 << 20) fail(header, "holds a name or attributes of more than 1 MiB");
    position_ = skip(header, size, "a long name");
    std::string_view text(
        reinterpret_cast<const char*>(bytes(header + tar_block, static_cast<std::size_t>(size))),
        static_cast<std::size_t>(size));
    while (text.ends_with('\0')) text.remove_suffix(1);
    return text;
  }

  /// Records "LENGTH KEY=VALUE\n" of POSIX.1-2001.
  void read_pax(extended& into, std::uint64_t header, std::uint64_t size) {
    std::string_view text = read_text(header, size);
    while (!text.empty()) {
      std::size_t length = 0;
      const auto [digits_end, code] = std::from_chars(text.data(), text.data() + text.size(), length);
      const std::size_t digits = static_cast<std::size_t>(digits_end - text.data());
      if (code != std::errc() || length > text.size() || length < digits + 4 || text[digits] != ' ' ||
          text[length - 1] != '\n') {
        fail(header, "has a pax record that is not \"LENGTH KEY=VALUE\" (found \"" +
                         printable(text.substr(0, 32)) + "\")");
      }
      const std::string_view entry = text.substr(digits + 1, length - digits - 2);
      text.remove_prefix(length);
      const std::size_t equals = entry.find('=');
      if (equals == std::string_view::npos) fail(header, "has a pax record without '='");
      const std::string_view key = entry.substr(0, equals), value = entry.substr(equals + 1);
      if (key == "path") {
        into.name = std::string(value);
        if (value.empty()) into.name.reset();  // an empty value takes back what was said before
      } else if (key == "size" && value.empty()) {
        into.size.reset();
      } else if (key == "size") {
        std::uint64_t n = 0;
        const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), n);
        if (wrong != std::errc() || end != value.data() + value.size()) {
          fail(header, "has a pax size that is no number (\"" + printable(value.substr(0, 32)) + "\")");
        }
        into.size = n;
      } else if (key.starts_with("GNU.sparse.")) {
        into.sparse = true;
        if (key == "GNU.sparse.name") into.name = std::string(value);
      }
    }
  }

  void finish(tar_entry& out, const tar_header& header, const extended& own, std::uint64_t at,
              std::uint64_t size) {
    if (own.size) size = *own.size;
    out.offset = at + tar_block;
    bool has_data = true;
    switch (header.type()) {
      case '\0':
      case '0':
      case '7':  // contiguous, which says nothing any more
        out.what = out.name.ends_with('/') ? tar_entry::other
                   : own.sparse            ? tar_entry::sparse
                                           : tar_entry::file;
        break;
      case 'S': {
        out.what = tar_entry::sparse;
        bool more = header.sparse_map_goes_on();
        while (more) {
          more = tar_header::sparse_map_goes_on(block(out.offset));
          out.offset += tar_block;
        }
        break;
      }
      case '1':
      case '2':
        out.what = tar_entry::link;
        has_data = false;
        break;  // some writers give hard links a size all the same
      case '3':
      case '4':
      case '5':
      case '6':
        out.what = tar_entry::other;
        has_data = false;
        break;
      case 'M':
        throw source_error(path_, "tar",
                           "goes on from another volume (\"" + printable(out.name) +
                               "\"), and volumes of one archive cannot be read by themselves; write it "
                               "without --multi-volume");
      default:
        out.what = tar_entry::other;
        break;
    }
    if (out.name.find('\0') != std::string::npos) fail(at, "has a name with a NUL in it");
    out.length = has_data ? size : 0;
    position_ = skip(out.offset - tar_block, out.length, "\"" + printable(out.name) + "\"");
  }

  const std::string& path_;
  std::uint64_t size_;
  std::uint64_t position_ = 0;
  bool ended_ = false;
  extended global_;
  forward_window window_;
};

}  // namespace wick::detail

namespace wick {

/// What becomes of a sample that lacks a wanted member.
enum class incomplete : unsigned char {
  refuse,  ///< an error when the shards are indexed
  skip,    ///< it is left out, and counted in skipped()
};

namespace detail {

class tar_index {
 public:
  struct member {
    std::uint64_t offset, length;
  };

  /// With `labels` the last field is an integer in decimal digits, which is read at once and not kept as a
  /// member.
  tar_index(std::vector<std::string> shards, record_fields fields, bool labels, incomplete policy)
      : fields_(std::move(fields)),
        labels_(labels),
        policy_(policy),
        open_(shards.size()),
        shards_(std::move(shards)) {
    keys_.resize(shards_.size());
    stamps_.resize(shards_.size());
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      try {
        add_shard(s);
      } catch (const error& e) {
        throw error(std::string(e.what()) + (shards_.size() < 2
                                                 ? std::string()
                                                 : " (shard " + std::to_string(s + 1) + " of " +
                                                       std::to_string(shards_.size()) + ")"));
      }
    }
    if (samples_.empty()) {
      throw source_error(shards_.front(), "tar",
                         "no sample in " + std::to_string(shards_.size()) + " shards (" +
                             std::to_string(skipped_) +
                             " incomplete ones left out); members are "
                             "named KEY.EXTENSION, and the wanted ones are" +
                             wanted());
    }
    samples_.shrink_to_fit();
    members_.shrink_to_fit();
    targets_.shrink_to_fit();
  }

  const record_fields& fields() const noexcept { return fields_; }
  std::uint64_t size() const noexcept { return samples_.size(); }
  std::uint64_t bytes_scanned() const noexcept { return bytes_scanned_; }
  std::uint64_t skipped() const noexcept { return skipped_; }
  const std::vector<std::string>& shards() const noexcept { return shards_; }

  const char* path(std::uint64_t i) const noexcept { return shards_[samples_[i].shard].c_str(); }
  int file(std::uint64_t i) const noexcept { return open_[samples_[i].shard]; }
  /// What the shard was when it was indexed.
  const file_stamp* stamp(std::uint64_t i) const noexcept { return &stamps_[samples_[i].shard]; }
  std::string_view key(std::uint64_t i) const noexcept {
    return keys_[samples_[i].shard].data() + samples_[i].key;
  }
  std::int64_t target(std::uint64_t i) const noexcept { return targets_[i]; }
  /// Its members() many members.
  const member* at(std::uint64_t i) const noexcept { return members_.data() + i * members(); }
  std::size_t members() const noexcept { return fields_.size() - (labels_ ? 1 : 0); }

  /// Of keys, sizes and targets, and of the wanted extensions; not of where the shards lie.
  std::uint64_t fingerprint() const noexcept {
    fingerprint_hash h;
    for (std::size_t f = 0; f < fields_.size(); ++f) h.add(fields_.name(f));
    for (std::uint64_t i = 0; i < size(); ++i) {
      h.add(key(i));
      for (std::size_t m = 0; m < members(); ++m) h.add(at(i)[m].length);
    }
    for (const std::int64_t t : targets_) h.add(static_cast<std::uint64_t>(t));
    return h.add(size()).value();
  }

 private:
  struct place {
    std::uint32_t shard;
    std::uint32_t key;  // within the shard's keys
  };
  struct found {
    member where{};
    std::size_t alternative = 0;
    bool there = false;
  };
  /// The sample whose members are passing by.
  struct gathered {
    std::string key;
    std::string all;  // its extensions, for messages
    std::array<found, record_fields::max_fields> wanted{};
    std::int64_t target = 0;
  };

  void add_shard(std::size_t shard) {
    const std::string& path = shards_[shard];
    opened_file opened = open_regular(path, "tar");
    stamps_[shard] = opened.stamp;
    tar_scan scan(path, opened.file.get(), opened.stamp.size);
    tar_entry entry;
    gathered now;
    bool any = false;
    while (scan.next(entry)) {
      if (entry.what == tar_entry::other) continue;
      std::string_view name = entry.name;
      while (name.starts_with("./")) name.remove_prefix(2);
      const std::size_t base = name.rfind('/') + 1, dot = name.find('.', base);
      // As in WebDataset: no extension, hidden, or __meta__: not a member of a sample.
      if (dot == std::string_view::npos || dot == base || name.substr(base).starts_with("__")) continue;
      const std::string_view key = name.substr(0, dot);
      if (!any || key != now.key) {
        if (any) close(shard, now);
        now = {};
        now.key = key;
        any = true;
      }
      take(scan, entry, now, name.substr(dot + 1), path);
    }
    if (any) close(shard, now);
    require_unchanged(opened, path, "tar");
    keys_[shard].shrink_to_fit();
    bytes_scanned_ += scan.bytes_read();
    open_.keep(std::move(opened.file));
  }

  void take(tar_scan& scan, const tar_entry& entry, gathered& now, std::string_view extension,
            const std::string& path) {
    std::string lower(extension);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (now.all.size() < 200) now.all += (now.all.empty() ? "" : ", ") + lower;
    const auto [field, alternative] = fields_.find_alternative(lower);
    if (field == fields_.size()) return;
    if (entry.what == tar_entry::link) {
      now.all += " (a link: write the archive with tar --dereference --hard-dereference)";
      return;
    }
    if (entry.what == tar_entry::sparse) {
      throw sample_problem(path, now.key,
                           "the member \"" + printable(entry.name) +
                               "\" is stored as a sparse file, whose holes are left out; write the "
                               "archive without --sparse");
    }
    found& f = now.wanted[field];
    if (f.there && f.alternative == alternative) {
      throw sample_problem(path, now.key,
                           "two members are named \"" + printable(entry.name) + "\" (data at offsets " +
                               std::to_string(f.where.offset) + " and " + std::to_string(entry.offset) +
                               "); leave one out");
    }
    if (f.there && f.alternative < alternative) return;
    f = {{entry.offset, entry.length}, alternative, true};
    if (labels_ && field + 1 == fields_.size()) now.target = label(scan, entry, now.key, path);
  }

  std::int64_t label(tar_scan& scan, const tar_entry& entry, const std::string& key,
                     const std::string& path) {
    std::string_view text;
    if (entry.length <= 256) text = scan.data(entry);
    const std::string shown =
        "\"" + printable(text.substr(0, 40)) + "\" (" + std::to_string(entry.length) + " bytes)";
    const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    if (text.starts_with('+')) text.remove_prefix(1);
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || code != std::errc() || end != text.data() + text.size()) {
      throw sample_problem(path, key,
                           "\"" + printable(entry.name) + "\" holds " + shown +
                               ", not a whole number; for other targets ask for the members by name: "
                               "wick::tar(shards, {\"jpg\", \"cls\"})");
    }
    return value;
  }

  void close(std::size_t shard, const gathered& sample) {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (sample.wanted[f].there) continue;
      if (policy_ == incomplete::skip) {
        ++skipped_;
        return;
      }
      throw sample_problem(
          shards_[shard], sample.key,
          "has no member \"" + fields_.name(f) + "\", only " + printable(sample.all) +
              "; members of a sample must lie side by side (tar --sort=name); to leave such samples "
              "out, set .incomplete = wick::incomplete::skip");
    }
    std::string& keys = keys_[shard];
    if (keys.size() > std::numeric_limits<std::uint32_t>::max()) {
      throw source_error(shards_[shard], "tar", "its keys take more than 4 GiB; split the shard");
    }
    samples_.push_back({static_cast<std::uint32_t>(shard), static_cast<std::uint32_t>(keys.size())});
    keys.append(sample.key).push_back('\0');
    for (std::size_t m = 0; m < members(); ++m) members_.push_back(sample.wanted[m].where);
    if (labels_) targets_.push_back(sample.target);
  }

  static error sample_problem(const std::string& path, const std::string& key, const std::string& what) {
    return error(printable(path) + ": " + printable(key) + ": tar: " + what);
  }
  std::string wanted() const {
    std::string out;
    for (std::size_t f = 0; f < fields_.size(); ++f) out += " \"" + fields_.name(f) + '"';
    return out;
  }

  record_fields fields_;
  bool labels_;
  incomplete policy_;
  open_shards open_;
  std::vector<std::string> shards_;
  std::vector<file_stamp> stamps_;
  std::vector<std::string> keys_;  // a shard's keys, NUL after each
  std::vector<place> samples_;
  std::vector<member> members_;
  std::vector<std::int64_t> targets_;
  std::uint64_t bytes_scanned_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace detail
}  // namespace wick

namespace wick {

namespace detail {

/// The shards, in order: "train-{000000..000146}.tar", "train-*.tar" (natural order), or a list of such
/// names.
class shard_list {
 public:
  /// \throws wick::error when a wildcard matches nothing, or the list is empty
  template <class Pattern>
    requires std::convertible_to<const Pattern&, std::filesystem::path>
  shard_list(const Pattern& pattern) {  // NOLINT(google-explicit-constructor)
    add(std::filesystem::path(pattern));
  }
  shard_list(std::initializer_list<std::filesystem::path> patterns) : shard_list(std::vector(patterns)) {}
  shard_list(const std::vector<std::filesystem::path>& patterns) {  // NOLINT(google-explicit-constructor)
    for (const std::filesystem::path& p : patterns) add(p);
    if (paths.empty()) throw error("tar: the list of shards is empty; name at least one");
  }
  shard_list(const std::vector<std::string>& patterns)  // NOLINT(google-explicit-constructor)
      : shard_list(std::vector<std::filesystem::path>(patterns.begin(), patterns.end())) {}

  std::vector<std::string> paths;

 private:
  void add(const std::filesystem::path& pattern) {
    for (std::string& p : detail::expand_pattern(pattern.native(), "tar")) paths.push_back(std::move(p));
  }
};

struct tar_options {
  /// Samples that lack a wanted member.
  wick::incomplete incomplete = wick::incomplete::refuse;
};

/// Pictures and their classes in tar shards: `data` is where KEY's picture lies, `target` the number in
/// KEY.cls. Made by tar(shards).
class tar_samples {
 public:
  explicit tar_samples(shard_list shards, tar_options options = {})
      : index_(std::make_shared<const detail::tar_index>(
            std::move(shards.paths), record_fields({"jpg;jpeg;png;ppm;bmp;pgm;tif;tiff;webp;gif", "cls"}),
            true, options.incomplete)) {}

  std::uint64_t size() const noexcept { return index_->size(); }
  sample<location, std::int64_t> at(std::uint64_t i) const noexcept {
    const detail::tar_index::member& m = *index_->at(i);
    return {{index_->path(i), index_->file(i), m.offset, m.length, index_->stamp(i)}, index_->target(i)};
  }
  std::string key(std::uint64_t i) const {
    return printable(index_->path(i)) + ": " + printable(index_->key(i));
  }
  std::uint64_t fingerprint() const noexcept { return index_->fingerprint(); }
  /// Bytes that were read to build the index.
  std::uint64_t bytes_scanned() const noexcept { return index_->bytes_scanned(); }
  /// Incomplete samples that were left out, as the options allowed.
  std::uint64_t skipped() const noexcept { return index_->skipped(); }
  /// Paths, in order.
  const std::vector<std::string>& shards() const noexcept { return index_->shards(); }

 private:
  std::shared_ptr<const detail::tar_index> index_;
};

/// The members asked for, of each sample in tar shards. Made by tar(shards, {"jpg", "json"}).
class tar_records {
 public:
  tar_records(shard_list shards, const std::vector<std::string>& members, tar_options options = {})
      : index_(std::make_shared<const detail::tar_index>(std::move(shards.paths), record_fields(members),
                                                         false, options.incomplete)) {}

  std::uint64_t size() const noexcept { return index_->size(); }
  record<location> at(std::uint64_t i) const {
    record<location> out(index_->key(i), index_->fields());
    const detail::tar_index::member* m = index_->at(i);
    for (std::size_t f = 0; f < index_->members(); ++f) {
      out.push_back({index_->path(i), index_->file(i), m[f].offset, m[f].length, index_->stamp(i)});
    }
    return out;
  }
  std::string key(std::uint64_t i) const {
    return printable(index_->path(i)) + ": " + printable(index_->key(i));
  }
  std::uint64_t fingerprint() const noexcept { return index_->fingerprint(); }
  std::uint64_t bytes_scanned() const noexcept { return index_->bytes_scanned(); }
  std::uint64_t skipped() const noexcept { return index_->skipped(); }
  const std::vector<std::string>& shards() const noexcept { return index_->shards(); }

 private:
  std::shared_ptr<const detail::tar_index> index_;
};

}  // namespace detail

/// Tar shards of pictures with an integer class: KEY.jpg (or jpeg, png, ppm, bmp, pgm, tif, tiff, webp, gif:
/// the first of these that a sample has) and KEY.cls. KEY is the path up to the first dot of its last part;
/// members of a sample lie side by side. The headers are read here, once; shards stay open while the process
/// has descriptors to spare. v7, ustar, GNU and pax archives, also concatenated; folders, links and devices
/// are passed over. A shard that is replaced, changed or deleted later is an error of each sample that is
/// read from it. \throws wick::error when a shard is missing, cut off, compressed or damaged, a wanted member
/// is sparse or there twice, a KEY.cls holds no number, or a sample is incomplete
inline detail::tar_samples tar(detail::shard_list shards, detail::tar_options options = {}) {
  return detail::tar_samples(std::move(shards), options);
}

/// The same with members of your choice: `at(i)` is a record with one location for each of `members` (1 to
/// 8), in that order. "jpg;jpeg;png" takes the first of these that a sample has. What is not asked for is
/// never read.
inline detail::tar_records tar(detail::shard_list shards, const std::vector<std::string>& members,
                               detail::tar_options options = {}) {
  return detail::tar_records(std::move(shards), members, options);
}

}  // namespace wick

// ==== wick/run/async_mutex.hpp
/// \file
/// Mutual exclusion for coroutines: who finds it locked suspends.

// ==== wick/run/async_semaphore.hpp
/// \file
/// Permits that coroutines share: whoever finds too few suspends, and no worker ever blocks.

// ==== wick/run/detail/line.hpp
/// \file
/// Waiting in line: what async_mutex, async_semaphore and channel have in common.

namespace wick::detail {

/// One coroutine that waits; lies in its frame. The links and `stage` belong to who owns the line and are
/// read and written under its mutex; from `served` or `called_off` on they are the coroutine's.
struct waiter : job {
  enum class stages : unsigned char { arriving, in_line, served, called_off };

  explicit waiter(environment e) noexcept : env(e) {}
  /// Lets the coroutine go on. Nothing of the waiter may be touched afterwards.
  void wake() noexcept { env.on().post(this); }

  environment env;
  std::coroutine_handle<> handle;
  waiter* before = nullptr;
  waiter* after = nullptr;
  stages stage = stages::arriving;
};

/// First in, first out; any may leave from between.
class line {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  waiter* front() const noexcept { return first_; }
  void push(waiter& w) noexcept {
    w.before = last_;
    w.after = nullptr;
    (last_ != nullptr ? last_->after : first_) = &w;
    last_ = &w;
    w.stage = waiter::stages::in_line;
  }
  void remove(waiter& w) noexcept {
    (w.before != nullptr ? w.before->after : first_) = w.after;
    (w.after != nullptr ? w.after->before : last_) = w.before;
  }
  waiter& pop() noexcept {
    waiter& w = *first_;
    remove(w);
    return w;
  }

 private:
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
};

/// Those who were served under the mutex and are woken after it, in their order.
class woken {
 public:
  void add(waiter& w) noexcept {
    w.after = nullptr;
    *end_ = &w;
    end_ = &w.after;
  }
  void wake_all() noexcept {
    while (first_ != nullptr) std::exchange(first_, first_->after)->wake();
  }

 private:
  waiter* first_ = nullptr;
  waiter** end_ = &first_;
};

/// The awaiter of a wait in line. The stop callback is there before the line is joined, so a stop is never
/// missed: one that comes earlier leaves `called_off` behind, which join() finds; a later one takes the
/// waiter out of the line.
///
/// Owner has, all taking its mutex: `bool serve(Derived&)`, which takes what is wanted now or says false;
/// `bool join(Derived&)`, the same but queues the waiter and says true when it must wait (false too when it
/// is called off); `void call_off(Derived&)`. It may be destroyed as soon as those that waited have gone on.
template <class Owner, class Derived>
class line_awaiter : public waiter {
 public:
  line_awaiter(Owner& owner, environment e) noexcept : waiter(e), owner_(&owner) {}
  /// Before it is awaited: an awaiter may be handed to when_any. The callback and the links stay behind.
  line_awaiter(line_awaiter&& other) noexcept : waiter(other.env), owner_(other.owner_) {}
  line_awaiter& operator=(line_awaiter&&) = delete;

  bool await_ready() noexcept {
    if (env.stop().stop_requested()) {
      stage = stages::called_off;
      return true;
    }
    return owner_->serve(static_cast<Derived&>(*this));
  }
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    handle = h;
    execute = [](job* j) noexcept { resume(static_cast<waiter*>(j)->handle); };
    if (env.stop().stop_possible()) calling_off_.emplace(env.stop(), on_stop{this});
    return owner_->join(static_cast<Derived&>(*this));  // another thread may go on with this from here on
  }

 protected:
  /// \throws wick::cancelled
  void finish() {
    calling_off_.reset();  // waits for a callback on its way, which only looks and finds nothing to do
    if (stage == stages::called_off) throw cancelled();
  }
  Owner& owner() const noexcept { return *owner_; }

 private:
  struct on_stop {
    line_awaiter* self;
    void operator()() const noexcept { self->owner_->call_off(static_cast<Derived&>(*self)); }
  };
  Owner* owner_;
  std::optional<stop_callback<on_stop>> calling_off_;
};

}  // namespace wick::detail

namespace wick {

/// A number of permits that coroutines share. First come, first served: one who wants many is not overtaken
/// by those who want few, so nobody starves; who wants more than there will ever be waits until it is
/// cancelled, and those behind it with it.
///
/// acquire, try_acquire, release: any thread. What was written before a permit was given back is visible to
/// who gets it. It must outlive its permits, and be destroyed when nobody waits; a coroutine that was served
/// may destroy it though release, on another thread, has not returned yet.
///
///     wick::async_semaphore connections(8);
///     auto permit = co_await connections.acquire(c);   // c: the stage's context, or {executor, token}
class async_semaphore {
 public:
  /// So many are free at first.
  explicit async_semaphore(std::size_t permits) noexcept : free_(permits) {}
  async_semaphore(const async_semaphore&) = delete;
  async_semaphore& operator=(const async_semaphore&) = delete;

  /// What acquire gives: gives its permits back when it dies, on any thread.
  class [[nodiscard]] permits {
   public:
    permits() noexcept = default;
    permits(permits&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), count_(std::exchange(other.count_, 0)) {}
    /// Gives back what this held, at once.
    permits& operator=(permits&& other) noexcept {
      permits old(std::move(other));
      std::swap(of_, old.of_);
      std::swap(count_, old.count_);
      return *this;
    }
    ~permits() { reset(); }
    std::size_t count() const noexcept { return count_; }
    void reset() noexcept {
      if (of_ != nullptr) std::exchange(of_, nullptr)->release(std::exchange(count_, 0));
    }
    /// They are not given back by this: they are gone, or somebody else calls release.
    std::size_t forget() noexcept {
      of_ = nullptr;
      return std::exchange(count_, 0);
    }
    explicit operator bool() const noexcept { return of_ != nullptr; }

   private:
    friend class async_semaphore;
    permits(async_semaphore* of, std::size_t count) noexcept : of_(of), count_(count) {}
    async_semaphore* of_ = nullptr;
    std::size_t count_ = 0;
  };

  class [[nodiscard]] acquire_awaiter : public detail::line_awaiter<async_semaphore, acquire_awaiter> {
   public:
    acquire_awaiter(async_semaphore& of, detail::environment env, std::size_t wanted) noexcept
        : line_awaiter(of, env), wanted_(wanted) {}
    permits await_resume() {
      finish();
      return {&owner(), wanted_};
    }

   private:
    friend class async_semaphore;
    std::size_t wanted_;
  };

  /// Suspends until `n` permits are free and those who came before have theirs. \throws wick::cancelled
  acquire_awaiter acquire(detail::environment env, std::size_t n = 1) noexcept { return {*this, env, n}; }

  /// At once or not at all. Never overtakes one who waits.
  permits try_acquire(std::size_t n = 1) noexcept {
    std::lock_guard lock(mutex_);
    if (!take(n)) return {};
    return {this, n};
  }

  /// Adds permits, whether they came from here or are new, and wakes those whose turn it is.
  void release(std::size_t n = 1) noexcept {
    detail::woken ready;
    {
      std::lock_guard lock(mutex_);
      free_ += n;
      serve_line(ready);
    }
    ready.wake_all();
  }

  /// Free at this moment: a number that may be old when it is looked at.
  std::size_t available() const noexcept {
    std::lock_guard lock(mutex_);
    return free_;
  }

 private:
  friend class detail::line_awaiter<async_semaphore, acquire_awaiter>;

  bool take(std::size_t n) noexcept {
    if (!line_.empty() || free_ < n) return false;
    free_ -= n;
    return true;
  }
  bool serve(acquire_awaiter& a) noexcept {
    std::lock_guard lock(mutex_);
    if (!take(a.wanted_)) return false;
    a.stage = acquire_awaiter::stages::served;
    return true;
  }
  bool join(acquire_awaiter& a) noexcept {
    std::lock_guard lock(mutex_);
    if (a.stage == acquire_awaiter::stages::called_off) return false;
    if (take(a.wanted_)) {
      a.stage = acquire_awaiter::stages::served;
      return false;
    }
    line_.push(a);
    return true;
  }
  void call_off(acquire_awaiter& a) noexcept {
    detail::woken ready;
    {
      std::lock_guard lock(mutex_);
      const auto stage = a.stage;
      if (stage == acquire_awaiter::stages::served) return;
      a.stage = acquire_awaiter::stages::called_off;
      if (stage == acquire_awaiter::stages::arriving) return;
      line_.remove(a);
      ready.add(a);
      serve_line(ready);  // it may have wanted more than those behind it
    }
    ready.wake_all();
  }
  void serve_line(detail::woken& ready) noexcept {
    while (!line_.empty()) {
      auto& next = static_cast<acquire_awaiter&>(*line_.front());
      if (free_ < next.wanted_) return;
      free_ -= next.wanted_;
      line_.remove(next);
      next.stage = acquire_awaiter::stages::served;
      ready.add(next);
    }
  }

  mutable std::mutex mutex_;  // held for a few instructions
  std::size_t free_;
  detail::line line_;
};

}  // namespace wick

namespace wick {

/// A mutex that may be held across a `co_await`, which a std::mutex must not: the coroutine may wake up on
/// another thread. First come, first served: unlocking hands it to the one who waits longest. It is not
/// recursive.
///
/// lock, try_lock: any thread. What was written under the lock is visible to the next who has it. It must
/// outlive its guards, and be destroyed when nobody waits.
///
///     auto guard = co_await mutex.lock(c);   // c: the stage's context, or {executor, token}
class async_mutex {
 public:
  async_mutex() noexcept = default;

  /// Unlocks when it dies, on any thread. A default or moved-from one holds nothing.
  class [[nodiscard]] guard {
   public:
    guard() noexcept = default;
    void unlock() noexcept { held_.reset(); }
    explicit operator bool() const noexcept { return static_cast<bool>(held_); }

   private:
    friend class async_mutex;
    explicit guard(async_semaphore::permits held) noexcept : held_(std::move(held)) {}
    async_semaphore::permits held_;
  };

  class [[nodiscard]] lock_awaiter : public async_semaphore::acquire_awaiter {
   public:
    using acquire_awaiter::acquire_awaiter;
    guard await_resume() { return guard(acquire_awaiter::await_resume()); }
  };

  /// Suspends until it is this one's turn. \throws wick::cancelled
  lock_awaiter lock(detail::environment env) noexcept { return {one_, env, 1}; }

  /// At once or not at all: an empty guard. Never overtakes one who waits.
  guard try_lock() noexcept { return guard(one_.try_acquire()); }

 private:
  async_semaphore one_{1};
};

}  // namespace wick

// ==== wick/run/channel.hpp
/// \file
/// A bounded queue between coroutines: who sends into a full one or receives from an empty one suspends.

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

// ==== wick/run/future.hpp
/// \file
/// A task's result for code without coroutines: start it now, take the result later.

// ==== wick/run/detail/outcome.hpp
/// \file
/// What came of a task, for a thread that waits for it: its value or its exception.

namespace wick::detail {

/// Written once, by settle(); read once, by who was told that it is there.
template <class T>
struct outcome {
  std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> value;
  std::exception_ptr exception;

  /// The value, or throws the exception.
  T take() {
    if (exception) std::rethrow_exception(std::move(exception));
    if constexpr (!std::is_void_v<T>) return std::move(*value);
  }
};

/// Runs `t` and keeps what comes of it. Await it, and drop it before anybody is told: the parameters of `t`,
/// which may refer to what the waiting thread destroys, go with it.
template <class T>
task<void> settle(task<T> t, outcome<T>* to) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await t;
      to->value.emplace();
    } else {
      T value = co_await t;
      to->value.emplace(std::move(value));
    }
  } catch (...) {
    to->exception = std::current_exception();
  }
}

}  // namespace wick::detail

namespace wick::detail {

template <class T>
class future;

template <class T>
struct future_state {
  explicit future_state(executor& ex) noexcept : on(&ex) {}
  executor* on;
  std::mutex mutex;
  condition changed;
  std::atomic<bool> ready{false};  // set under the mutex; read without it, a forked child could not take it
  outcome<T> result;
};

template <class T>
detached run_for(std::shared_ptr<future_state<T>> state, task<void> settling) {
  co_await state->on->schedule();
  {
    const task<void> all = std::move(settling);  // gone before anybody is told
    co_await all;
  }
  std::lock_guard lock(state->mutex);
  state->ready.store(true, std::memory_order_release);
  state->changed.notify_all();
}

template <class T>
future<T> start(executor& ex, task<T> t);

/// What as_future gives: the task runs, and its value or exception is taken here, once. Not std::future: that
/// costs every program `<future>`, and would block a worker without a word.
///
/// One thread at a time. Dropping it abandons the result; the task goes on to its end, on an executor that
/// must outlive it. To stop it, give it a stop_token.
template <class T>
class [[nodiscard]] future {
 public:
  future() noexcept = default;

  /// False for a default one, and after get().
  bool valid() const noexcept { return state_ != nullptr; }
  /// Whether get() would return at once.
  bool ready() const noexcept { return state_->ready.load(std::memory_order_acquire); }
  /// Blocks this thread until the task has ended. \throws std::logic_error on a worker of its executor, which
  /// must not block (await the task there), and in a forked child
  void wait() const {
    check();
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return ready(); });
  }
  /// The same for a while; whether it has ended.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> d) const {
    check();
    using seconds = std::chrono::duration<double>;
    constexpr seconds longest = std::chrono::hours(24 * 365 * 100);
    const seconds wanted = std::chrono::duration_cast<seconds>(d);
    const auto most = std::chrono::duration_cast<std::chrono::nanoseconds>(
        wanted > seconds::zero() ? std::min(wanted, longest) : seconds::zero());
    const auto end = std::chrono::steady_clock::now() + most;
    std::unique_lock lock(state_->mutex);
    while (!ready()) {
      const auto left = end - std::chrono::steady_clock::now();
      if (left <= std::chrono::nanoseconds::zero()) return false;
      state_->changed.wait_for(lock, left);
    }
    return true;
  }
  /// Waits, then gives the value or throws the exception. The task's frame is gone by then, parameters
  /// included, and what it wrote is visible.
  T get() {
    wait();
    const auto state = std::move(state_);
    return state->result.take();
  }

 private:
  friend future detail::start<T>(executor&, task<T>);
  explicit future(std::shared_ptr<detail::future_state<T>> state) noexcept : state_(std::move(state)) {}
  void check() const {
    if (!state_)
      throw std::logic_error(
          "wick: this future holds no task: it was made empty, or get() was called before");
    if (ready()) return;
    state_->on->require_workers();
    if (state_->on->this_slot() < state_->on->workers()) {
      throw std::logic_error(
          "wick: waiting for a future would block a worker of its executor; co_await the task there");
    }
  }
  std::shared_ptr<detail::future_state<T>> state_;
};

template <class T>
future<T> start(executor& ex, task<T> t) {
  auto state = std::make_shared<future_state<T>>(ex);
  task<void> settling = settle(std::move(t), &state->result);  // here, where want of memory can be told
  resume(run_for<T>(state, std::move(settling)).handle);
  return future<T>(std::move(state));
}

/// Starts `t` on a worker of `ex` and returns at once. Any thread. \throws std::logic_error in a forked child
template <class T>
future<T> as_future(executor& ex, task<T> t) {
  static_assert(!std::is_reference_v<T>,
                "wick: as_future gives back values; return a pointer or a std::reference_wrapper");
  ex.require_workers();
  return detail::start(ex, std::move(t));
}

}  // namespace wick::detail

// ==== wick/run/scope.hpp
/// \file
/// A scope for concurrent work: what is spawned in it ends in it, and the first failure stops the rest.

namespace wick::detail {

/// Starts tasks on an executor and waits for all of them. The first exception asks the others to stop (they
/// see it at stop()), all are awaited, and join rethrows it.
///
/// spawn, fork: any thread, before join; also from within a task of the scope. join or wait: once, by one.
/// What the tasks wrote is visible after it, and their frames are gone, parameters included; the scope may go
/// at once. The destructor asks all to stop and blocks until they have: call join or wait before, to see
/// exceptions and not to block a worker. stop, request_stop: any thread. The executor must outlive the scope.
class scope : detail::task_owner {
 public:
  explicit scope(executor& on) noexcept : on_(on) {
    ended = [](detail::task_owner* self, std::exception_ptr thrown) noexcept {
      auto* const s = static_cast<scope*>(self);
      if (thrown) s->fail(std::move(thrown));
      s->done_one();
    };
  }
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;
  ~scope() {
    if (joined_) return;
    stop_.request_stop();
    wait_all();
  }

  stop_token stop() noexcept { return stop_.token(); }
  void request_stop() noexcept { stop_.request_stop(); }
  executor& on() noexcept { return on_; }

  /// Queues `t`; it starts on a worker, never here. \throws std::logic_error in a forked child, and then
  /// nothing was spawned
  void spawn(task<void> t) {
    on_.require_workers();
    live_.fetch_add(1, std::memory_order_relaxed);
    on_.post(t.release().queued(*this));
  }
  /// For work that divides itself, again and again: as spawn while few jobs are queued for this worker, so
  /// that others find some; else `t` begins here and now, like a call, which costs a tenth and keeps the
  /// memory small. It must make no difference to `t` which of the two it is; it may run on until its first
  /// suspension before this returns. \throws std::logic_error in a forked child
  void fork(task<void> t) {
    on_.require_workers();
    if (!on_.queue_is_long()) return spawn(std::move(t));
    auto& promise = t.release();
    bool counted = false;
    if (promise.begin(*this, [&] {
          live_.fetch_add(1, std::memory_order_relaxed);
          counted = true;
        })) {
      return;
    }
    std::exception_ptr thrown = promise.take_exception();
    std::coroutine_handle<task<void>::promise_type>::from_promise(promise).destroy();
    if (thrown) fail(std::move(thrown));
    if (counted) done_one();
  }

  /// `co_await s.join();`
  class [[nodiscard]] join_awaiter : job {
   public:
    explicit join_awaiter(scope& s) noexcept : scope_(s) {}
    /// All have ended, and only they could spawn more.
    bool await_ready() const noexcept { return scope_.live_.load(std::memory_order_acquire) == 1; }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> handle) noexcept {
      handle_ = handle;
      execute = [](job* j) noexcept { detail::resume(static_cast<join_awaiter*>(j)->handle_); };
      scope_.waiter_ = this;
      return scope_.live_.fetch_sub(1, std::memory_order_acq_rel) != 1;
    }
    void await_resume() { scope_.finish(); }

   private:
    scope& scope_;
    std::coroutine_handle<> handle_;
  };
  join_awaiter join() noexcept { return join_awaiter(*this); }

  /// Blocks the calling thread, which must not be a worker.
  void wait() {
    wait_all();
    finish();
  }

 private:
  void fail(std::exception_ptr thrown) noexcept {
    if (failed_.exchange(true, std::memory_order_acq_rel)) return;
    exception_ = std::move(thrown);
    stop_.request_stop();
  }
  void done_one() noexcept {
    if (live_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (waiter_ != nullptr)
      on_.post(waiter_);
    else
      all_done_.set();
  }
  void wait_all() noexcept {
    if (live_.fetch_sub(1, std::memory_order_acq_rel) != 1) all_done_.wait();
    joined_ = true;
  }
  void finish() {
    joined_ = true;
    if (exception_) std::rethrow_exception(std::move(exception_));
  }

  executor& on_;
  stop_source stop_;
  std::atomic<std::uint32_t> live_{1};  // one for the joiner
  std::atomic<bool> failed_{false};
  std::exception_ptr exception_;
  job* waiter_ = nullptr;
  detail::wake_flag all_done_;
  bool joined_ = false;
};

}  // namespace wick::detail

// ==== wick/run/sync_wait.hpp
/// \file
/// From ordinary code into coroutines: start a task and sleep until it is done.

namespace wick {

namespace detail {

template <class T>
struct sync_state {
  wake_flag done;
  outcome<T> result;
};

template <class T>
detached sync_run(task<void> settling, sync_state<T>* state) {
  {
    const task<void> all = std::move(settling);  // gone before the waiting thread is told
    co_await all;
  }
  state->done.set();  // the waiting thread may leave at once: nothing of `state` is touched after this
}

}  // namespace detail

/// Runs `t` on this thread up to its first suspension and sleeps until it has ended elsewhere; returns its
/// value or throws its exception. What the task wrote is visible then, and its frame is gone, parameters
/// included. Any thread but a worker: it would block one. A task that is never resumed keeps the caller for
/// ever.
template <class T>
T sync_wait(task<T> t) {
  static_assert(!std::is_reference_v<T>,
                "wick: sync_wait gives back values; return a pointer or a std::reference_wrapper");
  detail::sync_state<T> state;
  task<void> settling =
      detail::settle(std::move(t), &state.result);  // here, where want of memory can be told
  detail::resume(detail::sync_run<T>(std::move(settling), &state).handle);
  state.done.wait();
  return state.result.take();
}

/// The same for anything that can be awaited.
template <detail::awaitable A>
  requires(!detail::is_task<A>)
auto sync_wait(A what) {
  using result = std::remove_cvref_t<detail::await_result_t<A>>;
  return sync_wait([](A inner) -> task<result> {
    if constexpr (std::is_void_v<result>) {
      co_await std::move(inner);
    } else {
      auto&& value = co_await std::move(inner);
      co_return std::forward<decltype(value)>(value);
    }
  }(std::move(what)));
}

}  // namespace wick

// ==== wick/run/when_all.hpp
/// \file
/// Several things at once, and all of their results: reading the members of a record, asking three servers.

// ==== wick/run/detail/siblings.hpp
/// \file
/// Starting several awaitables at once and going on when the last has ended: what when_all and when_any
/// share.

namespace wick::detail {

/// Lies in the frame of who waits. Whoever ends last resumes it, and touches nothing of this afterwards.
class siblings {
 public:
  siblings(std::size_t count, stop_source* stop) : nodes_(new resume_node[count]), stop_(stop) {}
  siblings(const siblings&) = delete;
  siblings& operator=(const siblings&) = delete;
  /// Those that were not started (an allocation failed) are dropped.
  ~siblings() {
    for (std::size_t i = 0; i < added_; ++i) {
      if (nodes_[i].handle) nodes_[i].handle.destroy();
    }
  }

  template <class A, class End>
  void add(A a, End end) {
    nodes_[added_].handle = run(this, std::move(a), std::move(end)).handle;
    ++added_;
  }

  /// True for the first only; tells the others to stop.
  bool claim() noexcept { return !claimed_.exchange(true, std::memory_order_acq_rel); }
  void fail_first() noexcept { exception_ = std::current_exception(); }
  void stop_others() noexcept {
    if (stop_ != nullptr) stop_->request_stop();
  }
  void rethrow() {
    if (exception_) std::rethrow_exception(std::move(exception_));
  }

  /// `co_await s.all();` starts them one after the other, each up to its first suspension.
  class [[nodiscard]] all_awaiter {
   public:
    explicit all_awaiter(siblings& of) noexcept : of_(of) {}
    bool await_ready() const noexcept { return of_.added_ == 0; }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> parent) {
      of_.parent_.handle = parent;
      of_.running_.store(of_.added_ + 1, std::memory_order_relaxed);
      const std::size_t n = std::exchange(of_.added_, 0);  // from now on they free themselves
      for (std::size_t i = 0; i < n; ++i) resume_nested(of_.nodes_[i]);
      return of_.running_.fetch_sub(1, std::memory_order_acq_rel) != 1;
    }
    void await_resume() const noexcept {}

   private:
    siblings& of_;
  };
  all_awaiter all() noexcept { return all_awaiter(*this); }

 private:
  template <class A, class End>
  static detached run(siblings* self, A a, End end) {
    {
      std::optional<A> mine(
          std::move(a));  // gone before the waiter goes on: it may refer to what that destroys
      try {
        if constexpr (std::is_void_v<await_result_t<A&&>>) {
          co_await std::move(*mine);
          end(std::monostate());
        } else {
          auto&& value = co_await std::move(*mine);
          end(std::forward<decltype(value)>(value));
        }
      } catch (...) {
        if (self->claim()) {
          self->fail_first();
          self->stop_others();
        }
      }
    }
    if (self->running_.fetch_sub(1, std::memory_order_acq_rel) == 1) resume_nested(self->parent_);
  }

  const std::unique_ptr<resume_node[]> nodes_;
  std::size_t added_ = 0;
  stop_source* const stop_;
  resume_node parent_;
  std::atomic<std::size_t> running_{0};
  std::atomic<bool> claimed_{false};
  std::exception_ptr exception_;
};

}  // namespace wick::detail

namespace wick {

namespace detail {

/// Puts what a sibling gave where it belongs.
template <class T>
struct keep {
  std::optional<T>* to;
  template <class U>
  void operator()(U&& value) const {
    to->emplace(std::forward<U>(value));
  }
};

template <std::size_t... I, class... A>
task<std::tuple<awaited_t<A>...>> all_of(std::index_sequence<I...>, stop_source* stop, A... a) {
  std::tuple<std::optional<awaited_t<A>>...> results;
  siblings group(sizeof...(A), stop);
  (group.add(std::move(a), keep<awaited_t<A>>{&std::get<I>(results)}), ...);
  co_await group.all();
  group.rethrow();
  co_return std::tuple<awaited_t<A>...>(std::move(*std::get<I>(results))...);
}

template <class T>
using vector_of = std::conditional_t<std::is_void_v<T>, void, std::vector<awaited_t<task<T>>>>;

template <class T>
task<vector_of<T>> all_of(stop_source* stop, std::vector<task<T>> tasks) {
  std::vector<std::optional<awaited_t<task<T>>>> results(tasks.size());
  siblings group(tasks.size(), stop);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    group.add(std::move(tasks[i]), keep<awaited_t<task<T>>>{&results[i]});
  }
  co_await group.all();
  group.rethrow();
  if constexpr (!std::is_void_v<T>) {
    vector_of<T> out;
    out.reserve(results.size());
    for (auto& r : results) out.push_back(std::move(*r));
    co_return out;
  }
}

}  // namespace detail

/// Awaits several things at once: `auto both = co_await when_all(stop, f(x), g(y));` gives a std::tuple of
/// what they gave, std::monostate for void, values for references. Take it apart in a statement of its own:
/// `auto& [a, b] = both;`.
///
/// Each awaitable is started here, one after the other, up to its first suspension. The caller goes on where
/// the last one ended, when all have ended and are gone, whatever happens. Of several exceptions the first is
/// thrown then. It also requests `stop`, so that siblings that wait with its token give up. What the siblings
/// wrote is visible to the caller.
template <detail::awaitable... A>
task<std::tuple<detail::awaited_t<A>...>> when_all(detail::stop_source& stop, A... awaitables) {
  return detail::all_of(std::index_sequence_for<A...>(), &stop, std::move(awaitables)...);
}
/// The same when nobody can be told to give up: an exception waits until the others have ended by themselves.
template <detail::awaitable... A>
task<std::tuple<detail::awaited_t<A>...>> when_all(A... awaitables) {
  return detail::all_of(std::index_sequence_for<A...>(), nullptr, std::move(awaitables)...);
}

/// As many as there are at run time: a std::vector of the results in the order of the tasks; nothing for
/// task<void>.
template <class T>
task<detail::vector_of<T>> when_all(detail::stop_source& stop, std::vector<task<T>> tasks) {
  return detail::all_of(&stop, std::move(tasks));
}
template <class T>
task<detail::vector_of<T>> when_all(std::vector<task<T>> tasks) {
  return detail::all_of<T>(nullptr, std::move(tasks));
}

namespace detail {

/// `t`, from its beginning on a worker of `ex`; it must outlive the task.
template <class T>
// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): the lambda is the coroutine
task<T> starts_on(executor& ex, task<T> t) {
  return [](executor* on, task<T> inner) -> task<T> {
    co_await on->schedule();
    if constexpr (std::is_void_v<T>) {
      co_await inner;
    } else {
      decltype(auto) value = co_await inner;
      co_return std::forward<decltype(value)>(value);
    }
  }(&ex, std::move(t));
}

}  // namespace detail

}  // namespace wick

// ==== wick/run/when_any.hpp
/// \file
/// Several things at once, and the first result: a hedged read, a timeout.

namespace wick::detail {

/// Which of several was first, and what it gave (std::monostate for void).
template <class T>
struct first_of {
  std::size_t index;
  T value;
};

/// Of the first that ends; the others' results are dropped.
template <class Result, class Make>
struct keep_first {
  siblings* group;
  std::optional<Result>* to;
  Make make;
  template <class U>
  void operator()(U&& value) const {
    if (!group->claim()) return;
    try {
      make(*to, std::forward<U>(value));
    } catch (...) {
      group->fail_first();
    }
    group->stop_others();
  }
};

template <std::size_t I>
struct emplace_alternative {
  template <class Result, class U>
  void operator()(std::optional<Result>& to, U&& value) const {
    to.emplace(std::in_place_index<I>, std::forward<U>(value));
  }
};

struct emplace_at {
  std::size_t index;
  template <class T, class U>
  void operator()(std::optional<first_of<T>>& to, U&& value) const {
    to.emplace(first_of<T>{index, T(std::forward<U>(value))});
  }
};

template <std::size_t... I, class... A>
task<std::variant<awaited_t<A>...>> any_of(std::index_sequence<I...>, stop_source* stop, A... a) {
  using result = std::variant<awaited_t<A>...>;
  std::optional<result> won;
  siblings group(sizeof...(A), stop);
  (group.add(std::move(a), keep_first<result, emplace_alternative<I>>{&group, &won, {}}), ...);
  co_await group.all();
  group.rethrow();
  co_return std::move(*won);
}

template <class T>
task<first_of<awaited_t<task<T>>>> any_of(stop_source* stop, std::vector<task<T>> tasks) {
  using result = first_of<awaited_t<task<T>>>;
  if (tasks.empty()) throw std::invalid_argument("wick: when_any of no tasks would never end");
  std::optional<result> won;
  siblings group(tasks.size(), stop);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    group.add(std::move(tasks[i]), keep_first<result, emplace_at>{&group, &won, {i}});
  }
  co_await group.all();
  group.rethrow();
  co_return std::move(*won);
}

/// A std::variant whose index() says which was first, and that holds what it gave (std::monostate for void):
///
///     wick::linked_stop_source stop(c.stop());
///     auto first = co_await wick::when_any(stop, download(url, stop.token()), wick::sleep_for(2s, {*c.on(),
///     stop.token()})); if (first.index() == 1) …   // too late
///
/// The first that ends decides, be it with a value or with an exception, which is thrown. It requests `stop`;
/// the losers are woken by their tokens with wick::cancelled, unwind, and are gone before the caller goes on.
/// What they give or throw is dropped. One that does not listen to the token is waited for. They are started
/// as by when_all, also those after one that has ended at once. What all of them wrote is visible to the
/// caller.
template <awaitable... A>
  requires(sizeof...(A) > 0)
task<std::variant<awaited_t<A>...>> when_any(stop_source& stop, A... awaitables) {
  return detail::any_of(std::index_sequence_for<A...>(), &stop, std::move(awaitables)...);
}

/// As many as there are at run time. \throws std::invalid_argument, when awaited, if there is none
template <class T>
task<first_of<awaited_t<task<T>>>> when_any(stop_source& stop, std::vector<task<T>> tasks) {
  return detail::any_of(&stop, std::move(tasks));
}

}  // namespace wick::detail

// ==== wick/version.hpp
/// \file
/// wick's version: the one place where it is written. CMake, the vcpkg port and the single header read it
/// from here.

namespace wick {

namespace detail {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

}  // namespace detail

/// The version of wick, "MAJOR.MINOR.PATCH".
inline constexpr const char* version = "0.1.0";

}  // namespace wick

// ==== wick/torch/archive.hpp
/// \file
/// A loader's state inside a torch archive: one checkpoint file for model, optimizer and data.

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>

// ==== wick/torch/tensor.hpp
/// \file
/// Between wick's shapes and types and Torch's; tensors as fields of samples.

#include <c10/core/ScalarType.h>
#include <c10/core/TensorOptions.h>

namespace wick::detail {

constexpr at::ScalarType scalar_type_of(dtype t) noexcept {
  switch (t) {
    case dtype::uint8:
      return at::kByte;
    case dtype::int8:
      return at::kChar;
    case dtype::int16:
      return at::kShort;
    case dtype::int32:
      return at::kInt;
    case dtype::int64:
      return at::kLong;
    case dtype::float16:
      return at::kHalf;
    case dtype::float32:
      return at::kFloat;
    case dtype::float64:
      return at::kDouble;
    case dtype::boolean:
      return at::kBool;
  }
  return at::kByte;
}

/// \throws wick::error for a type that batches can't have (complex, quantized, bfloat16, …)
inline dtype dtype_of(at::ScalarType t) {
  switch (t) {
    case at::kByte:
      return dtype::uint8;
    case at::kChar:
      return dtype::int8;
    case at::kShort:
      return dtype::int16;
    case at::kInt:
      return dtype::int32;
    case at::kLong:
      return dtype::int64;
    case at::kHalf:
      return dtype::float16;
    case at::kFloat:
      return dtype::float32;
    case at::kDouble:
      return dtype::float64;
    case at::kBool:
      return dtype::boolean;
    default:
      throw error(std::string("a tensor of ") + c10::toString(t) +
                  " can't be batched; convert it to float or int64");
  }
}

inline shape shape_of(const at::Tensor& t) {
  shape s;
  for (const std::int64_t e : t.sizes()) s.push_back(e);
  return s;
}

/// A stage may give tensors: each is copied into its slot of the batch.
template <>
struct field_access<at::Tensor> {
  static shape extents(const at::Tensor& t) { return shape_of(t); }
  static dtype type(const at::Tensor& t) { return dtype_of(t.scalar_type()); }
  static void write_to(const at::Tensor& t, slot where) {
    if (!t.device().is_cpu()) {
      throw error("a tensor on " + t.device().str() +
                  " can't be batched; keep samples on the CPU and write transfer() "
                  "behind batch()");
    }
    const at::Tensor plain = t.resolve_neg();  // the view at::imag gives of a conjugate is to be negated
    if (plain.is_contiguous()) {
      std::memcpy(where.data, plain.data_ptr(), static_cast<std::size_t>(plain.nbytes()));
    } else if (plain.numel() != 0) {
      shape strides;
      for (const std::int64_t s : plain.strides()) strides.push_back(s);
      const row_format format(shape_of(plain), dtype_of(plain.scalar_type()), strides);
      memory_view(static_cast<const std::byte*>(plain.data_ptr()), format).write_to(where);
    }
  }
};
template <>
inline constexpr bool is_column<at::Tensor> = true;

template <class T>
concept range_of_values = requires(T& t) {
  { *std::begin(t) } -> std::same_as<std::remove_reference_t<decltype(*std::begin(t))>&>;
  std::end(t);
} && !std::is_arithmetic_v<std::remove_cvref_t<decltype(*std::begin(std::declval<T&>()))>>;
template <class T>
concept maybe_value = requires(T& t) {
  { t.has_value() } -> std::convertible_to<bool>;
  *t;
};

/// Calls f(at::Tensor&) for each tensor in a batch: itself, or its fields, elements, `data` and `target`, and
/// theirs. A class of the user's own that is no aggregate and has other names keeps its tensors to itself.
template <class Batch, class F>
void for_each_tensor(Batch& batch, F&& f) {
  if constexpr (std::is_same_v<Batch, at::Tensor>) {
    f(batch);
  } else if constexpr (maybe_value<Batch>) {
    if (batch.has_value()) for_each_tensor(*batch, f);
  } else if constexpr (range_of_values<Batch>) {
    for (auto& each : batch) for_each_tensor(each, f);
  } else if constexpr (composite<Batch>) {
    with_fields(batch, [&](auto&... fields) { (for_each_tensor(fields, f), ...); });
  } else if constexpr (requires {
                         batch.data;
                         batch.target;
                       }) {  // torch::data::Example
    for_each_tensor(batch.data, f);
    for_each_tensor(batch.target, f);
  }
}

}  // namespace wick::detail

namespace wick {

namespace detail {
// torch::serialize::OutputArchive and InputArchive, without their headers: who has an archive has included
// them.
template <class A>
concept output_archive =
    requires(A& a, const std::string& key, const at::Tensor& t) { a.write(key, t, true); };
template <class A>
concept input_archive = requires(A& a, const std::string& key, at::Tensor& t) {
  { a.try_read(key, t, true) } -> std::convertible_to<bool>;
};
}  // namespace detail

/// Puts a state into an archive, as a buffer of bytes named `key`:
/// `wick::write_state(archive, train.state()); archive.save_to("checkpoint.pt");`
template <detail::output_archive Archive>
void write_state(Archive& to, std::span<const std::byte> state, const std::string& key = "wick") {
  const at::Tensor view =
      at::from_blob(const_cast<std::byte*>(state.data()), {static_cast<std::int64_t>(state.size())},
                    at::TensorOptions().dtype(at::kByte));
  to.write(key, view.clone(), /*is_buffer=*/true);
}

/// What write_state() put there: `train.load_state(wick::read_state(archive))`, which checks it. The archive
/// may have been loaded to a device. \throws wick::error when there is none under `key`, or what is there
/// can't be a state
template <detail::input_archive Archive>
std::vector<std::byte> read_state(Archive& from, const std::string& key = "wick") {
  at::Tensor saved;
  bool found = false;
  try {
    found = from.try_read(key, saved, /*is_buffer=*/true);
  } catch (const c10::Error&) {  // of something else; some releases throw, some say that there is none
  }
  const std::string where = "read_state: the archive's \"" + detail::printable(key) + "\" ";
  if (!found || !saved.defined()) {
    throw error("read_state: the archive has no tensor \"" + detail::printable(key) +
                "\"; give the key that it was written with, or begin the training without a state");
  }
  if (saved.scalar_type() != at::kByte || saved.dim() != 1) {
    throw error(where + "is a tensor of " + std::string(c10::toString(saved.scalar_type())) + " " +
                to_string(detail::shape_of(saved)) +
                ", and a state is a row of bytes; give the key that it was written with");
  }
  if (saved.numel() > static_cast<std::int64_t>(detail::loader_state::max_bytes)) {
    throw error(where + "has " + std::to_string(saved.numel()) + " bytes, and a state has at most " +
                std::to_string(detail::loader_state::max_bytes) + "; give the key that it was written with");
  }
  const at::Tensor row = saved.cpu().contiguous();
  std::vector<std::byte> out(static_cast<std::size_t>(row.numel()));
  if (!out.empty()) std::memcpy(out.data(), row.data_ptr(), out.size());
  return out;
}

}  // namespace wick

// ==== wick/torch/batch.hpp
/// \file
/// batch(n) with tensors: the memory that the decoder wrote becomes a tensor, without a copy.

#include <c10/core/Allocator.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/Storage.h>
#include <c10/core/TensorImpl.h>

namespace wick {

namespace detail {

struct tensor_output {
  /// What at::from_blob() does, with less to allocate here and free in the loop's thread: batches of small
  /// samples are made in microseconds. And the storage owns a pinned block as if Torch had made it: Torch
  /// knows it by its context when something copies from it, be it from a view, and uses it anew only when the
  /// device is done with that.
  static at::Tensor make(slab memory, const column_description& about) {
    const shape sizes = about.extents(), strides = about.strides();
    const std::size_t bytes = static_cast<std::size_t>(sizes.count()) * size_of(about.type);
    const memory_block block = memory.detach();
    c10::DataPtr owner(block.data, block.context, block.free, at::kCPU);
    at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(c10::Storage::use_byte_size_t(), bytes, std::move(owner)),
        c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(scalar_type_of(about.type)));
    made.unsafeGetTensorImpl()->set_sizes_and_strides(at::IntArrayRef(sizes.begin(), sizes.rank()),
                                                      at::IntArrayRef(strides.begin(), strides.rank()));
    return made;
  }
};

}  // namespace detail

/// Batches of `size` samples as tensors: sample<Tensor, Tensor> (`batch.data`, `batch.target`) of
/// sample<picture, label>, field by field for tuples and plain structs; [N, …] each, pictures [N, C, H, W] in
/// channels-last memory unless the options say another layout, labels int64 [N]. Pictures are uint8 until
/// normalize(): a model of floats refuses them, in Torch's words ("expected scalar type Byte but found
/// Float", "Input type (unsigned char) and bias type (float) should be the same"). The memory goes back to
/// the loader's pool with the last tensor that uses it. With shard(), `size` counts the samples of all ranks
/// together. \throws wick::error when size is 0
inline detail::batch_stage<detail::tensor_output> batch(std::size_t size,
                                                        detail::batch_options options = {}) {
  return {size, options};
}

}  // namespace wick

// ==== wick/torch/normalize.hpp
/// \file
/// normalize() behind batch(): on whole tensors, on the device when transfer() came before.

namespace wick::detail {

/// uint8 [N, C, H, W] (any memory layout), [N, H, W, C] or, with one mean for all, any shape → float32 of the
/// same shape and strides, (x / 255 - mean) / std. Moving uint8 and normalizing on the device is the fast
/// order: a quarter of the bytes travel. \throws wick::error when no dimension has as many channels as there
/// are means
inline at::Tensor apply_stage(const normalize_stage& by, const at::Tensor& t, context&) {
  const int channels = by.count();
  const bool bytes = t.scalar_type() == at::kByte;
  const double scale = bytes ? 1.0 / 255.0 : 1.0;
  at::Tensor out = t.to(at::kFloat, /*non_blocking=*/true, /*copy=*/true);
  if (channels == 1) {
    return out.mul_(scale / by.std()[0])
        .sub_(static_cast<double>(by.mean()[0]) / static_cast<double>(by.std()[0]));
  }
  const std::int64_t dim = t.dim() >= 2 && t.size(1) == channels ? 1 : t.dim() - 1;
  if (t.dim() < 2 || t.size(dim) != channels) {
    throw error("normalize: " + std::to_string(channels) + " means for a batch of " + to_string(shape_of(t)) +
                "; give one for each channel, or one for all");
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto i = static_cast<std::size_t>(c);
    const double deviation = static_cast<double>(by.std()[i]);
    out.select(dim, c).mul_(scale / deviation).sub_(static_cast<double>(by.mean()[i]) / deviation);
  }
  return out;
}

}  // namespace wick::detail

// ==== wick/torch/pin.hpp
/// \file
/// pin(): batches are written into page-locked memory, from which a device copies without the host's help.

#include <ATen/core/ivalue.h>  // what empty.h includes needs it complete first: clang, C++20 and LibTorch 1.13
#include <ATen/ops/empty.h>

namespace wick {

namespace detail {

/// Blocks from Torch's own page-locked allocator, which gets them back as soon as they are dropped: it knows
/// which streams copy from a block, and gives it out again only when these are done. Ordinary memory where
/// there is no accelerator.
class pinned_slab_memory final : public slab_memory {
 public:
  /// Torch pins through the context of some device; where there is none yet it makes one, on the current
  /// device of the thread that asks. That is the thread here, which has set its device, and not a worker.
  pinned_slab_memory() noexcept {
    try {
      const at::Tensor some = at::empty({1}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
      allocator_ = some.storage().allocator();
    } catch (const std::exception&) {  // Torch says so when there is no accelerator, or none that pins
    }
  }
  bool pins() const noexcept { return allocator_ != nullptr; }
  bool recycles() const noexcept override { return pins(); }

  memory_block allocate(std::size_t bytes) override {
    if (!pins()) return host_.allocate(bytes);
    c10::DataPtr block = allocator_->allocate(bytes);
    if (block.get() == nullptr) throw std::bad_alloc();
    auto* const data = static_cast<std::byte*>(block.get());
    const c10::DeleterFnPtr free = block.get_deleter();
    return {data, block.release_context(), free};
  }

 private:
  c10::Allocator* allocator_ = nullptr;  // it lives as long as the process
  host_slab_memory host_;
};

class pin_stage {
 public:
  using stage_kind = on_batch;
  using stage_hooks = hooks<hook::note, hook::check, hook::slab_memory>;
  static constexpr std::string_view name = "pin";

  template <class, class... Before>
  static consteval bool check() {
    constexpr bool blocks = !(requires { Before::keeps_samples; } || ...);
    static_assert(blocks,
                  "wick: pin() says in what memory batch(n) makes its batches, and group(n) makes none, its "
                  "samples stay "
                  "where they are; write batch(n) in its place, or leave pin() out");
    return blocks;
  }

  /// The loader takes the memory of its batches from here: nothing is copied to be pinned.
  std::shared_ptr<wick::detail::slab_memory> slab_memory() {
    if (memory_ == nullptr) memory_ = std::make_shared<pinned_slab_memory>();
    return memory_;
  }
  std::string note() const {
    return memory_ != nullptr && !memory_->pins()
               ? "pin: Torch has no accelerator here; batches are in ordinary memory"
               : "";
  }
  template <class Batch>
  Batch operator()(Batch batch, context&) const {
    return batch;
  }

 private:
  std::shared_ptr<pinned_slab_memory> memory_;
};

}  // namespace detail

/// Puts the batches into page-locked memory, so that transfer() can copy them while the device computes; or
/// the loop itself, by `batch.data.to(torch::kCUDA, /*non_blocking=*/true)`. The batch may be dropped at
/// once: what the device has yet to read is not written before that, as with any pinned tensor of Torch's.
/// Without an accelerator batches stay in ordinary memory, and the report says so.
inline detail::pin_stage pin() { return {}; }

}  // namespace wick

// ==== wick/torch/tensors.hpp
/// \file
/// Tensors in memory as a source, as TensorDataset in Python: row i is sample i.

#include <c10/core/Layout.h>

namespace wick {

namespace detail {

/// The rows of a tensor [N, …] on the CPU, where they lie: each is copied when it is written into its slot.
class tensor_rows {
 public:
  tensor_rows(const at::Tensor& t, const char* what) {
    const std::string name = std::string("tensors: ") + what;
    if (!t.defined() || t.dim() == 0) throw error(name + " has no first dimension to take samples from");
    if (!t.device().is_cpu()) {
      throw error(name + " is on " + t.device().str() +
                  "; the source reads from the CPU, transfer() takes batches to the device");
    }
    if (t.layout() != at::kStrided) {
      throw error(name + " is sparse, so its rows don't lie in memory; give it as .to_dense()");
    }
    const dtype type = dtype_of(t.scalar_type());
    tensor_ = t.resolve_neg();
    count_ = static_cast<std::uint64_t>(tensor_.size(0));
    shape row, strides;
    for (std::int64_t d = 1; d < tensor_.dim(); ++d) {
      row.push_back(tensor_.size(d));
      strides.push_back(tensor_.stride(d));
    }
    format_ = std::make_shared<const row_format>(row, type, strides);
    data_ = static_cast<const std::byte*>(tensor_.data_ptr());
    step_ = static_cast<std::size_t>(tensor_.stride(0)) * size_of(type);
    span_ = format_->span();
  }
  std::uint64_t size() const noexcept { return count_; }
  memory_view at(std::uint64_t i) const noexcept { return {data_ + i * step_, *format_}; }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    prefetch_bytes(data_ + i * step_, span_, most);
  }
  std::int64_t integer(std::uint64_t i) const noexcept {
    return *reinterpret_cast<const std::int64_t*>(data_ + i * step_);
  }
  void prefetch_integer(std::uint64_t i, std::size_t most) const noexcept {
    prefetch_bytes(data_ + i * step_, sizeof(std::int64_t), most);
  }
  /// Of how many there are, of what kind, and of the first 64 KiB: the same for the same numbers, however
  /// they lie.
  std::uint64_t fingerprint() const {
    fingerprint_hash h;
    h.add(count_).add(static_cast<std::uint64_t>(format_->type));
    for (const std::int64_t e : format_->extents) h.add(static_cast<std::uint64_t>(e));
    const std::size_t bytes = format_->bytes;
    const std::size_t most = std::min<std::size_t>(count_ * bytes, 1 << 16);
    if (format_->packed && (step_ == bytes || most <= bytes)) {
      h.add(std::string_view(reinterpret_cast<const char*>(data_), most));
    } else {
      std::vector<std::byte> rows((most + bytes - 1) / bytes * bytes);
      for (std::size_t at = 0; at < rows.size(); at += bytes) {
        this->at(at / bytes).write_to({rows.data() + at, false});
      }
      h.add(std::string_view(reinterpret_cast<const char*>(rows.data()), most));
    }
    return h.value();
  }

 private:
  at::Tensor tensor_;
  std::shared_ptr<const row_format> format_;
  const std::byte* data_ = nullptr;
  std::size_t step_ = 0, span_ = 0;  // bytes from one row to the next, from a row's first to behind its last
  std::uint64_t count_ = 0;
};

/// Source of sample<memory_view, std::int64_t>: rows of `data` [N, …] with labels [N] of any integer type.
class labelled_tensors {
 public:
  labelled_tensors(const at::Tensor& data, const at::Tensor& targets)
      : data_(data, "the first"), targets_(labels(targets), "the second") {
    if (data_.size() != targets_.size()) {
      throw error("tensors: " + std::to_string(data_.size()) + " rows of data and " +
                  std::to_string(targets_.size()) + " labels; there must be one for each");
    }
  }
  std::uint64_t size() const noexcept { return data_.size(); }
  sample<memory_view, std::int64_t> at(std::uint64_t i) const noexcept {
    return {data_.at(i), targets_.integer(i)};
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    data_.prefetch(i, most);
    targets_.prefetch_integer(i, most);
  }
  std::uint64_t fingerprint() const {
    return fingerprint_hash().add(data_.fingerprint()).add(targets_.fingerprint()).value();
  }

 private:
  static at::Tensor labels(const at::Tensor& t) {
    if (!t.defined()) return t;
    if (t.dim() != 1 || !c10::isIntegralType(t.scalar_type(), /*includeBool=*/true)) {
      throw error("tensors: labels are integers of shape [N], found " +
                  std::string(c10::toString(t.scalar_type())) + " of " + to_string(shape_of(t)) +
                  "; use tensor_pairs() for targets of another kind");
    }
    return t.to(at::kLong);
  }

  detail::tensor_rows data_, targets_;
};

/// Source of sample<memory_view, memory_view>: rows of two tensors with the same first dimension.
class paired_tensors {
 public:
  paired_tensors(const at::Tensor& data, const at::Tensor& targets)
      : data_(data, "the first"), targets_(targets, "the second") {
    if (data_.size() != targets_.size()) {
      throw error("tensor_pairs: " + std::to_string(data_.size()) + " rows of data and " +
                  std::to_string(targets_.size()) + " of targets; there must be one for each");
    }
  }
  std::uint64_t size() const noexcept { return data_.size(); }
  sample<memory_view, memory_view> at(std::uint64_t i) const noexcept {
    return {data_.at(i), targets_.at(i)};
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    data_.prefetch(i, most);
    targets_.prefetch(i, most);
  }
  std::uint64_t fingerprint() const {
    return fingerprint_hash().add(data_.fingerprint()).add(targets_.fingerprint()).value();
  }

 private:
  detail::tensor_rows data_, targets_;
};

}  // namespace detail

/// Tensors in memory as a source: `data` [N, …], integer labels `targets` [N]. Nothing is copied before
/// batch(), which writes each row into its slot, whatever the strides: of the windows `x.unfold(0, 64,
/// 1).transpose(1, 2)` each is put together when its turn comes, and of an expanded tensor only what there is
/// takes memory. (Labels of another type than int64 are converted at once, and so is what at::imag() gives of
/// a conjugate.) \throws wick::error when the numbers of rows differ or a tensor is not on the CPU
inline detail::labelled_tensors tensors(const at::Tensor& data, const at::Tensor& targets) {
  return {data, targets};
}
/// The same as tensors(), with targets of any type and shape, [N, …].
inline detail::paired_tensors tensor_pairs(const at::Tensor& data, const at::Tensor& targets) {
  return {data, targets};
}

}  // namespace wick

// ==== wick/torch/threads.hpp
/// \file
/// Between wick's workers and Torch's own threads, which want the same processors.

#include <ATen/Parallel.h>

namespace wick {

/// Leaves Torch's operators on the CPU as many threads as there are processors without a worker of `workers`,
/// at least `at_least`, and says how many. Torch takes all processors otherwise: where the model runs on the
/// CPU, decoders and training step then take each other's turns, and both are slower than with half each. A
/// model on a device wants few threads here anyway.
///
/// It is at::set_num_threads: call it once, before the first operator, on the thread that trains.
inline std::size_t share_cores(const executor& workers, std::size_t at_least = 1) {
  const std::size_t all = detail::available_cpus();
  const std::size_t left = all > workers.workers() ? all - workers.workers() : 0;
  const std::size_t threads = std::max({left, at_least, std::size_t{1}});
  at::set_num_threads(static_cast<int>(threads));
  return threads;
}

}  // namespace wick

// ==== wick/torch/transfer.hpp
/// \file
/// transfer(): batches go to the device on a stream of their own, while the model computes on its.

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/intrusive_ptr.h>

namespace wick {

namespace detail {

/// Whether a batch is, or has as a field, what is no tensor but might be one.
template <class Batch>
inline constexpr bool has_array = false;
template <>
inline constexpr bool has_array<array> = true;
template <composite Batch>
inline constexpr bool has_array<Batch> = []<class... F>(std::type_identity<std::tuple<F...>>) {
  return (has_array<F> || ...);
}(std::type_identity<typename field_types<Batch>::type>());

/// Copies each tensor of a batch with `non_blocking` on a side stream and records an event; when the training
/// loop takes the batch, its current stream waits for that event. No host thread ever waits for the device,
/// except the destructor, for copies that are still under way. All through c10's device-generic interface:
/// CUDA, ROCm, XPU or a device of the user's own are the same to it.
class transfer_stage {
 public:
  using stage_kind = on_batch;
  using stage_hooks = hooks<hook::note, hook::check, hook::around, hook::deliver>;
  static constexpr std::string_view name = "transfer";

  template <class Batch, class...>
  static consteval bool check() {
    constexpr bool tensors = !detail::has_array<Batch>;
    static_assert(
        tensors,
        "wick: transfer() moves tensors, and array_batch(n) makes arrays, which would stay on the CPU; write "
        "batch(n) in its place");
    return tensors;
  }

  explicit transfer_stage(c10::Device to) : to_(to), there_(!to.is_cpu()) {
    if (!there_) {
      note_ = "transfer: to the CPU there is nothing to do";
      return;
    }
    if (c10::impl::device_guard_impl_registry[static_cast<std::size_t>(to.type())].load() == nullptr ||
        c10::impl::VirtualGuardImpl(to.type()).deviceCount() <= std::max<int>(to.index(), 0)) {
      note_ = "transfer: Torch has no " + to.str() + " here; batches stay on the CPU";
      there_ = false;
      return;
    }
    const c10::impl::VirtualGuardImpl guard(to.type());
    if (!to_.has_index()) to_ = guard.getDevice();
    try {
      shared_ = std::make_unique<shared>(guard.getStreamFromGlobalPool(to_));
    } catch (const c10::Error&) {  // some devices have one stream only
      note_ = "transfer: " + to_.str() + " has no streams to choose from; a worker waits for each copy";
    }
  }
  transfer_stage(transfer_stage&&) noexcept = default;
  transfer_stage(const transfer_stage& other) : transfer_stage(other.to_) {}
  ~transfer_stage() {
    if (shared_ == nullptr) return;
    std::lock_guard lock(shared_->mutex);
    for (const copy& c : shared_->copies) {
      try {
        while (!c.done->query()) std::this_thread::yield();
      } catch (const std::exception&) {  // the device is broken, and reads no more
      }
    }
  }

  /// Where batches arrive: the CPU when there is no such device.
  c10::Device device() const noexcept { return there_ ? to_ : c10::Device(c10::kCPU); }
  std::string note() const { return note_; }

  template <class Batch>
  Batch operator()(Batch batch, context&) const {
    return batch;
  }
  /// On a worker: starts the copies, lets `rest` (the stages behind this one) put its kernels on the same
  /// stream, and records when all that will be done.
  template <class Batch, class Rest>
  auto around(Batch batch, Rest&& rest) const {
    if (shared_ == nullptr) {
      if (there_) {
        detail::for_each_tensor(batch, [&](at::Tensor& t) {
          if (t.defined()) t = t.to(to_);
        });
      }
      return rest(std::move(batch));
    }
    const c10::StreamGuard guard(shared_->stream);
    copy begun;
    try {
      detail::for_each_tensor(batch, [&](at::Tensor& t) {
        if (!t.defined()) return;
        begun.from.push_back(t);  // before anything reads it
        t = begun.from.back().to(to_, /*non_blocking=*/true, /*copy=*/false);
      });
      auto result = rest(std::move(batch));
      detail::for_each_tensor(result, [&](at::Tensor& t) {
        if (t.defined()) begun.batch.emplace_back(t.getIntrusivePtr());
      });
      remember(begun);
      return result;
    } catch (...) {
      // Nobody gets this batch, but the device may be reading its memory.
      begun.batch.clear();
      if (!begun.from.empty()) remember(begun);
      throw;
    }
  }

  /// On the consumer's thread, when it takes the batch: its stream waits, it does not.
  template <class Batch>
  void deliver(Batch& batch) const {
    if (shared_ == nullptr) return;
    const c10::impl::VirtualGuardImpl guard(to_.type());
    const c10::Stream current = guard.getStream(to_);
    std::vector<c10::TensorImpl*> tensors;
    detail::for_each_tensor(batch, [&](at::Tensor& t) {
      if (!t.defined()) return;
      tensors.push_back(t.unsafeGetTensorImpl());
      // The memory was allocated on the side stream: it must not be used again before this one is done with
      // it.
      if (t.device() == to_ && t.has_storage()) guard.recordDataPtrOnStream(t.storage().data_ptr(), current);
    });
    std::vector<at::Tensor> finished;  // dropped outside the lock: their memory goes back to the pool
    std::lock_guard lock(shared_->mutex);
    for (copy& c : shared_->copies) {
      if (!c.is(tensors)) continue;
      c.done->block(current);
      c.delivered = !tensors.empty();  // where the tensors are hidden, it may not be this batch's
    }
    take_finished(finished);
  }

 private:
  struct copy {
    /// The tensors that leave the pipeline; weak, so that their addresses can't be those of others meanwhile.
    std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> batch;
    std::vector<at::Tensor> from;  // must stay until the device has read it
    std::unique_ptr<c10::Event> done;
    bool read = false, delivered = false;

    bool is(const std::vector<c10::TensorImpl*>& tensors) const {
      return std::equal(batch.begin(), batch.end(), tensors.begin(), tensors.end(),
                        [](const auto& a, const c10::TensorImpl* b) { return a._unsafe_get_target() == b; });
    }
    /// Taken by the consumer, or dropped: an epoch was left early, or a stage failed.
    bool gone() const {
      return delivered || batch.empty() ||
             std::any_of(batch.begin(), batch.end(), [](const auto& t) { return t.expired(); });
    }
  };
  struct shared {
    explicit shared(c10::Stream s) : stream(s) {}
    c10::Stream stream;
    std::mutex mutex;
    std::vector<copy> copies;
  };

  void remember(copy& begun) const {
    begun.done = std::make_unique<c10::Event>(to_.type());
    begun.done->record(shared_->stream);
    std::vector<at::Tensor> finished;
    std::lock_guard lock(shared_->mutex);
    shared_->copies.push_back(std::move(begun));
    take_finished(finished);
  }

  /// Moves out what the device has read, and forgets what nobody will ask for again.
  void take_finished(std::vector<at::Tensor>& out) const {
    for (copy& c : shared_->copies) {
      if (c.read || !c.done->query()) continue;
      c.read = true;
      std::move(c.from.begin(), c.from.end(), std::back_inserter(out));
      c.from.clear();
    }
    std::erase_if(shared_->copies, [](const copy& c) { return c.read && c.gone(); });
  }

  c10::Device to_;
  bool there_;
  std::string note_;
  std::unique_ptr<shared> shared_;
};

}  // namespace detail

/// Moves batches to a device ahead of the training loop; `transfer(torch::kCUDA)`. Write pin() before it.
/// Where Torch has no such device they stay on the CPU, and the report says so.
inline detail::transfer_stage transfer(c10::Device to) { return detail::transfer_stage(to); }

}  // namespace wick

#ifdef WICK_IMPLEMENTATION
// ==== wick/codec/detail/gif_implementation.hpp
/// \file
/// The first frame of a GIF. Included in exactly one file of a program, with stb_image.

namespace wick::detail {

[[noreturn]] inline void throw_damaged_gif(const std::string& what) {
  throw error("damaged GIF: " + what + "; write the file again" + or_leave_it_out);
}

/// The codes of a frame (LZW of up to 12 bits), from the blocks that hold them.
class gif_codes {
 public:
  gif_codes(std::span<const std::byte> encoded, std::size_t at) noexcept : data_(encoded), at_(at) {}
  /// -1 when the file ends first.
  int next(int bits) noexcept {
    while (held_ < bits) {
      if (left_ == 0) {
        left_ = byte_at(data_, at_++);
        if (left_ == 0 || at_ > data_.size()) return -1;
      }
      buffer_ |= byte_at(data_, at_++) << held_;
      held_ += 8;
      --left_;
    }
    const int code = static_cast<int>(buffer_ & ((1u << bits) - 1));
    buffer_ >>= bits;
    held_ -= bits;
    return code;
  }

 private:
  std::span<const std::byte> data_;
  std::size_t at_;
  std::uint32_t left_ = 0, buffer_ = 0;
  int held_ = 0;
};

/// The frame's numbers, row by row as they come. \throws wick::error when they are not all there, or far too
/// many
inline std::vector<std::uint8_t> read_gif_numbers(std::span<const std::byte> encoded,
                                                  const gif_frame& frame) {
  const auto first_bits = static_cast<int>(byte_at(encoded, frame.codes));
  if (first_bits < 1 || first_bits > 11)
    throw_damaged_gif("codes of " + std::to_string(first_bits) + " bits");
  const std::size_t pixels = static_cast<std::size_t>(frame.width) * static_cast<std::size_t>(frame.height);
  std::vector<std::uint8_t> out(pixels);
  const int clear = 1 << first_bits, end = clear + 1;
  std::array<std::uint16_t, 4096> before{}, length{};
  std::array<std::uint8_t, 4096> last{}, first{};
  for (int c = 0; c < clear; ++c) {
    length[static_cast<std::size_t>(c)] = 1;
    last[static_cast<std::size_t>(c)] = first[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(c);
  }
  gif_codes codes(encoded, frame.codes + 1);
  std::size_t got = 0;  // whether there is room for them or not
  int bits = first_bits + 1, next = end + 1, previous = -1;
  for (;;) {
    const int code = codes.next(bits);
    if (code < 0 || code == end) break;
    if (code == clear) {
      bits = first_bits + 1;
      next = end + 1;
      previous = -1;
      continue;
    }
    if (code > next || (code == next && previous < 0) || (previous < 0 && code > end))
      throw_damaged_gif("code " + std::to_string(code) + " stands for nothing yet");
    if (previous >= 0 && next < 4096) {
      const auto n = static_cast<std::size_t>(next), p = static_cast<std::size_t>(previous);
      before[n] = static_cast<std::uint16_t>(previous);
      length[n] = static_cast<std::uint16_t>(length[p] + 1);
      first[n] = first[p];
      last[n] = first[code == next ? p : static_cast<std::size_t>(code)];
      if (++next == 1 << bits && bits < 12) ++bits;
    } else if (code >= next) {
      throw_damaged_gif("code " + std::to_string(code) + " stands for nothing");
    }
    // Written from its end on; what lies behind the frame is left out.
    auto c = static_cast<std::size_t>(code);
    const std::size_t run = length[c];
    if (got < pixels) {
      for (std::size_t k = run; k-- > 0; c = before[c]) {
        if (got + k < pixels) out[got + k] = last[c];
      }
    }
    got += run;
    if (got > 2 * pixels + 65536) {
      throw error("GIF whose codes stand for more pixels than its frame of " +
                  size_text(frame.width, frame.height) +
                  " px has (damaged or hostile?); write the file again" + or_leave_it_out);
    }
    previous = code;
  }
  if (got < pixels)
    throw_damaged_gif("codes for " + std::to_string(got) + " of " + std::to_string(pixels) + " pixels");
  return out;
}

/// The first frame on its ground, which is the transparent color or color 0. As Pillow reads it: transparent
/// pixels have the color that the palette gives their number. \throws wick::error when it is damaged
image decode_gif(std::span<const std::byte> encoded, const picture_info& info, int channels, bool indexes) {
  gif_frame frame;
  if (!find_gif_frame(encoded, frame)) throw_truncated("GIF", encoded.size(), "before its first frame");
  const auto width = static_cast<int>(info.width), height = static_cast<int>(info.height);
  if (frame.left + frame.width > width || frame.top + frame.height > height)
    throw_damaged_gif("a frame larger than the picture");
  palette_table colors;
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t at = frame.palette + 3 * i;
    const auto level = [&](std::size_t c) {
      return frame.palette == 0 ? static_cast<std::uint8_t>(i)
             : i < frame.colors ? static_cast<std::uint8_t>(byte_at(encoded, at + c))
                                : std::uint8_t{0};
    };
    colors.set(i, level(0), level(1), level(2), static_cast<int>(i) == frame.transparent ? 0 : 255);
  }
  if (frame.width == 0 || frame.height == 0) throw_damaged_gif("a frame without pixels");
  const std::vector<std::uint8_t> numbers = read_gif_numbers(encoded, frame);
  const picked_levels levels(colors, channels, indexes);
  image out(width, height, channels);
  const auto ground = static_cast<std::uint8_t>(std::max(frame.transparent, 0));
  std::vector<std::uint8_t> row(static_cast<std::size_t>(width), ground);
  const bool fills = frame.width == width && frame.height == height;
  for (int y = 0; y < height && !fills; ++y) levels.write(row.data(), row.size(), out.row(y));
  static constexpr int starts[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
  const std::uint8_t* from = numbers.data();
  for (int pass = frame.interlaced ? 0 : 3; pass < 4; ++pass) {
    for (int y = frame.interlaced ? starts[pass] : 0; y < frame.height;
         y += frame.interlaced ? steps[pass] : 1) {
      levels.write(from, static_cast<std::size_t>(frame.width),
                   out.row(frame.top + y) + frame.left * channels);
      from += frame.width;
    }
  }
  return out;
}

}  // namespace wick::detail

// ==== wick/codec/detail/png_implementation.hpp
/// \file
/// PNGs as they are stored: any depth, with or without a palette, 8 or 16 bits out. Included in exactly one
/// file of a program, with stb_image. W3C, "Portable Network Graphics (PNG) Specification", second edition.

// ==== wick/codec/detail/png_data_implementation.hpp
/// \file
/// The compressed pixels of a PNG, inflated piece by piece. Included in exactly one file of a program.

namespace wick::detail {

[[noreturn]] inline void throw_damaged_png(const std::string& what) {
  throw error("damaged PNG: " + what + "; write the file again" + or_leave_it_out);
}

/// The inflated bytes of all IDAT chunks. Never more of them are made than were asked for.
class png_data {
 public:
  png_data(std::span<const std::byte> encoded, std::size_t first) : data_(encoded), chunk_(first) {
    const int status = inflateInit(&stream_);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK) throw error("zlib can't be used: it is of another version than its header");
  }
  png_data(const png_data&) = delete;
  png_data& operator=(const png_data&) = delete;
  ~png_data() { inflateEnd(&stream_); }

  /// How many bytes came: fewer than `size` when there are no more, or when they are damaged.
  std::size_t read(std::uint8_t* to, std::size_t size) {
    std::size_t got = 0;
    while (got < size && !ended_) {
      if (stream_.avail_in == 0) next_chunk();  // without one zlib may still hold something
      const auto room = static_cast<uInt>(std::min<std::size_t>(size - got, 1u << 30));
      stream_.next_out = to + got;
      stream_.avail_out = room;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_MEM_ERROR) throw std::bad_alloc();
      got += room - stream_.avail_out;
      ended_ = status != Z_OK;
    }
    return got;
  }
  /// What zlib says of the damage that has ended the data; empty for none.
  std::string damage() const {
    return stream_.msg != nullptr ? std::string(" (zlib says: ") + stream_.msg + ")" : std::string();
  }

 private:
  void next_chunk() noexcept {
    while (chunk_ + 12 <= data_.size()) {
      const std::size_t length = big32(data_, chunk_), at = chunk_ + 8;
      if (big32(data_, chunk_ + 4) != chunk_type("IDAT") || length > data_.size() - at) return;
      chunk_ = at + length + 4;
      if (length == 0) continue;
      stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(data_.data() + at));
      stream_.avail_in = static_cast<uInt>(length);
      return;
    }
  }

  std::span<const std::byte> data_;
  std::size_t chunk_;
  z_stream stream_{};
  bool ended_ = false;
};

}  // namespace wick::detail

namespace wick::detail {

/// What stands before the pixels.
struct png_head {
  enum kind : std::uint32_t { gray = 0, rgb = 2, palette = 3, gray_alpha = 4, rgba = 6 };

  /// \throws wick::error for what no PNG has
  explicit png_head(std::span<const std::byte> encoded) {
    width = static_cast<int>(big32(encoded, 16));
    height = static_cast<int>(big32(encoded, 20));
    bits = static_cast<int>(byte_at(encoded, 24));
    color = byte_at(encoded, 25);
    interlaced = byte_at(encoded, 28) == 1;
    samples = color == rgb ? 3 : color == gray_alpha ? 2 : color == rgba ? 4 : 1;
    const bool few = bits == 1 || bits == 2 || bits == 4;
    const bool known = color == gray      ? few || bits == 8 || bits == 16
                       : color == palette ? few || bits == 8
                                          : (color == rgb || color == gray_alpha || color == rgba) &&
                                                (bits == 8 || bits == 16);
    if (!known)
      throw_damaged_png("no picture has color type " + std::to_string(color) + " with " +
                        std::to_string(bits) + " bits");
    if (byte_at(encoded, 26) != 0 || byte_at(encoded, 27) != 0 || byte_at(encoded, 28) > 1) {
      throw_damaged_png("its compression, filter or interlace method is none of the standard's");
    }
    for (std::size_t at = 33; at + 12 <= encoded.size();) {
      const std::size_t length = big32(encoded, at);
      const std::uint32_t type = big32(encoded, at + 4);
      if (type == chunk_type("IDAT") || length > encoded.size() - at - 12) {
        first_data = at;
        break;
      }
      if (type == chunk_type("PLTE")) colors = encoded.subspan(at + 8, length);
      if (type == chunk_type("tRNS")) transparent = encoded.subspan(at + 8, length);
      at += 12 + length;
    }
    if (color == palette && colors.empty())
      throw_damaged_png("it has a color's number for each pixel, and no palette");
    keyed = (color == gray && transparent.size() >= 2) || (color == rgb && transparent.size() >= 6);
    // Of a color that shall be transparent only the bits of a sample count.
    for (int c = 0; keyed && c < samples; ++c) {
      key[static_cast<std::size_t>(c)] =
          big16(transparent, 2 * static_cast<std::size_t>(c)) & ((1u << bits) - 1);
    }
  }

  int pixel_bits() const noexcept { return samples * bits; }
  /// Without the byte that names the filter.
  std::size_t row_bytes(int pixels) const noexcept {
    return (static_cast<std::size_t>(pixels) * static_cast<std::size_t>(pixel_bits()) + 7) / 8;
  }

  int width = 0, height = 0, bits = 0, samples = 0;
  std::uint32_t color = gray;
  bool interlaced = false;
  std::size_t first_data = 0;
  std::span<const std::byte> colors, transparent;
  bool keyed = false;  // one color is transparent: `key`
  std::array<std::uint32_t, 3> key{};
};

/// Some pixels of a PNG: every `across`th column and `down`th row from (left, top) on. One that is interlaced
/// has seven such passes (Adam7), another one that is all of it.
struct png_pass {
  int left = 0, top = 0, across = 1, down = 1;
  int width(const png_head& of) const noexcept {
    return of.width > left ? (of.width - left + across - 1) / across : 0;
  }
  int height(const png_head& of) const noexcept {
    return of.height > top ? (of.height - top + down - 1) / down : 0;
  }
};

inline std::span<const png_pass> png_passes(const png_head& head) noexcept {
  static constexpr png_pass whole{};
  static constexpr png_pass adam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                       {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  return head.interlaced ? std::span<const png_pass>(adam7) : std::span<const png_pass>(&whole, 1);
}

/// Undoes the filters that look at the pixel to the left, of Step bytes, which stay in registers so.
template <unsigned filter, std::size_t Step>
inline void unfilter_png_row(std::uint8_t* row, const std::uint8_t* above, std::size_t size) noexcept {
  std::array<int, Step> left{}, corner{};  // a row is whole pixels
  for (std::size_t i = 0; i + Step <= size; i += Step) {
    for (std::size_t k = 0; k < Step; ++k) {
      const int a = left[k], b = above[i + k], c = corner[k];
      int guess = a;
      if constexpr (filter == 3) guess = (a + b) / 2;
      if constexpr (filter == 4) {
        const int to_a = std::abs(b - c), to_b = std::abs(a - c), to_c = std::abs(a + b - 2 * c);
        guess = to_b < to_a ? b : a;
        if (to_c < std::min(to_a, to_b)) guess = c;
      }
      corner[k] = b;
      left[k] = row[i + k] = static_cast<std::uint8_t>(row[i + k] + guess);
    }
  }
}

/// Undoes a row's filter in place. `step` bytes are a pixel, at least one; `above` is the row before, undone.
inline void unfilter_png_row(unsigned filter, std::uint8_t* row, const std::uint8_t* above, std::size_t size,
                             std::size_t step) {
  if (filter > 4) throw_damaged_png("a row has filter " + std::to_string(filter) + ", which there is not");
  if (filter == 0) return;
  if (filter == 2) {
    for (std::size_t i = 0; i < size; ++i) row[i] = static_cast<std::uint8_t>(row[i] + above[i]);
    return;
  }
  const auto undo = [&]<unsigned Filter>(std::integral_constant<unsigned, Filter>) {
    switch (step) {
      case 1:
        return unfilter_png_row<Filter, 1>(row, above, size);
      case 2:
        return unfilter_png_row<Filter, 2>(row, above, size);
      case 3:
        return unfilter_png_row<Filter, 3>(row, above, size);
      case 4:
        return unfilter_png_row<Filter, 4>(row, above, size);
      case 6:
        return unfilter_png_row<Filter, 6>(row, above, size);
      default:
        return unfilter_png_row<Filter, 8>(row, above, size);
    }
  };
  if (filter == 1) undo(std::integral_constant<unsigned, 1>());
  if (filter == 3) undo(std::integral_constant<unsigned, 3>());
  if (filter == 4) undo(std::integral_constant<unsigned, 4>());
}

/// Rows as they are stored become pixels of 8 or 16 bits.
template <class Level>
class png_pixels {
 public:
  png_pixels(const png_head& head, int channels, bool indexes)
      : head_(head),
        channels_(channels),
        picked_(table(head), channels, indexes),
        numbers_(static_cast<std::size_t>(head.width)) {}

  /// `count` pixels of `row`, to every `step`th pixel from `out` on.
  void write(const std::uint8_t* row, int count, Level* out, int step) {
    const bool numbers = head_.bits < 16 && head_.samples == 1;
    if (step == 1) return numbers ? write_numbers(row, count, out) : write_samples(row, count, out);
    line_.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(channels_));
    numbers ? write_numbers(row, count, line_.data()) : write_samples(row, count, line_.data());
    for (int x = 0; x < count; ++x)
      std::copy_n(line_.data() + x * channels_, channels_, out + std::ptrdiff_t{x} * step * channels_);
  }

 private:
  static palette_table table(const png_head& head) {
    palette_table out;
    if (head.color == png_head::palette) {
      const std::size_t n = std::min<std::size_t>(head.colors.size() / 3, 256);
      for (std::size_t i = 0; i < n; ++i) {
        const auto level = [&](std::size_t c) { return static_cast<int>(byte_at(head.colors, 3 * i + c)); };
        out.set(i, level(0), level(1), level(2),
                i < head.transparent.size() ? static_cast<int>(byte_at(head.transparent, i)) : 255);
      }
    } else if (head.color == png_head::gray && head.bits <= 8) {
      const int most = (1 << head.bits) - 1;
      for (int i = 0; i <= most; ++i) {
        const int level = i * (255 / most);
        out.set(static_cast<std::size_t>(i), level, level, level,
                head.keyed && head.key[0] == static_cast<unsigned>(i) ? 0 : 255);
      }
    }
    return out;
  }

  void write_numbers(const std::uint8_t* row, int count, Level* out) {
    if constexpr (sizeof(Level) == 1) {
      const auto n = static_cast<std::size_t>(count);
      if (head_.bits == 8) return picked_.write(row, n, out);
      const int bits = head_.bits, mask = (1 << bits) - 1;
      for (int x = 0; x < count; ++x) {
        const int at = x * bits;
        numbers_[static_cast<std::size_t>(x)] =
            static_cast<std::uint8_t>(row[at / 8] >> (8 - bits - at % 8) & mask);
      }
      picked_.write(numbers_.data(), n, out);
    }
  }
  void write_samples(const std::uint8_t* row, int count, Level* out) const {
    if (head_.bits == 8 && sizeof(Level) == 1 && channels_ == head_.samples) {
      std::memcpy(out, row, static_cast<std::size_t>(count) * static_cast<std::size_t>(channels_));
      return;
    }
    head_.bits == 8 ? convert<1>(row, count, out) : convert<2>(row, count, out);
  }
  template <int Bytes>
  void convert(const std::uint8_t* row, int count, Level* out) const {
    constexpr bool cut = Bytes > sizeof(Level);
    constexpr auto most = static_cast<Level>(~Level{0});
    const int samples = head_.samples;
    const bool colors = samples >= 3, alpha = samples % 2 == 0;
    for (int x = 0; x < count; ++x, row += samples * Bytes, out += channels_) {
      std::uint32_t stored[4] = {};
      for (int c = 0; c < samples; ++c) {
        stored[c] = Bytes == 1 ? row[c] : static_cast<std::uint32_t>(row[2 * c]) << 8 | row[2 * c + 1];
      }
      bool seen = true;
      if (head_.keyed)
        seen =
            stored[0] != head_.key[0] || (colors && (stored[1] != head_.key[1] || stored[2] != head_.key[2]));
      std::uint32_t v[4];
      for (int c = 0; c < 4; ++c) v[c] = cut ? stored[c] >> 8 : stored[c];
      const auto a = static_cast<Level>(alpha ? v[samples - 1] : seen ? most : Level{0});
      if (channels_ >= 3) {
        for (int c = 0; c < 3; ++c) out[c] = static_cast<Level>(colors ? v[c] : v[0]);
      } else {
        out[0] = static_cast<Level>(colors ? rounded_luma(v[0], v[1], v[2]) : v[0]);
      }
      if (channels_ % 2 == 0) out[channels_ - 1] = a;
    }
  }

  const png_head& head_;
  int channels_;
  picked_levels picked_;
  std::vector<std::uint8_t> numbers_;
  std::vector<Level> line_;
};

/// How many bytes the rows are, with their filters' names.
inline std::uint64_t png_size(const png_head& head) noexcept {
  std::uint64_t size = 0;
  for (const png_pass& pass : png_passes(head)) {
    const int width = pass.width(head), height = pass.height(head);
    if (width != 0) size += (head.row_bytes(width) + 1) * static_cast<std::uint64_t>(height);
  }
  return size;
}

/// Before any memory is taken. Deflate makes at most 1032 bytes of one; and of blocks that hold nothing there
/// may be some. \throws wick::error when the compressed bytes can't be the picture's
inline void check_png_size(std::span<const std::byte> encoded, const png_head& head) {
  std::uint64_t compressed = 0;
  for (std::size_t at = head.first_data;
       at + 12 <= encoded.size() && big32(encoded, at + 4) == chunk_type("IDAT");) {
    const std::size_t length = big32(encoded, at);
    compressed += length;
    if (length > encoded.size() - at - 12) break;
    at += 12 + length;
  }
  const std::uint64_t needed = png_size(head);
  if (compressed * 1032 + 1032 < needed) {
    throw_damaged_png(std::to_string(compressed) + " compressed bytes can't be " +
                      size_text(head.width, head.height) + " px");
  }
  if (compressed > 16 * needed + (std::uint64_t{1} << 19)) {
    throw error("PNG of " + std::to_string(compressed) + " compressed bytes for the " +
                std::to_string(needed) + " that its header, " + size_text(head.width, head.height) +
                " px, can need (damaged or hostile?); write the file again" + or_leave_it_out);
  }
}

/// Rows [top, bottom) as pixels of `channels` levels.
template <class Level>
inline void read_png(std::span<const std::byte> encoded, const png_head& head, int channels, bool indexes,
                     int top, int bottom, Level* out) {
  png_data data(encoded, head.first_data);
  png_pixels<Level> pixels(head, channels, indexes);
  const std::size_t most = head.row_bytes(head.width) + 1;
  const std::size_t together =
      std::max<std::size_t>(1, (std::size_t{1} << 17) / most);  // rows inflated at once
  const auto step = static_cast<std::size_t>(std::max(1, head.pixel_bits() / 8));
  std::vector<std::uint8_t> rows(most * together), above(most);
  for (const png_pass& pass : png_passes(head)) {
    const int width = pass.width(head), height = pass.height(head);
    if (width == 0 || height == 0) continue;
    const std::size_t size = head.row_bytes(width) + 1;
    std::fill(above.begin(), above.end(), std::uint8_t{0});
    for (int y = 0; y < height;) {
      const auto n = std::min(together, static_cast<std::size_t>(height - y));
      const std::size_t got = data.read(rows.data(), n * size) / size;
      for (std::size_t i = 0; i < got; ++i, ++y) {
        std::uint8_t* const row = rows.data() + i * size + 1;
        unfilter_png_row(row[-1], row, above.data(), size - 1, step);
        std::memcpy(above.data(), row, size - 1);
        const int at = pass.top + y * pass.down;
        if (at < top || at >= bottom) continue;
        pixels.write(row, width, out + (std::ptrdiff_t{at - top} * head.width + pass.left) * channels,
                     pass.across);
      }
      if (got < n)
        throw_damaged_png("its pixels end in row " + std::to_string(y) + " of " + std::to_string(height) +
                          data.damage());
      if (y >= bottom && y < height && !head.interlaced) return;  // the others are not even inflated
    }
  }
  // Some writers leave a few bytes too many, which no reader minds.
  std::size_t excess = 0;
  while (const std::size_t more = data.read(rows.data(), rows.size())) {
    excess += more;
    if (excess > 65536) {
      throw error("PNG inflates to more than the " + std::to_string(png_size(head)) +
                  " bytes that its header, " + size_text(head.width, head.height) +
                  " px, can need (damaged or hostile?); write the file again" + or_leave_it_out);
    }
  }
}

image decode_png(std::span<const std::byte> encoded, const rect& part, int channels, bool indexes) {
  const png_head head(encoded);
  check_png_size(encoded, head);
  image out(head.width, part.height, channels);
  read_png(encoded, head, channels, indexes, part.y, part.y + part.height, out.data());
  return out;
}

wide_rows decode_wide_png(std::span<const std::byte> encoded, const rect& part, int channels) {
  const png_head head(encoded);
  check_png_size(encoded, head);
  wide_rows out(head.width, part.height, channels, part.y);
  read_png(encoded, head, channels, false, part.y, part.y + part.height, out.levels.data());
  return out;
}

}  // namespace wick::detail

// ==== wick/codec/detail/stb_implementation.hpp
/// \file
/// stb_image itself. Included in exactly one file of a program, which CMake's wick target brings along;
/// elsewhere in the one that defines WICK_IMPLEMENTATION.

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wuseless-cast"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wcast-align"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#pragma GCC diagnostic ignored "-Wduplicated-branches"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#endif

namespace wick::detail {

inline thread_local bool stb_memory_is_cleared = false;
inline thread_local stb_limit* stb_limited_by = nullptr;

inline bool stb_may_have(std::size_t size) noexcept {
  if (stb_limited_by == nullptr || size <= stb_limited_by->bytes) return true;
  stb_limited_by->exceeded = true;
  return false;
}

/// Small blocks are cleared always: they hold tables, which a damaged file may use and not bring.
inline void* stb_memory(std::size_t size) noexcept {
  if (!stb_may_have(size)) return nullptr;
  void* const out = allocate_block(size);
  if (out != nullptr && (stb_memory_is_cleared || size < smallest_kept_block)) std::memset(out, 0, size);
  return out;
}

inline void* stb_resized(void* data, std::size_t size) noexcept {
  return stb_may_have(size) ? resize_block(data, size) : nullptr;
}

}  // namespace wick::detail

#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_NO_ZLIB
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_ASSERT(x) ((void)0)  // damaged files reach them
#define STBI_MALLOC(size) ::wick::detail::stb_memory(size)
#define STBI_REALLOC(data, size) ::wick::detail::stb_resized(data, size)
#define STBI_FREE(data) ::wick::detail::release_block(data)
#if defined(__ARM_NEON) || defined(__aarch64__)
#define STBI_NEON
#endif
// Empty chunks are copied from and to null, which memcpy does not take.
#include <string.h>
#pragma push_macro("memcpy")
#undef memcpy
#define memcpy(to, from, size) ((size) == 0 ? (to) : memcpy(to, from, size))
// Up to 2.27, when a scan ends within a code, a 0 is shifted by more than 31 bits. It stays 0, wherever that
// is done.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((no_sanitize("shift-exponent"))), apply_to = function)
#endif
#if __has_include(<stb_image.h>)
#include <stb_image.h>
#else
#include <stb/stb_image.h>
#endif
#if defined(__clang__)
#pragma clang attribute pop
#endif
#pragma pop_macro("memcpy")
#ifndef STBI_THREAD_LOCAL
#error "wick: stb_image before 2.26 keeps its failure reason in a plain global; install a newer libstb-dev"
#endif
#undef STB_IMAGE_IMPLEMENTATION
#undef STB_IMAGE_STATIC

// ==== wick/codec/detail/stb_jpeg_implementation.hpp
/// \file
/// The second half of a JPEG's way through stb_image. stb_image decodes the components; how they are brought
/// to one size and what colors they are is decided here, by libjpeg-turbo's rules. Included behind
/// stb_image's code, by stb_implementation.hpp alone.

namespace wick::detail {

/// A component's samples, of which `across` x `down` become as many pixels.
class jpeg_plane {
 public:
  jpeg_plane(const stbi__jpeg& from, int component, std::uint8_t* line) noexcept
      : data_(from.img_comp[component].data),
        stride_(from.img_comp[component].w2),
        height_(from.img_comp[component].y),
        across_(from.img_h_max / from.img_comp[component].h),
        down_(from.img_v_max / from.img_comp[component].v),
        line_(line) {
    const int width = static_cast<int>(from.s->img_x);
    width_ = (width + across_ - 1) / across_;
    both_ = from.resample_row_hv_2_kernel;
  }

  /// Row y of the picture. Halves are filled in smoothly, weighed 3 to 1, but not across two samples or less;
  /// all else is repeated: jdsample.c.
  const std::uint8_t* row(int y) const noexcept {
    const int near = y / down_;
    std::uint8_t* const in = at(near);
    const bool smooth_across = across_ == 2 && width_ > 2;
    if (down_ == 2 && (smooth_across || across_ == 1)) {
      const bool upper = y % 2 == 0;
      std::uint8_t* const far = at(upper ? std::max(near - 1, 0) : std::min(near + 1, height_ - 1));
      if (smooth_across) return both_(line_, in, far, width_, 2);
      for (int x = 0; x < width_; ++x)
        line_[x] = static_cast<std::uint8_t>((3 * in[x] + far[x] + (upper ? 1 : 2)) >> 2);
      return line_;
    }
    if (across_ == 1) return in;
    if (smooth_across && down_ == 1) return widened(in);
    std::uint8_t* out = line_;
    for (int x = 0; x < width_; ++x) {
      for (int k = 0; k < across_; ++k) *out++ = in[x];
    }
    return line_;
  }
  /// What a line may take.
  static std::size_t line_size(const stbi__jpeg& from) noexcept { return std::size_t{from.s->img_x} + 64; }

 private:
  std::uint8_t* at(int y) const noexcept { return data_ + std::ptrdiff_t{y} * stride_; }
  const std::uint8_t* widened(const std::uint8_t* in) const noexcept {
    const int last = width_ - 1;
    line_[0] = in[0];
    line_[1] = static_cast<std::uint8_t>((3 * in[0] + in[1] + 2) >> 2);
    for (int x = 1; x < last; ++x) {
      line_[2 * x] = static_cast<std::uint8_t>((3 * in[x] + in[x - 1] + 1) >> 2);
      line_[2 * x + 1] = static_cast<std::uint8_t>((3 * in[x] + in[x + 1] + 2) >> 2);
    }
    line_[2 * last] = static_cast<std::uint8_t>((3 * in[last] + in[last - 1] + 1) >> 2);
    line_[2 * last + 1] = in[last];
    return line_;
  }

  std::uint8_t* data_;
  std::ptrdiff_t stride_;
  int width_ = 0, height_, across_, down_;
  std::uint8_t* line_;
  std::uint8_t* (*both_)(std::uint8_t*, std::uint8_t*, std::uint8_t*, int, int);
};

/// One row of pixels out of the components' rows; `line` has room for three levels a pixel.
inline void jpeg_row(const stbi__jpeg& from, jpeg_color_model colors, const std::uint8_t* const* in,
                     std::uint8_t* out, int channels, std::uint8_t* line) noexcept {
  const int width = static_cast<int>(from.s->img_x);
  const bool alpha = channels == 2 || channels == 4;
  const auto ycc = [&](std::uint8_t* to, int step) {
    from.YCbCr_to_RGB_kernel(to, in[0], in[1], in[2], width, step);
  };
  if (colors == jpeg_color_model::gray || (colors == jpeg_color_model::ycc && channels <= 2)) {
    if (channels == 1) {
      std::memcpy(out, in[0], static_cast<std::size_t>(width));
      return;
    }
    for (int x = 0; x < width; ++x, out += channels) {
      for (int c = 0; c < channels; ++c) out[c] = alpha && c == channels - 1 ? std::uint8_t{255} : in[0][x];
    }
    return;
  }
  if (colors == jpeg_color_model::ycc) return ycc(out, channels);
  if (colors == jpeg_color_model::ycck) ycc(line, 3);  // the complement of what Adobe stores
  for (int x = 0; x < width; ++x, out += channels) {
    unsigned rgb[3];
    for (int c = 0; c < 3; ++c) {
      rgb[c] = colors == jpeg_color_model::ycck ? 255u - line[3 * x + c] : in[c][x];
      if (colors == jpeg_color_model::rgb) continue;
      const unsigned key = in[3][x], product = (255u - rgb[c]) * key + 128u,
                     ink = ((product >> 8) + product) >> 8;
      rgb[c] = key > ink ? key - ink : 0u;  // as Pillow converts CMYK
    }
    if (channels >= 3) {
      for (int c = 0; c < 3; ++c) out[c] = static_cast<std::uint8_t>(rgb[c]);
    } else {
      out[0] = static_cast<std::uint8_t>(rounded_luma(rgb[0], rgb[1], rgb[2]));
    }
    if (alpha) out[channels - 1] = 255;
  }
}

/// Pixels from allocate_block, null on failure, with the reason in `why`.
inline std::uint8_t* stb_jpeg_pixels(stbi__jpeg& from, jpeg_color_model colors, int channels,
                                     const char*& why) noexcept {
  const auto failed = [&why](const char* reason) -> std::uint8_t* {
    why = reason;
    return nullptr;
  };
  if (!stbi__decode_jpeg_image(&from)) return failed(stbi__g_failure_reason);
  const int components = from.s->img_n;
  const int wanted = colors == jpeg_color_model::gray                                     ? 1
                     : colors == jpeg_color_model::ycc || colors == jpeg_color_model::rgb ? 3
                                                                                          : 4;
  if (components != wanted) return failed("two frame headers");
  const std::size_t width = from.s->img_x, height = from.s->img_y, line = jpeg_plane::line_size(from);
  auto* const out = static_cast<std::uint8_t*>(stbi__malloc_mad3(channels, from.s->img_x, from.s->img_y, 1));
  auto* const lines = static_cast<std::uint8_t*>(stb_memory(line * 7));
  if (out == nullptr || lines == nullptr) {
    release_block(out);
    release_block(lines);
    return failed("outofmem");
  }
  const jpeg_plane planes[4] = {{from, 0, lines},
                                {from, components > 1 ? 1 : 0, lines + line},
                                {from, components > 1 ? 2 : 0, lines + 2 * line},
                                {from, components > 3 ? 3 : 0, lines + 3 * line}};
  const int needed = colors == jpeg_color_model::ycc && channels <= 2 ? 1 : components;
  for (std::size_t y = 0; y < height; ++y) {
    const std::uint8_t* rows[4] = {};
    for (int c = 0; c < needed; ++c) rows[c] = planes[c].row(static_cast<int>(y));
    jpeg_row(from, colors, rows, out + y * width * static_cast<std::size_t>(channels), channels,
             lines + 4 * line);
  }
  release_block(lines);
  return out;
}

}  // namespace wick::detail

namespace wick::detail {

std::uint8_t* stb_load(const std::byte* encoded, int size, int channels, int& width, int& height,
                       const char*& why, stb_limit& limit, bool cleared) noexcept {
  int stored = 0;
  stb_memory_is_cleared = cleared;
  stb_limited_by = &limit;
  stbi_uc* const pixels = stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(encoded), size, &width,
                                                &height, &stored, channels);
  stb_limited_by = nullptr;
  if (pixels == nullptr) {
    const char* const reason = stbi_failure_reason();
    why = reason != nullptr ? reason : "no reason";
  }
  return pixels;
}

std::uint8_t* stb_load_jpeg(const std::byte* encoded, int size, jpeg_color_model colors, int channels,
                            int& width, int& height, const char*& why, stb_limit& limit,
                            bool cleared) noexcept {
  stb_memory_is_cleared = cleared;
  stb_limited_by = &limit;
  stbi__context context{};
  stbi__start_mem(&context, reinterpret_cast<const stbi_uc*>(encoded), size);
  auto* const jpeg = static_cast<stbi__jpeg*>(stb_memory(sizeof(stbi__jpeg)));
  if (jpeg == nullptr) {
    stb_limited_by = nullptr;
    why = "outofmem";
    return nullptr;
  }
  jpeg->s = &context;
  stbi__setup_jpeg(jpeg);
  std::uint8_t* const pixels = stb_jpeg_pixels(*jpeg, colors, channels, why);
  stbi__cleanup_jpeg(jpeg);
  stb_limited_by = nullptr;
  release_block(jpeg);
  width = static_cast<int>(context.img_x);
  height = static_cast<int>(context.img_y);
  return pixels;
}

}  // namespace wick::detail

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

// ==== wick/order/detail/grid_rounds_implementation.hpp
/// \file
/// The rounds of a permutation by AVX2 and AVX-512, where the processor has them. Included in exactly one
/// file of a program.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wick::detail {

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // what gcc's own intrinsics leave out on purpose
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

__attribute__((target("avx512f"))) inline __m512i all_512(std::uint64_t x) noexcept {
  return _mm512_set1_epi64(static_cast<long long>(x));
}
__attribute__((target("avx2"))) inline __m256i all(std::uint64_t x) noexcept {
  return _mm256_set1_epi64x(static_cast<long long>(x));
}

/// Eight places a register, 64 bits each, of which the products need all and the rest the lower half.
__attribute__((target("avx512f"))) void grid_rounds::many_avx512(std::uint64_t* places) const noexcept {
  constexpr int registers = lanes / 8;
  const __m128i bits = _mm_cvtsi32_si128(static_cast<int>(column_bits));
  const __m128i but_bits = _mm_cvtsi32_si128(static_cast<int>(64 - column_bits));
  const __m512i count = all_512(rows), mask = all_512((std::uint64_t{1} << column_bits) - 1);
  __m512i row[registers], column[registers];
  for (int k = 0; k < registers; ++k) {
    const __m512i place = _mm512_loadu_si512(places + 8 * k);
    row[k] = _mm512_srl_epi64(place, bits);
    column[k] = _mm512_and_si512(place, mask);
  }
  for (std::uint32_t r = 0; r < rounds; r += 2) {
    const __m512i f = all_512(factor[r]), c = all_512(offset[r]), g = all_512(factor[r + 1]),
                  d = all_512(offset[r + 1]);
    for (int k = 0; k < registers; ++k) {
      const __m512i by = _mm512_add_epi64(_mm512_mul_epu32(column[k], f), c);
      const __m512i moved = _mm512_add_epi64(row[k], _mm512_srli_epi64(_mm512_mul_epu32(by, count), 32));
      row[k] = _mm512_min_epu32(moved, _mm512_sub_epi32(moved, count));
      const __m512i change = _mm512_slli_epi64(_mm512_add_epi64(_mm512_mul_epu32(row[k], g), d), 32);
      column[k] = _mm512_xor_si512(column[k], _mm512_srl_epi64(change, but_bits));
    }
  }
  for (int k = 0; k < registers; ++k) {
    _mm512_storeu_si512(places + 8 * k, _mm512_or_si512(_mm512_sll_epi64(row[k], bits), column[k]));
  }
}

/// The same with four a register, and half of the lanes, so that all are registers.
__attribute__((target("avx2"))) inline void half_avx2(const grid_rounds& g, std::uint64_t* places) noexcept {
  constexpr int registers = grid_rounds::lanes / 8;
  const __m128i bits = _mm_cvtsi32_si128(static_cast<int>(g.column_bits));
  const __m128i but_bits = _mm_cvtsi32_si128(static_cast<int>(64 - g.column_bits));
  const __m256i count = all(g.rows), mask = all((std::uint64_t{1} << g.column_bits) - 1);
  __m256i row[registers], column[registers];
  for (int k = 0; k < registers; ++k) {
    const __m256i place = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(places) + k);
    row[k] = _mm256_srl_epi64(place, bits);
    column[k] = _mm256_and_si256(place, mask);
  }
  for (std::uint32_t r = 0; r < g.rounds; r += 2) {
    const __m256i f = all(g.factor[r]), c = all(g.offset[r]), f2 = all(g.factor[r + 1]),
                  d = all(g.offset[r + 1]);
    for (int k = 0; k < registers; ++k) {
      const __m256i by = _mm256_add_epi64(_mm256_mul_epu32(column[k], f), c);
      const __m256i moved = _mm256_add_epi64(row[k], _mm256_srli_epi64(_mm256_mul_epu32(by, count), 32));
      row[k] = _mm256_min_epu32(moved, _mm256_sub_epi32(moved, count));
      const __m256i change = _mm256_slli_epi64(_mm256_add_epi64(_mm256_mul_epu32(row[k], f2), d), 32);
      column[k] = _mm256_xor_si256(column[k], _mm256_srl_epi64(change, but_bits));
    }
  }
  for (int k = 0; k < registers; ++k) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(places) + k,
                        _mm256_or_si256(_mm256_sll_epi64(row[k], bits), column[k]));
  }
}

__attribute__((target("avx2"))) void grid_rounds::many_avx2(std::uint64_t* places) const noexcept {
  half_avx2(*this, places);
  half_avx2(*this, places + lanes / 2);
}

#pragma GCC diagnostic pop
#endif

void grid_rounds::many(std::uint64_t* places) const noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return many_avx512(places);
  if (__builtin_cpu_supports("avx2")) return many_avx2(places);
#endif
  many_portable(places);
}

}  // namespace wick::detail

// ==== wick/resample/detail/resample_kernels_implementation.hpp
/// \file
/// The inner loops of the resize for every instruction set that there may be, in one portable build. Included
/// in exactly one file of a program, with stb_image.

// ==== wick/resample/detail/portable_kernels_implementation.hpp
/// \file
/// The inner loops of the resize in plain C++: also what the others do at the end of a row.

namespace wick::detail {

inline constexpr int column_shift = weight_bits + row_bits;
/// Half a level to round by, and the 128 levels that a row's values lack.
inline constexpr std::int32_t column_start = (1 << (column_shift - 1)) + (128 << column_shift);

inline void blend_rows_from(std::size_t i, const std::uint8_t* const* rows, const std::int16_t* weights,
                            int taps, std::int16_t* out, std::size_t n) noexcept {
  for (; i < n; ++i) {
    std::int32_t sum = 0;
    for (int k = 0; k < taps; ++k) sum += ((rows[k][i] - 128) * weights[k] + 64) >> 7;
    out[i] = static_cast<std::int16_t>(sum);
  }
}

inline void blend_rows_portable(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                                std::int16_t* out, std::size_t n) {
  constexpr std::size_t block = 64;
  std::size_t i = 0;
  for (; i + block <= n; i += block) {
    std::int16_t sum[block] = {};
    for (int k = 0; k < taps; ++k) {
      const std::uint8_t* const in = rows[k] + i;
      const std::int16_t w = weights[k];
      for (std::size_t j = 0; j < block; ++j) {
        sum[j] = static_cast<std::int16_t>(sum[j] + (((in[j] - 128) * w + 64) >> 7));
      }
    }
    std::memcpy(out + i, sum, sizeof sum);
  }
  blend_rows_from(i, rows, weights, taps, out, n);
}

template <int Channels>
inline void blend_columns_of(const std::int16_t* row, const column_table& t, std::uint8_t* quads) noexcept {
  for (int x = 0; x < t.count; ++x) {
    const std::int16_t* const first = row + t.first[x];
    const std::int16_t* const weights = t.weights + std::ptrdiff_t{x / 2} * t.pairs * 16 + (x % 2) * 8;
    // Channel by channel: of four sums side by side g++ 12 loses some at -O3 for ARM.
    for (int c = 0; c < Channels; ++c) {
      const std::int16_t *in = first + c, *w = weights;
      std::int32_t sum = column_start;
      for (int j = 0; j < t.pairs; ++j, in += 2 * Channels, w += 16) {
        sum += in[0] * w[0] + in[Channels] * w[1];
      }
      quads[4 * x + c] = static_cast<std::uint8_t>(std::clamp(sum >> column_shift, 0, 255));
    }
  }
}

inline void blend_columns_portable(const std::int16_t* row, const column_table& t, std::uint8_t* quads) {
  switch (t.channels) {
    case 1:
      return blend_columns_of<1>(row, t, quads);
    case 2:
      return blend_columns_of<2>(row, t, quads);
    case 3:
      return blend_columns_of<3>(row, t, quads);
    default:
      return blend_columns_of<4>(row, t, quads);
  }
}

inline void pack_triples_from(std::size_t i, const std::uint8_t* quads, std::uint8_t* out,
                              std::size_t n) noexcept {
  for (; i < n; ++i) {
    out[3 * i] = quads[4 * i];
    out[3 * i + 1] = quads[4 * i + 1];
    out[3 * i + 2] = quads[4 * i + 2];
  }
}
inline void pack_triples_portable(const std::uint8_t* quads, std::uint8_t* out, std::size_t n) {
  pack_triples_from(0, quads, out, n);
}

inline void split_planes_from(std::size_t i, const std::uint8_t* quads, std::uint8_t* const* planes,
                              int channels, std::size_t n) noexcept {
  for (int c = 0; c < channels; ++c) {
    std::uint8_t* const out = planes[c];
    for (std::size_t x = i; x < n; ++x) out[x] = quads[4 * x + static_cast<std::size_t>(c)];
  }
}
inline void split_planes_portable(const std::uint8_t* quads, std::uint8_t* const* planes, int channels,
                                  std::size_t n) {
  split_planes_from(0, quads, planes, channels, n);
}

inline constexpr resample_kernels portable_kernels{"portable", &blend_rows_portable, &blend_columns_portable,
                                                   &pack_triples_portable, &split_planes_portable};

/// Exact sums, for a great many rows: the same code for every machine.
inline void blend_many_rows_portable(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                                     std::int16_t* out, std::size_t n) {
  constexpr std::size_t block = 64;
  for (std::size_t i = 0; i < n; i += block) {
    const std::size_t width = std::min(block, n - i);
    std::int32_t sum[block];
    std::fill_n(sum, block, 64 - (128 << weight_bits));
    for (int k = 0; k < taps; ++k) {
      const std::uint8_t* const in = rows[k] + i;
      const std::int16_t w = weights[k];
      if (width == block) {
        for (std::size_t j = 0; j < block; ++j) sum[j] += std::int16_t{in[j]} * w;
      } else {
        for (std::size_t j = 0; j < width; ++j) sum[j] += std::int16_t{in[j]} * w;
      }
    }
    for (std::size_t j = 0; j < width; ++j) out[i + j] = static_cast<std::int16_t>(sum[j] >> 7);
  }
}

}  // namespace wick::detail

#if defined(__x86_64__) || defined(__i386__)
// ==== wick/resample/detail/x86_kernels_implementation.hpp
/// \file
/// The inner loops of the resize for SSSE3 and AVX2, in one build for any x86.

#include <immintrin.h>

namespace wick::detail {

// ---- SSSE3: 128 bits

#define WICK_SSSE3 __attribute__((target("ssse3")))
#define WICK_AVX2 __attribute__((target("avx2")))

/// Puts the channels of two neighboring pixels, 16 bits each, beside each other: r r g g b b.
alignas(16) inline constexpr std::int8_t pair_shuffle[5][16] = {
    {},
    {0, 1, 2, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
    {0, 1, 4, 5, 2, 3, 6, 7, -1, -1, -1, -1, -1, -1, -1, -1},
    {0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1},
    {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15},
};

WICK_SSSE3 inline __m128i load16(const void* from) noexcept {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

WICK_SSSE3 inline void blend_16_ssse3(std::size_t i, const std::uint8_t* const* rows,
                                      const std::int16_t* weights, int taps, std::int16_t* out) noexcept {
  const __m128i middle = _mm_set1_epi8(static_cast<char>(0x80)), zero = _mm_setzero_si128();
  __m128i low = zero, high = zero;
  for (int k = 0; k < taps; ++k) {
    const __m128i w = _mm_set1_epi16(weights[k]);
    const __m128i in = _mm_xor_si128(load16(rows[k] + i), middle);
    low = _mm_add_epi16(low, _mm_mulhrs_epi16(_mm_unpacklo_epi8(zero, in), w));
    high = _mm_add_epi16(high, _mm_mulhrs_epi16(_mm_unpackhi_epi8(zero, in), w));
  }
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), low);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i + 8), high);
}

WICK_SSSE3 inline void blend_rows_ssse3(const std::uint8_t* const* rows, const std::int16_t* weights,
                                        int taps, std::int16_t* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) blend_16_ssse3(i, rows, weights, taps, out);
  if (i == n) return;
  if (n < 16) return blend_rows_from(i, rows, weights, taps, out, n);
  blend_16_ssse3(n - 16, rows, weights, taps, out);  // overlaps the one before
}

template <int Pairs>
WICK_SSSE3 inline void blend_columns_ssse3_by(const std::int16_t* row, const column_table& t,
                                              std::uint8_t* quads) noexcept {
  const __m128i shuffle = load16(pair_shuffle[t.channels]);
  const int pairs = Pairs != 0 ? Pairs : t.pairs;
  const std::ptrdiff_t step = 2 * t.channels;
  const std::int16_t* w = t.weights;
  for (int x = 0; x < t.count; x += 4, quads += 16) {
    __m128i sum[4];
    for (int q = 0; q < 4; ++q) {
      const std::int16_t* in = row + t.first[x + q];
      const std::int16_t* weights = w + (q / 2) * pairs * 16 + (q % 2) * 8;
      __m128i s = _mm_set1_epi32(column_start);
      for (int j = 0; j < pairs; ++j, in += step, weights += 16) {
        s = _mm_add_epi32(s, _mm_madd_epi16(_mm_shuffle_epi8(load16(in), shuffle), load16(weights)));
      }
      sum[q] = _mm_srai_epi32(s, column_shift);
    }
    w += pairs * 32;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(quads),
                     _mm_packus_epi16(_mm_packs_epi32(sum[0], sum[1]), _mm_packs_epi32(sum[2], sum[3])));
  }
}

WICK_SSSE3 inline void blend_columns_ssse3(const std::int16_t* row, const column_table& t,
                                           std::uint8_t* quads) {
  switch (t.pairs) {
    case 1:
      return blend_columns_ssse3_by<1>(row, t, quads);
    case 2:
      return blend_columns_ssse3_by<2>(row, t, quads);
    case 3:
      return blend_columns_ssse3_by<3>(row, t, quads);
    default:
      return blend_columns_ssse3_by<0>(row, t, quads);
  }
}

WICK_SSSE3 inline void pack_triples_ssse3(const std::uint8_t* quads, std::uint8_t* out, std::size_t n) {
  const __m128i triples = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  std::size_t i = 0;
  for (; i + 6 <= n; i += 4) {  // the four bytes too many are written again
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * i),
                     _mm_shuffle_epi8(load16(quads + 4 * i), triples));
  }
  pack_triples_from(i, quads, out, n);
}

WICK_SSSE3 inline void split_planes_ssse3(const std::uint8_t* quads, std::uint8_t* const* planes,
                                          int channels, std::size_t n) {
  const __m128i gather = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m128i a = _mm_shuffle_epi8(load16(quads + 4 * i), gather),
                  b = _mm_shuffle_epi8(load16(quads + 4 * i + 16), gather),
                  c = _mm_shuffle_epi8(load16(quads + 4 * i + 32), gather),
                  d = _mm_shuffle_epi8(load16(quads + 4 * i + 48), gather);
    const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
    const __m128i ab2 = _mm_unpackhi_epi32(a, b), cd2 = _mm_unpackhi_epi32(c, d);
    const __m128i plane[4] = {_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd),
                              _mm_unpacklo_epi64(ab2, cd2), _mm_unpackhi_epi64(ab2, cd2)};
    for (int k = 0; k < channels; ++k) _mm_storeu_si128(reinterpret_cast<__m128i*>(planes[k] + i), plane[k]);
  }
  split_planes_from(i, quads, planes, channels, n);
}

inline constexpr resample_kernels ssse3_kernels{"ssse3", &blend_rows_ssse3, &blend_columns_ssse3,
                                                &pack_triples_ssse3, &split_planes_ssse3};

// ---- AVX2: 256 bits

template <int Vectors>
WICK_AVX2 inline void blend_32_avx2(std::size_t i, const std::uint8_t* const* rows,
                                    const std::int16_t* weights, int taps, std::int16_t* out) noexcept {
  const __m256i middle = _mm256_set1_epi8(static_cast<char>(0x80)), zero = _mm256_setzero_si256();
  __m256i low[Vectors], high[Vectors];
  for (int v = 0; v < Vectors; ++v) low[v] = high[v] = zero;
  for (int k = 0; k < taps; ++k) {
    const __m256i w = _mm256_set1_epi16(weights[k]);
    const std::uint8_t* const row = rows[k] + i;
    for (int v = 0; v < Vectors; ++v) {
      const __m256i in =
          _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 32 * v)), middle);
      low[v] = _mm256_add_epi16(low[v], _mm256_mulhrs_epi16(_mm256_unpacklo_epi8(zero, in), w));
      high[v] = _mm256_add_epi16(high[v], _mm256_mulhrs_epi16(_mm256_unpackhi_epi8(zero, in), w));
    }
  }
  for (int v = 0; v < Vectors; ++v) {  // unpacking works within the halves of a register
    auto* const to = reinterpret_cast<__m256i*>(out + i + static_cast<std::size_t>(32 * v));
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(low[v], high[v], 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(low[v], high[v], 0x31));
  }
}

WICK_AVX2 inline void blend_rows_avx2(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                                      std::int16_t* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) blend_32_avx2<2>(i, rows, weights, taps, out);
  for (; i + 32 <= n; i += 32) blend_32_avx2<1>(i, rows, weights, taps, out);
  if (i == n) return;
  if (n < 32) return blend_rows_from(i, rows, weights, taps, out, n);
  blend_32_avx2<1>(n - 32, rows, weights, taps, out);
}

template <int Pairs>
WICK_AVX2 inline void blend_columns_avx2_by(const std::int16_t* row, const column_table& t,
                                            std::uint8_t* quads) noexcept {
  const __m256i shuffle = _mm256_broadcastsi128_si256(load16(pair_shuffle[t.channels]));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const int pairs = Pairs != 0 ? Pairs : t.pairs;
  const std::ptrdiff_t step = 2 * t.channels;
  const std::int16_t* w = t.weights;
  for (int x = 0; x < t.count; x += 8, quads += 32) {
    __m256i sum[4];
    for (int q = 0; q < 4; ++q) {  // two outputs in a register
      const std::int16_t *a = row + t.first[x + 2 * q], *b = row + t.first[x + 2 * q + 1];
      __m256i s = _mm256_set1_epi32(column_start);
      for (int j = 0; j < pairs; ++j, a += step, b += step, w += 16) {
        const __m256i in = _mm256_inserti128_si256(_mm256_castsi128_si256(load16(a)), load16(b), 1);
        s = _mm256_add_epi32(s, _mm256_madd_epi16(_mm256_shuffle_epi8(in, shuffle),
                                                  _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w))));
      }
      sum[q] = _mm256_srai_epi32(s, column_shift);
    }
    const __m256i levels =
        _mm256_packus_epi16(_mm256_packs_epi32(sum[0], sum[1]), _mm256_packs_epi32(sum[2], sum[3]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(quads), _mm256_permutevar8x32_epi32(levels, order));
  }
}

WICK_AVX2 inline void blend_columns_avx2(const std::int16_t* row, const column_table& t,
                                         std::uint8_t* quads) {
  switch (t.pairs) {
    case 1:
      return blend_columns_avx2_by<1>(row, t, quads);
    case 2:
      return blend_columns_avx2_by<2>(row, t, quads);
    case 3:
      return blend_columns_avx2_by<3>(row, t, quads);
    default:
      return blend_columns_avx2_by<0>(row, t, quads);
  }
}

inline constexpr resample_kernels avx2_kernels{"avx2", &blend_rows_avx2, &blend_columns_avx2,
                                               &pack_triples_ssse3, &split_planes_ssse3};

#undef WICK_SSSE3
#undef WICK_AVX2

}  // namespace wick::detail

#elif defined(__aarch64__)
// ==== wick/resample/detail/neon_kernels_implementation.hpp
/// \file
/// The inner loops of the resize for NEON, which every 64-bit ARM has.

#include <arm_neon.h>

namespace wick::detail {

inline void blend_16_neon(std::size_t i, const std::uint8_t* const* rows, const std::int16_t* weights,
                          int taps, std::int16_t* out) noexcept {
  const uint8x16_t middle = vdupq_n_u8(0x80);
  const uint8x16_t zero = vdupq_n_u8(0);
  int16x8_t low = vdupq_n_s16(0), high = low;
  for (int k = 0; k < taps; ++k) {
    const uint8x16_t in = veorq_u8(vld1q_u8(rows[k] + i), middle);
    const int16x8_t w = vdupq_n_s16(weights[k]);
    low = vaddq_s16(low, vqrdmulhq_s16(vreinterpretq_s16_u8(vzip1q_u8(zero, in)), w));
    high = vaddq_s16(high, vqrdmulhq_s16(vreinterpretq_s16_u8(vzip2q_u8(zero, in)), w));
  }
  vst1q_s16(out + i, low);
  vst1q_s16(out + i + 8, high);
}

inline void blend_rows_neon(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                            std::int16_t* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) blend_16_neon(i, rows, weights, taps, out);
  if (i == n) return;
  if (n < 16) return blend_rows_from(i, rows, weights, taps, out, n);
  blend_16_neon(n - 16, rows, weights, taps, out);
}

inline void blend_columns_neon(const std::int16_t* row, const column_table& t, std::uint8_t* quads) {
  const int channels = t.channels;
  const std::int16_t* w = t.weights;
  for (int x = 0; x < t.count; x += 4, quads += 16) {
    int16x4_t level[4];
    for (int q = 0; q < 4; ++q) {
      const std::int16_t* in = row + t.first[x + q];
      const std::int16_t* weights = w + (q / 2) * t.pairs * 16 + (q % 2) * 8;
      int32x4_t s = vdupq_n_s32(column_start);
      for (int j = 0; j < t.pairs; ++j, in += 2 * channels, weights += 16) {
        s = vmlal_n_s16(s, vld1_s16(in), weights[0]);
        s = vmlal_n_s16(s, vld1_s16(in + channels), weights[1]);
      }
      level[q] = vqmovn_s32(vshrq_n_s32(s, column_shift));
    }
    w += t.pairs * 32;
    vst1q_u8(quads, vcombine_u8(vqmovun_s16(vcombine_s16(level[0], level[1])),
                                vqmovun_s16(vcombine_s16(level[2], level[3]))));
  }
}

inline void pack_triples_neon(const std::uint8_t* quads, std::uint8_t* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const uint8x16x4_t in = vld4q_u8(quads + 4 * i);
    vst3q_u8(out + 3 * i, uint8x16x3_t{{in.val[0], in.val[1], in.val[2]}});
  }
  pack_triples_from(i, quads, out, n);
}

inline void split_planes_neon(const std::uint8_t* quads, std::uint8_t* const* planes, int channels,
                              std::size_t n) {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const uint8x16x4_t in = vld4q_u8(quads + 4 * i);
    vst1q_u8(planes[0] + i, in.val[0]);
    if (channels > 1) vst1q_u8(planes[1] + i, in.val[1]);
    if (channels > 2) vst1q_u8(planes[2] + i, in.val[2]);
    if (channels > 3) vst1q_u8(planes[3] + i, in.val[3]);
  }
  split_planes_from(i, quads, planes, channels, n);
}

inline constexpr resample_kernels neon_kernels{"neon", &blend_rows_neon, &blend_columns_neon,
                                               &pack_triples_neon, &split_planes_neon};

}  // namespace wick::detail

#endif

namespace wick::detail {

void blend_many_rows(const std::uint8_t* const* rows, const std::int16_t* weights, int taps,
                     std::int16_t* out, std::size_t n) noexcept {
  blend_many_rows_portable(rows, weights, taps, out, n);
}

std::span<const resample_kernels* const> available_kernels() noexcept {
  struct list {
    const resample_kernels* sets[3] = {&portable_kernels};
    std::size_t count = 1;
    list() noexcept {
#if defined(__x86_64__) || defined(__i386__)
      if (__builtin_cpu_supports("ssse3")) sets[count++] = &ssse3_kernels;
      if (__builtin_cpu_supports("avx2")) sets[count++] = &avx2_kernels;
#elif defined(__aarch64__)
      sets[count++] = &neon_kernels;
#endif
    }
  };
  static const list all;
  return {all.sets, all.count};
}

const resample_kernels& best_kernels() noexcept {
  static const resample_kernels& best = *available_kernels().back();
  return best;
}

}  // namespace wick::detail

#if __has_include(<jpeglib.h>) && !defined(WICK_JPEG_STB)
#include <jpeglib.h>
#ifdef LIBJPEG_TURBO_VERSION
#define WICK_HAS_LIBJPEG_TURBO
// ==== wick/jpeg/detail/libjpeg_turbo_implementation.hpp
/// \file
/// JPEG by libjpeg-turbo. Included in exactly one file of a program: one of CMake's target wick::core, or,
/// with the single header, the one that defines WICK_IMPLEMENTATION.

// ==== wick/jpeg/detail/jpeg_decompressor_implementation.hpp
/// \file
/// libjpeg's decompressor, as decoding uses it. Only for libjpeg_turbo_implementation.hpp.

#include <csetjmp>
#include <jpeglib.h>
#ifndef JPEG_LIB_VERSION
#error "wick: jerror.h numbers its messages by JPEG_LIB_VERSION, so jpeglib.h has to come first"
#endif
#include <jerror.h>

// ==== wick/jpeg/detail/jpeg_memory_implementation.hpp
/// \file
/// The memory of a libjpeg decompressor, kept from picture to picture: libjpeg itself returns all of it after
/// each one. Only for libjpeg_turbo_implementation.hpp, which includes jpeglib.h before this.

namespace wick::detail {

/// A jpeg_memory_mgr. What a decompressor is made of still comes from libjpeg's own; all that a picture asks
/// for, its tables too, which libjpeg would keep, comes from a block that is kept, and grows to the most that
/// a picture has asked for. Under AddressSanitizer each request is a block of its own, freed with the
/// picture, so that a use after it is found.
///
/// The functions run below libjpeg's, and leave them by error_exit, a longjmp: they have no destructors to
/// run.
struct jpeg_memory {
  jpeg_memory_mgr mgr;  // first: libjpeg knows this by it
  jpeg_memory_mgr* own;

  struct chunk {
    chunk* next;
    std::size_t size, used;
  };
  chunk* chunks;
  std::size_t wanted;  // bytes of the next block, when it is more than what is asked for

  struct coefficients {  // a "virtual array", never anywhere but in memory
    JBLOCKARRAY rows;
    JDIMENSION blocks, count;
    bool zeroed;
    coefficients* next;
  };
  coefficients* arrays;

  static constexpr std::size_t unit = 64;  // libjpeg-turbo wants 32; its loops write up to 64 at once
  static constexpr std::size_t first_block = std::size_t{1} << 18, most_kept = std::size_t{64} << 20;

  /// To be called right after jpeg_create_decompress.
  void install(j_common_ptr info) noexcept {
    own = info->mem;
    mgr = *own;
    chunks = nullptr;
    arrays = nullptr;
    wanted = first_block;
    mgr.alloc_small = &allocate;
    mgr.alloc_large = &allocate;
    mgr.alloc_sarray = &allocate_samples;
    mgr.alloc_barray = &allocate_blocks;
    mgr.request_virt_sarray = &refuse_samples;
    mgr.request_virt_barray = &request_blocks;
    mgr.realize_virt_arrays = &realize;
    mgr.access_virt_barray = &access_blocks;
    mgr.free_pool = &free_pool;
    mgr.self_destruct = &destroy;
    info->mem = &mgr;
  }

 private:
  static jpeg_memory& of(j_common_ptr info) noexcept { return *reinterpret_cast<jpeg_memory*>(info->mem); }
  static constexpr std::size_t header() noexcept { return unit; }
  static bool each_alone() noexcept {
#if defined(__SANITIZE_ADDRESS__)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    return true;
#endif
#endif
    return false;
  }
  [[noreturn]] static void fail(j_common_ptr info, int code) {
    info->err->msg_code = code;
    (*info->err->error_exit)(info);
    std::abort();  // error_exit does not return
  }

  static void* allocate(j_common_ptr info, int, std::size_t size) {
    jpeg_memory& self = of(info);
    if (size > static_cast<std::size_t>(-1) / 4) fail(info, JERR_OUT_OF_MEMORY);
    size = (size + unit - 1) / unit * unit;
    chunk* block = self.chunks;
    if (block == nullptr || block->size - block->used < size) {
      const std::size_t capacity = each_alone() ? size : std::max(size, self.wanted);
      void* const memory = std::aligned_alloc(unit, header() + capacity);
      if (memory == nullptr) fail(info, JERR_OUT_OF_MEMORY);
      block = ::new (memory) chunk{self.chunks, capacity, 0};
      self.chunks = block;
    }
    auto* const out = reinterpret_cast<unsigned char*>(block) + header() + block->used;
    block->used += size;
    return out;
  }
  template <class Row>
  static Row* allocate_rows(j_common_ptr info, int pool, std::size_t row_bytes, JDIMENSION count) {
    auto* const rows = static_cast<Row*>(allocate(info, pool, count * sizeof(Row)));
    row_bytes = (row_bytes + unit - 1) / unit * unit;
    auto* const data = static_cast<unsigned char*>(allocate(info, pool, row_bytes * count));
    for (JDIMENSION i = 0; i < count; ++i) rows[i] = reinterpret_cast<Row>(data + row_bytes * i);
    return rows;
  }
  static JSAMPARRAY allocate_samples(j_common_ptr info, int pool, JDIMENSION width, JDIMENSION count) {
    return allocate_rows<JSAMPROW>(info, pool, width * sizeof(JSAMPLE), count);
  }
  static JBLOCKARRAY allocate_blocks(j_common_ptr info, int pool, JDIMENSION blocks, JDIMENSION count) {
    return allocate_rows<JBLOCKROW>(info, pool, blocks * sizeof(JBLOCK), count);
  }
  static jvirt_sarray_ptr refuse_samples(j_common_ptr info, int, boolean, JDIMENSION, JDIMENSION,
                                         JDIMENSION) {
    fail(info, JERR_NOT_COMPILED);  // only for color palettes
  }
  static jvirt_barray_ptr request_blocks(j_common_ptr info, int pool, boolean zeroed, JDIMENSION blocks,
                                         JDIMENSION count, JDIMENSION) {
    auto* const array = static_cast<coefficients*>(allocate(info, pool, sizeof(coefficients)));
    jpeg_memory& self = of(info);
    *array = {nullptr, blocks, count, zeroed != 0, self.arrays};
    self.arrays = array;
    return reinterpret_cast<jvirt_barray_ptr>(array);
  }
  static void realize(j_common_ptr info) {
    for (coefficients* a = of(info).arrays; a != nullptr; a = a->next) {
      if (a->rows != nullptr) continue;
      a->rows = allocate_blocks(info, JPOOL_IMAGE, a->blocks, a->count);
      if (!a->zeroed) continue;
      for (JDIMENSION i = 0; i < a->count; ++i) std::memset(a->rows[i], 0, a->blocks * sizeof(JBLOCK));
    }
  }
  static JBLOCKARRAY access_blocks(j_common_ptr info, jvirt_barray_ptr array, JDIMENSION start,
                                   JDIMENSION count, boolean) {
    const auto* const a = reinterpret_cast<const coefficients*>(array);
    if (a->rows == nullptr || start > a->count || count > a->count - start)
      fail(info, JERR_BAD_VIRTUAL_ACCESS);
    return a->rows + start;
  }
  static void free_pool(j_common_ptr info, int pool) {
    jpeg_memory& self = of(info);
    if (pool == JPOOL_PERMANENT) return;  // goes with the decompressor
    self.arrays = nullptr;
    std::size_t total = 0;
    for (const chunk* c = self.chunks; c != nullptr; c = c->next) total += c->size;
    if (!each_alone() && self.chunks != nullptr && self.chunks->next == nullptr && total <= most_kept) {
      self.chunks->used = 0;
      return;
    }
    // Several: the next picture gets one that would have been enough.
    self.wanted = std::clamp(total, first_block, most_kept) / unit * unit;
    self.release();
  }
  void release() noexcept {
    while (chunks != nullptr) std::free(std::exchange(chunks, chunks->next));
  }
  static void destroy(j_common_ptr info) {
    jpeg_memory& self = of(info);
    self.release();
    info->mem = self.own;
    (*self.own->self_destruct)(info);
  }
};

}  // namespace wick::detail

// ==== wick/jpeg/detail/jpeg_scan_implementation.hpp
/// \file
/// wick's own Huffman decoder in the place of libjpeg-turbo's. Only for libjpeg_turbo_implementation.hpp,
/// which includes jpeglib.h before this.

#include <dlfcn.h>

// ==== wick/jpeg/detail/jpeg_scan.hpp
/// \file
/// The entropy-coded pixels of a baseline JPEG: bits, Huffman tables, blocks of coefficients. ITU-T T.81,
/// annex F.2.
///
/// What makes it fast: a look at the next bits gives a whole symbol with its value; bits come eight bytes at
/// a time as long as no FF is near; and blocks that nobody wants are stepped over two symbols and more at a
/// time.

namespace wick::detail {

/// The bits of a scan without the zeros that follow each FF. Past a marker, or the end, they are zeros.
struct jpeg_bits {
  std::uint64_t next =
      0;  // from the top; below the first `count` may stand what the byte at `at` begins with
  int count = 0;
  int made_up = 0;  // bits from past the marker, which come after all others
  const std::uint8_t* at = nullptr;
  const std::uint8_t* ff = nullptr;  // the first FF from `at` on, or the end
  const std::uint8_t* end = nullptr;

  void begin(const std::uint8_t* from, const std::uint8_t* to) noexcept {
    *this = {};
    at = from;
    end = to;
    ff = next_ff(from, to);
  }
  /// At least 56 bits.
  [[gnu::always_inline]] void refill() noexcept {
    if (ff - at >= 8) [[likely]] {
      next |= big64(at) >> count;
      at += (63 - count) >> 3;
      count |= 56;
    } else {
      *this = refilled(*this);
    }
  }
  [[gnu::always_inline]] std::uint32_t peek(int bits) const noexcept {
    return static_cast<std::uint32_t>(next >> (64 - bits));
  }
  [[gnu::always_inline]] void drop(int bits) noexcept {
    next <<= bits;
    count -= bits;
  }
  bool overdrawn() const noexcept { return made_up > count; }
  /// Whether the data, without a marker that ends the scan, may be over for a reader that looks ahead.
  bool near_end() const noexcept { return ff - at < 16 && (end - ff < 2 || ff[1] == 0xFF); }
  /// Whether fewer than 8 bits, which fill up the last byte, are left before the marker.
  bool at_marker() const noexcept { return at == ff && count - made_up < 8; }

 private:
  static std::uint64_t big64(const std::uint8_t* from) noexcept {
    std::uint8_t b[8];
    std::memcpy(b, from, 8);
    return std::uint64_t{b[0]} << 56 | std::uint64_t{b[1]} << 48 | std::uint64_t{b[2]} << 40 |
           std::uint64_t{b[3]} << 32 | std::uint64_t{b[4]} << 24 | std::uint64_t{b[5]} << 16 |
           std::uint64_t{b[6]} << 8 | std::uint64_t{b[7]};
  }
  static const std::uint8_t* next_ff(const std::uint8_t* from, const std::uint8_t* to) noexcept {
    const void* const found =
        from == to ? nullptr : std::memchr(from, 0xFF, static_cast<std::size_t>(to - from));
    return found == nullptr ? to : static_cast<const std::uint8_t*>(found);
  }
  /// By value, so that the reader itself can stay in registers.
  [[gnu::noinline]] static jpeg_bits refilled(jpeg_bits b) noexcept {
    while (b.count < 56) {
      std::uint64_t byte = 0;
      if (b.at != b.ff) {
        byte = *b.at++;
      } else if (b.end - b.at >= 2 && b.at[1] == 0) {
        byte = 0xFF;
        b.at += 2;
        b.ff = next_ff(b.at, b.end);
      } else {
        b.made_up += 8;
      }
      b.next |= byte << (56 - b.count);
      b.count += 8;
    }
    return b;
  }
};

/// A Huffman table, by what the next bits are.
class jpeg_huffman {
 public:
  /// What a symbol is: by how many coefficients it goes on, and the value of the last of them; taken from the
  /// bits.
  struct symbol {
    unsigned step;
    std::int16_t value;
  };
  /// In `step`: the block ends here; the code is none.
  static constexpr unsigned end_of_block = 128, bad = 64;

  /// `counts[l - 1]` codes of each length l, for the symbols in `values`, of which 256 must be there. False
  /// when that is no table.
  bool build(const std::uint8_t* counts, const std::uint8_t* values, bool ac) {
    if (built_ && ac == ac_ && std::equal(counts, counts + 16, counts_.begin()) &&
        std::equal(values, values + total(counts), values_.begin())) {
      return true;
    }
    built_ = steps_built_ = false;
    ac_ = ac;
    const unsigned n = total(counts);
    if (n > 256) return false;
    std::copy_n(counts, 16, counts_.begin());
    std::copy_n(values, n, values_.begin());
    std::uint32_t code = 0;
    unsigned first = 0;
    look_.fill(0);
    for (unsigned length = 1; length <= 16; ++length, code <<= 1) {
      const unsigned these = counts_[length - 1];
      if (code + these > (1u << length)) return false;
      offset_[length] = static_cast<std::int32_t>(first) - static_cast<std::int32_t>(code);
      for (unsigned i = 0; i < these; ++i) {
        if (!ac && values_[first + i] > 15) return false;
        if (length <= look_bits) fill(code + i, length, values_[first + i]);
      }
      code += these;
      first += these;
      limit_[length] = code << (16 - length);
    }
    return built_ = true;
  }
  /// Makes what `step_over` needs, once.
  void prepare_steps() noexcept {
    if (steps_built_) return;
    for (std::uint32_t i = 0; i < steps_.size(); ++i) steps_[i] = steps_of(i);
    steps_built_ = true;
  }

  /// The next symbol. `whole` says whether it took no more than look_bits; otherwise `in` was refilled before
  /// it.
  [[gnu::always_inline]] symbol read(jpeg_bits& in, bool& whole) const noexcept {
    const std::uint32_t e = look_[in.peek(look_bits)];
    whole = (e & whole_mask) != 0;
    if (whole) [[likely]] {
      in.drop(static_cast<int>(e & whole_mask));
      return {e >> 8 & 0xFF, static_cast<std::int16_t>(e >> 16)};
    }
    in.refill();
    const std::uint32_t coded = e != 0 ? e : find(in.peek(16));
    in.drop(static_cast<int>(coded >> 16 & 0xFF));
    const int size = static_cast<int>(coded >> 24);
    const std::int32_t value = extend(in.next, size);
    in.drop(size);
    return {coded >> 8 & 0xFF, static_cast<std::int16_t>(value)};
  }

  /// The coefficients 1 to 63 of a block, in natural order, into zeros. False when that is not what the
  /// standard allows.
  [[gnu::always_inline]] bool read_block(jpeg_bits& in, std::int16_t* block) const noexcept {
    for (unsigned k = 0;;) {
      in.refill();
      bool whole = true;
      for (int i = 0; i < looks_per_refill && whole; ++i) {
        const symbol s = read(in, whole);
        k += s.step;
        if (k >= 63) {
          if (k == 63) block[63] = s.value;
          return k == 63 || k >= end_of_block;
        }
        block[natural_order[k]] = s.value;
      }
    }
  }

  /// The same, for nobody. Only after prepare_steps().
  [[gnu::always_inline]] bool step_over(jpeg_bits& in) const noexcept {
    for (unsigned k = 0;;) {
      in.refill();
      for (int i = 0; i < 2; ++i) {
        const std::uint32_t e = steps_[in.peek(step_bits)];
        const unsigned to = k + (e >> 8);
        // 63 by coefficients alone, or an end before that; anything else is looked at symbol by symbol.
        if (to > 63 && (to < end_of_block || to > end_of_block + 62)) {
          const stepped rest = step_over_singly(in, k);
          in = rest.in;
          return rest.good;
        }
        in.drop(static_cast<int>(e & 0xFF));
        if (to >= 63) return true;
        k = to;
      }
    }
  }

 private:
  static constexpr int look_bits = 10, step_bits = 11, looks_per_refill = 5;
  static constexpr std::uint32_t whole_mask = 15;
  static_assert(look_bits <= static_cast<int>(whole_mask));
  static_assert(56 - (looks_per_refill - 1) * look_bits >= look_bits);
  static constexpr std::array<std::uint8_t, 64> natural_order{
      0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
      41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
      30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

  static unsigned total(const std::uint8_t* counts) noexcept {
    unsigned n = 0;
    for (int i = 0; i < 16; ++i) n += counts[i];
    return n;
  }
  static unsigned step_of(unsigned value) noexcept {
    return (value & 15) == 0 && value != 0xF0 ? end_of_block : (value >> 4) + 1;
  }
  /// The number that the first `size` of the bits are (T.81, figure F.12).
  [[gnu::always_inline]] static std::int32_t extend(std::uint64_t bits, int size) noexcept {
    const auto plain = static_cast<std::int32_t>(bits >> 1 >> (63 - size));
    const auto positive = static_cast<std::int32_t>(static_cast<std::int64_t>(bits) >> 63);
    return plain + (~positive & (1 - (1 << size)));
  }
  static std::uint32_t coded(unsigned step, unsigned length, unsigned size) noexcept {
    return size << 24 | length << 16 | step << 8;
  }
  /// All looks that begin with the code: the bits of code and value, and of the value alone, four bits each,
  /// both 0 when a look is too short for them; the step, a byte; then the value, or the code's length and the
  /// value's, a byte each.
  void fill(std::uint32_t code, unsigned length, unsigned value) noexcept {
    const unsigned size = value & 15, step = step_of(value), rest = look_bits - length;
    for (std::uint32_t i = 0; i < 1u << rest; ++i) {
      std::uint32_t& e = look_[code << rest | i];
      if (size > rest) {
        e = coded(step, length, size);
      } else {
        const std::int32_t v = extend(std::uint64_t{i} << (64 - rest) % 64, static_cast<int>(size));
        e = static_cast<std::uint32_t>(v) << 16 | step << 8 | size << 4 | (length + size);
      }
    }
  }
  /// A code longer than a look, from the next 16 bits.
  [[gnu::noinline]] std::uint32_t find(std::uint32_t bits) const noexcept {
    for (unsigned length = look_bits + 1; length <= 16; ++length) {
      if (bits >= limit_[length]) continue;
      const auto at = static_cast<std::int32_t>(bits >> (16 - length)) + offset_[length];
      const unsigned value = values_[static_cast<std::size_t>(at) & 255];
      return coded(step_of(value), length, value & 15);
    }
    return coded(bad, 0, 0);
  }
  /// As many symbols as have their codes within the look. Low byte: their bits; then their steps, with
  /// end_of_block.
  std::uint16_t steps_of(std::uint32_t look) const noexcept {
    unsigned used = 0, steps = 0;
    while (used < step_bits) {
      const std::uint32_t rest = look << used & ((1u << step_bits) - 1);  // zeros behind what is left
      const std::uint32_t e = look_[rest >> (step_bits - look_bits)];
      const bool whole = (e & whole_mask) != 0;
      const unsigned size = whole ? e >> 4 & 15 : e >> 24;
      const unsigned code = whole ? (e & whole_mask) - size : e >> 16 & 0xFF;
      const unsigned step = e >> 8 & 0xFF;
      if (e == 0 || used + code > step_bits || (step != end_of_block && steps + step > 63)) break;
      used += code + size;
      steps += step;
      if (step == end_of_block) break;
    }
    // Without a symbol: a step that no block has, so that one is read singly.
    return static_cast<std::uint16_t>(used == 0 ? 64u << 8 : steps << 8 | used);
  }
  struct stepped {
    jpeg_bits in;
    bool good;
  };
  [[gnu::noinline]] stepped step_over_singly(jpeg_bits in, unsigned k) const noexcept {
    while (k < 63) {
      in.refill();
      bool whole;
      k += read(in, whole).step;
    }
    return {in, k == 63 || k >= end_of_block};
  }

  std::array<std::uint32_t, 1u << look_bits> look_;
  std::array<std::uint16_t, 1u << step_bits> steps_;
  std::array<std::uint32_t, 17> limit_;
  std::array<std::int32_t, 17> offset_;
  std::array<std::uint8_t, 16> counts_;
  std::array<std::uint8_t, 256> values_;
  bool built_ = false, steps_built_ = false, ac_ = false;
};

/// The one scan of a baseline JPEG, MCU by MCU.
class jpeg_scan {
 public:
  struct block {
    const jpeg_huffman* dc;
    jpeg_huffman* ac;
    unsigned component;
    bool coefficients;  // whether those after the first are wanted
  };
  static constexpr std::size_t most_blocks = 10;  // of an MCU

  /// From the first byte after the scan's header. `restart_interval` MCUs are between two restart markers, 0:
  /// none.
  void begin(std::span<const std::uint8_t> data, std::span<const block> blocks,
             unsigned restart_interval) noexcept {
    in_.begin(data.data(), data.data() + data.size());
    blocks_ = std::min(blocks.size(), most_blocks);
    std::copy_n(blocks.begin(), blocks_, block_.begin());
    steps_over_ = false;
    last_dc_ = {};
    interval_ = to_restart_ = restart_interval;
    restart_ = 0;
  }

  /// The next MCU: block i into `*to[i]`, which must be zeros; without `to` it is stepped over. False at
  /// anything that is not as the standard has it, and near the end of data that no marker ends, with what is
  /// in `*to[i]` unspecified; then there is no next one.
  bool next(std::int16_t (*const* to)[64]) noexcept {
    if (interval_ != 0 && to_restart_-- == 0 && !restart()) return false;
    jpeg_bits in = in_;
    for (std::size_t i = 0; i < blocks_; ++i) {
      const block& b = block_[i];
      in.refill();
      bool whole;
      const jpeg_huffman::symbol difference = b.dc->read(in, whole);
      if (difference.step == jpeg_huffman::bad) return false;
      last_dc_[b.component] += static_cast<std::uint32_t>(difference.value);
      if (to == nullptr || !b.coefficients) {
        if (to != nullptr) (*to[i])[0] = static_cast<std::int16_t>(last_dc_[b.component]);
        if (!steps_over_) [[unlikely]]
          prepare_steps();
        if (!b.ac->step_over(in)) return false;
      } else {
        std::int16_t* const out = *to[i];
        out[0] = static_cast<std::int16_t>(last_dc_[b.component]);
        if (!b.ac->read_block(in, out)) return false;
      }
    }
    in_ = in;
    return !in.overdrawn() && !in.near_end();
  }

 private:
  /// A picture that is wanted whole never needs it.
  [[gnu::noinline]] void prepare_steps() noexcept {
    for (std::size_t i = 0; i < blocks_; ++i) block_[i].ac->prepare_steps();
    steps_over_ = true;
  }
  bool restart() noexcept {
    if (!in_.at_marker() || in_.end - in_.at < 2 || in_.at[1] != 0xD0 + restart_) return false;
    restart_ = (restart_ + 1) % 8;
    to_restart_ = interval_ - 1;
    last_dc_ = {};
    in_.begin(in_.at + 2, in_.end);
    return true;
  }

  jpeg_bits in_;
  std::array<block, most_blocks> block_{};
  std::size_t blocks_ = 0;
  bool steps_over_ = false;  // the tables can
  std::array<std::uint32_t, 4> last_dc_{};
  unsigned interval_ = 0, to_restart_ = 0, restart_ = 0;
};

}  // namespace wick::detail

namespace wick::detail {

/// Takes the blocks of a baseline JPEG's one scan out of the data itself, so that libjpeg has the rest to do:
/// half of a decode is Huffman codes, and libjpeg's reader doesn't know which blocks of a row are wanted.
///
/// libjpeg has no call for this. It asks its entropy decoder for each MCU through a pointer to a function,
/// which is here set to another: the second member of the structure that `entropy` points to, in every
/// libjpeg since 1994. That is all that is known of it, and jpeg_self_test sees whether it is so. libjpeg's
/// own decoder stays where it is, at the start of the scan. At anything in the data that is not as it should
/// be it is brought to the same MCU and goes on from there, so that damage is what it is without this.
class jpeg_scan_reader {
 public:
  using mcu_decoder = boolean (*)(j_decompress_ptr, JBLOCKROW*);
  /// Null where there is none.
  using find_slot = mcu_decoder* (*)(j_decompress_ptr);

  explicit jpeg_scan_reader(find_slot find) noexcept : find_(find) {}

  static mcu_decoder* second_word(j_decompress_ptr info) noexcept {
    return &reinterpret_cast<entropy_decoder*>(info->entropy)->decode_mcu;
  }
  /// The same, when both functions of the structure are libjpeg's own.
  static mcu_decoder* second_word_of_library(j_decompress_ptr info) noexcept {
    if (info->entropy == nullptr) return nullptr;
    const auto* const decoder = reinterpret_cast<entropy_decoder*>(info->entropy);
    const auto start = reinterpret_cast<void*>(decoder->start_pass);
    const auto decode_mcu = reinterpret_cast<void*>(decoder->decode_mcu);
    if (start == decode_mcu) return nullptr;
    Dl_info library, other;
    // jpeg_std_error has set this one to a function of the library. Of a static program nothing is known.
    if (dladdr(reinterpret_cast<void*>(info->err->format_message), &library) != 0) {
      for (void* const code : {start, decode_mcu}) {
        if (dladdr(code, &other) == 0 || other.dli_fbase != library.dli_fbase) return nullptr;
      }
    }
    return second_word(info);
  }

  /// How many MCUs were read here since then.
  std::size_t done() const noexcept { return done_; }
  void forget() noexcept { done_ = 0; }

  /// To be called between jpeg_start_decompress and the first row. The picture may be of any kind; those that
  /// this reads not are left to libjpeg. `data` is what follows the scan's header.
  void install(j_decompress_ptr info, std::span<const std::uint8_t> data) {
    if (info->arith_code || info->progressive_mode || info->data_precision != 8 ||
        jpeg_has_multiple_scans(info))
      return;
    const auto count = static_cast<std::size_t>(info->blocks_in_MCU);
    std::array<jpeg_scan::block, jpeg_scan::most_blocks> blocks{};
    if (count > blocks.size()) return;
    for (std::size_t i = 0; i < count; ++i) {
      const int component = info->MCU_membership[i];
      const jpeg_component_info& c = *info->cur_comp_info[component];
      jpeg_huffman* const dc = table(0, c.dc_tbl_no, info->dc_huff_tbl_ptrs);
      jpeg_huffman* const ac = table(1, c.ac_tbl_no, info->ac_huff_tbl_ptrs);
      if (dc == nullptr || ac == nullptr) return;
      blocks[i] = {dc, ac, static_cast<unsigned>(component), c.component_needed && block_side(c) > 1};
    }
    scan_.begin(data, {blocks.data(), count}, info->restart_interval);
    done_ = column_ = 0;
    columns_ = info->MCUs_per_row;
    want(0, columns_ - 1);
    slot_ = find_(info);
    if (slot_ == nullptr) return;
    own_ = *slot_;
    info->client_data = this;
    *slot_ = &decode;
  }
  /// Of each row, which MCUs are wanted.
  void want(JDIMENSION first, JDIMENSION last) noexcept {
    first_ = first;
    last_ = last;
  }

 private:
  struct entropy_decoder {
    void (*start_pass)(j_decompress_ptr);
    mcu_decoder decode_mcu;
  };
  static_assert(sizeof(JCOEF) == sizeof(std::int16_t) && sizeof(JBLOCK) == 64 * sizeof(JCOEF));

  static int block_side(const jpeg_component_info& c) noexcept {
#if JPEG_LIB_VERSION >= 70
    return c.DCT_h_scaled_size;
#else
    return c.DCT_scaled_size;
#endif
  }
  jpeg_huffman* table(std::size_t kind, int number, JHUFF_TBL* const* from) {
    if (number < 0 || number >= NUM_HUFF_TBLS || from[number] == nullptr) return nullptr;
    std::unique_ptr<jpeg_huffman>& made = tables_[kind][static_cast<std::size_t>(number)];
    if (made == nullptr) made = std::make_unique<jpeg_huffman>();
    return made->build(from[number]->bits + 1, from[number]->huffval, kind == 1) ? made.get() : nullptr;
  }

  /// \param out null: the MCU is not wanted
  static boolean decode(j_decompress_ptr info, JBLOCKROW* out) {
    auto& self = *static_cast<jpeg_scan_reader*>(info->client_data);
    const bool wanted = out != nullptr && self.column_ >= self.first_ && self.column_ <= self.last_;
    if (!self.scan_.next(wanted ? out : nullptr)) return self.give_back(info, out);
    ++self.done_;
    if (++self.column_ == self.columns_) self.column_ = 0;
    return TRUE;
  }
  boolean give_back(j_decompress_ptr info, JBLOCKROW* out) {
    *slot_ = own_;
    if (out != nullptr) {
      for (int i = 0; i < info->blocks_in_MCU; ++i) std::memset(out[i], 0, sizeof(JBLOCK));
    }
    // Into blocks that nobody looks at: only libjpeg-turbo takes none.
    JBLOCK unwanted[jpeg_scan::most_blocks];
    JBLOCKROW rows[jpeg_scan::most_blocks];
    for (std::size_t i = 0; i < jpeg_scan::most_blocks; ++i) rows[i] = unwanted + i;
    for (std::size_t i = 0; i < done_; ++i) (void)own_(info, rows);
    return own_(info, out);
  }

  std::array<std::array<std::unique_ptr<jpeg_huffman>, NUM_HUFF_TBLS>, 2> tables_;
  jpeg_scan scan_;
  find_slot find_;
  mcu_decoder* slot_ = nullptr;
  mcu_decoder own_ = nullptr;
  std::size_t done_ = 0;
  JDIMENSION column_ = 0, columns_ = 0, first_ = 0, last_ = 0;
};

}  // namespace wick::detail

#if !defined(LIBJPEG_TURBO_VERSION) || !defined(JCS_ALPHA_EXTENSIONS)
#error \
    "wick: this jpeglib.h is not libjpeg-turbo's; install libjpeg-dev (Debian, Ubuntu) or libjpeg-turbo (vcpkg)"
#endif

namespace wick::detail {

/// libjpeg's decompressor of one thread, and all that it keeps.
///
/// libjpeg reports errors by a function that must not return. Here it jumps back into guarded(), over frames
/// of libjpeg and of functions without destructors only: neither a sink nor anything else of C++ is called in
/// between.
class jpeg_decompressor {
 public:
  /// \param find where libjpeg's pointer to the function is that reads an MCU
  /// \param version,size what the headers say that wick is compiled with
  /// \throws wick::error when the libjpeg that was loaded is of another kind
  explicit jpeg_decompressor(jpeg_scan_reader::find_slot find = &jpeg_scan_reader::second_word,
                             int version = JPEG_LIB_VERSION,
                             std::size_t size = sizeof(jpeg_decompress_struct))
      : scan_(find) {
    info_.err = jpeg_std_error(&errors_.mgr);
    errors_.mgr.error_exit = &jump;
    errors_.mgr.emit_message = [](j_common_ptr, int) {};  // damage within the pixels: as Pillow takes it
    errors_.mgr.output_message = [](j_common_ptr) {};
    if (!guarded([&] { jpeg_CreateDecompress(&info_, version, size); })) throw_not_created();
    memory_.install(reinterpret_cast<j_common_ptr>(&info_));
    info_.src = &source_;
    info_.progress = &progress_;
    progress_.progress_monitor = &count_scans;
    source_.init_source = [](j_decompress_ptr) {};
    source_.term_source = [](j_decompress_ptr) {};
    source_.resync_to_restart = &jpeg_resync_to_restart;
    source_.fill_input_buffer = &ended;
    source_.skip_input_data = &skip;
  }
  jpeg_decompressor(const jpeg_decompressor&) = delete;
  jpeg_decompressor& operator=(const jpeg_decompressor&) = delete;
  ~jpeg_decompressor() { jpeg_destroy_decompress(&info_); }

  /// How many MCUs of the last picture were read here, not by libjpeg.
  std::size_t own_mcus() const noexcept { return scan_.done(); }

  /// \param own_scan whether Huffman codes are read here, where they can be, rather than by libjpeg
  /// \throws wick::error for damaged data; what the sink throws
  void decode(std::span<const std::byte> encoded, const picture_info& about, const decode_request& request,
              row_sink& sink, bool own_scan) {
    struct at_end {
      jpeg_decompressor& self;
      ~at_end() {
        self.guarded([this] { jpeg_abort_decompress(&self.info_); });
        self.forget_tables();
      }
    } whatever_happens{*this};
    begin(encoded, about, request);
    scan_.forget();
    if (own_scan) scan_.install(&info_, {source_.next_input_byte, source_.bytes_in_buffer});
    const rect part = choose_part(request.wanted);
    sink.begin({static_cast<int>(info_.output_width), part.height, request.channels, part.x * 8 / scale_,
                part.y * 8 / scale_, scale_ / 8.0});
    if (part.y != 0) check(guarded([&] { jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(part.y)); }));
    const bool convert = info_.out_color_space == JCS_CMYK || info_.out_color_components != request.channels;
    if (convert)
      line_.resize(static_cast<std::size_t>(info_.output_width) *
                   static_cast<std::size_t>(info_.out_color_components));
    for (int y = 0; y < part.height;) {
      const std::span<std::uint8_t* const> room = sink.room();
      if (room.empty()) return;
      JSAMPROW line = line_.data();
      JDIMENSION got = 0;
      check(guarded([&] {
        got = jpeg_read_scanlines(&info_, convert ? &line : const_cast<JSAMPARRAY>(room.data()),
                                  convert ? 1 : static_cast<JDIMENSION>(room.size()));
      }));
      if (got == 0)
        throw error("damaged JPEG: libjpeg-turbo gives no more rows; write the file again or remove it");
      if (convert) convert_row(line, room[0], request.channels);
      y += static_cast<int>(got);
      sink.written(static_cast<int>(got));
    }
  }

 private:
  static constexpr int too_many_scans = -1;  // none of libjpeg's codes
  struct error_state {
    jpeg_error_mgr mgr;  // first: libjpeg knows this by it
    std::jmp_buf back;
  };

  /// `call` calls libjpeg and nothing else. False when that has failed. By reference: a copy of what was
  /// captured just now would wait until all stores before are done, those of the pixels too.
  template <class F>
  [[gnu::noinline]] bool guarded(const F& call) noexcept {
    static_assert(std::is_trivially_destructible_v<F>);
    if (setjmp(errors_.back) != 0) return false;
    call();
    return true;
  }
  [[noreturn]] static void jump(j_common_ptr info) {
    std::longjmp(reinterpret_cast<error_state*>(info->err)->back, 1);
  }
  static boolean ended(j_decompress_ptr info) {
    info->err->msg_code = JERR_INPUT_EOF;
    (*info->err->error_exit)(reinterpret_cast<j_common_ptr>(info));
    return FALSE;
  }
  static void skip(j_decompress_ptr info, long count) {
    if (count <= 0) return;
    const std::size_t n = std::min(static_cast<std::size_t>(count), info->src->bytes_in_buffer);
    info->src->next_input_byte += n;
    info->src->bytes_in_buffer -= n;
  }
  /// A file of a megabyte would keep a worker for days.
  static void count_scans(j_common_ptr info) {
    if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= most_jpeg_scans) return;
    info->err->msg_code = too_many_scans;
    (*info->err->error_exit)(info);
  }
  std::string text() {
    char out[JMSG_LENGTH_MAX];
    (*errors_.mgr.format_message)(reinterpret_cast<j_common_ptr>(&info_), out);
    return out;
  }
  /// By the text: a libjpeg of another version numbers its errors otherwise.
  [[noreturn]] void throw_not_created() {
    const std::string why = text();
    if (why.starts_with("Insufficient memory")) throw std::bad_alloc();
    throw error(
        "the libjpeg that this program loaded is not the one that wick was compiled for (it says: " + why +
        "); make the program find the libjpeg-turbo whose jpeglib.h was used, or compile wick again");
  }
  void check(bool good) {
    if (good) return;
    if (errors_.mgr.msg_code == too_many_scans) throw_too_many_scans();
    if (errors_.mgr.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
    if (errors_.mgr.msg_code == JERR_INPUT_EOF) throw_truncated("JPEG", size_, "in the middle");
    throw error("damaged JPEG, or of a kind that libjpeg-turbo does not read (it says: " + text() +
                "); write the file again, convert it" + or_leave_it_out);
  }

  void begin(std::span<const std::byte> encoded, const picture_info& about, const decode_request& request) {
    size_ = encoded.size();
    source_.next_input_byte = reinterpret_cast<const JOCTET*>(encoded.data());
    source_.bytes_in_buffer = encoded.size();
    check(guarded([&] { (void)jpeg_read_header(&info_, TRUE); }));
    if (info_.data_precision != 8) {
      throw error("JPEG of " + std::to_string(info_.data_precision) +
                  " bits a channel; convert it to 8 bits");
    }
    if (info_.image_width != static_cast<JDIMENSION>(about.width) ||
        info_.image_height != static_cast<JDIMENSION>(about.height)) {
      throw error("damaged JPEG: two frame headers, of different sizes; write the file again or remove it");
    }
    if (info_.num_components == 4) {
      info_.out_color_space = JCS_CMYK;
    } else {
      info_.out_color_space = request.channels <= 2   ? JCS_GRAYSCALE
                              : request.channels == 3 ? JCS_RGB
                                                      : JCS_EXT_RGBA;
    }
    // The sizes that have SIMD code; those between are often slower than the next larger one.
    scale_ = 8;
    while (scale_ > 1 && scale_ >= request.scale * 16 && keeps_colors(scale_ / 2)) scale_ /= 2;
    info_.scale_num = static_cast<unsigned>(scale_);
    info_.scale_denom = 8;
    info_.dct_method = JDCT_ISLOW;
    info_.do_fancy_upsampling = TRUE;  // also keeps merged upsampling away
    check(guarded([&] { (void)jpeg_start_decompress(&info_); }));
  }

  /// libjpeg lets a decompressor's tables live on, for files that have none and are meant to share. What a
  /// picture looks like must not depend on the one before.
  void forget_tables() noexcept {
    std::fill(std::begin(info_.quant_tbl_ptrs), std::end(info_.quant_tbl_ptrs), nullptr);
    std::fill(std::begin(info_.dc_huff_tbl_ptrs), std::end(info_.dc_huff_tbl_ptrs), nullptr);
    std::fill(std::begin(info_.ac_huff_tbl_ptrs), std::end(info_.ac_huff_tbl_ptrs), nullptr);
  }

  std::span<const jpeg_component_info> components() const noexcept {
    return {info_.comp_info, static_cast<std::size_t>(info_.num_components)};
  }
  /// To how many pixels a side libjpeg makes the component's blocks of 8 x 8, when the picture's become
  /// `scale`: up to twice as many again and again, as long as that is a whole part of what the picture gets
  /// (jdmaster.c).
  int block_side(const jpeg_component_info& c, int scale) const noexcept {
    const int across = info_.max_h_samp_factor * scale, down = info_.max_v_samp_factor * scale;
    int side = scale;
    while (side < 8 && across % (c.h_samp_factor * side * 2) == 0 && down % (c.v_samp_factor * side * 2) == 0)
      side *= 2;
    return side;
  }
  /// Whether each component is left as it is stored, or has half the picture's pixels along each side: 4:1:1
  /// scaled to an eighth would have no more than a quarter.
  bool keeps_colors(int scale) const noexcept {
    return std::ranges::all_of(components(), [&](const jpeg_component_info& c) {
      const int side = block_side(c, scale);
      return side == 8 || (info_.max_h_samp_factor * scale <= c.h_samp_factor * side * 2 &&
                           info_.max_v_samp_factor * scale <= c.v_samp_factor * side * 2);
    });
  }

  /// The part that is decoded, in scaled pixels. Smooth upsampling looks at one column on each side: with
  /// these decoded too, what is wanted is as in the whole picture.
  rect choose_part(const rect& wanted) {
    const double s = scale_ / 8.0;
    const int width = static_cast<int>(info_.output_width), height = static_cast<int>(info_.output_height);
    int margin = 0;
    bool cuts = true;
    for (const jpeg_component_info& c : components()) {
      const int side = block_side(c, scale_);
      const bool across = c.h_samp_factor * side != info_.max_h_samp_factor * scale_;
      const bool down = c.v_samp_factor * side != info_.max_v_samp_factor * scale_;
      if (across) margin = 1;
      // jpeg_crop_scanline miscounts what is scaled otherwise than the picture and yet upsampled.
      cuts = cuts && (side == scale_ || !(across || down));
    }
    const int left = cuts ? std::max(0, static_cast<int>(wanted.x * s) - margin) : 0;
    const int right = cuts ? std::min(width, ceiling((wanted.x + wanted.width) * s) + margin) : width;
    const int top = std::clamp(static_cast<int>(wanted.y * s), 0, height - 1);
    const int bottom = std::min(height, ceiling((wanted.y + wanted.height) * s));
    rect part{0, top, width, bottom - top};
    if (left > 0 || right < width) {
      JDIMENSION x = static_cast<JDIMENSION>(left), w = static_cast<JDIMENSION>(right - left);
      check(guarded([&] { jpeg_crop_scanline(&info_, &x, &w); }));
      part.x = static_cast<int>(x);
      part.width = static_cast<int>(w);
      const int across = info_.num_components == 1 ? scale_ : scale_ * info_.max_h_samp_factor;  // of an MCU
      scan_.want(x / static_cast<JDIMENSION>(across), (x + w - 1) / static_cast<JDIMENSION>(across));
    }
    return part;
  }
  static int ceiling(double v) noexcept {
    const int whole = static_cast<int>(v);
    return whole < v ? whole + 1 : whole;
  }

  /// CMYK (as Adobe writes it, inverted) to RGB or gray as Pillow converts it; and gray to gray and alpha.
  void convert_row(const std::uint8_t* in, std::uint8_t* out, int channels) const noexcept {
    for (JDIMENSION x = 0; x < info_.output_width; ++x, out += channels) {
      if (info_.out_color_components == 1) {
        out[0] = *in++;
        out[1] = 255;
        continue;
      }
      std::uint32_t rgb[3];
      for (int c = 0; c < 3; ++c) {
        const std::uint32_t product = (255u - in[c]) * in[3] + 128;
        const std::uint32_t ink = ((product >> 8) + product) >> 8;
        rgb[c] = in[3] > ink ? in[3] - ink : 0;
      }
      in += 4;
      if (channels >= 3) {
        for (int c = 0; c < 3; ++c) out[c] = static_cast<std::uint8_t>(rgb[c]);
      } else {
        out[0] =
            static_cast<std::uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
      }
      if (channels == 2 || channels == 4) out[channels - 1] = 255;
    }
  }

  jpeg_decompress_struct info_{};
  error_state errors_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  jpeg_memory memory_{};
  jpeg_scan_reader scan_;
  std::vector<std::uint8_t> line_;
  std::size_t size_ = 0;
  int scale_ = 8;
};

/// Rows into a picture of their own.
class image_sink final : public row_sink {
 public:
  decoded_picture picture;

  void begin(const decoded_rows& what) override {
    picture = {image(what.width, what.height, what.channels), what.left, what.top, what.scale};
  }
  std::span<std::uint8_t* const> room() override {
    if (done_ == picture.pixels.height()) return {};
    row_ = picture.pixels.row(done_);
    return {&row_, 1};
  }
  void written(int count) override { done_ += count; }

 private:
  std::uint8_t* row_ = nullptr;
  int done_ = 0;
};

}  // namespace wick::detail

// ==== wick/jpeg/detail/jpeg_self_test_implementation.hpp
/// \file
/// Whether wick's Huffman decoder may stand in for that of the libjpeg that was loaded. Only for
/// libjpeg_turbo_implementation.hpp.

#include <dlfcn.h>

namespace wick::detail {

/// 40 x 40 px, 4:2:0, restart markers after four and after eight of its nine MCUs.
inline constexpr std::uint8_t jpeg_of_self_test[] = {
    0xFF, 0xD8, 0xFF, 0xDB, 0x00, 0x43, 0x00, 0x14, 0x0E, 0x0F, 0x12, 0x0F, 0x0D, 0x14, 0x12, 0x10, 0x12,
    0x17, 0x15, 0x14, 0x18, 0x1E, 0x32, 0x21, 0x1E, 0x1C, 0x1C, 0x1E, 0x3D, 0x2C, 0x2E, 0x24, 0x32, 0x49,
    0x40, 0x4C, 0x4B, 0x47, 0x40, 0x46, 0x45, 0x50, 0x5A, 0x73, 0x62, 0x50, 0x55, 0x6D, 0x56, 0x45, 0x46,
    0x64, 0x88, 0x65, 0x6D, 0x77, 0x7B, 0x81, 0x82, 0x81, 0x4E, 0x60, 0x8D, 0x97, 0x8C, 0x7D, 0x96, 0x73,
    0x7E, 0x81, 0x7C, 0xFF, 0xDB, 0x00, 0x43, 0x01, 0x15, 0x17, 0x17, 0x1E, 0x1A, 0x1E, 0x3B, 0x21, 0x21,
    0x3B, 0x7C, 0x53, 0x46, 0x53, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C,
    0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C,
    0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C, 0x7C,
    0x7C, 0x7C, 0x7C, 0x7C, 0xFF, 0xC0, 0x00, 0x11, 0x08, 0x00, 0x28, 0x00, 0x28, 0x03, 0x01, 0x22, 0x00,
    0x02, 0x11, 0x01, 0x03, 0x11, 0x01, 0xFF, 0xC4, 0x00, 0x17, 0x00, 0x01, 0x01, 0x01, 0x01, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x04, 0x05, 0xFF, 0xC4, 0x00,
    0x24, 0x10, 0x00, 0x01, 0x03, 0x04, 0x02, 0x02, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x01, 0x00, 0x02, 0x11, 0x03, 0x12, 0x21, 0x31, 0x41, 0x51, 0x13, 0x22, 0x61, 0x71, 0x81, 0xF0,
    0xF1, 0xFF, 0xC4, 0x00, 0x18, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x05, 0x06, 0x03, 0x01, 0xFF, 0xC4, 0x00, 0x1F, 0x11, 0x00, 0x02,
    0x02, 0x02, 0x01, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x01,
    0x02, 0x11, 0x21, 0x51, 0x12, 0x31, 0x41, 0x81, 0xE1, 0xFF, 0xDD, 0x00, 0x04, 0x00, 0x04, 0xFF, 0xDA,
    0x00, 0x0C, 0x03, 0x01, 0x00, 0x02, 0x11, 0x03, 0x11, 0x00, 0x3F, 0x00, 0xE0, 0x52, 0xA6, 0x6E, 0x26,
    0x23, 0x8C, 0xE1, 0x37, 0x88, 0xDF, 0x20, 0x63, 0xB0, 0x9A, 0xC0, 0xF1, 0x0C, 0x24, 0x9D, 0xE1, 0x2B,
    0x29, 0x8B, 0x4B, 0x76, 0x78, 0x85, 0x75, 0x8E, 0x3D, 0x55, 0xE3, 0xB0, 0x2E, 0xA6, 0x1D, 0x11, 0x9E,
    0xE3, 0x84, 0x8D, 0x61, 0x2D, 0x8F, 0xA4, 0xCC, 0x60, 0xA7, 0x37, 0x82, 0x91, 0x94, 0xA0, 0x87, 0x18,
    0x8D, 0xCA, 0x9E, 0xC6, 0x95, 0x14, 0xCF, 0x3C, 0x82, 0xC6, 0x10, 0x20, 0xE0, 0xF4, 0xA5, 0xA8, 0x32,
    0xE7, 0x7A, 0xEB, 0x52, 0xA4, 0x3B, 0x37, 0x63, 0xAA, 0xCC, 0x40, 0x0C, 0xA4, 0x58, 0x64, 0xE8, 0xE1,
    0x20, 0xA2, 0x49, 0xB9, 0xA2, 0x07, 0xCA, 0x56, 0xB2, 0xE3, 0x11, 0x69, 0xED, 0x2B, 0x69, 0xC7, 0xAF,
    0x1A, 0x95, 0xD9, 0x8E, 0x31, 0xEA, 0x64, 0x7A, 0x3F, 0xFF, 0xD0, 0xBC, 0x77, 0x81, 0x02, 0x3E, 0xF0,
    0x91, 0xAC, 0x90, 0x1B, 0x39, 0x88, 0x92, 0x99, 0xAC, 0x0D, 0x8E, 0x67, 0xF0, 0x95, 0xB4, 0xED, 0x17,
    0x81, 0xF2, 0x8E, 0xC7, 0x1D, 0xD4, 0xCF, 0xA0, 0x0A, 0x76, 0x60, 0xC7, 0xEF, 0xF1, 0x4B, 0x53, 0x59,
    0x73, 0x67, 0x5C, 0x29, 0x0E, 0xCE, 0xD8, 0xEA, 0xB2, 0x71, 0xA0, 0x05, 0x13, 0x4C, 0x82, 0xDC, 0x9D,
    0x65, 0x23, 0x69, 0x83, 0x9C, 0x9E, 0x4E, 0x14, 0xA4, 0x96, 0x5A, 0x4C, 0x92, 0xA7, 0x78, 0x15, 0x94,
    0xEF, 0x9B, 0xB2, 0x46, 0xBB, 0x48, 0xD6, 0xCB, 0xAD, 0x8C, 0x68, 0x29, 0x48, 0x0C, 0xB4, 0x94, 0xD3,
    0x69, 0xC4, 0x4F, 0x27, 0xFF, 0xD1, 0xEE, 0x86, 0x06, 0xE0, 0x0C, 0x15, 0x29, 0x4B, 0x33, 0x36, 0x91,
    0x3D, 0x53, 0x07, 0xFF, 0xD9};

/// A small picture, decoded with wick's reader in the place of libjpeg's and without. The place is known from
/// headers only (see jpeg_scan_reader): when the library that was loaded has it elsewhere, or means something
/// else by it, what its interface says has to do.
class jpeg_self_test {
 public:
  explicit jpeg_self_test(jpeg_scan_reader::find_slot find = &jpeg_scan_reader::second_word_of_library) {
    try {
      failure_ = run(find);
    } catch (const error& e) {
      failure_ = e.what();
    }
  }
  /// Of this program's libjpeg: done once, at the first picture. \throws std::bad_alloc
  static const jpeg_self_test& here() {
    static const jpeg_self_test done;
    return done;
  }

  bool passed() const noexcept { return failure_.empty(); }
  /// For the report; empty when the test was passed.
  std::string note() const {
    if (passed()) return {};
    jpeg_error_mgr errors;
    Dl_info library;
    std::string where;
    if (dladdr(reinterpret_cast<void*>(jpeg_std_error(&errors)->format_message), &library) != 0 &&
        library.dli_fname != nullptr) {
      where = std::string(" (") + library.dli_fname + ")";
    }
    return "JPEGs take up to twice as long: wick reads their Huffman codes itself with libjpeg-turbo, and "
           "the libjpeg "
           "that was loaded" +
           where + " is not quite that: " + failure_ +
           "; link the libjpeg-turbo whose jpeglib.h wick was compiled with";
  }

 private:
  struct outcome {
    image pixels;
    std::string error;
    std::size_t own_mcus = 0;
  };
  static outcome decode(jpeg_scan_reader::find_slot find, std::span<const std::byte> encoded,
                        const rect& part, bool own_scan) {
    outcome out;
    const auto decompressor = std::make_unique<jpeg_decompressor>(find);
    image_sink sink;
    try {
      picture_info info;
      probe_jpeg(encoded, info);
      decompressor->decode(encoded, info, {part, 1.0, 3}, sink, own_scan);
    } catch (const error& e) {
      out.error = e.what();
    }
    out.pixels = std::move(sink.picture.pixels);
    out.own_mcus = decompressor->own_mcus();
    return out;
  }
  static std::string run(jpeg_scan_reader::find_slot find) {
    std::uint8_t damaged[std::size(jpeg_of_self_test)];
    std::copy(std::begin(jpeg_of_self_test), std::end(jpeg_of_self_test), damaged);
    constexpr std::uint8_t second_restart[] = {0xFF, 0xD1};
    std::search(std::begin(damaged), std::end(damaged), std::begin(second_restart),
                std::end(second_restart))[1] = 0xD5;
    const auto whole = std::as_bytes(std::span(jpeg_of_self_test));
    struct job {
      std::span<const std::byte> encoded;
      rect part;
      std::size_t own_mcus;  // how many of the nine wick's reader has to have read
    };
    // All of it; a corner, to which libjpeg skips; and one with which libjpeg's own reader has to go on.
    const job jobs[] = {{whole, {0, 0, 40, 40}, 9},
                        {whole, {20, 20, 20, 20}, 9},
                        {std::as_bytes(std::span(damaged)), {0, 0, 40, 40}, 8}};
    for (const job& j : jobs) {
      const outcome by_library = decode(find, j.encoded, j.part, false);
      const outcome by_wick = decode(find, j.encoded, j.part, true);
      if (by_wick.own_mcus == 0) return "its decoder of entropy-coded data is not where its headers have it";
      if (by_wick.own_mcus != j.own_mcus) return "it asks for the parts of a picture otherwise";
      if (by_wick.error != by_library.error || by_wick.pixels != by_library.pixels) {
        return "a picture of its own test comes out otherwise than through the interface alone";
      }
    }
    return {};
  }

  std::string failure_;
};

}  // namespace wick::detail

// ==== wick/jpeg/detail/libjpeg_turbo.hpp
/// \file
/// JPEG by libjpeg-turbo: only the rectangle that is wanted, at the cheapest scale that covers it, row by row
/// into the resize. It is there where CMake found libjpeg-turbo, or, with the single header, where there is a
/// jpeglib.h of it.

namespace wick::detail {

/// Baseline and progressive JPEG of 8 bits: gray, YCbCr and RGB with any subsampling, CMYK and YCCK (to RGB
/// as Pillow converts them), restart markers, arithmetic coding where the library has it. Upsampling is
/// libjpeg's smooth one, pixels are those of Pillow; gray is the JPEG's own, as Pillow's draft("L") gives it.
/// Color profiles (ICC) are not applied, nor are they by Pillow or torchvision.
///
/// Damage within the pixels is taken as libjpeg-turbo and Pillow take it, with what could not be read in
/// gray; a file that breaks off is an error (see decode_options::allow_truncated).
///
/// Each thread keeps one decompressor with its memory: once it has seen the largest picture it allocates no
/// more. Defined in jpeg/detail/libjpeg_turbo_implementation.hpp, which is compiled once, by CMake or in the
/// one file that defines WICK_IMPLEMENTATION; that program links -ljpeg (and -ldl where glibc is older
/// than 2.34).
///
/// The Huffman codes of baseline files are read by wick's own decoder, which is faster than libjpeg's, most
/// of all where a part is wanted; all else is libjpeg's work, and so is every file with something unusual in
/// it. The first picture of a program is preceded by a test of some microseconds, whether the library that
/// was loaded lets itself be helped so; if not, all is libjpeg's work, and the report has a note.
extern const codec libjpeg_turbo_codec;

/// The same pixels and errors, by nothing but what libjpeg's interface says: for a library that is not quite
/// libjpeg-turbo, and to compare.
extern const codec libjpeg_turbo_api_codec;

}  // namespace wick::detail

namespace wick::detail {

/// The thread's decompressor, taken while it is used: a sink may decode something in its turn.
class jpeg_lease {
 public:
  jpeg_lease() : mine_(std::move(kept())) {
    if (mine_ == nullptr) mine_ = std::make_unique<jpeg_decompressor>();
  }
  jpeg_lease(const jpeg_lease&) = delete;
  jpeg_lease& operator=(const jpeg_lease&) = delete;
  ~jpeg_lease() { kept() = std::move(mine_); }
  jpeg_decompressor& operator*() noexcept { return *mine_; }

 private:
  [[gnu::noinline]] static std::unique_ptr<jpeg_decompressor>& kept() noexcept {
    static thread_local std::unique_ptr<jpeg_decompressor> mine;
    return mine;
  }
  std::unique_ptr<jpeg_decompressor> mine_;
};

/// The few pixels above libjpeg's limit are left to the next decoder.
inline bool libjpeg_turbo_probe(std::span<const std::byte> encoded, picture_info& info) {
  return probe_jpeg(encoded, info) && info.width <= JPEG_MAX_DIMENSION && info.height <= JPEG_MAX_DIMENSION;
}

/// An end-of-image marker at the end can't be pixels, in which FF is always followed by 0 or a restart
/// marker.
inline void libjpeg_turbo_check_complete(std::span<const std::byte> encoded, const picture_info&) {
  if (encoded.size() >= 2 && big16(encoded, encoded.size() - 2) == 0xFFD9) return;
  check_jpeg_complete(encoded);
}

template <bool OwnScan>
inline void libjpeg_turbo_decode_rows(std::span<const std::byte> encoded, const picture_info& info,
                                      const decode_request& request, row_sink& sink) {
  jpeg_lease decompressor;
  (*decompressor).decode(encoded, info, request, sink, OwnScan && jpeg_self_test::here().passed());
}

template <bool OwnScan>
inline decoded_picture libjpeg_turbo_decode(std::span<const std::byte> encoded, const picture_info& info,
                                            const decode_request& request) {
  image_sink sink;
  libjpeg_turbo_decode_rows<OwnScan>(encoded, info, request, sink);
  return std::move(sink.picture);
}

constinit const codec libjpeg_turbo_codec{"libjpeg-turbo",
                                          &libjpeg_turbo_probe,
                                          &libjpeg_turbo_check_complete,
                                          &libjpeg_turbo_decode<true>,
                                          &libjpeg_turbo_decode_rows<true>,
                                          nullptr,
                                          [] { return jpeg_self_test::here().note(); }};
constinit const codec libjpeg_turbo_api_codec{"libjpeg-turbo, by its interface alone", &libjpeg_turbo_probe,
                                              &libjpeg_turbo_check_complete, &libjpeg_turbo_decode<false>,
                                              &libjpeg_turbo_decode_rows<false>};

}  // namespace wick::detail

#endif
#endif
// ==== wick/codec/detail/builtin_codecs_implementation.hpp
/// \file
/// The decoders that a program has without adding any. Included in exactly one file of a program, behind
/// those that it names.

namespace wick::detail {

#ifdef WICK_HAS_LIBJPEG_TURBO
extern const codec libjpeg_turbo_codec;
#endif

std::span<const codec* const> builtin_codecs() noexcept {
  static constexpr std::array all{
      &stb_codec,
#ifdef WICK_HAS_LIBJPEG_TURBO
      &libjpeg_turbo_codec,  // asked first
#endif
  };
  return all;
}

}  // namespace wick::detail

#endif

// The machine: threads take turns, one at a time. Each has a clock of its own, which its work and its cache
// misses advance, and the thread whose clock is furthest behind runs next. So 256 processors can be counted
// on one, and each run gives the same numbers.
//
// g++ -fsanitize=thread calls a function of the __tsan_ family before each access to memory and in place of
// each atomic operation. Those of ThreadSanitizer itself aren't linked: the ones below note which threads
// have a copy of each cache line. Caches are unlimited, so a line moves only because another thread wrote it.
// Mutexes, sleeping, and clocks come here by the linker's --wrap; threads are started by the pthread_create
// below.

#include "machine.hpp"

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <linux/futex.h>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <unordered_map>

// The linker renames this file's calls, too.
extern "C" long __real_syscall(long, ...);
extern "C" void* __real_memset(void*, int, std::size_t);

namespace {

constexpr std::size_t most_threads = 640;
constexpr std::uint64_t never = ~std::uint64_t{0};
// In picoseconds, of a processor of some 3 GHz.
constexpr std::uint64_t per_ns = 1000, access_cost = 250, atomic_cost = 6 * per_ns, call_cost = 300 * per_ns;
constexpr std::uint64_t start_cost = 20'000 * per_ns, wake_cost = 3'000 * per_ns, turn = 50 * per_ns;
constexpr std::uint64_t longest = std::uint64_t{100} * 1'000'000'000 * per_ns;  // 100 s
std::uint64_t move_cost = 100 * per_ns;

enum class state : std::uint8_t { running, asleep, joining, gone };

struct thread {
  std::size_t number = 0;
  std::uint64_t now = 0;  // ps
  state is = state::running;
  const void* asleep_on = nullptr;  // a futex's word, a mutex, or the thread to join
  std::uint64_t until = never, since = 0;
  bool timed_out = false;
  std::uint32_t baton = 0;  // 1: it's this thread's turn
  int unbroken = 0;         // while above 0, its turn doesn't end
  pthread_t handle{};
  void* (*run)(void*) = nullptr;
  void* argument = nullptr;
};

struct line {
  std::bitset<most_threads> copies;
  std::uint64_t free_at = 0;  // when its last move ends
  std::uint32_t moves = 0, period = 0, written_in = 0;
  std::uint32_t arrives_for = ~0u;  // the thread that it last moved to
};
struct page {
  line lines[64];
};

// Only the thread with the baton touches the variables below. They are never freed, since destructors of
// static objects still use them.
auto& threads = *new std::vector<std::unique_ptr<thread>>;
auto& pages = *new std::unordered_map<std::uintptr_t, std::unique_ptr<page>>;
auto& mutexes = *new std::unordered_map<const void*, thread*>;  // those that are locked
auto& moves_at = *new std::unordered_map<const void*, std::uint64_t>;
auto& atomics_at = *new std::unordered_map<const void*, std::uint64_t>;
auto& moves_of_line = *new std::unordered_map<std::uintptr_t, std::unordered_map<const void*, std::uint64_t>>;
std::uint64_t horizon = never, next_sleep = 0;
std::uint32_t period = 1;
sharing::counts counted;
bool refuses = false, with_places = false;
__thread thread* me = nullptr;
__thread bool inside = false;  // in a function of the machine, whose own copies of memory don't count
pthread_key_t at_exit;

struct machine_code {
  machine_code() { inside = true; }
  ~machine_code() { inside = was; }
  const bool was = inside;
};

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "bench/sharing: %s\n", why);
  for (const auto& t : threads)
    std::fprintf(stderr, "  thread %zu: %d, on %p, at %.3f us\n", t->number, static_cast<int>(t->is),
                 t->asleep_on, static_cast<double>(t->now) / 1e6);
  std::_Exit(1);
}

void wait_for_turn(thread* t) {
  while (__atomic_load_n(&t->baton, __ATOMIC_ACQUIRE) == 0)
    __real_syscall(SYS_futex, &t->baton, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  t->baton = 0;
}
void give_turn(thread* t) {
  __atomic_store_n(&t->baton, 1, __ATOMIC_RELEASE);
  __real_syscall(SYS_futex, &t->baton, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// The thread that is furthest behind, counting a sleeper that has a deadline from then.
thread* next_thread() {
  thread* least = nullptr;
  std::uint64_t when = never, second = never;
  for (const auto& t : threads) {
    const std::uint64_t at = t->is == state::running ? t->now : t->is == state::asleep ? t->until : never;
    if (at < when) {
      second = when;
      when = at;
      least = t.get();
    } else {
      second = std::min(second, at);
    }
  }
  horizon = second == never ? never : second + turn;
  if (least != nullptr && least->is == state::asleep) {
    least->is = state::running;
    least->timed_out = true;
    least->now = std::max(least->now, least->until);
    least->until = never;
  }
  return least;
}

// Ends the calling thread's turn; returns when it has the next.
void pass(bool leaving = false) {
  thread* const mine = me;
  thread* const next = next_thread();
  if (next == nullptr) {
    if (leaving) give_up("the last thread is gone");
    give_up("all threads sleep");
  }
  if (next == mine) return;
  if (mine->unbroken != 0) give_up("a static object waits for another thread while it is made");
  if (next->now > longest) give_up("the threads only wait for each other");
  give_turn(next);
  if (!leaving) wait_for_turn(mine);
}
void turn_may_end() {
  if (me->now > horizon && me->unbroken == 0) pass();
}

// Sleeps until wake() or the deadline; true if it was woken.
bool sleep_on(const void* on, std::uint64_t until = never) {
  thread* const mine = me;
  mine->is = state::asleep;
  mine->asleep_on = on;
  mine->until = until;
  mine->since = ++next_sleep;
  mine->timed_out = false;
  ++counted.sleeps;
  pass();
  mine->asleep_on = nullptr;
  return !mine->timed_out;
}
// The longest sleepers first.
int wake(const void* on, int most) {
  int woken = 0;
  while (woken < most) {
    thread* first = nullptr;
    for (const auto& t : threads)
      if (t->is == state::asleep && t->asleep_on == on && (first == nullptr || t->since < first->since))
        first = t.get();
    if (first == nullptr) break;
    first->is = state::running;
    first->until = never;
    first->now = std::max(first->now, me->now + wake_cost);
    horizon = std::min(horizon, first->now + turn);
    ++woken;
  }
  return woken;
}

line& line_at(std::uintptr_t number) {
  static std::uintptr_t last = never;
  static page* last_page = nullptr;
  if (number / 64 != last) {
    auto& p = pages[number / 64];
    if (!p) p = std::make_unique<page>();
    last = number / 64;
    last_page = p.get();
  }
  return last_page->lines[number % 64];
}

// An access to a line; or with `ahead` a prefetch, for which the thread doesn't wait. A first read of a
// line that was written before this period isn't counted: that is the data set.
void touch(std::uintptr_t number, bool write, const void* site, bool ahead = false) {
  line& l = line_at(number);
  const std::size_t who = me->number;
  const bool had = l.copies.test(who);
  bool moved = false;
  if (write) {
    moved = had ? l.copies.count() > 1 : l.copies.any();
    l.copies.reset();
    l.copies.set(who);
    l.written_in = period;
  } else if (!had) {
    moved = l.written_in == period && l.copies.any();
    l.copies.set(who);
  }
  if (!moved) {
    if (!ahead && had && l.arrives_for == who) me->now = std::max(me->now, l.free_at);
    return;
  }
  l.free_at = std::max(me->now, l.free_at) + move_cost;
  l.arrives_for = static_cast<std::uint32_t>(who);
  if (!ahead) me->now = l.free_at;
  if (l.period != period) {
    l.period = period;
    l.moves = 0;
  }
  ++l.moves;
  ++counted.moves;
  counted.hottest = std::max<std::uint64_t>(counted.hottest, l.moves);
  if (with_places) {
    ++moves_at[site];
    ++moves_of_line[number][site];
  }
}
void touch_bytes(const volatile void* at, std::size_t size, bool write, const void* site,
                 bool ahead = false) {
  if (me == nullptr || inside || size == 0) return;
  const machine_code mine;
  const auto first = reinterpret_cast<std::uintptr_t>(at) / 64,
             last = (reinterpret_cast<std::uintptr_t>(at) + size - 1) / 64;
  for (std::uintptr_t n = first; n <= last; ++n) {
    me->now += access_cost;
    touch(n, write, site, ahead);
  }
}
void atomic_access(const volatile void* at, bool write, const void* site, bool operation = true) {
  if (me == nullptr) return;
  turn_may_end();
  const machine_code mine;
  touch(reinterpret_cast<std::uintptr_t>(at) / 64, write, site);
  me->now += operation ? atomic_cost : access_cost;
  counted.atomics += operation;
  if (with_places && operation) ++atomics_at[site];
}

void own(const void* mutex) {
  const machine_code mine;
  mutexes[mutex] = me;
}
void disown(const void* mutex) {
  const machine_code mine;
  mutexes.erase(mutex);
}

void begin() {
  if (me != nullptr) return;
  ::pthread_key_create(&at_exit, [](void*) {
    me->is = state::gone;
    for (const auto& t : threads)
      if (t->is == state::joining && t->asleep_on == me) {
        t->is = state::running;
        t->now = std::max(t->now, me->now + wake_cost);
      }
    pass(true);
  });
  threads.push_back(std::make_unique<thread>());
  me = threads.back().get();
  me->handle = ::pthread_self();
}
struct begins_first {
  begins_first() { begin(); }
} const begins;  // this file is linked first

template <class F>
F real(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

namespace sharing {

void set_move(std::uint64_t ns) { move_cost = ns * per_ns; }
void work(std::uint64_t ns) noexcept {
  me->now += ns * per_ns;
  turn_may_end();
}
void refuse_cached_reads(bool refuse) noexcept { refuses = refuse; }

counts count(bool places) {
  constexpr std::size_t most_places = 20;
  static std::uint64_t begun = 0;
  const machine_code mine;
  counts out = std::move(counted);
  out.ns = (me->now - begun) / per_ns;
  begun = me->now;
  const auto sorted = [](const std::unordered_map<const void*, std::uint64_t>& from) {
    std::vector<std::pair<std::uint64_t, const void*>> order;
    for (const auto& [site, n] : from) order.emplace_back(n, site);
    std::sort(order.rbegin(), order.rend());
    std::vector<counts::place> result;
    for (const auto& [n, site] : order) {
      if (result.size() == most_places) break;
      char command[256], text[512] = "";
      std::snprintf(command, sizeof command, "addr2line -e /proc/%d/exe -i -f -C %p 2>/dev/null", ::getpid(),
                    reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(site) - 1));
      std::string where;
      if (FILE* const p = ::popen(command, "r")) {
        for (bool function = true; std::fgets(text, sizeof text, p) != nullptr; function = !function) {
          const std::string line(text, std::strcspn(text, "\n"));
          const std::size_t room = line.find("include/wick/");
          if (!function && room != std::string::npos && line.find("instead/") == std::string::npos &&
              where.empty())
            where = line.substr(room + std::strlen("include/wick/"));
        }
        ::pclose(p);
      }
      if (where.empty()) where = "?";
      // A line of the source may be compiled several times.
      const auto same =
          std::find_if(result.begin(), result.end(), [&](const auto& p) { return p.where == where; });
      if (same == result.end())
        result.push_back({where, n});
      else
        same->count += n;
    }
    return result;
  };
  if (with_places) {
    out.places = sorted(moves_at);
    out.atomic_places = sorted(atomics_at);
    const auto hottest =
        std::max_element(moves_of_line.begin(), moves_of_line.end(), [](const auto& a, const auto& b) {
          const auto sum = [](const auto& sites) {
            std::uint64_t all = 0;
            for (const auto& s : sites.second) all += s.second;
            return all;
          };
          return sum(a) < sum(b);
        });
    if (hottest != moves_of_line.end()) out.hottest_places = sorted(hottest->second);
  }
  counted = counts();
  moves_at.clear();
  atomics_at.clear();
  moves_of_line.clear();
  with_places = places;
  ++period;
  return out;
}

}  // namespace sharing

// ---- called by g++'s instrumentation ----

extern "C" {

#define SITE __builtin_return_address(0)
#define ACCESS(size)                                                               \
  void __tsan_read##size(void* p) { touch_bytes(p, size, false, SITE); }           \
  void __tsan_write##size(void* p) { touch_bytes(p, size, true, SITE); }           \
  void __tsan_unaligned_read##size(void* p) { touch_bytes(p, size, false, SITE); } \
  void __tsan_unaligned_write##size(void* p) { touch_bytes(p, size, true, SITE); } \
  void __tsan_volatile_read##size(void* p) { touch_bytes(p, size, false, SITE); }  \
  void __tsan_volatile_write##size(void* p) { touch_bytes(p, size, true, SITE); }
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16) void __tsan_read_range(void* p, unsigned long size) {
  touch_bytes(p, size, false, SITE);
}
void __tsan_write_range(void* p, unsigned long size) { touch_bytes(p, size, true, SITE); }
void __tsan_vptr_update(void** p, void*) { touch_bytes(p, 8, true, SITE); }
void __tsan_vptr_read(void** p) { touch_bytes(p, 8, false, SITE); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}

#define FETCH(bits, type, name)                                            \
  type __tsan_atomic##bits##_fetch_##name(volatile type* a, type v, int) { \
    atomic_access(a, true, SITE);                                          \
    return __atomic_fetch_##name(a, v, __ATOMIC_SEQ_CST);                  \
  }
#define ATOMIC(bits, type)                                                                         \
  type __tsan_atomic##bits##_load(const volatile type* a, int) {                                   \
    atomic_access(a, false, SITE, false);                                                          \
    return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile type* a, type v, int order) {                          \
    atomic_access(a, true, SITE, order == __ATOMIC_SEQ_CST);                                       \
    __atomic_store_n(a, v, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                \
  type __tsan_atomic##bits##_exchange(volatile type* a, type v, int) {                             \
    atomic_access(a, true, SITE);                                                                  \
    return __atomic_exchange_n(a, v, __ATOMIC_SEQ_CST);                                            \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* a, type* c, type v, int, int) { \
    atomic_access(a, true, SITE);                                                                  \
    return __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* a, type* c, type v, int, int) {   \
    atomic_access(a, true, SITE);                                                                  \
    return __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
  }                                                                                                \
  type __tsan_atomic##bits##_compare_exchange_val(volatile type* a, type c, type v, int, int) {    \
    atomic_access(a, true, SITE);                                                                  \
    __atomic_compare_exchange_n(a, &c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);              \
    return c;                                                                                      \
  }                                                                                                \
  FETCH(bits, type, add)                                                                           \
  FETCH(bits, type, sub) FETCH(bits, type, and) FETCH(bits, type, or) FETCH(bits, type, xor)
ATOMIC(8, unsigned char)
ATOMIC(16, unsigned short)
ATOMIC(32, unsigned int)
ATOMIC(64, unsigned long)

unsigned long long sharing_ticks() noexcept { return me == nullptr ? 0 : me->now * 5 / 2 / per_ns; }
void sharing_fetch(const volatile void* at, int to_write) noexcept {
  touch_bytes(at, 1, to_write != 0, SITE, true);
}

// ---- wrapped by the linker ----

void* __real_memcpy(void*, const void*, std::size_t);
void* __wrap_memcpy(void* to, const void* from, std::size_t size) {
  touch_bytes(from, size, false, SITE);
  touch_bytes(to, size, true, SITE);
  return __real_memcpy(to, from, size);
}
void* __real_memmove(void*, const void*, std::size_t);
void* __wrap_memmove(void* to, const void* from, std::size_t size) {
  touch_bytes(from, size, false, SITE);
  touch_bytes(to, size, true, SITE);
  return __real_memmove(to, from, size);
}
void* __wrap_memset(void* to, int value, std::size_t size) {
  touch_bytes(to, size, true, SITE);
  return __real_memset(to, value, size);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t* m) {
  ++counted.locks;
  atomic_access(m, true, SITE);
  while (mutexes.count(m) != 0) {
    sleep_on(m);
    atomic_access(m, true, SITE);
  }
  own(m);
  return 0;
}
int __wrap_pthread_mutex_trylock(pthread_mutex_t* m) {
  atomic_access(m, true, SITE);
  if (mutexes.count(m) != 0) return EBUSY;
  ++counted.locks;
  own(m);
  return 0;
}
int __wrap_pthread_mutex_unlock(pthread_mutex_t* m) {
  atomic_access(m, true, SITE);
  disown(m);
  wake(m, 1);
  return 0;
}

int __real___cxa_guard_acquire(void*);
int __wrap___cxa_guard_acquire(void* guard) {
  if (me != nullptr) ++me->unbroken;
  const int mine = __real___cxa_guard_acquire(guard);
  if (mine == 0 && me != nullptr) --me->unbroken;
  return mine;
}
void __real___cxa_guard_release(void*);
void __wrap___cxa_guard_release(void* guard) {
  __real___cxa_guard_release(guard);
  if (me != nullptr) --me->unbroken;
}
void __real___cxa_guard_abort(void*);
void __wrap___cxa_guard_abort(void* guard) {
  __real___cxa_guard_abort(guard);
  if (me != nullptr) --me->unbroken;
}

long __wrap_syscall(long number, ...) {
  std::va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (long& x : a) x = va_arg(arguments, long);
  va_end(arguments);
  if (number != SYS_futex) return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  auto* const word = reinterpret_cast<std::uint32_t*>(a[0]);
  me->now += call_cost;
  if ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE)
    return wake(word, static_cast<int>(std::min<long>(static_cast<int>(a[2]), INT_MAX)));
  if (*word != static_cast<std::uint32_t>(a[2])) return errno = EAGAIN, -1;
  const auto* const most = reinterpret_cast<const timespec*>(a[3]);
  const std::uint64_t until = most == nullptr
                                  ? never
                                  : me->now + (static_cast<std::uint64_t>(most->tv_sec) * 1'000'000'000 +
                                               static_cast<std::uint64_t>(most->tv_nsec)) *
                                                  per_ns;
  return sleep_on(word, until) ? 0 : (errno = ETIMEDOUT, -1);
}
int __wrap_nanosleep(const timespec* t, timespec*) {
  sleep_on(t, me->now + (static_cast<std::uint64_t>(t->tv_sec) * 1'000'000'000 +
                         static_cast<std::uint64_t>(t->tv_nsec)) *
                            per_ns);
  return 0;
}
int __wrap_sched_yield() {
  me->now += call_cost;
  pass();
  return 0;
}
int __wrap_sched_getcpu() { return static_cast<int>(me->number); }
int __wrap_sched_getaffinity(pid_t, std::size_t size, cpu_set_t* to) {
  __real_memset(to, 0, size);
  for (std::size_t i = 0; i < std::min(most_threads, size * 8); ++i) CPU_SET_S(i, size, to);
  return 0;
}
int __wrap_clock_gettime(clockid_t, timespec* to) {
  const std::uint64_t ns = me->now / per_ns;
  to->tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  to->tv_nsec = static_cast<long>(ns % 1'000'000'000);
  return 0;
}
std::chrono::steady_clock::time_point __wrap__ZNSt6chrono3_V212steady_clock3nowEv() noexcept {
  return std::chrono::steady_clock::time_point(
      std::chrono::nanoseconds(me == nullptr ? 0 : me->now / per_ns));
}

ssize_t __real_preadv2(int, const iovec*, int, off_t, int);
ssize_t __wrap_preadv2(int file, const iovec* parts, int count, off_t at, int flags) {
  me->now += call_cost;
  if (refuses && (flags & RWF_NOWAIT) != 0) return errno = EAGAIN, -1;
  return __real_preadv2(file, parts, count, at, flags & ~RWF_NOWAIT);  // some file systems refuse that
}
ssize_t __real_pread(int, void*, std::size_t, off_t);
ssize_t __wrap_pread(int file, void* to, std::size_t size, off_t at) {
  me->now += call_cost;
  return __real_pread(file, to, size, at);
}

// Refuses /proc, whose scheduling figures differ from run to run.
int __real_open(const char*, int, ...);
int __wrap_open(const char* path, int flags, ...) {
  if (std::strncmp(path, "/proc/", 6) == 0) return errno = ENOENT, -1;
  std::va_list arguments;
  va_start(arguments, flags);
  const int mode = va_arg(arguments, int);
  va_end(arguments);
  return __real_open(path, flags, mode);
}

int __wrap_getrusage(int, rusage* to) {
  *to = {};
  return 0;
}

// libstdc++ starts and joins threads by these, which a program may define.
int pthread_create(pthread_t* handle, const pthread_attr_t* with, void* (*run)(void*), void* argument) {
  static const auto create =
      real<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  // Arrow's allocator has threads of its own, the first before main().
  ::Dl_info caller{};
  if (::dladdr(SITE, &caller) != 0 && std::strstr(caller.dli_fname, "libarrow") != nullptr)
    return create(handle, with, run, argument);
  begin();
  if (threads.size() == most_threads) give_up("more threads than the machine has processors");
  thread* const t = [] {
    const machine_code mine;
    threads.push_back(std::make_unique<thread>());
    return threads.back().get();
  }();
  t->number = threads.size() - 1;
  t->run = run;
  t->argument = argument;
  t->now = me->now + start_cost;
  horizon = std::min(horizon, t->now + turn);
  const int failed = create(
      &t->handle, with,
      [](void* mine) -> void* {
        auto* const self = static_cast<thread*>(mine);
        wait_for_turn(self);
        me = self;
        ::pthread_setspecific(at_exit, self);  // called when the thread's own objects are gone
        return self->run(self->argument);
      },
      t);
  if (failed != 0) give_up("no more threads");
  *handle = t->handle;
  return 0;
}
int pthread_join(pthread_t handle, void** result) {
  thread* of = nullptr;
  for (const auto& t : threads)
    if (t->is != state::gone && ::pthread_equal(t->handle, handle)) of = t.get();
  while (of != nullptr && of->is != state::gone) {
    me->is = state::joining;
    me->asleep_on = of;
    pass();
  }
  static const auto join = real<int (*)(pthread_t, void**)>("pthread_join");
  return join(handle, result);
}

}  // extern "C"

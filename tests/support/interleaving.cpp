#include "interleaving.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <sstream>
#include <ucontext.h>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define WICK_TEST_ASAN
#elif defined(__SANITIZE_THREAD__)
#define WICK_TEST_TSAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WICK_TEST_ASAN
#elif __has_feature(thread_sanitizer)
#define WICK_TEST_TSAN
#endif
#endif
#ifdef WICK_TEST_ASAN
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#ifdef WICK_TEST_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace wick_test::interleaving {

/// The states of all words of a run are kept until the next, so that a use after destruction is seen.
struct detail::location::state {
  struct stored {
    std::uint64_t value;
    vector_clock released;  // what an acquire that reads it learns
    vector_clock seen;      // when each thread first read or wrote it; 0: never
    bool modifies;          // a read-modify-write's: nothing comes between it and the one before
  };
  std::uint32_t number = 0;
  bool destroyed = false;
  std::vector<stored> stores;
  std::size_t newest_seq_cst = 0;
  vector_clock accessed{};

  void access();  // before each operation, by the current thread
  std::size_t oldest_visible(std::memory_order) const;
  std::size_t choose_place(std::memory_order, const std::uint64_t* only_after = nullptr) const;
  void saw(stored&);
  std::uint64_t read(std::size_t i, std::memory_order);
  void insert(std::size_t before, std::uint64_t value, std::memory_order, bool modifies);
};

namespace {

constexpr std::size_t stack_size = 256 * 1024;

/// A stack of its own with what runs on it. Its body is run again for each run of the exploration.
struct fiber {
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;  // AddressSanitizer's
  void* tsan = nullptr;
};

void switch_fiber(fiber& from, fiber& to) {
#ifdef WICK_TEST_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_bytes);
#endif
#ifdef WICK_TEST_TSAN
  __tsan_switch_to_fiber(to.tsan, 0);
#endif
  swapcontext(&from.context, &to.context);
#ifdef WICK_TEST_ASAN
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

void join_into(vector_clock& into, const vector_clock& other) noexcept {
  for (std::size_t i = 0; i < max_threads; ++i) into[i] = std::max(into[i], other[i]);
}

bool acquires(std::memory_order o) noexcept {
  return o == std::memory_order_acquire || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst ||
         o == std::memory_order_consume;
}
bool releases(std::memory_order o) noexcept {
  return o == std::memory_order_release || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}

struct thread {
  enum state : std::uint8_t { absent, runnable, blocked, finished };
  state status = absent;
  const void* waits_for = nullptr;  // the word, the mutex, or (to join) the engine
  bool naps = false;                // blocked, and wakes up by itself whenever it likes
  bool may_go_on() const noexcept { return status == runnable || naps; }
  const char* why = "";
  vector_clock clock{};
  std::uint32_t priority = 0;
  std::function<void()> body;
};

struct event {
  std::uint8_t thread;
  operation op;
  std::memory_order order;
  bool stale;
  std::uint32_t word;
  std::uint64_t value;
  site at;
};

struct choice {
  std::uint32_t chosen, options;
};

std::uint64_t mix(std::uint64_t x) noexcept {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class engine;
engine* current = nullptr;

class engine {
 public:
  engine(const plan& p, const std::function<void()>& body) : plan_(p), body_(body) {}

  outcome run();
  std::vector<operation_site>* collect = nullptr;

  // For those within a run.
  std::size_t self() const noexcept { return self_; }
  thread& me() noexcept { return threads_[self_]; }
  void tick() noexcept { ++me().clock[self_]; }
  detail::location::state* new_word() {
    if (used_words_ == words_.size()) words_.push_back(std::make_unique<detail::location::state>());
    detail::location::state* const s = words_[used_words_].get();
    s->number = static_cast<std::uint32_t>(used_words_++);
    s->destroyed = false;
    s->stores.clear();
    s->newest_seq_cst = 0;
    s->accessed = {};
    return s;
  }
  bool faulty() const noexcept { return !plan_.faults.empty(); }

  /// Another thread may continue here.
  void point() {
    if (++steps_ > plan_.max_steps)
      fail("no end after so many steps: a livelock, or a loop that waits without sleeping");
    std::array<std::uint8_t, max_threads> others{};
    std::uint32_t n = 0;
    for (std::uint8_t i = 0; i < count_; ++i) {
      if (i != self_ && threads_[i].may_go_on()) others[n++] = i;
    }
    if (n == 0) return;
    const std::uint32_t c = choose_thread(others, n, true);
    if (c == 0) return;
    go_to(others[c - 1]);
  }

  /// `what` is what it sleeps on.
  void block(const void* what, const char* why, bool naps = false) {
    me().status = thread::blocked;
    me().waits_for = what;
    me().why = why;
    me().naps = naps;
    leave();
  }
  /// The one that continues when this one can't.
  void leave() {
    std::array<std::uint8_t, max_threads> others{};
    std::uint32_t n = 0;
    for (std::uint8_t i = 0; i < count_; ++i) {
      if (threads_[i].may_go_on()) others[n++] = i;
    }
    if (n == 0) {
      std::string text = "nobody can go on:";
      for (std::size_t i = 0; i < count_; ++i) {
        if (threads_[i].status == thread::blocked)
          text += " thread " + std::to_string(i) + " " + threads_[i].why + ";";
      }
      text.back() = '.';
      fail(text);
    }
    go_to(others[choose_thread(others, n, false)]);
  }
  void unblock(std::size_t i) noexcept {
    threads_[i].status = thread::runnable;
    threads_[i].waits_for = nullptr;
    threads_[i].naps = false;
  }
  std::vector<std::uint8_t>& sleepers_on(const void* what) {
    scratch_.clear();
    for (std::uint8_t i = 0; i < count_; ++i) {
      if (threads_[i].status == thread::blocked && threads_[i].waits_for == what) scratch_.push_back(i);
    }
    return scratch_;
  }

  /// One of `options`, 0 being what happens mostly. The others cost of a budget, when there is one.
  std::uint32_t choose(std::uint32_t options, unsigned* budget, unsigned one_in) {
    if (options <= 1) return 0;
    std::uint32_t c = 0;
    if (mode_ == replaying) {
      const auto it =
          std::find_if(replay_.begin(), replay_.end(), [&](const auto& r) { return r.first == decisions_; });
      if (it != replay_.end()) c = std::min(it->second, options - 1);
    } else if (mode_ == random) {
      if ((budget == nullptr || *budget > 0) && draw() % one_in == 0)
        c = static_cast<std::uint32_t>(draw() % options);
    } else {
      const std::uint32_t allowed = budget == nullptr || *budget > 0 ? options : 1;
      c = next_in_order(allowed);
    }
    if (mode_ != exhaustive) taken_.push_back({c, options});
    ++decisions_;
    if (c != 0 && budget != nullptr && *budget > 0) --*budget;
    return c;
  }

  unsigned stale_left = 0, spurious_left = 0;

  std::memory_order order_of(operation op, std::memory_order o, const site& at) {
    note(op, o, at);
    for (const fault& f : plan_.faults) {
      if (f.what == fault::weaker && applies(f, op, at)) return f.to;
    }
    return o;
  }
  bool wrong(fault::kind kind, operation op, const site& at) const noexcept {
    for (const fault& f : plan_.faults) {
      if (f.what == kind && applies(f, op, at)) return true;
    }
    return false;
  }
  void note(operation op, std::memory_order o, const site& at) {
    if (collect == nullptr) return;
    for (const operation_site& s : *collect) {
      if (s.line == at.line && s.column == at.column && s.op == op && s.file == at.file) return;
    }
    collect->push_back({at.file, at.line, at.column, at.function, op, o});
  }
  void record(operation op, std::memory_order o, std::uint32_t word, std::uint64_t value, bool stale,
              const site& at) {
    trace_.push_back({static_cast<std::uint8_t>(self_), op, o, stale, word, value, at});
  }

  void spawn(std::function<void()> body) {
    if (count_ == max_threads) fail("more threads than a run may have");
    const std::size_t i = count_++;
    thread& t = threads_[i];
    t.body = std::move(body);
    t.clock = me().clock;
    ++t.clock[i];
    t.status = thread::runnable;
    t.priority = 1000 + static_cast<std::uint32_t>(draw() % 1000);
    make_fiber(i);
    tick();
  }
  void join() {
    for (;;) {
      bool all = true;
      for (std::size_t i = 1; i < count_; ++i) all = all && threads_[i].status == thread::finished;
      if (all) break;
      block(this, "joins the others");
    }
    for (std::size_t i = 1; i < count_; ++i) join_into(me().clock, threads_[i].clock);
    tick();
  }
  [[noreturn]] void fail(std::string what) {
    failed_ = true;
    what_ = std::move(what);
    const std::size_t from = self_;
    switch_fiber(fibers_[from], outside_);
    std::abort();  // no fiber comes back to a run that failed
  }
  [[noreturn]] void fiber_loop(std::size_t i) {
    for (;;) {
      threads_[i].body();
      threads_[i].body = nullptr;
      threads_[i].status = thread::finished;
      if (i == 0) {
        for (std::size_t k = 1; k < count_; ++k) {
          if (threads_[k].status != thread::finished)
            fail("the body ended before its threads did: join() is missing");
        }
        switch_fiber(fibers_[0], outside_);
      } else {
        if (threads_[0].status == thread::blocked && threads_[0].waits_for == this) {
          bool all = true;
          for (std::size_t k = 1; k < count_; ++k) all = all && threads_[k].status == thread::finished;
          if (all) unblock(0);
        }
        leave();
      }
    }
  }

 private:
  enum mode : std::uint8_t { exhaustive, random, replaying };

  std::uint64_t draw() noexcept {
    random_state_ += 0x9E3779B97F4A7C15u;
    return mix(random_state_);
  }

  /// Of the current thread (0, if it can continue) and the others.
  std::uint32_t choose_thread(const std::array<std::uint8_t, max_threads>& others, std::uint32_t n,
                              bool with_self) {
    const std::uint32_t options = n + (with_self ? 1 : 0);
    if (options == 1) return 0;
    if (mode_ == random && priorities_) {
      if (std::find(changes_.begin(), changes_.end(), steps_) != changes_.end()) me().priority = --lowest_;
      std::uint32_t best = 0, priority = with_self ? me().priority : threads_[others[0]].priority;
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t index = i + (with_self ? 1 : 0);
        if (threads_[others[i]].priority > priority) {
          best = index;
          priority = threads_[others[i]].priority;
        }
      }
      taken_.push_back({best, options});
      ++decisions_;
      return best;
    }
    return choose(options, with_self ? &preemptions_left_ : nullptr, with_self ? switch_one_in_ : 1);
  }
  std::uint32_t next_in_order(std::uint32_t allowed) {
    if (decisions_ < path_.size()) {
      if (path_[decisions_].options != allowed) fail("the body does not do the same each time");
      return path_[decisions_].chosen;
    }
    path_.push_back({0, allowed});
    return 0;
  }
  /// The next list of choices; false when there is none.
  bool advance() {
    while (!path_.empty() && path_.back().chosen + 1 >= path_.back().options) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().chosen;
    return true;
  }

  void go_to(std::size_t i) {
    if (threads_[i].naps) unblock(i);
    const std::size_t from = std::exchange(self_, i);
    if (from != i) switch_fiber(fibers_[from], fibers_[i]);
  }
  static void entry() {
#ifdef WICK_TEST_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
    current->fiber_loop(current->self_);
  }
  void make_fiber(std::size_t i) {
    fiber& f = fibers_[i];
    if (f.stack) return;
    f.stack = std::make_unique<char[]>(stack_size);
    f.stack_bottom = f.stack.get();
    f.stack_bytes = stack_size;
#ifdef WICK_TEST_TSAN
    f.tsan = __tsan_create_fiber(0);
#endif
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.get();
    f.context.uc_stack.ss_size = stack_size;
    f.context.uc_link = nullptr;
    makecontext(&f.context, &engine::entry, 0);
  }

  void one_run() {
    for (thread& t : threads_) t = thread{};
    count_ = 1;
    self_ = 0;
    steps_ = 0;
    decisions_ = 0;
    used_words_ = 0;
    taken_.clear();
    trace_.clear();
    const bool bounded = mode_ == exhaustive;
    preemptions_left_ = bounded ? plan_.preemptions : 1'000;
    stale_left = bounded ? plan_.stale_reads : 12;
    spurious_left = bounded ? plan_.spurious : 4;
    threads_[0].status = thread::runnable;
    threads_[0].clock[0] = 1;
    threads_[0].body = body_;
    threads_[0].priority = 1500;
    make_fiber(0);
    switch_fiber(outside_, fibers_[0]);
  }
  void begin_random(std::uint64_t seed) {
    random_state_ = mix(seed);
    priorities_ = (seed & 1) != 0;
    switch_one_in_ = 1u << (1 + draw() % 4);
    lowest_ = 1000;
    changes_.clear();
    const std::uint64_t n = draw() % 5;
    for (std::uint64_t i = 0; i < n; ++i) changes_.push_back(static_cast<unsigned>(1 + draw() % longest_));
  }

  static bool applies(const fault& f, operation op, const site& at) noexcept {
    return f.op == op && (f.line == 0 || f.line == at.line) && (f.column == 0 || f.column == at.column) &&
           (f.function.empty() || f.function == at.function) && std::string_view(at.file).ends_with(f.file);
  }
  std::string choices() const;
  std::string trace() const;

  const plan& plan_;
  const std::function<void()>& body_;
  mode mode_ = exhaustive;
  std::array<thread, max_threads> threads_;
  std::array<fiber, max_threads> fibers_;
  fiber outside_;
  std::size_t count_ = 0, self_ = 0;
  unsigned steps_ = 0, longest_ = 1, preemptions_left_ = 0, switch_one_in_ = 2;
  std::uint32_t decisions_ = 0;
  std::vector<std::unique_ptr<detail::location::state>> words_;
  std::size_t used_words_ = 0;
  std::vector<choice> path_;   // exhaustive
  std::vector<choice> taken_;  // else
  std::vector<std::pair<std::uint32_t, std::uint32_t>> replay_;
  std::vector<unsigned> changes_;
  std::uint32_t lowest_ = 1000;
  bool priorities_ = false;
  std::uint64_t random_state_ = 0;
  std::vector<event> trace_;
  std::vector<std::uint8_t> scratch_;
  bool failed_ = false;
  std::string what_;

 public:
  /// The stacks of a run that failed are never unwound: what lies on them stays where it is.
  static void abandon(std::unique_ptr<engine> e) {
    static std::deque<std::unique_ptr<engine>> all;
    all.push_back(std::move(e));
  }
  bool failed() const noexcept { return failed_; }
  ~engine() {
#ifdef WICK_TEST_TSAN
    for (fiber& f : fibers_) {
      if (f.tsan != nullptr) __tsan_destroy_fiber(f.tsan);
    }
#endif
  }
};

outcome engine::run() {
#ifdef WICK_TEST_TSAN
  outside_.tsan = __tsan_get_current_fiber();
#endif
#ifdef WICK_TEST_ASAN
  {  // where the caller's own stack lies, for the way back
    pthread_attr_t attributes;
    void* bottom = nullptr;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &bottom, &outside_.stack_bytes);
    pthread_attr_destroy(&attributes);
    outside_.stack_bottom = bottom;
  }
#endif
  outcome o;
  if (!plan_.replay.empty()) {
    mode_ = replaying;
    std::istringstream in(plan_.replay);
    std::uint32_t at = 0, chosen = 0;
    char colon = 0;
    while (in >> at >> colon >> chosen) replay_.emplace_back(at, chosen);
    one_run();
    o.runs = 1;
  } else if (plan_.random_runs != 0) {
    mode_ = random;
    for (; o.runs < plan_.random_runs && !failed_; ++o.runs) {
      o.seed = plan_.seed + o.runs;
      begin_random(o.seed);
      one_run();
      longest_ = std::max(longest_, steps_);
    }
  } else {
    mode_ = exhaustive;
    do {
      one_run();
      ++o.runs;
      if (failed_) break;
      o.complete = !advance();
    } while (!o.complete && o.runs < plan_.max_runs);
  }
  o.failed = failed_;
  if (failed_) {
    o.what = what_;
    o.trace = trace();
    o.choices = choices();
    if (mode_ != random) o.seed = 0;
  }
  return o;
}

/// "12:1 30:2": at decision 12 the first alternative, at decision 30 the second, else what happens mostly.
std::string engine::choices() const {
  std::string text;
  const std::vector<choice>& all = mode_ == exhaustive ? path_ : taken_;
  for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), decisions_); ++i) {
    if (all[i].chosen == 0) continue;
    if (!text.empty()) text += ' ';
    text += std::to_string(i) + ':' + std::to_string(all[i].chosen);
  }
  return text.empty() ? "0:0" : text;
}

std::string engine::trace() const {
  std::string text;
  for (const event& e : trace_) {
    const std::string_view path = e.at.file;
    const std::string_view file = path.substr(path.rfind('/') + 1);
    char line[256];
    std::snprintf(line, sizeof line, "%*sthread %u  %.*s:%d %s: word %u %.*s %s%llx%s\n", 2 * e.thread, "",
                  unsigned{e.thread}, static_cast<int>(file.size()), file.data(), e.at.line, e.at.function,
                  e.word, static_cast<int>(name_of(e.op).size()), name_of(e.op).data(),
                  e.op == operation::wait || e.op == operation::wake || e.op == operation::lock
                      ? ""
                      : (std::string(name_of(e.order)) + " ").c_str(),
                  static_cast<unsigned long long>(e.value), e.stale ? " (not the newest)" : "");
    text += line;
  }
  return text;
}

}  // namespace

std::string_view name_of(operation op) noexcept {
  constexpr std::string_view names[] = {"load", "store", "rmw", "cas", "cas_failed", "wait", "wake", "lock"};
  return names[static_cast<std::size_t>(op)];
}
std::string_view name_of(std::memory_order o) noexcept {
  switch (o) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
      return "consume";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    default:
      return "seq_cst";
  }
}
std::string to_string(const fault& f) {
  std::string text = std::string(f.function) + (f.line != 0 ? ":" + std::to_string(f.line) : "") + " " +
                     std::string(name_of(f.op));
  switch (f.what) {
    case fault::weaker:
      return text + " becomes " + std::string(name_of(f.to));
    case fault::as_load:
      return text + " becomes a load";
    case fault::split:
      return text + " becomes two operations";
    case fault::dropped:
      return text + " is left out";
    case fault::as_zero:
      return text + " reads nothing";
    case fault::again:
      return text + " is followed by another touch";
    default:
      return text + " does not compare";
  }
}

std::string outcome::report() const {
  if (!failed) return "no failure in " + std::to_string(runs) + " runs" + (complete ? ", which are all" : "");
  return what + "\nin run " + std::to_string(runs) + (seed != 0 ? ", seed " + std::to_string(seed) : "") +
         "; again: WICK_INTERLEAVING_REPLAY=\"" + choices + "\"\n" + trace;
}

outcome explore(const plan& asked, const std::function<void()>& body) {
  plan p = asked;
#ifdef WICK_TEST_ASAN
  // What a failing run owns is never freed: its stacks are not unwound.
  const __lsan::ScopedDisabler no_leaks;
#endif
#if defined(WICK_TEST_ASAN) || defined(WICK_TEST_TSAN)
  // The model is the same with a sanitizer, only slower.
  if (p.random_runs > 10) p.random_runs /= 10;
#endif
  if (const char* effort = std::getenv("WICK_INTERLEAVING_EFFORT")) {
    const auto n = std::max(1ul, std::strtoul(effort, nullptr, 10));
    p.random_runs *= n;
    p.max_runs *= n;
    if (n >= 10) ++p.preemptions;
  }
  if (const char* choices = std::getenv("WICK_INTERLEAVING_REPLAY"); choices != nullptr && p.replay.empty()) {
    p.replay = choices;
  }
  auto e = std::make_unique<engine>(p, body);
  engine* const outer = std::exchange(current, e.get());
  outcome o = e->run();
  current = outer;
  if (o.failed) engine::abandon(std::move(e));
  return o;
}

std::vector<operation_site> sites_of(const std::function<void()>& body) {
  std::vector<operation_site> sites;
#ifdef WICK_TEST_ASAN
  const __lsan::ScopedDisabler no_leaks;
#endif
  const plan p{.random_runs = 3'000};
  auto e = std::make_unique<engine>(p, body);
  e->collect = &sites;
  engine* const outer = std::exchange(current, e.get());
  const bool failed = e->run().failed;
  current = outer;
  if (failed) engine::abandon(std::move(e));
  return sites;
}

void spawn(std::function<void()> thread) { current->spawn(std::move(thread)); }
void join() { current->join(); }
void expect(bool holds, const char* what) {
  if (!holds) current->fail(what);
}

namespace detail {

void location::state::access() {
  const auto check = [&] {
    if (destroyed) current->fail("word " + std::to_string(number) + " is used after it was destroyed");
  };
  check();
  current->point();
  check();
  accessed[current->self()] = current->me().clock[current->self()];
}
std::size_t location::state::oldest_visible(std::memory_order o) const {
  const vector_clock& now = current->me().clock;
  const auto hides_older = [&](const stored& s) {
    for (std::size_t t = 0; t < max_threads; ++t) {
      if (s.seen[t] != 0 && s.seen[t] <= now[t]) return true;
    }
    return false;
  };
  std::size_t i = stores.size() - 1;
  while (i > 0 && !hides_older(stores[i])) --i;
  return o == std::memory_order_seq_cst ? std::max(i, newest_seq_cst) : i;
}
/// Where in the word's order the current thread's store goes: mostly to the end. What the thread knows of
/// comes before it; others' stores that it does not know of may come after it, but not a modification of the
/// one that it would then follow.
std::size_t location::state::choose_place(std::memory_order o, const std::uint64_t* only_after) const {
  const std::size_t known = oldest_visible(o);
  std::array<std::size_t, 16> places{stores.size()};
  std::uint32_t n = 0;
  for (std::size_t i = stores.size(); --i > known && n + 1 < places.size();) {
    if (!stores[i].modifies && (only_after == nullptr || stores[i - 1].value == *only_after)) places[++n] = i;
  }
  return places[current->choose(n + 1, &current->stale_left, 3)];
}
void location::state::saw(stored& s) {
  std::uint32_t& first = s.seen[current->self()];
  if (first == 0) first = current->me().clock[current->self()];
}
std::uint64_t location::state::read(std::size_t i, std::memory_order o) {
  stored& s = stores[i];
  saw(s);
  if (acquires(o)) join_into(current->me().clock, s.released);
  return s.value;
}
void location::state::insert(std::size_t before, std::uint64_t value, std::memory_order o, bool modifies) {
  stored s{value, {}, {}, modifies};
  if (modifies) s.released = stores[before - 1].released;
  if (releases(o)) join_into(s.released, current->me().clock);
  saw(s);
  stores.insert(stores.begin() + static_cast<std::ptrdiff_t>(before), s);
  if (o == std::memory_order_seq_cst)
    newest_seq_cst = before;
  else if (before <= newest_seq_cst)
    ++newest_seq_cst;
  current->tick();
}

location::location(std::uint64_t initial) {
  if (current == nullptr) std::abort();  // an atomic of the model outside of explore()
  state_ = current->new_word();
  state_->stores.push_back({initial, current->me().clock, {}, false});
  state_->saw(state_->stores.back());
  state_->accessed[current->self()] = current->me().clock[current->self()];
}
location::~location() {
  for (std::size_t t = 0; t < max_threads; ++t) {
    if (state_->accessed[t] > current->me().clock[t]) {
      current->fail("word " + std::to_string(state_->number) + " is destroyed while thread " +
                    std::to_string(t) + " may still use it");
    }
  }
  state_->destroyed = true;
}

std::uint64_t location::load(std::memory_order o, site at) const {
  o = current->order_of(operation::load, o, at);
  if (current->faulty() && current->wrong(fault::as_zero, operation::load, at)) return 0;
  state_->access();
  const std::size_t newest = state_->stores.size() - 1;
  const std::size_t oldest = state_->oldest_visible(o);
  const std::uint32_t back =
      current->choose(static_cast<std::uint32_t>(newest - oldest + 1), &current->stale_left, 3);
  const std::uint64_t v = state_->read(newest - back, o);
  current->record(operation::load, o, state_->number, v, back != 0, at);
  current->tick();
  return v;
}

void location::store(std::uint64_t v, std::memory_order o, site at) {
  o = current->order_of(operation::store, o, at);
  if (current->faulty() && current->wrong(fault::dropped, operation::store, at)) return;
  state_->access();
  const std::size_t place = state_->choose_place(o);
  current->record(operation::store, o, state_->number, v, place != state_->stores.size(), at);
  state_->insert(place, v, o, false);
}

std::uint64_t location::modify(change c, std::uint64_t operand, std::uint64_t mask, std::memory_order o,
                               site at) {
  if (current->faulty() && current->wrong(fault::as_load, operation::rmw, at)) {
    return load(without_release(o), at);
  }
  o = current->order_of(operation::rmw, o, at);
  const bool split = current->faulty() && current->wrong(fault::split, operation::rmw, at);
  state_->access();
  const std::size_t place = state_->choose_place(o);
  const bool stale = place != state_->stores.size();
  state* const word = state_;  // this may be gone by the time of another touch
  const std::uint64_t old = state_->read(place - 1, o);
  std::uint64_t v = operand;
  switch (c) {
    case change::exchange:
      break;
    case change::add:
      v = (old + operand) & mask;
      break;
    case change::subtract:
      v = (old - operand) & mask;
      break;
    case change::conjunction:
      v = old & operand;
      break;
    case change::disjunction:
      v = old | operand;
      break;
  }
  if (split) {
    state_->access();  // another may come in between
    state_->insert(state_->stores.size(), v, o, false);
  } else {
    state_->insert(place, v, o, true);
  }
  current->record(operation::rmw, o, word->number, v, stale, at);
  if (current->faulty() && current->wrong(fault::again, operation::rmw, at)) word->access();
  return old;
}

bool location::compare_exchange(std::uint64_t& expected, std::uint64_t desired, bool weak,
                                std::memory_order success, std::memory_order failure, site at) {
  success = current->order_of(operation::cas, success, at);
  failure = current->order_of(operation::cas_failed, failure, at);
  state_->access();
  const std::size_t newest = state_->stores.size() - 1;
  if (current->faulty() && current->wrong(fault::blind, operation::cas, at)) {
    state_->read(newest, success);
    current->record(operation::cas, success, state_->number, desired, false, at);
    state_->insert(newest + 1, desired, success, false);
    return true;
  }
  // A failure is a load and may read an older store, one with another value than expected.
  std::array<std::size_t, 16> older{};
  std::uint32_t n = 0;
  for (std::size_t i = newest; i-- > state_->oldest_visible(failure) && n + 1 < older.size();) {
    if (state_->stores[i].value != expected) older[++n] = newest - i;
  }
  const std::size_t back = older[current->choose(n + 1, &current->stale_left, 3)];
  const bool equal = back == 0 && state_->stores[newest].value == expected;
  const bool fails = equal && weak && current->choose(2, &current->spurious_left, 8) != 0;
  // A success follows what it compared with, which need not be the newest either.
  std::size_t place = newest + 1;
  if (back == 0 && !fails) place = state_->choose_place(success, &expected);
  if ((equal && !fails) || place != newest + 1) {
    const bool split = current->faulty() && current->wrong(fault::split, operation::cas, at);
    state_->read(place - 1, success);
    current->record(operation::cas, success, state_->number, desired, place != newest + 1, at);
    if (split) {
      state_->access();  // another may come in between
      place = state_->stores.size();
    }
    state_->insert(place, desired, success, !split);
    return true;
  }
  expected = state_->read(newest - back, failure);
  current->record(operation::cas_failed, failure, state_->number, expected, back != 0, at);
  current->tick();
  return false;
}

void location::wait(std::uint64_t expected, bool naps, site at) {
  current->note(operation::wait, std::memory_order_relaxed, at);
  state_->access();
  current->record(operation::wait, std::memory_order_relaxed, state_->number, expected, false, at);
  const bool blind = current->faulty() && current->wrong(fault::blind, operation::wait, at);
  if (state_->stores.back().value != expected && !blind) return;
  if (current->choose(2, &current->spurious_left, 8) != 0) return;
  current->block(this, "sleeps on a word", naps);
}

void location::wake(bool all, site at) {
  current->note(operation::wake, std::memory_order_relaxed, at);
  // Only the address counts: the word may be gone.
  current->point();
  if (current->faulty() && current->wrong(fault::dropped, operation::wake, at)) return;
  std::vector<std::uint8_t>& asleep = current->sleepers_on(this);
  current->record(operation::wake, std::memory_order_relaxed, 0, asleep.size(), false, at);
  if (asleep.empty()) return;
  if (all) {
    for (const std::uint8_t i : asleep) current->unblock(i);
  } else {
    current->unblock(asleep[current->choose(static_cast<std::uint32_t>(asleep.size()), nullptr, 1)]);
  }
}

race_detector::race_detector() { writes_[current->self()] = current->me().clock[current->self()]; }
race_detector::~race_detector() { write(); }
void race_detector::read() const {
  const vector_clock& now = current->me().clock;
  for (std::size_t t = 0; t < max_threads; ++t) {
    if (writes_[t] > now[t])
      current->fail("a data race: thread " + std::to_string(t) + " wrote what is read here");
  }
  reads_[current->self()] = now[current->self()];
}
std::size_t race_detector::this_thread() { return current->self(); }
std::uint32_t race_detector::now() { return current->me().clock[current->self()]; }
void race_detector::was_read(std::uint32_t then) {
  std::uint32_t& read = reads_[current->self()];
  read = std::max(read, then);
}
void race_detector::write() {
  const vector_clock& now = current->me().clock;
  for (std::size_t t = 0; t < max_threads; ++t) {
    if (writes_[t] > now[t])
      current->fail("a data race: thread " + std::to_string(t) + " wrote what is written here");
    if (reads_[t] > now[t])
      current->fail("a data race: thread " + std::to_string(t) + " reads what is written here");
  }
  writes_[current->self()] = now[current->self()];
}

void mutex_state::lock(site at) {
  current->note(operation::lock, std::memory_order_acquire, at);
  current->point();
  current->record(operation::lock, std::memory_order_acquire, 0, locked_, false, at);
  if (current->faulty() && current->wrong(fault::dropped, operation::lock, at)) return;
  while (locked_) current->block(this, "waits for a mutex");
  locked_ = true;
  join_into(current->me().clock, released_);
}
void mutex_state::unlock() noexcept {
  locked_ = false;
  released_ = current->me().clock;
  current->tick();
  for (const std::uint8_t i : current->sleepers_on(this)) current->unblock(i);
}

}  // namespace detail
}  // namespace wick_test::interleaving

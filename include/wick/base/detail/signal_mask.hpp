// Which signals this library's threads take: only those that they cause themselves.
#pragma once

#if defined(__unix__) || defined(__APPLE__)
#include <initializer_list>
#include <pthread.h>
#include <signal.h>
#endif

namespace wick::inline v0_1::detail {

/// While one of these exists, the calling thread blocks all signals except those below. A thread that it
/// starts meanwhile inherits that from its first instruction on: the program's handlers (for SIGINT, SIGTERM,
/// SIGALRM, SIGCHLD, …) run on the program's own threads, as without this library, and never in the middle of
/// a worker's job, whose system calls they would interrupt.
///
/// Not blocked, unless the calling thread had them blocked: signals that a thread causes by its own
/// instruction or call (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE), since no other
/// thread can take them, and SIGPROF, which must reach the thread that uses the time.
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

#if defined(__unix__) || defined(__APPLE__)
/// Blocks a signal in the calling thread for the thread's whole life.
inline void block_signal(int number) noexcept {
  ::sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, number);
  ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
}
#endif

}  // namespace wick::detail

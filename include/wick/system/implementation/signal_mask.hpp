/// \file
/// The bodies of what system/detail/signal_mask.hpp declares. Included in exactly one file of a program.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <wick/system/detail/signal_mask.hpp>

namespace wick::detail {

signals_blocked::signals_blocked() noexcept {
  ::sigset_t most;
  ::sigfillset(&most);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE, SIGPROF})
    ::sigdelset(&most, own);
  changed_ = ::pthread_sigmask(SIG_BLOCK, &most, &before_) == 0;
}

signals_blocked::~signals_blocked() {
  if (changed_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace wick::detail

// A part of a test in a forked child. Not under ThreadSanitizer (WICK_TEST_TSAN), which does not let a child
// of many threads start threads.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace wick_test {

/// What f returned in a forked child; -1 when it did not come back in time.
template <class F>
int in_a_child(F f) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // a hang ends the child
    ::_exit(f());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace wick_test

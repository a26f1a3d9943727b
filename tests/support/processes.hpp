// Processes that do the same at once.
#pragma once

#include <array>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "doctest.hpp"

namespace wick_test {

/// Forks `count` children that begin together. What f() returns in each is its status, less than 200; it is
/// 200 for one that an exception or a signal ended.
template <class F>
std::vector<int> in_processes(int count, F f) {
  std::array<int, 2> gate{};
  REQUIRE(::pipe(gate.data()) == 0);
  std::vector<::pid_t> children;
  for (int i = 0; i < count; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    ::close(gate[1]);
    char opened = 0;
    int status = 200;
    try {
      if (::read(gate[0], &opened, 1) == 0) status = f();
    } catch (...) {
    }
    ::_exit(status);
  }
  ::close(gate[0]);
  ::close(gate[1]);
  std::vector<int> out;
  for (const ::pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    out.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 200);
  }
  return out;
}

}  // namespace wick_test

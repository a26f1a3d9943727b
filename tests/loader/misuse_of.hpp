// What a call that is not allowed throws.
#pragma once

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test {

/// The text of the std::logic_error that a call throws; empty when it throws none.
template <class Call>
std::string misuse_of(Call&& call) {
  try {
    static_cast<void>(call());
  } catch (const std::logic_error& e) {
    return e.what();
  }
  return {};
}

/// Threads that begin at the same moment.
class start_line {
 public:
  explicit start_line(int runners) : missing_(runners) {}
  void wait() {
    missing_.fetch_sub(1);
    while (missing_.load() > 0) std::this_thread::yield();
  }

 private:
  std::atomic<int> missing_;
};

}  // namespace wick_test

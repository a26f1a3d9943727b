// A program that is interrupted, as Python's by Ctrl-C, while a source looks into its files.
#pragma once

#include <wick/async/detail/interruption.hpp>

namespace wick_test {

/// Whether `f` gives up when it asks for the second time whether it is to.
template <class F>
bool gives_up(F&& f) {
  struct interrupted {};
  static thread_local int asked;
  asked = 0;
  wick::detail::interruption() = [] {
    if (++asked == 2) throw interrupted();
  };
  bool out = false;
  try {
    f();
  } catch (const interrupted&) {
    out = true;
  }
  wick::detail::interruption() = nullptr;
  return out;
}

}  // namespace wick_test

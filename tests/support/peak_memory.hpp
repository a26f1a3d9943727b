// The most memory that a call has held at once.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>

namespace wick_test {

/// Bytes of this process that were resident at once while `call` ran, beyond those before it. Linux only; 0
/// elsewhere.
template <class Call>
std::size_t memory_taken_by(Call&& call) {
  const auto kilobytes = [](const std::string& name) -> std::size_t {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(name + ":")) return std::strtoull(line.c_str() + name.size() + 1, nullptr, 10);
    }
    return 0;
  };
  std::ofstream("/proc/self/clear_refs") << "5";  // resets the high water mark
  const std::size_t before = kilobytes("VmRSS");
  call();
  const std::size_t most = kilobytes("VmHWM");
  return most > before ? (most - before) * 1024 : 0;
}

}  // namespace wick_test

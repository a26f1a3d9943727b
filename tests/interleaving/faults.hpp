/// \file
/// Sweeps that weaken one order of memory after the other and see whether the checker finds it.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/doctest.hpp"
#include "support/interleaving.hpp"

namespace wick_test::interleaving {

/// The orders one step below.
inline std::vector<std::memory_order> weaker(std::memory_order o) {
  switch (o) {
    case std::memory_order_seq_cst:
      return {std::memory_order_acq_rel};
    case std::memory_order_acq_rel:
      return {std::memory_order_acquire, std::memory_order_release};
    case std::memory_order_acquire:
    case std::memory_order_release:
      return {std::memory_order_relaxed};
    default:
      return {};
  }
}

/// Whether some interleaving of one of the bodies fails with the fault.
inline outcome found(const std::vector<fault>& faults, const std::function<void()>& body) {
  outcome o = explore({.random_runs = 20'000, .faults = faults}, body);
  if (!o.failed) o = explore({.stale_reads = 2, .max_runs = 100'000, .faults = faults}, body);
  return o;
}

/// Weakens, one at a time, each order that `body` meets in the header that `file` ends with. Those that
/// nobody misses are the ones that `spared` names ("push load -> relaxed"), so that it is known which they
/// are; with WICK_INTERLEAVING_EFFORT it is tried whether they are missed after all.
inline void each_order_is_needed(std::string_view file, const std::function<void()>& body,
                                 std::vector<std::string> spared) {
  std::size_t tried = 0;
  for (const ordered_site& s : sites_of(body)) {
    if (!s.file.ends_with(file)) continue;
    for (const std::memory_order to : weaker(s.order)) {
      const std::string name =
          s.function + " " + std::string(name_of(s.op)) + " -> " + std::string(name_of(to));
      const auto it = std::find(spared.begin(), spared.end(), name);
      const bool is_spared = it != spared.end();
      if (is_spared) spared.erase(it);
      if (is_spared && std::getenv("WICK_INTERLEAVING_EFFORT") == nullptr) continue;
      ++tried;
      const outcome o = found({{s.function, s.op, fault::weaker, to, s.line, s.file}}, body);
      CHECK_MESSAGE(o.failed == !is_spared, std::string(file), ":", s.line, " ", name,
                    is_spared ? ": it is missed after all" : ": nobody misses it");
    }
  }
  CHECK(tried > 0);
  for (const std::string& s : spared) CHECK_MESSAGE(false, std::string(file), ": ", s, " is not there");
}

}  // namespace wick_test::interleaving

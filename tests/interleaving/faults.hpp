// Sweeps that put one fault after the other into a header of the library, through its atomics, and see
// whether the checker finds it.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/doctest.hpp"
#include "support/interleaving.hpp"

namespace wick_test::interleaving {

using scenarios = std::vector<std::function<void()>>;

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

/// Whether some interleaving of one of the bodies fails with the faults.
inline outcome found(const std::vector<fault>& faults, const scenarios& bodies) {
  outcome o;
  for (const auto& body : bodies) {
    if (!o.failed) o = explore({.random_runs = 3'000, .faults = faults}, body);
  }
  for (const auto& body : bodies) {
    if (!o.failed) o = explore({.random_runs = 20'000, .seed = 3'001, .faults = faults}, body);
  }
  for (const auto& body : bodies) {
    if (!o.failed) o = explore({.stale_reads = 2, .max_runs = 30'000, .faults = faults}, body);
  }
  return o;
}
inline outcome found(const std::vector<fault>& faults, const std::function<void()>& body) {
  return found(faults, scenarios{body});
}

/// An operation of the header with its name: "notify rmw", or "notify rmw#2" for the second in the text.
struct named_site : operation_site {
  std::string name;
  /// All that can be done wrong here but its order.
  std::vector<fault::kind> faults() const {
    switch (op) {
      case operation::load:
        return {fault::as_zero};
      case operation::store:
      case operation::wake:
      case operation::lock:
        return {fault::dropped};
      case operation::rmw:
        return {fault::as_load, fault::split};
      case operation::cas:
        return {fault::split, fault::blind};
      case operation::wait:
        return {fault::blind};
      default:
        return {};
    }
  }
  fault as(fault::kind what, std::memory_order to = std::memory_order_relaxed) const {
    return {{}, op, what, to, line, file, column};
  }
  std::string named(fault::kind what) const {
    constexpr std::string_view names[] = {"weaker", "as a load", "split", "dropped", "as zero", "blind"};
    return name + " " + std::string(names[what]);
  }
  std::string named(std::memory_order to) const { return name + " -> " + std::string(name_of(to)); }
};

/// The operations that the scenarios did in the header that `file` ends with, in the order of its text.
inline std::vector<named_site> sites_in(std::string_view file, const scenarios& bodies) {
  std::vector<named_site> sites;
  const auto place = [](const operation_site& s) { return std::tuple(s.line, s.column, s.op); };
  for (const auto& body : bodies) {
    for (const operation_site& s : sites_of(body)) {
      const bool is_new = std::none_of(sites.begin(), sites.end(),
                                       [&](const named_site& known) { return place(known) == place(s); });
      if (s.file.ends_with(file) && is_new) sites.push_back({s, {}});
    }
  }
  std::sort(sites.begin(), sites.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  for (named_site& s : sites) {
    // gcc names the arguments of a template.
    s.name = std::string(s.function.substr(0, s.function.find('<'))) + " " + std::string(name_of(s.op));
  }
  std::map<std::string, int> met;
  for (named_site& s : sites) {
    if (const int n = ++met[s.name]; n > 1) s.name += "#" + std::to_string(n);
  }
  return sites;
}

/// The sweep is of the whole header: each line that names an order was met by some scenario. Lines with one
/// of the `others` are not the policy's.
inline void each_order_is_met(std::string_view file, const std::vector<named_site>& sites,
                              const std::vector<std::string_view>& others) {
  std::ifstream in(WICK_TEST_SOURCE_DIR "/include/wick/" + std::string(file));
  int number = 0, orders = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find("std::memory_order_") == std::string::npos) continue;
    if (std::any_of(others.begin(), others.end(),
                    [&](std::string_view o) { return line.find(o) != std::string::npos; }))
      continue;
    ++orders;
    // A call of two lines is at its first.
    const bool met = std::any_of(sites.begin(), sites.end(), [&](const named_site& s) {
      return s.line == number || s.line == number - 1;
    });
    CHECK_MESSAGE(met, std::string(file), ":", number, ": no scenario comes here");
  }
  CHECK(orders > 0);
}

/// Orders that may be weaker and no scenario misses them, as "push load -> relaxed": what the header promises
/// holds without any of them. Why, the comments of the tables say (spared.hpp).
using spared = std::set<std::string>;

/// All orders of the table weakened, together.
inline std::vector<fault> weakened(const std::vector<named_site>& sites, const spared& table) {
  std::vector<fault> all;
  for (const named_site& s : sites) {
    std::vector<std::memory_order> orders;
    for (const std::memory_order to : weaker(s.order)) {
      if (table.contains(s.named(to))) orders.push_back(to);
    }
    // Both steps below acq_rel are relaxed together.
    if (!orders.empty())
      all.push_back(s.as(fault::weaker, orders.size() == 1 ? orders[0] : std::memory_order_relaxed));
  }
  return all;
}

/// Weakens, one at a time, each order in the header include/wick/`file` by one step: each is missed by
/// some scenario, but for those in the table. Those are weakened all together, and no scenario misses them;
/// with WICK_INTERLEAVING_EFFORT each of them is tried by itself, too.
inline void each_order_is_needed(std::string_view file, const scenarios& bodies, spared table,
                                 const std::vector<std::string_view>& others = {}) {
  const std::vector<named_site> sites = sites_in(file, bodies);
  each_order_is_met(file, sites, others);
  const bool try_all = std::getenv("WICK_INTERLEAVING_EFFORT") != nullptr;
  const std::vector<fault> all = weakened(sites, table);
  for (const named_site& s : sites) {
    for (const std::memory_order to : weaker(s.order)) {
      const std::string name = s.named(to);
      const bool is_spared = table.erase(name) != 0;
      if (is_spared && !try_all) continue;
      const outcome o = found({s.as(fault::weaker, to)}, bodies);
      CHECK_MESSAGE(o.failed == !is_spared, std::string(file), ":", s.line, " ", name,
                    std::string(is_spared ? ": it is missed after all" : ": nobody misses it"));
    }
  }
  for (const std::string& name : table) CHECK_MESSAGE(false, std::string(file), ": ", name, " is not there");
  if (all.empty()) return;
  const outcome o = found(all, bodies);
  CHECK_MESSAGE(!o.failed, std::string(file), ": what the table calls not needed is: ", o.report());
}

/// Does each other fault (see named_site::faults) to each operation in the header: each is found, but for
/// those of the table.
inline void each_operation_is_needed(std::string_view file, const scenarios& bodies,
                                     std::set<std::string> table) {
  const bool try_all = std::getenv("WICK_INTERLEAVING_EFFORT") != nullptr;
  for (const named_site& s : sites_in(file, bodies)) {
    for (const fault::kind what : s.faults()) {
      const bool is_spared = table.erase(s.named(what)) != 0;
      if (is_spared && !try_all) continue;
      const outcome o = found({s.as(what)}, bodies);
      CHECK_MESSAGE(o.failed == !is_spared, std::string(file), ":", s.line, " ", s.named(what),
                    std::string(is_spared ? ": it is found after all" : ": it is not found"));
    }
  }
  for (const std::string& name : table) CHECK_MESSAGE(false, std::string(file), ": ", name, " is not there");
}

}  // namespace wick_test::interleaving

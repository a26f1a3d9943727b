// Implements base/detail/cpus.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

#include <wick/base/detail/cpus.hpp>

namespace wick::inline v0_1::detail {

std::size_t parse_cpu_max(const char* text) noexcept {
  char* end = nullptr;
  const long long quota = std::strtoll(text, &end, 10);
  if (end == text || quota <= 0) return 0;
  const long long period = std::strtoll(end, nullptr, 10);
  return period <= 0 ? 0 : static_cast<std::size_t>(quota / period + (quota % period != 0 ? 1 : 0));
}

std::string text_of(const std::string& path) {
  std::string out;
#ifdef __linux__
  if (std::FILE* f = std::fopen(path.c_str(), "re")) {
    char part[512];
    while (const std::size_t n = std::fread(part, 1, sizeof(part), f)) out.append(part, n);
    std::fclose(f);
  }
#else
  static_cast<void>(path);
#endif
  return out;
}

namespace {

/// The lowest limit of a group and of those above it, 0: none. `of` returns a folder's limit.
template <class Of>
std::uint64_t tightest(const std::string& mount, std::string_view group, Of of) {
  std::uint64_t least = 0;
  for (;;) {
    while (group.ends_with('/')) group.remove_suffix(1);
    const std::uint64_t limit = of(mount + std::string(group));
    if (limit != 0 && (least == 0 || limit < least)) least = limit;
    if (group.empty()) return least;
    const std::size_t parent = group.rfind('/');
    group = group.substr(0, parent == std::string::npos ? 0 : parent);
  }
}

/// The same for all groups of a process.
/// \param of  takes a folder, and whether it is v2's
template <class Of>
std::uint64_t tightest_of_groups(std::string_view groups, const std::string& mount,
                                 const std::string& controller, Of of) {
  std::uint64_t least = 0;
  const auto look = [&](const std::string& below, std::string_view path, bool v2) {
    const std::uint64_t limit =
        tightest(below, path, [&](const std::string& folder) { return of(folder, v2); });
    if (limit != 0 && (least == 0 || limit < least)) least = limit;
  };
  while (!groups.empty()) {
    const std::string_view row = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(row.size() + 1, groups.size()));
    const std::size_t first = row.find(':');
    const std::size_t second = first == std::string_view::npos ? first : row.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string controllers(row.substr(first + 1, second - first - 1));
    const std::string_view path = row.substr(second + 1);
    if (controllers.empty()) {
      look(mount, path, true);
      look(mount + "/unified", path, true);
    } else if ((',' + controllers + ',').find(',' + controller + ',') != std::string::npos) {
      look(mount + '/' + controllers, path, false);
      if (controllers != controller) look(mount + '/' + controller, path, false);
    }
  }
  return least;
}

}  // namespace

std::size_t cgroup_cpus(std::string_view groups, const std::string& mount) {
  return tightest_of_groups(groups, mount, "cpu", [](const std::string& folder, bool v2) {
    const std::string limit =
        v2 ? text_of(folder + "/cpu.max")
           : text_of(folder + "/cpu.cfs_quota_us") + ' ' + text_of(folder + "/cpu.cfs_period_us");
    return std::uint64_t{parse_cpu_max(limit.c_str())};
  });
}

std::uint64_t cgroup_memory(std::string_view groups, const std::string& mount) {
  return tightest_of_groups(groups, mount, "memory", [](const std::string& folder, bool v2) {
    std::uint64_t least = 0;
    for (const char* const name : {v2 ? "/memory.max" : "/memory.limit_in_bytes",
                                   v2 ? "/memory.high" : "/memory.soft_limit_in_bytes"}) {
      const std::string text = text_of(folder + name);
      std::uint64_t bytes = 0;  // stays 0 for "max"
      std::from_chars(text.data(), text.data() + text.size(), bytes);
      if (bytes != 0 && (least == 0 || bytes < least)) least = bytes;
    }
    return least;
  });
}

std::uint64_t available_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  std::uint64_t all = pages > 0 && page > 0
                          ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
                          : std::uint64_t{4} << 30;
#ifdef __linux__
  if (const std::uint64_t limit = cgroup_memory(text_of("/proc/self/cgroup"), "/sys/fs/cgroup"))
    all = std::min(all, limit);
#endif
  return all;
}

std::size_t available_cpus() {
  std::size_t n = allowed_cpus().size();
  if (n == 0) n = std::thread::hardware_concurrency();
#ifdef __linux__
  if (const std::size_t quota = cgroup_cpus(text_of("/proc/self/cgroup"), "/sys/fs/cgroup"))
    n = std::min(n, quota);
#endif
  return std::max<std::size_t>(n, 1);
}

}  // namespace wick::detail

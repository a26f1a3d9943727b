/// \file
/// How many processors this process may really use: what its affinity mask and its control groups leave it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <wick/system/detail/cpu_set.hpp>

namespace wick::detail {

/// The quota of a cgroup-v2 `cpu.max` text ("200000 100000" is 2, "max 100000" is 0: none), rounded up.
inline std::size_t parse_cpu_max(const char* text) noexcept {
  char* end = nullptr;
  const long long quota = std::strtoll(text, &end, 10);
  if (end == text || quota <= 0) return 0;
  const long long period = std::strtoll(end, nullptr, 10);
  return period <= 0 ? 0 : static_cast<std::size_t>(quota / period + (quota % period != 0 ? 1 : 0));
}

/// What is in a small file of the system's; empty when it can't be read.
inline std::string text_of(const std::string& path) {
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

/// The tightest quota on the way from a control group up to the root, 0: none. A limit of a group holds for
/// all below it; and in a container the path may be the host's, of which only the root is to be seen.
inline std::size_t tightest_quota(const std::string& mount, std::string_view group, bool v2) {
  std::size_t least = 0;
  for (;;) {
    while (group.ends_with('/')) group.remove_suffix(1);
    const std::string folder = mount + std::string(group);
    const std::string limit =
        v2 ? text_of(folder + "/cpu.max")
           : text_of(folder + "/cpu.cfs_quota_us") + ' ' + text_of(folder + "/cpu.cfs_period_us");
    const std::size_t quota = parse_cpu_max(limit.c_str());
    if (quota != 0 && (least == 0 || quota < least)) least = quota;
    if (group.empty()) return least;
    const std::size_t parent = group.rfind('/');
    group = group.substr(0, parent == std::string::npos ? 0 : parent);
  }
}

/// The processors that the control groups of this process leave it, 0: no limit.
/// \param groups  the text of /proc/self/cgroup: lines `number:controllers:path`, v2 with number 0 and no
/// controller \param mount   where they are mounted: /sys/fs/cgroup. v2 lies there itself, or in `unified`
/// beside v1's folders
inline std::size_t cgroup_cpus(std::string_view groups, const std::string& mount) {
  std::size_t least = 0;
  const auto limit = [&](std::size_t quota) {
    if (quota != 0 && (least == 0 || quota < least)) least = quota;
  };
  while (!groups.empty()) {
    const std::string_view row = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(row.size() + 1, groups.size()));
    const std::size_t first = row.find(':');
    const std::size_t second = first == std::string_view::npos ? first : row.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = row.substr(first + 1, second - first - 1),
                           path = row.substr(second + 1);
    if (controllers.empty()) {
      limit(tightest_quota(mount, path, true));
      limit(tightest_quota(mount + "/unified", path, true));
    } else if ((',' + std::string(controllers) + ',').find(",cpu,") != std::string::npos) {
      limit(tightest_quota(mount + '/' + std::string(controllers), path, false));
      if (controllers != "cpu") limit(tightest_quota(mount + "/cpu", path, false));
    }
  }
  return least;
}

/// The numbers of the processors that the calling thread may run on, ascending; empty where the system
/// doesn't say.
inline std::vector<int> allowed_cpus() { return detail::cpu_set::of_this_thread().numbers(); }

/// At least 1: the processors in the calling thread's affinity mask, or fewer when a control group (v1 or v2,
/// its own or one above it) has a quota, rounded up. A container with two of 64 processors says 2 here, where
/// hardware_concurrency may say 64. Asks the system each time.
inline std::size_t available_cpus() {
  std::size_t n = allowed_cpus().size();
  if (n == 0) n = std::thread::hardware_concurrency();
#ifdef __linux__
  if (const std::size_t quota = detail::cgroup_cpus(detail::text_of("/proc/self/cgroup"), "/sys/fs/cgroup")) {
    n = std::min(n, quota);
  }
#endif
  return std::max<std::size_t>(n, 1);
}

}  // namespace wick::detail

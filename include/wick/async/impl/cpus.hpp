/// \file
/// The bodies of what async/cpus.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include <wick/async/cpus.hpp>

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

std::size_t tightest_quota(const std::string& mount, std::string_view group, bool v2) {
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

std::size_t cgroup_cpus(std::string_view groups, const std::string& mount) {
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

std::size_t available_cpus() {
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

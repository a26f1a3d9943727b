// How many processors and how much memory this process may really use, by its affinity mask and its control
// groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <wick/base/detail/cpu_set.hpp>

namespace wick::inline v0_1::detail {

/// The quota in a cgroup-v2 `cpu.max` text, rounded up: "200000 100000" is 2, "max 100000" is 0 (none).
std::size_t parse_cpu_max(const char* text) noexcept;

/// The contents of a small system file; empty if it can't be read.
std::string text_of(const std::string& path);

/// The number of processors that this process's control groups allow; 0: no limit. A group's limit holds for
/// all groups below it. In a container, the path may be the host's, of which only the root is visible.
/// \param groups  the text of /proc/self/cgroup: lines `number:controllers:path`, v2 with number 0 and no
/// controller
/// \param mount   where they are mounted: /sys/fs/cgroup. v2 is there itself, or in `unified` next to v1's
/// folders
std::size_t cgroup_cpus(std::string_view groups, const std::string& mount);
/// The same for memory, in bytes.
std::uint64_t cgroup_memory(std::string_view groups, const std::string& mount);

/// The numbers of the processors that the calling thread may run on, ascending; empty if the system doesn't
/// say.
inline std::vector<int> allowed_cpus() { return detail::cpu_set::of_this_thread().numbers(); }

/// The number of processors in the calling thread's affinity mask, or fewer if a control group (v1 or v2, its
/// own or one above it) has a quota, rounded up; at least 1. In a container with two of 64 processors this is
/// 2, where hardware_concurrency may say 64. Asks the system each time.
std::size_t available_cpus();

/// The machine's memory in bytes, or less if a control group (v1 or v2, its own or one above it) has a limit.
std::uint64_t available_memory();

}  // namespace wick::detail

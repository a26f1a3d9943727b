#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/temp_dir.hpp"
#include <wick/base/detail/cpus.hpp>

namespace wick_test::cpus_tests {

using wick::detail::available_cpus;
using wick::detail::parse_cpu_max;

TEST_CASE("there is at least one processor and no more than the machine has") {
  CHECK(available_cpus() >= 1);
  if (std::thread::hardware_concurrency() != 0)
    CHECK(available_cpus() <= std::thread::hardware_concurrency());
}

TEST_CASE("the answer does not change by asking") { CHECK(available_cpus() == available_cpus()); }

#ifdef __linux__
TEST_CASE("a thread that is bound to one processor has one") {
  std::size_t seen = 0;
  std::thread([&] {
    cpu_set_t all, one;
    CPU_ZERO(&all);
    CPU_ZERO(&one);
    if (::sched_getaffinity(0, sizeof(all), &all) != 0) return;
    int first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    CPU_SET(first, &one);
    if (::sched_setaffinity(0, sizeof(one), &one) == 0) seen = available_cpus();
  }).join();
  CHECK(seen == 1);
}

TEST_CASE("the processors that are allowed have ascending numbers, and can be bound to") {
  const std::vector<int> all = wick::detail::allowed_cpus();
  REQUIRE_FALSE(all.empty());
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1] < all[i]);
  std::vector<int> seen;
  std::thread([&] {
    if (wick::detail::cpu_set::of(all.back()).apply()) seen = wick::detail::allowed_cpus();
  }).join();
  CHECK(seen == std::vector<int>{all.back()});
  CHECK(wick::detail::cpu_set::of(3000).numbers() == std::vector<int>{3000});
}

TEST_CASE("a limit on memory is found in the nested group, and a tighter one above it counts") {
  const wick_test::temp_dir at;
  const std::string mount = at.path().string();
  const auto memory = [&](const char* groups) { return wick::detail::cgroup_memory(groups, mount); };
  at.write("kube/pod/app/memory.max", "3000000000\n");
  CHECK(memory("0::/kube/pod/app\n") == 3'000'000'000);
  CHECK(memory("0::/kube/pod/app/child\n") == 3'000'000'000);
  CHECK(memory("0::/kube/pod\n") == 0);
  at.write("kube/pod/memory.max", "max\n");
  at.write("kube/memory.max", "2000000000\n");
  CHECK(memory("0::/kube/pod/app\n") == 2'000'000'000);
  at.write("kube/pod/app/memory.high", "1000000000\n");
  CHECK(memory("0::/kube/pod/app\n") == 1'000'000'000);
  CHECK(memory("0::/\n") == 0);
  at.write("memory/slurm/job/memory.limit_in_bytes", "500000000\n");
  at.write("memory/slurm/job/step/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(memory("9:memory:/slurm/job/step\n0::/\n") == 500'000'000);
  CHECK(memory("9:cpu,cpuacct:/slurm/job/step\n") == 0);
  at.write("memory.max", "100000000\n");  // of a container, in whose view the path above doesn't exist
  CHECK(memory("0::/host/path/of/the/container\n") == 100'000'000);
  CHECK(wick::detail::available_memory() > 0);
}

TEST_CASE("a v2 group's quota is found on the nested path, and a tighter one above it counts") {
  const wick_test::temp_dir at;
  const std::string mount = at.path().string();
  const auto cpus = [&](const char* groups) { return wick::detail::cgroup_cpus(groups, mount); };
  at.write("kube/pod/app/cpu.max", "300000 100000\n");
  CHECK(cpus("0::/kube/pod/app\n") == 3);
  CHECK(cpus("0::/kube/pod/app/child\n") == 3);
  CHECK(cpus("0::/kube/pod\n") == 0);
  at.write("kube/cpu.max", "150000 100000\n");
  at.write("kube/pod/cpu.max", "max 100000\n");
  CHECK(cpus("0::/kube/pod/app\n") == 2);
  CHECK(cpus("0::/\n") == 0);
  at.write("cpu.max", "100000 100000\n");  // a container's own root
  CHECK(cpus("0::/somewhere/else\n") == 1);
  CHECK(cpus("0::/\n") == 1);
  CHECK(cpus("0::relative") == 1);
}

TEST_CASE("a v1 group's quota is found, in the folder of its controllers or of cpu alone, up to the root") {
  const wick_test::temp_dir at;
  const std::string mount = at.path().string();
  const auto cpus = [&](const char* groups) { return wick::detail::cgroup_cpus(groups, mount); };
  at.write("cpu,cpuacct/docker/a/cpu.cfs_quota_us", "250000\n");
  at.write("cpu,cpuacct/docker/a/cpu.cfs_period_us", "100000\n");
  at.write("cpu/cpu.cfs_quota_us", "-1\n");
  at.write("cpu/cpu.cfs_period_us", "100000\n");
  const char* const groups = "12:memory:/docker/a\n5:cpu,cpuacct:/docker/a\n3:cpuset:/docker/a\n0::/\n";
  CHECK(cpus(groups) == 3);
  CHECK(cpus("12:memory:/docker/a\n3:cpuset:/docker/a\n") == 0);
  CHECK(cpus("1:cpu:/docker/a\n") == 0);
  at.write("cpu/cpu.cfs_quota_us", "100000\n");
  CHECK(cpus(groups) == 1);
  CHECK(cpus("1:cpu:/docker/a\n") == 1);
}

TEST_CASE("beside v1, v2 lies in a folder of its own, and the tighter of the two counts") {
  const wick_test::temp_dir at;
  at.write("cpu/cpu.cfs_quota_us", "400000\n");
  at.write("cpu/cpu.cfs_period_us", "100000\n");
  at.write("unified/app/cpu.max", "200000 100000\n");
  CHECK(wick::detail::cgroup_cpus("1:cpu:/\n0::/app\n", at.path().string()) == 2);
}

TEST_CASE("what is no list of groups limits nothing") {
  const wick_test::temp_dir at;
  for (const char* text : {"", "\n", ":", "::", "0:", "0::", "no colon\n\n", "a:b:c", "0::/../..\n"}) {
    CAPTURE(text);
    CHECK(wick::detail::cgroup_cpus(text, at.path().string()) == 0);
  }
  CHECK(wick::detail::cgroup_cpus("0::/x\n", "/no/such/folder") == 0);
}
#endif

TEST_CASE("a control group's quota is a number of processors, rounded up") {
  CHECK(parse_cpu_max("200000 100000\n") == 2);
  CHECK(parse_cpu_max("100000 100000") == 1);
  CHECK(parse_cpu_max("150000 100000") == 2);
  CHECK(parse_cpu_max("1000 100000") == 1);
  CHECK(parse_cpu_max("6400000 100000") == 64);
  CHECK(parse_cpu_max("30000 10000") == 3);
}

TEST_CASE("a control group without a quota limits nothing") {
  CHECK(parse_cpu_max("max 100000\n") == 0);
  CHECK(parse_cpu_max("max") == 0);
}

TEST_CASE("a quota that can't be read limits nothing") {
  CHECK(parse_cpu_max("") == 0);
  CHECK(parse_cpu_max("\n") == 0);
  CHECK(parse_cpu_max("200000") == 0);
  CHECK(parse_cpu_max("200000 0") == 0);
  CHECK(parse_cpu_max("200000 -5") == 0);
  CHECK(parse_cpu_max("-1 100000") == 0);
  CHECK(parse_cpu_max("cpu 100000") == 0);
}

TEST_CASE("an absurd quota does not overflow") {
  CHECK(parse_cpu_max("9223372036854775807 100000") == 92233720368548);
  CHECK(parse_cpu_max("99999999999999999999999 1") == 9223372036854775807u);
}

}  // namespace wick_test::cpus_tests

#include <wick/run/cpus.hpp>

#include <cstddef>
#include <thread>

#include "../support/doctest.hpp"

using wick::available_cpus;
using wick::detail::parse_cpu_max;

TEST_CASE("there is at least one processor and no more than the machine has") {
  CHECK(available_cpus() >= 1);
  if (std::thread::hardware_concurrency() != 0) CHECK(available_cpus() <= std::thread::hardware_concurrency());
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

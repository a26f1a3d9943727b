#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <wick/sample/sample.hpp>
#include <wick/system/detail/large_memory.hpp>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {

using wick::detail::has_large_memory;
using wick::detail::large_memory;

constexpr std::size_t kib = 1024, mib = 1024 * kib;

/// A block with its number written all over it.
struct block {
  unsigned char* data = nullptr;
  std::size_t bytes = 0;
  unsigned char mark = 0;

  void write(unsigned char m) {
    mark = m;
    std::memset(data, m, bytes);
  }
  bool whole() const {
    return std::all_of(data, data + bytes, [&](unsigned char c) { return c == mark; });
  }
};

block take(large_memory& from, std::size_t bytes, unsigned char mark) {
  block b{static_cast<unsigned char*>(from.allocate(bytes)), bytes};
  REQUIRE(b.data != nullptr);
  b.write(mark);
  return b;
}

/// Log-uniform, so that all sizes fight for the same pages.
std::size_t any_size(std::mt19937_64& random) {
  const std::size_t shift = random() % 8;
  return (std::size_t{16} * kib << shift) + random() % (std::size_t{16} * kib << shift);
}

std::size_t resident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return 1024 * std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

}  // namespace

TEST_CASE("blocks are aligned, apart from one another, and hold what was written until they are released") {
  if (!has_large_memory) return;
  large_memory memory;
  memory.allow(24 * mib);
  std::mt19937_64 random(1);
  std::vector<block> out;
  for (int i = 0; i < 20'000; ++i) {
    if (out.size() < 40 && (out.empty() || random() % 2 == 0)) {
      out.push_back(take(memory, any_size(random), static_cast<unsigned char>(i)));
      CHECK(reinterpret_cast<std::uintptr_t>(out.back().data) % 64 == 0);
    } else {
      std::swap(out[random() % out.size()], out.back());
      const bool whole = out.back().whole();
      CHECK(whole);
      memory.release(out.back().data);
      out.pop_back();
    }
    const auto now = memory.now();
    std::size_t bytes = 0;
    for (const block& b : out) bytes += b.bytes;
    CHECK(now.used >= bytes);
    CHECK(now.used <= bytes + out.size() * (64 * kib + 64));  // a page is at most as large
    CHECK(now.allowed == 32 * mib);                           // which are always allowed
    CHECK((now.kept == 0 || now.used + now.kept <= now.allowed));
  }
  for (const block& b : out) {
    CHECK(b.whole());
    memory.release(b.data);
  }
  CHECK(memory.now().used == 0);
}

TEST_CASE("free neighbors become one, so that what was many blocks can be one large block") {
  if (!has_large_memory) return;
  large_memory memory;
  memory.allow(512 * mib);
  std::mt19937_64 random(2);
  std::vector<block> out;
  std::size_t sum = 0;
  while (sum < 64 * mib) {
    out.push_back(take(memory, any_size(random), 1));
    sum += out.back().bytes;
  }
  const std::size_t used = memory.now().used;
  std::shuffle(out.begin(), out.end(), random);
  for (const block& b : out) memory.release(b.data);
  CHECK(memory.now().kept == used);
  void* const all = memory.allocate(used - 64);
  CHECK(memory.now().used == used);
  CHECK(memory.now().kept == 0);  // the same pages
  memory.release(all);
}

TEST_CASE("pages that are resident are used again where others lie beside them") {
  if (!has_large_memory) return;
  large_memory memory;
  memory.allow(512 * mib);
  const block low = take(memory, 30 * mib, 1), guard = take(memory, 1 * mib, 2);
  const std::size_t before = memory.now().used;
  memory.release(guard.data);
  memory.release(low.data);  // 31 MiB, and nothing but addresses behind
  void* const more = memory.allocate(40 * mib);
  CHECK(memory.now().kept == 0);
  CHECK(memory.now().used > before + 8 * mib);
  CHECK(more == static_cast<void*>(low.data));
  memory.release(more);
}

TEST_CASE("what is free beyond what is allowed is the system's again") {
  if (!has_large_memory) return;
  large_memory memory;
  memory.allow(256 * mib);
  std::vector<block> out;
  for (int i = 0; i < 100; ++i) out.push_back(take(memory, 2 * mib, 3));
  const std::size_t most = resident();
  for (const block& b : out) memory.release(b.data);
  CHECK(memory.now().kept >= 200 * mib);
  CHECK(resident() > most - 20 * mib);
  memory.allow_no_more(256 * mib);
  CHECK(memory.now().kept <= 32 * mib);
  CHECK(memory.now().kept >= 31 * mib);
  CHECK(resident() < most - 150 * mib);
}

TEST_CASE("a block that is larger than what is allowed is let through, and goes when it is released") {
  if (!has_large_memory) return;
  large_memory memory;
  block b = take(memory, 100 * mib, 4);
  CHECK(b.whole());
  memory.release(b.data);
  CHECK(memory.now().kept <= 32 * mib);
  CHECK(memory.allocate(std::numeric_limits<std::size_t>::max()) == nullptr);
  CHECK(memory.allocate(std::numeric_limits<std::size_t>::max() / 2) == nullptr);  // more than addresses
  memory.release(nullptr);
}

TEST_CASE("threads may take blocks and release those of others") {
  large_memory memory;
  memory.allow(16 * mib);
  std::mutex mutex;
  std::vector<block> out;
  std::atomic<int> broken{0};
  const auto work = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 1000; ++i) {
      block mine{static_cast<unsigned char*>(memory.allocate(any_size(random) / 4)), 16 * kib / 4};
      mine.write(static_cast<unsigned char>(random()));
      {
        const std::lock_guard lock(mutex);
        out.push_back(mine);
        if (out.size() < 20) continue;
        std::swap(out[random() % out.size()], out.back());
        mine = out.back();
        out.pop_back();
      }
      if (!mine.whole()) ++broken;
      memory.release(mine.data);
    }
  };
  if (!has_large_memory) return;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
  CHECK(broken == 0);
  for (const block& b : out) memory.release(b.data);
  CHECK(memory.now().used == 0);
}

TEST_CASE("bytes give back all of their memory also when they were shrunk or moved") {
  const std::size_t before = large_memory::shared().now().used;
  {
    wick::bytes a(10 * mib), b(70 * kib), c(100);
    a.shrink(5);
    b = std::move(a);
    CHECK(b.size() == 5);
    CHECK(a.empty());
    std::swap(b, c);
    CHECK(b.size() == 100);
    CHECK(c.size() == 5);
    if (has_large_memory) CHECK(large_memory::shared().now().used > before);
  }
  CHECK(large_memory::shared().now().used == before);
}

#if defined(__linux__)
TEST_CASE("the child of a fork finds the process's memory in order") {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) wick::detail::release_bytes(wick::detail::allocate_bytes(100 * kib), 100 * kib);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      void* const data = wick::detail::allocate_bytes(1 * mib);
      if (data != nullptr) std::memset(data, 1, 1 * mib);
      wick::detail::release_bytes(data, 1 * mib);
      ::_exit(data != nullptr ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  stop = true;
  busy.join();
}
#endif

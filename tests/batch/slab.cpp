#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "support/doctest.hpp"

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <wick/base/detail/cpu_set.hpp>
#include <wick/base/detail/cpus.hpp>
#include <wick/batch/detail/slab.hpp>

namespace wick_test::slab_tests {

using wick::detail::slab;
using wick::detail::slab_pool;

namespace {

/// Knows every block that is out, and can refuse.
class counted_memory final : public wick::ext::slab_memory {
 public:
  wick::ext::memory_block allocate(std::size_t bytes) override {
    if (refuse || blocks == at_most) throw std::bad_alloc();
    live += bytes;
    ++blocks;
    const wick::ext::memory_block inner = host_.allocate(bytes);
    return {inner.data, new piece{this, inner, bytes}, [](void* context) {
              const std::unique_ptr<piece> p(static_cast<piece*>(context));
              p->of->live -= p->bytes;
              --p->of->blocks;
              p->inner.free(p->inner.context);
            }};
  }
  std::atomic<std::size_t> live{0};
  std::atomic<int> blocks{0};
  std::atomic<bool> refuse{false};
  int at_most = 1'000'000;

 private:
  struct piece {
    counted_memory* of;
    wick::ext::memory_block inner;
    std::size_t bytes;
  };
  wick::detail::host_slab_memory host_;
};

/// Blocks of any size that no thread may touch.
class imagined_memory final : public wick::ext::slab_memory {
 public:
  wick::ext::memory_block allocate(std::size_t bytes) override {
    next_ += bytes;
    return {reinterpret_cast<std::byte*>(next_ - bytes), nullptr, [](void*) {}};
  }

 private:
  std::size_t next_ = 64;
};

/// Keeps what is freed itself, and outlives its own object as Torch's allocators do.
class recycling_memory final : public wick::ext::slab_memory {
 public:
  bool recycles() const noexcept override { return true; }
  wick::ext::memory_block allocate(std::size_t bytes) override {
    ++out();
    auto* const data = new std::byte[bytes];
    return {data, data, [](void* context) {
              --out();
              delete[] static_cast<std::byte*>(context);
            }};
  }
  static int& out() {
    static int n = 0;
    return n;
  }
};

struct rig {
  std::shared_ptr<counted_memory> memory = std::make_shared<counted_memory>();
  std::shared_ptr<slab_pool> pool;
  explicit rig(std::size_t keep) : pool(std::make_shared<slab_pool>(memory, keep)) {}
};

constexpr std::size_t mib = std::size_t{1} << 20;
/// As a loader with 4 batches ahead makes it.
std::shared_ptr<slab_pool> pool_of_a_loader() {
  return std::make_shared<slab_pool>(std::make_shared<imagined_memory>(), 80, 5, 9);
}
/// 20 to 39 MiB, each of 20 sizes in turn.
std::size_t size_of_batch(std::size_t i) { return (20 + i * 7 % 20) * mib; }

}  // namespace

TEST_CASE("a block has the size asked for and is aligned to cache lines") {
  rig r(4);
  for (const std::size_t bytes : {1, 63, 64, 65, 100'000}) {
    const slab s = r.pool->acquire(bytes);
    CHECK(s.capacity() >= bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(s.data()) % 64 == 0);
    std::memset(s.data(), 0x5A, bytes);
  }
  CHECK(r.pool->acquire(0).data() != nullptr);
}

#ifdef __linux__
TEST_CASE(
    "a new block's pages get their place, on a machine with several memories, from the worker that writes "
    "first") {
  constexpr std::size_t bytes = 64 << 20;
  const auto pool = std::make_shared<slab_pool>(std::make_shared<wick::detail::host_slab_memory>(), 4, 2);
  const slab block = pool->acquire(bytes);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::byte* const from =
      block.data() + (page - reinterpret_cast<std::uintptr_t>(block.data()) % page) % page;
  std::vector<unsigned char> there(bytes / page - 1);
  const auto present = [&] {
    REQUIRE(::mincore(from, there.size() * page, there.data()) == 0);
    return std::count_if(there.begin(), there.end(), [](unsigned char c) { return (c & 1) != 0; });
  };
  CHECK(present() < static_cast<std::ptrdiff_t>(there.size() / 8));
  std::memset(from, 1, there.size() * page);
  CHECK(present() == static_cast<std::ptrdiff_t>(there.size()));
}
#endif

TEST_CASE("a block that is given back is used again, the last one first") {
  rig r(4);
  slab a = r.pool->acquire(1000), b = r.pool->acquire(1000), c = r.pool->acquire(1000);
  std::byte* const was_a = a.data();
  std::byte* const was_c = c.data();
  c.reset();
  b.reset();
  a.reset();
  CHECK(!a);
  const slab first = r.pool->acquire(1000), second = r.pool->acquire(1000), third = r.pool->acquire(1000);
  CHECK(first.data() == was_a);
  CHECK(third.data() == was_c);
  CHECK(r.pool->allocations() == 3);
}

TEST_CASE("a processor gets back the block that it had last, also when another's came back later") {
  const std::vector<int> cpus = wick::detail::allowed_cpus();
  if (cpus.size() < 2) return;  // there is one only, or the system doesn't say
  const auto on = [](int cpu, auto what) {
    std::thread([&] {
      REQUIRE(wick::detail::cpu_set::of(cpu).apply());
      what();
    }).join();
  };
  const auto pool = std::make_shared<slab_pool>(std::make_shared<counted_memory>(), 8);
  slab first, second;
  on(cpus[0], [&] { first = pool->acquire(100); });
  on(cpus[1], [&] { second = pool->acquire(100); });
  const std::byte *const on_first = first.data(), *const on_second = second.data();
  for (const bool first_comes_back_last : {false, true}) {
    slab& early = first_comes_back_last ? second : first;
    slab& late = first_comes_back_last ? first : second;
    early.reset();
    late.reset();
    on(cpus[0], [&] { first = pool->acquire(100); });
    on(cpus[1], [&] { second = pool->acquire(100); });
    CHECK(first.data() == on_first);
    CHECK(second.data() == on_second);
  }
}

TEST_CASE("of small blocks more are made ahead, and the pool knows what one batch asks for") {
  CHECK(slab_pool::cheap_blocks(1, 5, 9) == 9);
  CHECK(slab_pool::cheap_blocks(2 * mib, 5, 9) == 8);
  CHECK(slab_pool::cheap_blocks(100 * mib, 5, 9) == 5);
  const auto pool = std::make_shared<slab_pool>(std::make_shared<counted_memory>(), 40, 2, 4);
  CHECK(pool->bytes_asked() == 0);
  pool->acquire(1000, 0).reset();
  CHECK(pool->allocations() == 4);
  pool->acquire(10, 1).reset();
  pool->acquire(1500, 0).reset();
  pool->acquire(500, 0).reset();
  CHECK(pool->bytes_asked() == 1510);
  const std::uint64_t before = pool->allocations();
  pool->acquire(16 * mib, 2).reset();
  CHECK(pool->allocations() == before + 2);
}

TEST_CASE("a kept block serves what fits it, and is not spent on what needs less than half of it") {
  rig r(4);
  r.pool->acquire(1000).reset();
  CHECK(r.pool->acquire(500).capacity() == 1000);
  CHECK(r.pool->allocations() == 1);
  const slab small = r.pool->acquire(499);
  CHECK(small.capacity() == 499);
  const slab large = r.pool->acquire(1001);
  CHECK(large.capacity() == 1001);
  CHECK(r.pool->allocations() == 3);
}

TEST_CASE("no more free blocks are kept than the pool's limit, the oldest go") {
  rig r(3);
  std::vector<slab> out;
  for (std::size_t i = 1; i <= 10; ++i) out.push_back(r.pool->acquire(i << 10));
  CHECK(r.memory->blocks == 10);
  for (slab& s : out) s.reset();
  CHECK(r.memory->blocks == 3);
  CHECK(r.pool->bytes() == r.memory->live);
  CHECK(r.pool->bytes() == (8 + 9 + 10) << 10);
  rig none(0);
  none.pool->acquire(10).reset();
  CHECK(none.memory->blocks == 0);
  CHECK(none.pool->bytes() == 0);
}

TEST_CASE("a block outlives the owner of the pool and is freed when it is dropped") {
  rig r(4);
  slab s = r.pool->acquire(100);
  r.pool->acquire(5000).reset();
  const std::weak_ptr<slab_pool> pool = r.pool;
  r.pool.reset();
  CHECK(!pool.expired());
  std::memset(s.data(), 1, 100);
  s.reset();
  CHECK(pool.expired());
  CHECK(r.memory->blocks == 0);
}

TEST_CASE("a closed pool frees its free blocks at once, and the others as they come back") {
  const auto memory = std::make_shared<counted_memory>();
  const auto pool = std::make_shared<slab_pool>(memory, 4, 3);
  slab kept = pool->acquire(1000), other = pool->acquire(1000);
  CHECK(memory->blocks == 3);
  pool->close();
  CHECK(memory->blocks == 2);
  other.reset();
  CHECK(memory->blocks == 1);
  CHECK(pool->bytes() == 1000);
  kept.reset();
  CHECK(memory->blocks == 0);
}

TEST_CASE("a free block does not keep its pool alive") {
  rig r(4);
  r.pool->acquire(100).reset();
  const std::weak_ptr<slab_pool> pool = r.pool;
  r.pool.reset();
  CHECK(pool.expired());
  CHECK(r.memory->blocks == 0);
}

TEST_CASE("a slab is moved, not shared: one owner gives it back once") {
  rig r(4);
  slab a = r.pool->acquire(10);
  std::byte* const data = a.data();
  slab b(std::move(a));
  CHECK(!a);
  CHECK(b.data() == data);
  slab c;
  CHECK(c.data() == nullptr);
  CHECK(c.capacity() == 0);
  c = std::move(b);
  CHECK(c.data() == data);
  c.reset();
  c.reset();
  CHECK(r.pool->acquire(10).data() == data);
}

TEST_CASE("a slab that is assigned over goes back at once") {
  rig r(4);
  slab a = r.pool->acquire(10), b = r.pool->acquire(10);
  std::byte* const was_a = a.data();
  a = std::move(b);
  CHECK(r.pool->acquire(10).data() == was_a);
}

TEST_CASE("an owner that keeps a pointer and a function gives the block back as dropping would") {
  rig r(4);
  slab s = r.pool->acquire(10);
  std::byte* const data = s.data();
  const wick::ext::memory_block block = s.detach();
  CHECK(!s);
  CHECK(block.data == data);
  block.free(block.context);
  CHECK(r.pool->acquire(10).data() == data);
  CHECK(r.pool->allocations() == 1);
  const wick::ext::memory_block none = s.detach();
  CHECK(none.data == nullptr);
  none.free(none.context);
}

TEST_CASE("memory that recycles its blocks gets each back at once, whether dropped or detached") {
  std::optional<wick::ext::memory_block> kept;
  {
    const auto pool = std::make_shared<slab_pool>(std::make_shared<recycling_memory>(), 8, 4, 4);
    slab first = pool->acquire(100);
    CHECK(recycling_memory::out() == 1);  // none ahead
    CHECK(pool->bytes() == 100);
    first.reset();
    CHECK(recycling_memory::out() == 0);
    CHECK(pool->bytes() == 0);
    slab second = pool->acquire(100);
    std::byte* const data = second.data();
    kept = second.detach();
    CHECK(kept->data == data);
    CHECK(kept->context == data);  // as the memory knows it
    CHECK(pool->bytes() == 0);
    CHECK(pool->acquire(100).data() != data);
  }
  CHECK(recycling_memory::out() == 1);
  kept->free(kept->context);
  CHECK(recycling_memory::out() == 0);
}

TEST_CASE("memory that runs out is reported and leaves the pool as it was") {
  rig r(4);
  r.memory->refuse = true;
  CHECK_THROWS_AS(r.pool->acquire(10), std::bad_alloc);
  CHECK(r.pool->allocations() == 0);
  CHECK(r.pool->bytes() == 0);
  r.memory->refuse = false;
  CHECK(r.pool->acquire(10));
}

TEST_CASE("a block that is there is given out, though there is no memory for those ahead of it") {
  const auto memory = std::make_shared<counted_memory>();
  memory->at_most = 2;
  const auto pool = std::make_shared<slab_pool>(memory, 8, 5, 5);
  CHECK(pool->acquire(10));
  CHECK(pool->allocations() == 2);
}

TEST_CASE(
    "batches of ever other sizes, one out at a time, take no more than as many of the largest as may be "
    "out") {
  const auto pool = pool_of_a_loader();
  for (std::size_t i = 0; i < 200; ++i) {
    const slab batch = pool->acquire(size_of_batch(i));
    CHECK(batch.capacity() >= size_of_batch(i));
    CHECK(batch.capacity() / 2 <= size_of_batch(i));
    CHECK(pool->bytes() <= 5 * 39 * mib);
  }
  // In the end none is allocated any more.
  const std::uint64_t before = pool->allocations();
  for (std::size_t i = 0; i < 200; ++i) pool->acquire(size_of_batch(i)).reset();
  CHECK(pool->allocations() == before);
}

TEST_CASE("batches of ever other sizes, a window of them out, take no more than the largest window") {
  const auto pool = pool_of_a_loader();
  std::deque<slab> images, labels;
  for (std::size_t i = 0; i < 400; ++i) {
    images.push_back(pool->acquire(size_of_batch(i * i), 0));
    labels.push_back(pool->acquire(2048, 1));
    if (images.size() == 5) images.pop_front();
    if (labels.size() == 5) labels.pop_front();
    CHECK(pool->bytes() <= 5 * 39 * mib + 9 * 2048);
  }
  const std::uint64_t before = pool->allocations();
  for (std::size_t i = 0; i < 400; ++i) {
    images.push_back(pool->acquire(size_of_batch(i * i), 0));
    images.pop_front();
  }
  CHECK(pool->allocations() == before);
}

TEST_CASE("a new size is served by what is free, and needs one block where nothing is") {
  const auto pool = pool_of_a_loader();
  pool->acquire(39 * mib).reset();
  CHECK(pool->allocations() == 5);
  for (const std::size_t size : {30, 20, 25, 38}) pool->acquire(size * mib).reset();
  CHECK(pool->allocations() == 5);
  const slab tiny = pool->acquire(mib), huge = pool->acquire(100 * mib);
  CHECK(pool->allocations() == 7);
}

TEST_CASE("what is kept of a hoard that is dropped is a window, and 16 MiB") {
  const auto pool = pool_of_a_loader();
  std::vector<slab> hoard;
  for (int i = 0; i < 200; ++i) hoard.push_back(pool->acquire(39 * mib));
  CHECK(pool->bytes() == 200 * 39 * mib);
  hoard.clear();
  CHECK(pool->kept_at_most() == (5 * 39 + 16) * mib);
  CHECK(pool->bytes() == 5 * 39 * mib);
}

TEST_CASE("sizes that are no longer asked for go away, those that are stay") {
  const auto pool = pool_of_a_loader();
  pool->acquire(100 * mib, 0).reset();
  pool->acquire(8000, 1).reset();
  CHECK(pool->bytes() == 5 * 100 * mib + 9 * 8000);
  for (int i = 0; i < 600; ++i) {
    pool->acquire(10 * mib, 0).reset();
    pool->acquire(8000, 1).reset();
  }
  CHECK(pool->bytes() == 10 * mib + 9 * 8000);
  CHECK(pool->kept_at_most() == (5 * 10 + 16) * mib + 9 * 8000);
  CHECK(pool->allocations() == 5 + 9 + 1);
}

TEST_CASE("blocks that are seldom needed at once stay, when their size is asked for") {
  const auto pool = pool_of_a_loader();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2000; ++i) pool->acquire(30 * mib).reset();
    std::vector<slab> all;
    for (int i = 0; i < 5; ++i) all.push_back(pool->acquire(30 * mib));
    CHECK(pool->allocations() == 5);
  }
}

TEST_CASE("many threads take and give back, blocks of one thread to another, and no two have the same") {
  rig r(8);
  constexpr int threads = 8, rounds = 2000;
  std::atomic<void*> shelf[4] = {};
  const wick::ext::memory_block any = r.pool->acquire(64).detach();
  any.free(any.context);
  std::atomic<int> torn{0};
  {
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        for (int i = 0; i < rounds; ++i) {
          slab s = r.pool->acquire(64u << (i + t) % 3);
          std::memset(s.data(), t, 64);
          if (i % 16 == 0) std::this_thread::yield();
          for (int b = 0; b < 64; ++b) torn += s.data()[b] != static_cast<std::byte>(t);
          // Half of the blocks are dropped by the thread that comes next.
          if (i % 2 == 0) {
            if (void* const other = shelf[i % 4].exchange(s.detach().context)) any.free(other);
          }
        }
      });
    }
    for (auto& t : all) t.join();
  }
  for (auto& place : shelf) {
    if (void* const b = place.exchange(nullptr)) any.free(b);
  }
  CHECK(torn == 0);
  CHECK(r.memory->blocks <= 8);
  CHECK(r.pool->bytes() == r.memory->live);
  r.pool.reset();
  CHECK(r.memory->blocks == 0);
}

}  // namespace wick_test::slab_tests

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/core.hpp>
#include <wick/ext/slab_memory.hpp>

namespace wick_test::slab_memory_tests {

namespace {

/// Memory of a user's, which counts its blocks and fills them with 0xEE.
class my_memory final : public wick::ext::slab_memory {
 public:
  wick::ext::memory_block allocate(std::size_t bytes) override {
    auto* const data = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{64}));
    std::fill(data, data + bytes, std::byte{0xEE});
    blocks.fetch_add(1);
    auto* const mine = new block{this, data};
    return {data, mine, [](void* context) {
              const std::unique_ptr<block> b(static_cast<block*>(context));
              ::operator delete(b->data, std::align_val_t{64});
              b->of->blocks.fetch_sub(1);
            }};
  }
  std::atomic<int> blocks{0};

 private:
  struct block {
    my_memory* of;
    std::byte* data;
  };
};

}  // namespace

TEST_CASE(
    "batches lie in memory of one's own; a batch that outlives the loader keeps its block, and no other") {
  const auto memory = std::make_shared<my_memory>();
  std::optional<wick::array> kept;
  {
    wick::loader l(wick::from(std::vector<std::int64_t>{1, 2, 3, 4}) | wick::array_batch(2),
                   {.workers = 1, .batch_memory = memory});
    kept = l.next().value();
    CHECK(memory->blocks.load() > 1);
  }
  CHECK(memory->blocks.load() == 1);
  const auto* const values = kept->as<std::int64_t>();
  CHECK(values[0] == 1);
  CHECK(values[1] == 2);
  kept.reset();
  CHECK(memory->blocks.load() == 0);
}

}  // namespace wick_test::slab_memory_tests

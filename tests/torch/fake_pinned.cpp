#include "fake_pinned.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>  // what empty.h includes needs it complete first: clang, C++20 and LibTorch 1.13
#include <ATen/ops/empty.h>
#include <c10/core/Allocator.h>
#include <c10/core/TensorOptions.h>
#include <c10/util/Exception.h>

#include "../support/doctest.hpp"

#if __has_include(<ATen/detail/PrivateUse1HooksInterface.h>)
#include <ATen/detail/PrivateUse1HooksInterface.h>
#define WICK_TEST_DEVICE_HOOKS
#else
#include <ATen/detail/CUDAHooksInterface.h>
#endif

#include "fake_device.hpp"

namespace wick_test::fake {
namespace {

struct block {
  std::byte* data;
  std::size_t bytes;
  bool out = true;
  std::vector<c10::Stream> streams;
};

struct host_memory {
  block* take(std::size_t bytes) {
    bytes = std::bit_ceil(std::max<std::size_t>(bytes, 64));
    std::lock_guard lock(mutex);
    auto& free_ones = free[bytes];
    if (!free_ones.empty()) {
      block* const b = free_ones.back();
      free_ones.pop_back();
      b->out = true;
      ++statistics.reused;
      ++statistics.out;
      return b;
    }
    auto* const data = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{64}));
    std::memset(data, 0xDB, bytes);
    auto* const b = all.emplace_back(std::make_unique<block>(block{data, bytes, true, {}})).get();
    by_context.insert(b);
    by_pointer.emplace(data, b);
    statistics.bytes += bytes;
    ++statistics.blocks;
    ++statistics.out;
    return b;
  }
  void give(block* b) {
    std::vector<c10::Stream> streams;
    {
      std::lock_guard lock(mutex);
      b->out = false;
      --statistics.out;
      streams.swap(b->streams);
      if (streams.empty()) return shelve(b);
    }
    auto left = std::make_shared<std::atomic<std::size_t>>(streams.size());
    for (const c10::Stream s : streams) {
      put_free(s, [this, b, left] {
        if (left->fetch_sub(1) != 1) return;
        std::lock_guard lock(mutex);
        shelve(b);
      });
    }
  }
  bool record(const void* data, void* context, c10::Stream s) {
    std::lock_guard lock(mutex);
    block* b = static_cast<block*>(context);
    if (by_context.count(b) == 0) {
      const auto found = by_pointer.find(data);
      if (found == by_pointer.end()) return false;
      b = found->second;
    }
    if (!b->out) ++statistics.faults;
    if (std::find(b->streams.begin(), b->streams.end(), s) == b->streams.end()) b->streams.push_back(s);
    return true;
  }
  bool has(const void* data) {
    std::lock_guard lock(mutex);
    const auto next = by_pointer.upper_bound(data);
    if (next == by_pointer.begin()) return false;
    const block* const b = std::prev(next)->second;
    return static_cast<const std::byte*>(data) < b->data + b->bytes;
  }

  /// A thread that still reads it gets nonsense.
  void shelve(block* b) {
    std::memset(b->data, 0xDB, b->bytes);
    free[b->bytes].push_back(b);
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<block>> all;
  std::set<const block*> by_context;
  std::map<const void*, block*> by_pointer;
  std::map<std::size_t, std::vector<block*>> free;
  pinned_statistics statistics;
};

host_memory& memory() {
  static auto* const m = new host_memory;  // streams may give blocks back until the program ends
  return *m;
}
void give_back(void* context) { memory().give(static_cast<block*>(context)); }

/// Functions without `override`: 1.13 has the one as const, later releases without, and want copy_data too.
struct allocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) const { return make(bytes); }
  c10::DataPtr allocate(std::size_t bytes) { return make(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }

 private:
  static c10::DataPtr make(std::size_t bytes) {
    block* const b = memory().take(bytes);
    return {b->data, b, &give_back, c10::Device(c10::kCPU)};
  }
};
c10::Allocator* the_allocator() {
  static allocator one;
  return &one;
}

std::atomic<bool> pins{false};

#ifdef WICK_TEST_DEVICE_HOOKS
struct hooks final : at::PrivateUse1HooksInterface {
  bool hasPrimaryContext(c10::DeviceIndex) const { return pins.load(); }
  bool isPinnedPtr(const void* data) const { return is_pinned(data); }
  at::Allocator* getPinnedMemoryAllocator() const {
    TORCH_CHECK(pins.load(), "the fake device does not pin");
    return the_allocator();
  }
};
void install() {
  static const bool done = [] {
    at::RegisterPrivateUse1HooksInterface(new hooks);
    return true;
  }();
  (void)done;
}
#else
// This release asks only CUDA for such memory, and looks for it once: it must be there from the beginning.
struct hooks final : at::CUDAHooksInterface {
  explicit hooks(at::CUDAHooksArgs) {}
  at::Allocator* getPinnedMemoryAllocator() const override {
    TORCH_CHECK(pins.load(), "the fake device does not pin");
    return the_allocator();
  }
};
[[maybe_unused]] const bool installed = [] {
  if (at::CUDAHooksRegistry()->Has("CUDAHooks")) return false;
  at::CUDAHooksRegistry()->Register(
      "CUDAHooks", [](at::CUDAHooksArgs a) { return std::unique_ptr<at::CUDAHooksInterface>(new hooks(a)); });
  return true;
}();
void install() {}
#endif

}  // namespace

pinning::pinning() {
  install();
  pins = true;
}
pinning::~pinning() { pins = false; }

bool pinning::possible() {
  const pinning now;
  try {
    return is_pinned(at::empty({1}, at::TensorOptions().dtype(at::kByte).pinned_memory(true)).data_ptr());
  } catch (const std::exception&) {
    return false;
  }
}

bool record_copy(const void* data, void* context, c10::Stream s) { return memory().record(data, context, s); }
bool is_pinned(const void* data) { return memory().has(data); }
pinned_statistics pinned() {
  std::lock_guard lock(memory().mutex);
  return memory().statistics;
}

}  // namespace wick_test::fake

// Pitfall: a frame is allocated for ordinary alignment: a local of more than that lies wrong (g++, and clang
// without -fcoro-aligned-allocation), and vector instructions fault on it. Way around: nothing over-aligned
// in a coroutine; it follows a pointer, which the heap aligns.
#include <coroutine>
#include <cstdint>
#include <memory>

#include "engine.hpp"
#include "pitfall.hpp"
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>

namespace {

struct alignas(64) row {
  float values[16];
};

bool aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 64 == 0; }

wick::task<bool> behind_pointer(int) {
  const auto r = std::make_unique<row>();
  co_await std::suspend_never();
  co_return aligned(r.get());
}

/// Only its address is looked at: bytes, since the compiler would take the alignment of a row for granted.
wick::task<bool> in_frame(int) {
  alignas(64) unsigned char block[64];
  volatile unsigned char* p = block;
  p[0] = 1;
  co_await std::suspend_never();
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  volatile std::uintptr_t opaque = at;
  co_return opaque % 64 == 0;
}

}  // namespace

int main() {
  bool all = true, frames = true;
  for (int i = 0; i < 32; ++i) {
    all = wick::ext::sync_wait(behind_pointer(i)) && all;
    const auto spacer = std::make_unique<unsigned char[]>(static_cast<std::size_t>(16 * i + 8));
    frames = wick::ext::sync_wait(in_frame(i)) && frames;
  }
  pitfall::expect(all, "what follows a pointer is aligned");
  pitfall::found(!frames, "an over-aligned local of a coroutine is not aligned");
  return pitfall::result();
}

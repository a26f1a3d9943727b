// Pitfall: g++ takes a function that does nothing but __builtin_prefetch for one without effect, and leaves
// out calls of it: a source's prefetch(i) is never made. Way around: prefetch_bytes() has an empty asm
// volatile in it.
// Assembly: prefetch|prfm|pld
#include <cstddef>
#include <cstdint>

#include "pitfall.hpp"
#include <wick/ext/source.hpp>

#ifdef PITFALL
inline void only_prefetch(const char* at, std::size_t bytes) noexcept {
  for (std::size_t offset = 0; offset < bytes; offset += 64) __builtin_prefetch(at + offset, 0, 3);
  if (bytes != 0) __builtin_prefetch(at + bytes - 1, 0, 3);
}
#endif

struct rows {
  std::uint64_t size() const noexcept { return count; }
  const char* at(std::uint64_t i) const noexcept { return data + i * bytes; }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
#ifdef PITFALL
    only_prefetch(data + i * bytes, bytes);
#else
    wick::ext::prefetch_bytes(data + i * bytes, bytes, most);
#endif
  }
  const char* data;
  std::size_t bytes;
  std::uint64_t count;
};

/// As a loader does it: some way ahead of what is read.
[[gnu::noinline]] std::uint64_t sum(const rows& from) {
  std::uint64_t all = 0;
  for (std::uint64_t i = 0; i < from.size(); ++i) {
    if (i + 2 < from.size()) wick::detail::prefetch_sample(from, i + 2, 512);
    for (std::size_t k = 0; k < from.bytes; ++k) all += static_cast<unsigned char>(from.at(i)[k]);
  }
  return all;
}

int main() {
  static char data[64 * 100];
  for (std::size_t i = 0; i < sizeof data; ++i) data[i] = static_cast<char>(i % 3);
  pitfall::expect(sum(rows{data, 100, 64}) == 6399, "prefetching changes nothing");
  return pitfall::result();
}

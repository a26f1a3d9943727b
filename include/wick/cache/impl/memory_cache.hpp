/// \file
/// The bodies of what cache/detail/memory_cache.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

#include <wick/async/detail/owned.hpp>
#include <wick/cache/detail/memory_cache.hpp>

namespace wick::inline v0_1::detail {

memory_cache::memory_cache(std::uint64_t samples, std::size_t most)
    : samples_(samples),
      most_(most != 0 ? most : memory_of_process() / 4),
      chunks_(static_cast<std::size_t>(samples / chunk_size + 1)),
      used_((samples / chunk_size + 1) * sizeof(void*)) {}

memory_cache::~memory_cache() {
  for (std::size_t i = 0; i <= samples_ / chunk_size; ++i) {
    const owned<chunk> gone(chunks_[i].load(std::memory_order_acquire));
    if (!gone) continue;
    for (const std::atomic<const entry*>& one : gone->at) delete one.load(std::memory_order_relaxed);
  }
}

bool memory_cache::take(std::size_t bytes) noexcept {
  std::size_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > most_ || used > most_ - bytes) {
      full_.store(true, std::memory_order_relaxed);
      return false;
    }
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

void memory_cache::add(std::uint64_t index, owned<entry> sample, std::size_t bytes) {
  if (index >= samples_) return give_back(bytes);  // the source has grown since
  std::atomic<chunk*>& place = chunks_[index / chunk_size];
  chunk* in = place.load(std::memory_order_acquire);
  if (in == nullptr) {
    auto made = make_owned<chunk>();
    if (!take(sizeof(chunk))) return give_back(bytes);
    if (place.compare_exchange_strong(in, made.get(), std::memory_order_acq_rel))
      in = made.release();
    else  // another thread's is there
      give_back(sizeof(chunk));
  }
  const entry* none = nullptr;
  if (!in->at[index % chunk_size].compare_exchange_strong(none, sample.get(), std::memory_order_acq_rel))
    return give_back(bytes);
  static_cast<void>(sample.release());
  kept_.fetch_add(1, std::memory_order_relaxed);
}

std::string memory_cache::note() const {
  std::uint64_t hits = 0, misses = 0;
  for (const counters& c : counters_) {
    hits += c.hits.load(std::memory_order_relaxed);
    misses += c.misses.load(std::memory_order_relaxed);
  }
  const std::uint64_t asked = hits + misses;
  if (asked == 0) return {};
  const std::uint64_t kept = kept_.load(std::memory_order_relaxed);
  char text[256];
  std::snprintf(
      text, sizeof text,
      "cache_in_memory keeps %llu of %llu samples in %.1f of %.1f MB; %.0f %% of %llu samples came "
      "from it, and the stages before it ran for the others",
      static_cast<unsigned long long>(kept), static_cast<unsigned long long>(samples_),
      static_cast<double>(used_.load(std::memory_order_relaxed)) / 1e6, static_cast<double>(most_) / 1e6,
      100.0 * static_cast<double>(hits) / static_cast<double>(asked), static_cast<unsigned long long>(asked));
  std::string out = text;
  if (full_.load(std::memory_order_relaxed))
    out += "; it is full: give it more .bytes, or cache smaller samples";
  return out;
}

std::size_t memory_of_process() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  std::size_t all = pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page)
                                          : std::size_t{1} << 32;
  for (const char* const file :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream in(file);
    std::uint64_t limit = 0;
    if (in >> limit) all = static_cast<std::size_t>(std::min<std::uint64_t>(all, limit));
  }
  return all;
}

}  // namespace wick::detail

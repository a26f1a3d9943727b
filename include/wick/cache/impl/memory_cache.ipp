// Implements cache/detail/memory_cache.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstdio>

#include <wick/base/detail/cpus.hpp>
#include <wick/base/detail/launch.hpp>
#include <wick/cache/detail/memory_cache.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// Bytes in all caches of this process without a bound of their own.
std::atomic<std::size_t>& in_default_caches() noexcept {
  static constinit std::atomic<std::size_t> bytes{0};
  return bytes;
}

bool take_from(std::atomic<std::size_t>& used, std::size_t bytes, std::size_t most) noexcept {
  std::size_t now = used.load(std::memory_order_relaxed);
  do {
    if (bytes > most || now > most - bytes) return false;
  } while (!used.compare_exchange_weak(now, now + bytes, std::memory_order_relaxed));
  return true;
}

}  // namespace

memory_cache::memory_cache(std::uint64_t samples, std::optional<std::size_t> most)
    : samples_(samples),
      by_default_(!most),
      most_(most ? *most : static_cast<std::size_t>(default_cache_memory())),
      chunks_(static_cast<std::size_t>(samples / chunk_size + 1)),
      used_((samples / chunk_size + 1) * sizeof(void*)) {
  if (by_default_) in_default_caches().fetch_add(used_, std::memory_order_relaxed);
}

memory_cache::~memory_cache() {
  if (by_default_) in_default_caches().fetch_sub(used_, std::memory_order_relaxed);
  for (std::size_t i = 0; i <= samples_ / chunk_size; ++i) {
    const owned<chunk> gone(chunks_[i].load(std::memory_order_acquire));
    if (!gone) continue;
    for (const std::atomic<const entry*>& one : gone->at) delete one.load(std::memory_order_relaxed);
  }
}

bool memory_cache::take(std::size_t bytes) noexcept {
  if (take_from(used_, bytes, most_)) {
    if (!by_default_ || take_from(in_default_caches(), bytes, most_)) return true;
    used_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  const std::atomic<std::size_t>& used = by_default_ ? in_default_caches() : used_;
  full_at_.store(std::max<std::size_t>(used.load(std::memory_order_relaxed), 1), std::memory_order_relaxed);
  return false;
}

bool memory_cache::reserve(std::size_t bytes) noexcept {
  if (const std::size_t full_at = full_at_.load(std::memory_order_relaxed); full_at != 0) {
    const bool shares = by_default_ && in_default_caches().load(std::memory_order_relaxed) + bytes <= full_at;
    if (!shares) return false;
    full_at_.store(0, std::memory_order_relaxed);
  }
  return take(bytes);
}

void memory_cache::give_back(std::size_t bytes) noexcept {
  used_.fetch_sub(bytes, std::memory_order_relaxed);
  if (by_default_) in_default_caches().fetch_sub(bytes, std::memory_order_relaxed);
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
    else  // another thread was first
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
  if (full_at_.load(std::memory_order_relaxed) != 0)
    out += "; it is full: give it more .bytes, or cache smaller samples";
  return out;
}

std::uint64_t default_cache_memory() { return available_memory() / 4 / local_ranks(); }

}  // namespace wick::detail

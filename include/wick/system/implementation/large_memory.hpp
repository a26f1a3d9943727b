/// \file
/// The bodies of what system/detail/large_memory.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

#include <wick/system/detail/large_memory.hpp>

#if defined(__linux__)
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace wick::detail {

namespace {

/// What stays where no loader allows more.
constexpr std::size_t always_allowed = std::size_t{32} << 20;
/// Addresses are taken from the system in such pieces, without memory behind them.
constexpr std::size_t chunk_bytes = std::size_t{1} << 30;
/// Before a block: which extent it is.
constexpr std::size_t large_header = 64;

}  // namespace

/// A run of pages. The free ones next to each other are of different kinds.
struct large_memory::extent {
  enum kinds : std::uint8_t { used, kept, empty };
  std::byte* at = nullptr;
  std::size_t pages = 0;
  kinds kind = used;
  extent *below = nullptr, *above = nullptr;    // neighbors in memory
  extent *previous = nullptr, *next = nullptr;  // in a bin
};

struct large_memory::extent_group {
  std::array<extent, 63> all;
  extent_group* next = nullptr;
};

struct large_memory::chunk {
  std::byte* at;
  std::size_t bytes;
  chunk* next;
};

void large_memory::bins::add(extent* e) noexcept {
  const std::size_t b = of(e->pages);
  e->previous = nullptr;
  e->next = first_[b];
  if (e->next != nullptr) e->next->previous = e;
  first_[b] = e;
  has_[b / 64] |= std::uint64_t{1} << (b % 64);
}

void large_memory::bins::remove(extent* e) noexcept {
  const std::size_t b = of(e->pages);
  (e->previous != nullptr ? e->previous->next : first_[b]) = e->next;
  if (e->next != nullptr) e->next->previous = e->previous;
  if (first_[b] == nullptr) has_[b / 64] &= ~(std::uint64_t{1} << (b % 64));
}

large_memory::extent* large_memory::bins::at_least(std::size_t pages) const noexcept {
  constexpr int looks = 16;
  std::size_t b = of(pages);
  extent* best = nullptr;
  int looked = 0;
  for (extent* e = first_[b]; e != nullptr && looked < looks; e = e->next, ++looked) {
    if (e->pages >= pages && (best == nullptr || e->pages < best->pages)) best = e;
  }
  if (best != nullptr) return best;
  // All of the others are long enough.
  for (++b; b < count; b = (b / 64 + 1) * 64) {
    if (const std::uint64_t has = has_[b / 64] >> (b % 64); has != 0)
      return first_[b + static_cast<std::size_t>(std::countr_zero(has))];
  }
  return nullptr;
}

int large_memory::bins::below(int bin) const noexcept {
  while (--bin >= 0) {
    if (first_[static_cast<std::size_t>(bin)] != nullptr) return bin;
  }
  return -1;
}

large_memory::extent* large_memory::bins::longest() const noexcept {
  const int b = below(count);
  return b < 0 ? nullptr : first_[static_cast<std::size_t>(b)];
}

large_memory::large_memory() noexcept
#if defined(__linux__)
    : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)))
#else
    : page_(4096)
#endif
{
}

large_memory::~large_memory() {
#if defined(__linux__)
  for (chunk* c = chunks_; c != nullptr;) {
    chunk* const next = c->next;
    ::munmap(c->at, c->bytes);
    delete c;
    c = next;
  }
#endif
  for (extent_group* g = groups_; g != nullptr;) {
    extent_group* const next = g->next;
    delete g;
    g = next;
  }
}

large_memory& large_memory::shared() noexcept {
  static large_memory& all = []() -> large_memory& {
    alignas(large_memory) static std::byte place[sizeof(large_memory)];
    auto* const made = new (place) large_memory;
#if defined(__linux__)
    // A child must not find the mutex taken by a thread that it doesn't have.
    ::pthread_atfork([] { shared().mutex_.lock(); }, [] { shared().mutex_.unlock(); },
                     [] { shared().mutex_.unlock(); });
#endif
    return *made;
  }();
  return all;
}

large_memory::bins& large_memory::bins_of(const extent* e) noexcept {
  return e->kind == extent::kept ? kept_ : empty_;
}

large_memory::extent* large_memory::spare() noexcept {
  if (spares_ == nullptr) {
    auto* const more = new (std::nothrow) extent_group;
    if (more == nullptr) return nullptr;
    more->next = groups_;
    groups_ = more;
    for (extent& e : more->all) retire(&e);
  }
  extent* const e = spares_;
  spares_ = e->next;
  return new (e) extent;
}

void large_memory::retire(extent* e) noexcept {
  e->next = spares_;
  spares_ = e;
}

/// What is above the first `pages` becomes an extent of its own, of the same kind and in no bin. False: there
/// is no memory to write that down.
bool large_memory::cut(extent* e, std::size_t pages) noexcept {
  if (e->pages == pages) return false;
  extent* const rest = spare();
  if (rest == nullptr) return false;
  rest->at = e->at + pages * page_;
  rest->pages = e->pages - pages;
  rest->kind = e->kind;
  rest->below = e;
  rest->above = e->above;
  if (rest->above != nullptr) rest->above->below = rest;
  e->above = rest;
  e->pages = pages;
  return true;
}

/// The upper one must be in no bin.
void large_memory::join_above(extent* e) noexcept {
  extent* const gone = e->above;
  e->pages += gone->pages;
  e->above = gone->above;
  if (e->above != nullptr) e->above->below = e;
  retire(gone);
}

/// Makes a free one known, joined with those of its kind beside it.
void large_memory::put(extent* e) noexcept {
  bins& all = bins_of(e);
  if (extent* const b = e->below; b != nullptr && b->kind == e->kind) {
    all.remove(b);
    join_above(b);
    e = b;
  }
  if (extent* const a = e->above; a != nullptr && a->kind == e->kind) {
    all.remove(a);
    join_above(e);
  }
  all.add(e);
}

/// All of a free one, in no bin any more, or the first part of it.
large_memory::extent* large_memory::use(extent* e, std::size_t pages) noexcept {
  const bool rest = cut(e, pages);
  if (e->kind == extent::kept) kept_pages_ -= e->pages;
  e->kind = extent::used;
  if (rest) put(e->above);
  used_pages_ += e->pages;
  return e;
}

/// Pages that are resident first, then such with others beside them, then others.
large_memory::extent* large_memory::take(std::size_t pages) noexcept {
  if (extent* const e = kept_.at_least(pages)) {
    kept_.remove(e);
    return use(e, pages);
  }
  if (extent* const e = gather(pages)) return e;
  if (extent* const e = empty_.at_least(pages)) {
    empty_.remove(e);
    return use(e, pages);
  }
  extent* const e = reserve(pages);
  return e == nullptr ? nullptr : use(e, pages);
}

large_memory::extent* large_memory::gather(std::size_t pages) noexcept {
  int looks = 8;
  for (int b = kept_.below(bins::count); b >= 0 && looks > 0; b = kept_.below(b)) {
    for (extent* e = kept_.first_of(static_cast<std::size_t>(b)); e != nullptr && looks > 0; e = e->next) {
      if (e->pages < pages / 8) return nullptr;  // not worth it
      --looks;
      if (extent* const all = gather_around(e, pages)) return all;
    }
  }
  return nullptr;
}

large_memory::extent* large_memory::gather_around(extent* e, std::size_t pages) noexcept {
  extent *low = e, *high = e;
  std::size_t size = e->pages;
  bool upwards = true;
  while (size < pages && high->above != nullptr && high->above->kind != extent::used) {
    high = high->above;
    size += high->pages;
  }
  while (size < pages && low->below != nullptr && low->below->kind != extent::used) {
    low = low->below;
    size += low->pages;
    upwards = false;
  }
  if (size < pages) return nullptr;
  for (extent* x = low;; x = x->above) {
    bins_of(x).remove(x);
    if (x == high) break;
  }
  // The last one that came is needed in part.
  extent* rest = nullptr;
  if (upwards && cut(high, high->pages - (size - pages))) {
    rest = high->above;
  } else if (!upwards && cut(low, size - pages)) {
    rest = low;
    low = low->above;
  }
  if (rest != nullptr) size = pages;
  for (extent* x = low;; x = x->above) {
    if (x->kind == extent::kept) kept_pages_ -= x->pages;
    x->kind = extent::used;
    if (x == high) break;
  }
  while (low->pages < size) join_above(low);
  if (rest != nullptr) put(rest);
  used_pages_ += size;
  return low;
}

/// More addresses.
large_memory::extent* large_memory::reserve(std::size_t pages) noexcept {
#if defined(__linux__)
  extent* const e = spare();
  auto* const c = new (std::nothrow) chunk;
  if (e != nullptr && c != nullptr) {
    // A system that promises no more than it has may refuse the whole piece.
    for (std::size_t bytes : {std::max(chunk_bytes, pages * page_), pages * page_}) {
      void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at == MAP_FAILED) continue;
      ::madvise(at, bytes, MADV_NOHUGEPAGE);  // a page that was written makes no more resident than itself
      *c = {static_cast<std::byte*>(at), bytes, chunks_};
      chunks_ = c;
      e->at = c->at;
      e->pages = bytes / page_;
      e->kind = extent::empty;
      return e;
    }
  }
  if (e != nullptr) retire(e);
  delete c;
#else
  static_cast<void>(pages);
#endif
  return nullptr;
}

/// Something that is resident for nothing, and now in no bin; null: no more than is allowed.
large_memory::extent* large_memory::excess() noexcept {
  const std::size_t allowed = this->allowed() / page_, all = used_pages_ + kept_pages_;
  if (all <= allowed) return nullptr;
  extent* e = kept_.longest();
  if (e == nullptr) return nullptr;
  kept_.remove(e);
  if (const std::size_t over = all - allowed; e->pages > over && cut(e, e->pages - over)) {
    extent* const stays = e;
    e = e->above;
    e->kind = extent::used;
    put(stays);
  }
  e->kind = extent::used;  // by this thread, until its pages are gone
  kept_pages_ -= e->pages;
  return e;
}

void large_memory::give_back(std::unique_lock<std::mutex>& lock) noexcept {
  while (extent* gone = excess()) {
    gone->next = nullptr;
    while (extent* const more = excess()) {
      more->next = gone;
      gone = more;
    }
    lock.unlock();
#if defined(__linux__)
    for (const extent* e = gone; e != nullptr; e = e->next)
      ::madvise(e->at, e->pages * page_, MADV_DONTNEED);
#endif
    lock.lock();
    while (gone != nullptr) {
      extent* const e = gone;
      gone = e->next;
      e->kind = extent::empty;
      put(e);
    }
  }
}

void* large_memory::allocate(std::size_t bytes) noexcept {
  if (bytes > ~std::size_t{0} / 2) return nullptr;
  const std::size_t pages = (bytes + large_header + page_ - 1) / page_;
  std::unique_lock lock(mutex_);
  extent* const e = take(pages);
  if (e == nullptr) return nullptr;
  give_back(lock);
  lock.unlock();
  new (e->at) extent*(e);
  return e->at + large_header;
}

void large_memory::release(void* data) noexcept {
  if (data == nullptr) return;
  extent* const e = *reinterpret_cast<extent**>(static_cast<std::byte*>(data) - large_header);
  std::unique_lock lock(mutex_);
  used_pages_ -= e->pages;
  kept_pages_ += e->pages;
  e->kind = extent::kept;
  put(e);
  give_back(lock);
}

std::size_t large_memory::allowed() const noexcept { return std::max(allowed_, always_allowed); }

void large_memory::allow(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  allowed_ += bytes;
}

void large_memory::allow_no_more(std::size_t bytes) noexcept {
  std::unique_lock lock(mutex_);
  allowed_ -= bytes;
  give_back(lock);
}

large_memory::figures large_memory::now() const noexcept {
  std::lock_guard lock(mutex_);
  return {used_pages_ * page_, kept_pages_ * page_, allowed()};
}

void* allocate_bytes(std::size_t bytes) noexcept {
  if (bytes < least_large_bytes) return std::malloc(bytes);
  if (has_large_memory) return large_memory::shared().allocate(bytes);
  if (bytes > ~std::size_t{0} / 2) return nullptr;
  return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
}

void release_bytes(void* data, std::size_t bytes) noexcept {
  if (has_large_memory && bytes >= least_large_bytes)
    large_memory::shared().release(data);
  else
    std::free(data);
}

}  // namespace wick::detail

/// \file
/// The bodies of what read/detail/known_places.hpp declares. Included in exactly one file of a program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include <wick/read/detail/known_places.hpp>
#include <wick/sample/fingerprint.hpp>

namespace wick::detail {

std::uint64_t growing_map::find(std::uint64_t key) const noexcept {
  for (std::size_t l = 0; l < levels; ++l) {
    const entry* const table = tables_[l].load(std::memory_order_acquire);
    if (table == nullptr) return 0;
    for (std::size_t p = 0; p < probes; ++p) {
      const entry& e = table[place(key, l, p)];
      const std::uint64_t there = e.key.load(std::memory_order_acquire);
      if (there == key) return e.value.load(std::memory_order_relaxed);
      if (there == 0) return 0;
    }
  }
  return 0;
}

void growing_map::note(std::uint64_t key, std::uint64_t value) noexcept {
  for (std::size_t l = 0; l < levels; ++l) {
    entry* table = tables_[l].load(std::memory_order_acquire);
    if (table == nullptr) {
      entry* const mine = new (std::nothrow) entry[slots(l)];
      if (mine == nullptr) return;
      if (tables_[l].compare_exchange_strong(table, mine, std::memory_order_acq_rel))
        table = mine;
      else
        delete[] mine;
    }
    for (std::size_t p = 0; p < probes; ++p) {
      entry& e = table[place(key, l, p)];
      std::uint64_t there = e.key.load(std::memory_order_acquire);
      if (there == 0 && e.key.compare_exchange_strong(there, key, std::memory_order_acq_rel)) there = key;
      if (there != key) continue;
      e.value.store(value, std::memory_order_relaxed);
      return;
    }
  }
}

std::size_t growing_map::blocks() const noexcept {
  std::size_t n = 0;
  for (const auto& t : tables_) n += t.load(std::memory_order_relaxed) != nullptr;
  return n;
}

std::size_t growing_map::place(std::uint64_t key, std::size_t level, std::size_t probe) noexcept {
  return (static_cast<std::size_t>(key >> 8) + probe) & (slots(level) - 1);
}

known_places& known_places::all() noexcept {
  static constinit known_places places;
  return places;
}

std::uint64_t known_places::folder_of(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  fingerprint_hash h;
  return h.add(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash + 1)).value() | 1;
}

known_places::place known_places::find(std::uint64_t folder) const noexcept {
  const std::uint64_t value = folders_.find(folder);
  return value < 2 ? place{static_cast<kind>(value), 0} : place{local, value - 2};
}

}  // namespace wick::detail

// This process's knowledge of folders and devices, for workers, which must not block to find out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include <wick/ext/fingerprint.hpp>

namespace wick::inline v0_1::detail {

/// A map of 64 bits to 64 bits that only grows. Any thread may use it, at any time. It neither locks nor
/// moves an entry, so a forked child can use it. It never frees memory, so the last thread of a process can
/// use it, too. An entry for which there is no room or memory is dropped.
class growing_map {
 public:
  /// 0 if the key isn't in the map.
  std::uint64_t find(std::uint64_t key) const noexcept {
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
  /// `key` must not be 0.
  void note(std::uint64_t key, std::uint64_t value) noexcept {
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

  /// The number of memory blocks allocated.
  std::size_t blocks() const noexcept {
    std::size_t n = 0;
    for (const auto& t : tables_) n += t.load(std::memory_order_relaxed) != nullptr;
    return n;
  }

 private:
  struct entry {
    std::atomic<std::uint64_t> key{0}, value{0};
  };
  static constexpr std::size_t levels = 7, probes = 4;  // 256 entries, and four times as many a level
  static constexpr std::size_t slots(std::size_t level) noexcept { return std::size_t{256} << (2 * level); }
  static std::size_t place(std::uint64_t key, std::size_t level, std::size_t probe) noexcept {
    return (static_cast<std::size_t>(key >> 8) + probe) & (slots(level) - 1);
  }

  std::atomic<entry*> tables_[levels] = {};
};

/// Which folders and devices are on a local file system, and which devices can't tell what is in the page
/// cache. Found out by threads that may block, at the first file of a folder. A folder that isn't known,
/// because it is new or there are too many, may be on a known device.
class known_folders {
 public:
  static known_folders& all() noexcept {
    static constinit known_folders places;
    return places;
  }

  static std::uint64_t folder_of(std::string_view path) noexcept {
    const std::size_t slash = path.rfind('/');
    fingerprint_hash h;
    return h.add(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash + 1)).value() |
           1;
  }

  enum kind : unsigned char { unknown, remote, local };
  struct place {
    kind what = unknown;
    std::uint64_t device = 0;  ///< the device of a local folder's files
  };
  place find(std::uint64_t folder) const noexcept {
    const std::uint64_t value = folders_.find(folder);
    return value < 2 ? place{static_cast<kind>(value), 0} : place{local, value - 2};
  }
  void note_local(std::uint64_t folder, std::uint64_t device) noexcept {
    folders_.note(folder, device + 2);
    if (!is_local_device(device)) devices_.note(device + 1, 1);
  }
  bool is_local_device(std::uint64_t device) const noexcept { return devices_.find(device + 1) != 0; }
  void note_remote(std::uint64_t folder) noexcept { folders_.note(folder, remote); }
  void forget(std::uint64_t folder) noexcept { folders_.note(folder, unknown); }

  bool tells_what_is_cached(std::uint64_t device) const noexcept { return silent_.find(device + 1) == 0; }
  void note_silent(std::uint64_t device) noexcept { silent_.note(device + 1, 1); }

  /// The number of memory blocks, which stay until the process ends.
  std::size_t blocks() const noexcept { return folders_.blocks() + devices_.blocks() + silent_.blocks(); }

 private:
  growing_map folders_, devices_, silent_;
};

}  // namespace wick::detail

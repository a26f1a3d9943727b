/// \file
/// Samples that are known to take much longer than the others, by earlier epochs or by their lengths.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <wick/sample/sample.hpp>
#include <wick/sample/source.hpp>

namespace wick::detail {

/// How long a sample is, in the source's own unit; 0: it does not say.
template <class Source>
std::uint64_t known_length(const Source& from, std::uint64_t i) {
  using item = item_of<Source>;
  const auto bytes_of = [](const auto& data) -> std::uint64_t {
    using data_type = std::remove_cvref_t<decltype(data)>;
    if constexpr (requires { bytes_to_read<data_type>::of(data); })
      return bytes_to_read<data_type>::of(data);
    else
      return 0;
  };
  if constexpr (says_length<Source>)
    return static_cast<std::uint64_t>(from.length(i));
  else if constexpr (is_sample<item>)
    return bytes_of(from.at(i).data);
  else
    return bytes_of(from.at(i));
}
template <class T>
concept says_bytes = requires(const T& data) { bytes_to_read<T>::of(data); };
template <class T>
inline constexpr bool item_says_bytes = says_bytes<T>;
template <class D, class T>
inline constexpr bool item_says_bytes<sample<D, T>> = says_bytes<D>;
template <class Source>
inline constexpr bool knows_lengths = says_length<Source> || item_says_bytes<item_of<Source>>;

/// In ticks: what is no longer is not slow, some 5 ms, more than a thread is without a processor; and where
/// samples take less than this, nobody asks which are.
struct slow_bounds {
  std::uint64_t least = 12'000'000, worth_asking = 10'000;
};

/// Indexes of samples that took long when they were made last. Any thread, without a lock: a table of fixed
/// size in which an index stays where it was put. When it is half full no more are added: so many are no
/// exceptions.
class slow_samples {
 public:
  static inline slow_bounds bounds;  // of all; for tests to change while there is no loader

  slow_samples() noexcept = default;
  slow_samples(const slow_samples&) = delete;
  slow_samples& operator=(const slow_samples&) = delete;
  ~slow_samples() { delete[] table_.load(std::memory_order_relaxed); }

  /// Looks at the lengths of some samples. No worker is here. \throws what the source does
  template <class Source>
  void look_at(const Source& from) {
    longer_than_ = 0;  // as long as the source does not say
    if constexpr (knows_lengths<Source>) {
      constexpr std::uint64_t most = 256;
      const std::uint64_t size = from.size(), n = std::min(size, most);
      std::uint64_t lengths[most];
      for (std::uint64_t i = 0; i < n; ++i) lengths[i] = known_length(from, spread(i, n, size));
      set_lengths(lengths, static_cast<std::size_t>(n));
    }
  }
  /// What was known of the samples is no longer so.
  void forget_all() noexcept {
    std::atomic<std::uint64_t>* const table = table_.load(std::memory_order_relaxed);
    if (table == nullptr) return;
    for (std::size_t i = 0; i < places; ++i) table[i].store(0, std::memory_order_relaxed);
    count_.store(0, std::memory_order_relaxed);
  }

  /// A sample took so many ticks. Two threads that learn at once may lose what one of them said. `early`: it
  /// was begun before its turn, since it was thought to be slow.
  void learn(std::uint64_t index, std::uint64_t ticks, bool early = false) noexcept {
    const std::uint64_t typical = typical_.load(std::memory_order_relaxed);
    if (typical == 0) return typical_.store(ticks + 1, std::memory_order_relaxed);
    const std::uint64_t next = (15 * typical + std::min(ticks, times * typical)) / 16;
    if (next != typical) typical_.store(std::max<std::uint64_t>(next, 1), std::memory_order_relaxed);
    if (ticks > bounds.least && ticks / times > typical)
      put(index, true);
    else if (early && (ticks < bounds.least / 2 || ticks / (times / 2) < typical))
      put(index, false);
  }

  /// Whether any may be. Not where samples are so short that asking for each would cost something.
  bool any() const noexcept {
    const std::uint64_t typical = typical_.load(std::memory_order_relaxed);
    if (typical != 0 && typical < bounds.worth_asking) return false;
    return longer_than_ != 0 || count_.load(std::memory_order_relaxed) != 0;
  }
  /// Whether this one is: it took long when it was made last, or it is much longer than the others.
  template <class Source>
  bool has(const Source& from, std::uint64_t index) const {
    const std::uint64_t known = find(index);
    if (known != 0) return (known & slow_bit) != 0;
    if constexpr (knows_lengths<Source>) {
      if (longer_than_ == 0) return false;
      const std::uint64_t length = known_length(from, index);
      if (length <= longer_than_) return false;
      const std::uint64_t typical = typical_.load(std::memory_order_relaxed);
      return typical == 0 || length / median_ > bounds.least / typical;  // if time goes by length
    }
    return false;
  }

 private:
  static constexpr std::uint64_t times = 8;
  static constexpr std::size_t places = 1 << 16;
  static constexpr std::uint64_t slow_bit = 1;

  /// Number i of n that are spread over `size`.
  static std::uint64_t spread(std::uint64_t i, std::uint64_t n, std::uint64_t size) noexcept {
    return i * (size / n) + i * (size % n) / n;
  }
  /// Much longer than the median is long. Where many are, length says little.
  void set_lengths(std::uint64_t* lengths, std::size_t n) noexcept {
    std::sort(lengths, lengths + n);
    if (n < 8 || lengths[n / 2] == 0) return;
    median_ = lengths[n / 2];
    longer_than_ =
        median_ > ~std::uint64_t{0} / times ? 0 : std::max(times * median_, lengths[n - 1 - n / 8]);
  }

  static std::size_t place_of(std::uint64_t index) noexcept {
    return static_cast<std::size_t>((index * 0x9E3779B97F4A7C15) >> 48) % places;
  }
  /// An index and whether it is slow; never 0.
  static std::uint64_t entry(std::uint64_t index, bool slow) noexcept {
    return (index + 1) << 1 | (slow ? slow_bit : 0);
  }
  std::uint64_t find(std::uint64_t index) const noexcept {
    const std::atomic<std::uint64_t>* const table = table_.load(std::memory_order_acquire);
    if (table == nullptr) return 0;
    for (std::size_t i = place_of(index);; i = (i + 1) % places) {
      const std::uint64_t there = table[i].load(std::memory_order_relaxed);
      if (there == 0 || there >> 1 == index + 1) return there;
    }
  }
  [[gnu::noinline]] void put(std::uint64_t index, bool slow) noexcept {
    std::atomic<std::uint64_t>* table = table_.load(std::memory_order_acquire);
    if (table == nullptr) {
      table = new (std::nothrow) std::atomic<std::uint64_t>[places]();
      if (table == nullptr) return;
      std::atomic<std::uint64_t>* other = nullptr;
      if (!table_.compare_exchange_strong(other, table, std::memory_order_acq_rel)) {
        delete[] table;
        table = other;
      }
    }
    for (std::size_t i = place_of(index);; i = (i + 1) % places) {
      std::uint64_t there = table[i].load(std::memory_order_relaxed);
      if (there == 0) {
        if (count_.load(std::memory_order_relaxed) >= places / 2) return;
        if (table[i].compare_exchange_strong(there, entry(index, slow), std::memory_order_relaxed)) {
          count_.fetch_add(1, std::memory_order_relaxed);
          return;
        }
      }
      if (there >> 1 == index + 1) return table[i].store(entry(index, slow), std::memory_order_relaxed);
    }
  }

  std::uint64_t median_ = 0, longer_than_ = 0;  // 0: lengths say nothing
  std::atomic<std::uint64_t> typical_{0};       // ticks of a sample, slow ones aside; 0: unknown
  std::atomic<std::atomic<std::uint64_t>*> table_{nullptr};
  std::atomic<std::size_t> count_{0};
};

}  // namespace wick::detail

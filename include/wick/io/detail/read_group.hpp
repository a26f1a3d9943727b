// Small reads of several samples, made together: one call for neighbors, and one check of each file.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include <wick/ext/file_range.hpp>
#include <wick/io/detail/object_store.hpp>

namespace wick::inline v0_1::detail {

/// For workers: reads from the page cache, and never waits. It takes parts of files that their source has
/// opened and indexed.
class read_group {
 public:
  static constexpr std::size_t most_samples = 32, most_parts = 64;
  static constexpr std::uint64_t most_bytes = std::uint64_t{64} << 10;

  /// What is known of a sample after read().
  enum class state : unsigned char {
    left_out,  ///< it wasn't read: it is too large, its files aren't open, or the caller left it out
    missing,   ///< its bytes aren't in the page cache, or the file isn't as it was indexed
    there,     ///< its parts have their bytes
  };

  read_group() noexcept {}  // NOLINT: parts_ is filled by add()
  read_group(const read_group&) = delete;
  read_group& operator=(const read_group&) = delete;
  ~read_group() { clear(); }

  /// Forgets all samples. `most`: the bytes that the next ones may have together, up to most_bytes.
  void clear(std::uint64_t most = most_bytes) noexcept;
  /// The parts that are added from now on are those of the next sample.
  void begin() noexcept;
  /// `max_bytes`: the most that the sample may have.
  void add(const file_range& where, std::uint64_t max_bytes) noexcept;
  /// Leaves the sample out that was begun last.
  void leave_out() noexcept;
  /// Leaves all of them out.
  void leave_all_out() noexcept;

  /// Whether all samples are left out.
  bool empty() const noexcept;
  std::uint64_t bytes() const noexcept { return bytes_; }
  void read() noexcept;

  state of(std::size_t sample) const noexcept {
    return sample < samples_ ? all_[sample].is : state::left_out;
  }
  std::span<range_part> parts(std::size_t sample) noexcept {
    return {parts_.data() + all_[sample].first, all_[sample].count};
  }

 private:
  struct one {
    std::uint8_t first, count;  // parts
    state is;
    std::uint64_t bytes;
  };
  std::size_t read_neighbors(std::size_t first) noexcept;
  void check_files() noexcept;

  std::size_t samples_ = 0, used_ = 0;  // used_: parts
  std::uint64_t bytes_ = 0, most_ = most_bytes;
  const file_stamp* last_ = nullptr;  // of the file whose part was added last
  std::bitset<most_parts> missing_;
  std::array<one, most_samples> all_;
  union {
    std::array<range_part, most_parts> parts_;  // the first used_ exist
  };
};

}  // namespace wick::detail

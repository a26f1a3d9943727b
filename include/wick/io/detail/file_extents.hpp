// The samples' locations in one file: an offset and a length each, in about two bytes per line of text, and
// four per record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wick::inline v0_1::detail {

/// Extents in a file, in order. Each is encoded as its length (LEB128), and its distance from the previous
/// extent unless that is one byte, like a line break. The offset of one extent in 32 is stored; at()
/// walks from there.
class file_extents {
 public:
  struct extent {
    std::uint64_t offset, length;
  };

  /// An extent must not begin before the previous one's end.
  void add(extent next);
  /// Call it once all are added.
  void shrink();

  std::uint64_t size() const noexcept { return size_; }
  extent at(std::uint64_t i) const noexcept {
    const mark& from = marks_[i / per_mark];
    const std::uint8_t* p = code_.data() + from.at;
    std::uint64_t end = from.end;
    for (std::uint64_t more = i % per_mark;; --more) {
      const std::uint64_t number = take(p), gap = (number & 1) != 0 ? take(p) : 1;
      if (more == 0) return {end + gap, number >> 1};
      end += gap + (number >> 1);
    }
  }

  /// The encoded extents: 1 to 20 bytes each.
  std::span<const std::uint8_t> code() const noexcept { return {code_.data(), code_.size()}; }
  /// Decodes extents. False, and nothing is changed, if `code` isn't the code of `size` extents within a file
  /// of `file_size` bytes.
  bool decode(std::span<const std::uint8_t> code, std::uint64_t size, std::uint64_t file_size);

 private:
  static constexpr std::uint64_t per_mark = 32;
  struct mark {
    std::uint64_t end;  // of the previous extent
    std::uint64_t at;   // in the code
  };

  static std::uint64_t take(const std::uint8_t*& p) noexcept {
    std::uint64_t value = *p & 0x7F;
    for (unsigned shift = 7; (*p++ & 0x80) != 0; shift += 7) value |= std::uint64_t{*p & 0x7Fu} << shift;
    return value;
  }
  void put(std::uint64_t value);

  std::uint64_t size_ = 0, end_ = 0;
  std::vector<std::uint8_t> code_;
  std::vector<mark> marks_;
};

}  // namespace wick::detail

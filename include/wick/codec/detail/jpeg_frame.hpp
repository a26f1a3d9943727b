// The headers of a JPEG that wick decodes itself: its sizes, its tables, and the start of its only scan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <wick/codec/detail/byte_order.hpp>
#include <wick/codec/detail/jpeg_colors.hpp>
#include <wick/codec/detail/jpeg_header.hpp>
#include <wick/codec/detail/jpeg_huffman.hpp>

namespace wick::inline v0_1::detail {

/// A baseline JPEG of 8 bits, gray or YCbCr in one scan, with chroma at full or half resolution horizontally,
/// vertically, or both: what cameras and encoders write by default.
struct jpeg_frame {
  struct huffman_table {
    const std::uint8_t* counts = nullptr;  ///< the number of codes of each length, 1 to 16; null: no table
    const std::uint8_t* values = nullptr;
  };
  struct component {
    std::uint8_t id = 0;
    unsigned table = 0;  ///< the quantization table
    huffman_table dc = {}, ac = {};
  };
  using quantization = std::array<std::int16_t, 64>;  ///< in natural order, truncated to 16 bits

  std::uint32_t width = 0, height = 0;
  std::size_t components = 0;          ///< 1 or 3
  std::uint32_t across = 1, down = 1;  ///< luma blocks in an MCU for each chroma block
  std::array<component, 3> component_of{};
  std::array<quantization, 4> tables{};
  unsigned restart_interval = 0;       ///< in MCUs; 0: no restart markers
  std::span<const std::uint8_t> scan;  ///< everything after the scan's header

  /// Reads everything before the scan. Empty when the file is of another kind, or doesn't conform to the
  /// standard. The result refers to the file.
  static std::optional<jpeg_frame> read(std::span<const std::byte> encoded) noexcept;
};

/// Reads the marker segments before a scan.
class jpeg_frame_reader {
 public:
  explicit jpeg_frame_reader(std::span<const std::byte> encoded) noexcept : data_(encoded) {}

  std::optional<jpeg_frame> read() noexcept {
    jpeg_markers markers(data_);
    if (markers.next() != 0xD8) return {};
    for (;;) {
      const unsigned marker = markers.next();
      if (!is_known(marker) || big16(data_, markers.payload() - 2) < 2) return {};
      const std::size_t at = markers.payload(), size = markers.payload_size();
      if (marker != jpeg_markers::start_of_scan) {
        if (!segment(marker, at, size)) return {};
        continue;
      }
      if (!scan(at, size)) return {};
      return frame_;
    }
  }

 private:
  /// A baseline frame, tables, a restart interval, a scan, application data, or a comment.
  static bool is_known(unsigned marker) noexcept {
    return marker == 0xC0 || marker == 0xC1 || marker == 0xC4 ||
           (marker >= 0xDA && marker <= 0xDD && marker != 0xDC) || (marker >= 0xE0 && marker <= 0xEF) ||
           marker == 0xFE;
  }
  std::uint8_t byte(std::size_t at) const noexcept { return static_cast<std::uint8_t>(byte_at(data_, at)); }
  const std::uint8_t* pointer(std::size_t at) const noexcept {
    return reinterpret_cast<const std::uint8_t*>(data_.data()) + at;
  }

  bool segment(unsigned marker, std::size_t at, std::size_t size) noexcept {
    if (marker == 0xC0 || marker == 0xC1) return frame(at, size);
    if (marker == 0xC4) return huffman_tables(at, size);
    if (marker == 0xDB) return quantization_tables(at, size);
    if (marker == 0xDD) {
      frame_.restart_interval = big16(data_, at);
      return size == 2;
    }
    colors_.see(data_, marker, at, size);
    return true;
  }
  bool frame(std::size_t at, std::size_t size) noexcept {
    if (frame_.components != 0 || size < 6) return false;
    frame_.height = big16(data_, at + 1);
    frame_.width = big16(data_, at + 3);
    frame_.components = byte(at + 5);
    if (byte(at) != 8 || frame_.width == 0 || frame_.height == 0) return false;
    if (frame_.components != 1 && frame_.components != 3) return false;
    if (size != 6 + 3 * frame_.components) return false;
    for (std::size_t c = 0; c < frame_.components; ++c) {
      const std::size_t k = at + 6 + 3 * c;
      const unsigned across = byte(k + 1) >> 4, down = byte(k + 1) & 15u, most = c == 0 ? 2 : 1;
      frame_.component_of[c].id = byte(k);
      frame_.component_of[c].table = byte(k + 2);
      if (byte(k + 2) > 3 || across == 0 || down == 0) return false;
      if (frame_.components == 1) {  // in a scan with one component, blocks aren't interleaved
        if (across > 4 || down > 4) return false;
        continue;
      }
      if (across > most || down > most) return false;
      if (c == 0) frame_.across = across, frame_.down = down;
    }
    return true;
  }
  bool huffman_tables(std::size_t at, std::size_t size) noexcept {
    for (const std::size_t end = at + size; at < end;) {
      if (end - at < 17) return false;
      const unsigned name = byte(at), kind = name >> 4, number = name & 15u;
      std::size_t codes = 0;
      for (std::size_t i = 1; i <= 16; ++i) codes += byte(at + i);
      if (kind > 1 || number > 3 || codes > 256 || codes > end - at - 17) return false;
      huffman_[kind][number] = {pointer(at + 1), pointer(at + 17)};
      at += 17 + codes;
    }
    return true;
  }
  bool quantization_tables(std::size_t at, std::size_t size) noexcept {
    for (const std::size_t end = at + size; at < end;) {
      const unsigned name = byte(at), wide = name >> 4, number = name & 15u;
      const std::size_t length = 1 + std::size_t{64} * (1 + wide);
      if (wide > 1 || number > 3 || end - at < length) return false;
      for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t v = wide == 1 ? big16(data_, at + 1 + 2 * i) : byte(at + 1 + i);
        frame_.tables[number][jpeg_huffman::natural_order[i]] = static_cast<std::int16_t>(v);
      }
      has_table_[number] = true;
      at += length;
    }
    return true;
  }
  bool scan(std::size_t at, std::size_t size) noexcept {
    const std::size_t n = frame_.components;
    if (n == 0 || size != 4 + 2 * n || byte(at) != n) return false;
    for (std::size_t c = 0; c < n; ++c) {
      jpeg_frame::component& of = frame_.component_of[c];
      const unsigned tables = byte(at + 2 + 2 * c), dc = tables >> 4, ac = tables & 15u;
      if (byte(at + 1 + 2 * c) != of.id || dc > 3 || ac > 3 || !has_table_[of.table]) return false;
      of.dc = huffman_[0][dc];
      of.ac = huffman_[1][ac];
      if (of.dc.counts == nullptr || of.ac.counts == nullptr) return false;
    }
    const std::size_t more = at + 1 + 2 * n;
    if (byte(more) != 0 || byte(more + 1) != 63 || byte(more + 2) != 0) return false;
    frame_.scan = {pointer(more + 3), data_.size() - (more + 3)};
    const auto& of = frame_.component_of;
    return colors_.model(n, {of[0].id, of[1].id, of[2].id}) != jpeg_color_model::rgb;
  }

  std::span<const std::byte> data_;
  jpeg_frame frame_;
  std::array<std::array<jpeg_frame::huffman_table, 4>, 2> huffman_{};  // DC, AC
  std::array<bool, 4> has_table_{};
  jpeg_color_marks colors_;
};

inline std::optional<jpeg_frame> jpeg_frame::read(std::span<const std::byte> encoded) noexcept {
  return jpeg_frame_reader(encoded).read();
}

}  // namespace wick::detail

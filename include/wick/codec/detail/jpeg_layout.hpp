// Interprets a JPEG's color and table markers by libjpeg's rules, for stb_image, which has different rules
// and treats missing tables as zeros.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <wick/codec/detail/byte_order.hpp>
#include <wick/codec/detail/jpeg_colors.hpp>
#include <wick/codec/detail/jpeg_header.hpp>
#include <wick/codec/detail/signature.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1::detail {

/// The tables and scans of a JPEG, to check that stb_image finds everything that the scans refer to.
class jpeg_layout {
 public:
  /// Reads all markers. \throws wick::error for features that stb_image doesn't support, or decodes to
  /// different pixels
  explicit jpeg_layout(std::span<const std::byte> encoded) : data_(encoded) {
    jpeg_markers markers(encoded);
    for (unsigned marker = markers.next();
         marker != jpeg_markers::none && marker != jpeg_markers::end_of_image; marker = markers.next()) {
      if (in_scan_) end_scan(markers);
      const std::size_t at = markers.payload(), size = markers.payload_size();
      if (marker == 0xC0 || marker == 0xC1 || marker == 0xC2) frame(marker == 0xC2, at);
      if (marker == 0xC9 || marker == 0xCA) unsupported("arithmetic coding");
      if (marker == 0xC4) huffman_tables(at, size);
      if (marker == 0xDB) quantization_tables(at, size);
      if (marker == 0xDD) restart_interval_ = big16(data_, at);
      if (scans_ == 0) marks_.see(data_, marker, at, size);
      if (marker == jpeg_markers::start_of_scan) scan(at);
    }
    if (in_scan_) end_scan(markers);
    for (std::uint32_t c = 0; c < components_; ++c) {
      if (!component_[c].begun) damaged("no pixels of component " + std::to_string(c + 1));
    }
  }

  jpeg_color_model colors() const noexcept { return colors_; }
  /// The file omits Huffman tables, like Motion JPEG frames, and relies on the standard ones.
  bool wants_standard_tables() const noexcept { return wants_standard_tables_; }

 private:
  struct component {
    std::uint32_t id = 0, across = 1, down = 1, table = 0;
    bool begun = false;
  };

  [[noreturn]] static void unsupported(const std::string& what) {
    throw error("JPEG with " + what +
                ", which stb_image does not read; build wick with libjpeg-turbo, or convert it" +
                or_leave_it_out);
  }
  [[noreturn]] static void damaged(const std::string& what) {
    throw error("damaged JPEG: " + what + "; write the file again" + or_leave_it_out);
  }

  void frame(bool progressive, std::size_t at) {
    progressive_ = progressive;
    if (byte_at(data_, at) != 8) {
      unsupported(std::to_string(byte_at(data_, at)) + " bits a channel");
    }
    height_ = big16(data_, at + 1);
    width_ = big16(data_, at + 3);
    components_ = std::min(byte_at(data_, at + 5), 4u);
    if (components_ == 2) unsupported("2 components");
    for (std::uint32_t c = 0; c < components_; ++c) {
      const std::size_t k = at + 6 + std::size_t{3} * c;
      component_[c] = {byte_at(data_, k), std::max(1u, byte_at(data_, k + 1) >> 4),
                       std::max(1u, byte_at(data_, k + 1) & 15u), byte_at(data_, k + 2) & 3u, false};
    }
  }
  void huffman_tables(std::size_t at, std::size_t size) {
    for (const std::size_t end = at + size; at < end;) {
      const std::uint32_t name = byte_at(data_, at);
      huffman_[name >> 4 & 1] |= 1u << (name & 3);
      std::size_t codes = 0;
      for (std::size_t i = 1; i <= 16; ++i) codes += byte_at(data_, at + i);
      at += 17 + codes;
    }
  }
  void quantization_tables(std::size_t at, std::size_t size) {
    for (const std::size_t end = at + size; at < end;) {
      const std::uint32_t name = byte_at(data_, at) & 3u;
      const std::size_t length = byte_at(data_, at) >> 4 != 0 ? 129 : 65;
      if (end - at < length) return;  // stb_image reports it
      const std::span<const std::byte> now = data_.subspan(at, length);
      // libjpeg uses the table from the start of a component's first scan; stb_image uses the last one.
      if (progressive_ && !quantization_[name].empty() && begun(name) &&
          (now.size() != quantization_[name].size() ||
           std::memcmp(now.data(), quantization_[name].data(), length) != 0)) {
        unsupported("quantization tables that change between scans");
      }
      quantization_[name] = now;
      at += length;
    }
  }
  bool begun(std::uint32_t table) const noexcept {
    for (std::uint32_t c = 0; c < components_; ++c) {
      if (component_[c].table == table && component_[c].begun) return true;
    }
    return false;
  }

  void scan(std::size_t at) {
    if (scans_++ == 0)
      colors_ = marks_.model(components_, {component_[0].id, component_[1].id, component_[2].id});
    in_scan_ = true;
    const std::uint32_t count = byte_at(data_, at);
    const std::size_t more = at + 1 + std::size_t{2} * count;
    const bool first_bits = byte_at(data_, more + 2) >> 4 == 0, levels = byte_at(data_, more) == 0;
    std::uint64_t units = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t id = byte_at(data_, at + 1 + std::size_t{2} * i),
                          tables = byte_at(data_, at + 2 + std::size_t{2} * i);
      std::uint32_t c = 0;
      while (c < components_ && component_[c].id != id) ++c;
      if (c == components_)
        damaged("a scan of a component " + std::to_string(id) + ", which its header does not have");
      if (quantization_[component_[c].table].empty()) {
        damaged("no quantization table " + std::to_string(component_[c].table));
      }
      component_[c].begun = true;
      if (!progressive_ || (levels && first_bits)) want_table(0, tables >> 4);
      if (!progressive_ || !levels) want_table(1, tables & 15u);
      if (count == 1) units = blocks(component_[c]);
    }
    if (count != 1)
      units = std::uint64_t{ceiling(width_, 8 * greatest(&component::across))} *
              ceiling(height_, 8 * greatest(&component::down));
    restarts_ = restart_interval_ == 0 || units == 0 ? 0 : (units - 1) / restart_interval_;
  }
  void want_table(std::size_t kind, std::uint32_t name) {
    if (name < 4 && (huffman_[kind] >> name & 1) != 0) return;
    if (name > 1 || progressive_) damaged("no Huffman table " + std::to_string(name));
    wants_standard_tables_ = true;
  }
  void end_scan(const jpeg_markers& markers) {
    in_scan_ = false;
    if (markers.restarts() < restarts_) {
      damaged(std::to_string(markers.restarts()) + " restart markers where " + std::to_string(restarts_) +
              " should be, and stb_image can't continue after the first that is missing");
    }
  }

  std::uint32_t greatest(std::uint32_t component::*factor) const noexcept {
    std::uint32_t most = 1;
    for (std::uint32_t c = 0; c < components_; ++c) most = std::max(most, component_[c].*factor);
    return most;
  }
  static std::uint32_t ceiling(std::uint32_t a, std::uint32_t b) noexcept { return (a + b - 1) / b; }
  std::uint64_t blocks(const component& c) const noexcept {
    return std::uint64_t{ceiling(ceiling(width_ * c.across, greatest(&component::across)), 8)} *
           ceiling(ceiling(height_ * c.down, greatest(&component::down)), 8);
  }

  std::span<const std::byte> data_;
  std::array<component, 4> component_{};
  std::array<std::span<const std::byte>, 4> quantization_{};
  std::array<unsigned, 2> huffman_{};  // a bit for each DC and AC table
  std::uint32_t width_ = 0, height_ = 0, components_ = 0, restart_interval_ = 0;
  std::uint64_t restarts_ = 0;
  int scans_ = 0;
  bool progressive_ = false, in_scan_ = false, wants_standard_tables_ = false;
  jpeg_color_marks marks_;
  jpeg_color_model colors_ = jpeg_color_model::ycc;
};

/// ITU-T T.81, K.3 to K.6: table 0 for luma, table 1 for chroma, as a marker segment.
inline constexpr unsigned char standard_huffman_tables[] = {
    0xFF, 0xC4, 0x01, 0xA2, 0x00, 0x00, 0x01, 0x05, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x10,
    0x00, 0x02, 0x01, 0x03, 0x03, 0x02, 0x04, 0x03, 0x05, 0x05, 0x04, 0x04, 0x00, 0x00, 0x01, 0x7D, 0x01,
    0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71,
    0x14, 0x32, 0x81, 0x91, 0xA1, 0x08, 0x23, 0x42, 0xB1, 0xC1, 0x15, 0x52, 0xD1, 0xF0, 0x24, 0x33, 0x62,
    0x72, 0x82, 0x09, 0x0A, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2A, 0x34, 0x35,
    0x36, 0x37, 0x38, 0x39, 0x3A, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4A, 0x53, 0x54, 0x55, 0x56,
    0x57, 0x58, 0x59, 0x5A, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x73, 0x74, 0x75, 0x76, 0x77,
    0x78, 0x79, 0x7A, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97,
    0x98, 0x99, 0x9A, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6,
    0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xD2, 0xD3, 0xD4, 0xD5,
    0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xE1, 0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9, 0xEA, 0xF1, 0xF2,
    0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA, 0x01, 0x00, 0x03, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
    0x09, 0x0A, 0x0B, 0x11, 0x00, 0x02, 0x01, 0x02, 0x04, 0x04, 0x03, 0x04, 0x07, 0x05, 0x04, 0x04, 0x00,
    0x01, 0x02, 0x77, 0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07,
    0x61, 0x71, 0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xA1, 0xB1, 0xC1, 0x09, 0x23, 0x33, 0x52,
    0xF0, 0x15, 0x62, 0x72, 0xD1, 0x0A, 0x16, 0x24, 0x34, 0xE1, 0x25, 0xF1, 0x17, 0x18, 0x19, 0x1A, 0x26,
    0x27, 0x28, 0x29, 0x2A, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3A, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49,
    0x4A, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5A, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A,
    0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A,
    0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9A, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9,
    0xAA, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6, 0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8,
    0xC9, 0xCA, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7,
    0xE8, 0xE9, 0xEA, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA,
};

/// Inserts the standard tables before the file's own, which override them.
inline bytes with_standard_tables(std::span<const std::byte> encoded) {
  constexpr std::size_t more = sizeof standard_huffman_tables;
  bytes out(encoded.size() + more);
  std::memcpy(out.data(), encoded.data(), 2);
  std::memcpy(out.data() + 2, standard_huffman_tables, more);
  std::memcpy(out.data() + 2 + more, encoded.data() + 2, encoded.size() - 2);
  return out;
}

}  // namespace wick::detail

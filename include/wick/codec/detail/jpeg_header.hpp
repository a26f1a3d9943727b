// Reads a JPEG's frame header without decoding pixels, and checks that the file is complete.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <wick/codec/detail/byte_order.hpp>
#include <wick/codec/detail/signature.hpp>
#include <wick/ext/codec.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

/// Steps from marker to marker by segment length, and so skips a thumbnail inside an EXIF segment. ITU-T
/// T.81, annex B.
class jpeg_markers {
 public:
  static constexpr unsigned end_of_image = 0xD9, start_of_scan = 0xDA, none = 0;

  explicit jpeg_markers(std::span<const std::byte> encoded) noexcept : data_(encoded) {}

  /// The next marker, or `none` at the end of the file. Skips the last marker's data.
  unsigned next() noexcept {
    if (marker_ == start_of_scan) skip_scan();
    for (;;) {
      const void* const found =
          at_ < data_.size() ? std::memchr(data_.data() + at_, 0xFF, data_.size() - at_) : nullptr;
      if (found == nullptr) return stop();
      at_ = static_cast<std::size_t>(static_cast<const std::byte*>(found) - data_.data());
      while (byte_at(data_, at_) == 0xFF && at_ < data_.size()) ++at_;  // fill bytes
      if (at_ >= data_.size()) return stop();
      marker_ = byte_at(data_, at_++);
      if (marker_ != 0) break;
    }
    payload_ = at_;
    if (marker_ == end_of_image || marker_ == 0x01 || (marker_ >= 0xD0 && marker_ <= 0xD8))
      return marker_;  // no length
    inside_ = data_.size() - at_ < 2;
    if (inside_) return stop();
    length_ = big16(data_, at_);
    if (length_ < 2) length_ = 2;  // damaged; the decoder reports it
    inside_ = data_.size() - at_ < length_;
    if (inside_) return stop();
    payload_ = at_ + 2;
    at_ += length_;
    return marker_;
  }
  /// Where the marker's parameters start.
  std::size_t payload() const noexcept { return payload_; }
  std::size_t payload_size() const noexcept { return length_ - 2; }
  /// Whether the file ended within a marker's parameters.
  bool ended_inside() const noexcept { return inside_; }
  /// The number of restart markers in the last scan; known once next() returned the marker after it.
  std::uint64_t restarts() const noexcept { return restarts_; }

 private:
  unsigned stop() noexcept {
    at_ = data_.size();
    return marker_ = none;
  }
  void skip_scan() noexcept {
    restarts_ = 0;
    while (at_ < data_.size()) {
      const void* const found = std::memchr(data_.data() + at_, 0xFF, data_.size() - at_);
      at_ = found == nullptr ? data_.size()
                             : static_cast<std::size_t>(static_cast<const std::byte*>(found) - data_.data());
      const std::uint32_t code = byte_at(data_, at_ + 1);
      const bool restart = code >= 0xD0 && code <= 0xD7, fill = code == 0xFF;
      if (code != 0 && !restart && !fill) return;
      restarts_ += restart ? 1 : 0;
      at_ += fill ? 1 : 2;
    }
  }

  std::span<const std::byte> data_;
  std::size_t at_ = 0, payload_ = 0, length_ = 2;
  std::uint64_t restarts_ = 0;
  unsigned marker_ = none;
  bool inside_ = false;
};

/// \throws wick::error when the file ends before its frame header
inline bool probe_jpeg(std::span<const std::byte> encoded, picture_info& info) {
  if (encoded.size() < 2 || big16(encoded, 0) != 0xFFD8) return false;
  if (encoded.size() > 2 && byte_at(encoded, 2) != 0xFF) return false;
  info.format = "JPEG";
  jpeg_markers markers(encoded);
  for (;;) {
    const unsigned marker = markers.next();
    if (marker == jpeg_markers::none) throw_truncated("JPEG", encoded.size(), "inside its header");
    if (marker == jpeg_markers::start_of_scan || marker == jpeg_markers::end_of_image) {
      throw error("damaged JPEG: no frame header before the pixels; write the file again or remove it");
    }
    const bool frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (!frame) continue;
    if (markers.payload_size() < 6) {
      throw error("damaged JPEG: its frame header is too short; write the file again or remove it");
    }
    if (marker == 0xC3 || (marker >= 0xC5 && marker <= 0xC7) || marker == 0xCB || marker >= 0xCD) {
      throw error(
          "lossless or hierarchical JPEG, which no decoder here reads; convert it to a baseline JPEG or a "
          "PNG");
    }
    const std::size_t at = markers.payload();
    info.bits = static_cast<int>(byte_at(encoded, at));
    info.height = big16(encoded, at + 1);
    info.width = big16(encoded, at + 3);
    info.channels = byte_at(encoded, at + 5) == 1 ? 1 : 3;  // CMYK is converted to RGB
    return true;
  }
}

/// Each scan covers the whole image, but may take as few as ten bytes. A progressive JPEG has about ten
/// scans; cjpeg and jpegtran write at most 100 (rdswitch.c), and Chromium reads no more. The standard allows
/// up to 900 for a component, but no encoder writes that many.
inline constexpr int most_jpeg_scans = 100;
/// For all of a file's scans; each can use eight.
inline constexpr int most_jpeg_tables = 8 * (most_jpeg_scans + 1);
[[noreturn]] inline void throw_too_many_scans() {
  throw error("JPEG of more than " + std::to_string(most_jpeg_scans) +
              " scans (a decompression bomb?); write the file again" + or_leave_it_out);
}

/// Whether the scan whose parameters start at `at` has `count` components, none of them twice.
inline bool has_components(std::span<const std::byte> encoded, std::size_t at, std::uint32_t count) {
  if (byte_at(encoded, at) != count) return false;
  for (std::uint32_t a = 0; a < count; ++a) {
    for (std::uint32_t b = 0; b < a; ++b) {
      if (byte_at(encoded, at + 1 + 2 * a) == byte_at(encoded, at + 1 + 2 * b)) return false;
    }
  }
  return true;
}

/// Protects stb_image. Up to 2.27 (Debian 12), it writes past its tables when a Huffman table claims more
/// than 256 codes. It also converts every scan of a baseline JPEG to pixels, even if the scan repeats
/// components, which the standard forbids. \throws wick::error for such a table, for too many tables or
/// scans, or when the file ends within such parameters. Returns whether one scan without restart markers has
/// every pixel, so that stb_image writes each of them, whatever the damage.
inline bool check_jpeg_tables(std::span<const std::byte> encoded) {
  jpeg_markers markers(encoded);
  int scans = 0, tables = 0, most_scans = most_jpeg_scans;
  bool plain = false;
  std::uint32_t components = 0;
  for (unsigned marker = markers.next(); marker != jpeg_markers::none && marker != jpeg_markers::end_of_image;
       marker = markers.next()) {
    if (marker == 0xC0 || marker == 0xC1) {
      components = byte_at(encoded, markers.payload() + 5);
      most_scans = std::min(most_scans, static_cast<int>(components));
    }
    if (marker == 0xDD) components = 0;
    if (marker == jpeg_markers::start_of_scan) {
      if (++scans > most_jpeg_scans) throw_too_many_scans();
      if (scans > most_scans) {
        throw error("baseline JPEG of " + std::to_string(scans) + " scans for " + std::to_string(most_scans) +
                    " components; the file is damaged or hostile: write it again" + or_leave_it_out);
      }
      plain = scans == 1 && components != 0 && has_components(encoded, markers.payload(), components);
    }
    if (marker != 0xC4) continue;
    std::size_t at = markers.payload();
    for (const std::size_t end = at + markers.payload_size(); at < end;) {
      if (++tables > most_jpeg_tables) {
        throw error("JPEG of more than " + std::to_string(most_jpeg_tables) +
                    " Huffman tables; the file is damaged or hostile: write it again" + or_leave_it_out);
      }
      std::uint32_t codes = 0;
      for (std::size_t i = 1; i <= 16; ++i) codes += byte_at(encoded, at + i);
      if (codes > 256) {
        throw error("damaged JPEG: a Huffman table of " + std::to_string(codes) +
                    " codes; write the file again" + or_leave_it_out);
      }
      at += 17 + codes;
    }
  }
  if (markers.ended_inside()) throw_truncated("JPEG", encoded.size(), "inside a header");
  return plain;
}

/// \throws wick::error when there is no end-of-image marker. Ignores bytes after it: cameras append previews
/// and movies.
inline void check_jpeg_complete(std::span<const std::byte> encoded) {
  jpeg_markers markers(encoded);
  bool scans = false;
  for (;;) {
    const unsigned marker = markers.next();
    if (marker == jpeg_markers::end_of_image) break;
    if (marker == jpeg_markers::none) {
      throw_truncated("JPEG", encoded.size(), scans ? "without an end-of-image marker" : "before its pixels");
    }
    scans = scans || marker == jpeg_markers::start_of_scan;
  }
  if (!scans) throw_truncated("JPEG", encoded.size(), "and holds no pixels");
}

/// The same, but faster for most files: an end-of-image marker at the end can't be pixel data, in which 0 or
/// a restart marker always follows FF.
inline void check_jpeg_ends(std::span<const std::byte> encoded, const picture_info&) {
  if (encoded.size() >= 2 && big16(encoded, encoded.size() - 2) == 0xFFD9) return;
  check_jpeg_complete(encoded);
}

}  // namespace wick::detail

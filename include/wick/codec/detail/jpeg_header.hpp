/// \file
/// A JPEG without decoding it: the frame header, and whether the file is all there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <wick/codec/codec.hpp>

namespace wick::detail {

/// Goes from marker to marker by their lengths, so that a thumbnail inside an EXIF segment is stepped over.
/// ITU-T T.81, annex B.
class jpeg_markers {
 public:
  static constexpr unsigned end_of_image = 0xD9, start_of_scan = 0xDA, none = 0;

  explicit jpeg_markers(std::span<const std::byte> encoded) noexcept : data_(encoded) {}

  /// The next marker, `none` when the file ends first. Steps over what belongs to the one before.
  unsigned next() noexcept;
  /// Where the marker's parameters start.
  std::size_t payload() const noexcept { return payload_; }
  std::size_t payload_size() const noexcept { return length_ - 2; }
  /// Whether the file ended within a marker's parameters.
  bool ended_inside() const noexcept { return inside_; }
  /// How many restart markers the last scan had; known when its next marker is.
  std::uint64_t restarts() const noexcept { return restarts_; }

 private:
  unsigned stop() noexcept;
  void skip_scan() noexcept;

  std::span<const std::byte> data_;
  std::size_t at_ = 0, payload_ = 0, length_ = 2;
  std::uint64_t restarts_ = 0;
  unsigned marker_ = none;
  bool inside_ = false;
};

/// \throws wick::error when the file ends before its frame header
bool probe_jpeg(std::span<const std::byte> encoded, picture_info& info);

/// Each scan goes through the whole picture, and may take ten bytes. A progressive JPEG has about ten; cjpeg
/// and jpegtran write at most 100 (rdswitch.c), and Chromium reads no more. The standard's finest would be
/// 900 a component, which nobody makes.
inline constexpr int most_jpeg_scans = 100;
/// Of all a file's scans together: each has use for eight.
inline constexpr int most_jpeg_tables = 8 * (most_jpeg_scans + 1);
[[noreturn]] void throw_too_many_scans();

/// Whether the scan whose parameters start at `at` has that many components, none of them twice.
bool has_components(std::span<const std::byte> encoded, std::size_t at, std::uint32_t count);

/// stb_image up to 2.27 (Debian 12's) writes past its tables when a Huffman table claims more than 256 codes;
/// and each scan of a baseline JPEG, of which a component is in one only, it makes to pixels as if it were
/// the first. \throws wick::error when a table does, when there are too many tables or scans, or when the
/// file ends within such parameters. Answers whether every pixel is in one scan without restart markers, so
/// that stb_image will write each, whatever the damage.
bool check_jpeg_tables(std::span<const std::byte> encoded);

/// \throws wick::error when there is no end-of-image marker. What lies behind one is nobody's business:
/// cameras append previews and movies.
void check_jpeg_complete(std::span<const std::byte> encoded);

}  // namespace wick::detail

// Descriptions of bytes that aren't an image, or not a complete one: their likely format, and where they
// end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

inline bool starts_with(std::span<const std::byte> data, std::string_view start,
                        std::size_t at = 0) noexcept {
  if (data.size() < at + start.size()) return false;
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (data[at + i] != static_cast<std::byte>(start[i])) return false;
  }
  return true;
}

/// "a zip", "text", …; empty for an unknown format.
inline std::string_view guess_format(std::span<const std::byte> data) noexcept {
  using namespace std::string_view_literals;
  struct signature {
    std::string_view start, what;
    std::size_t at = 0;
  };
  static constexpr signature known[] = {
      {"PK\x03\x04"sv, "a zip"},
      {"\x1f\x8b"sv, "gzip"},
      {"BZh"sv, "bzip2"},
      {"\xfd"
       "7zXZ"sv,
       "xz"},
      {"\x28\xb5\x2f\xfd"sv, "zstd"},
      {"7z\xbc\xaf"sv, "a 7z archive"},
      {"Rar!"sv, "a rar archive"},
      {"ustar"sv, "a tar archive", 257},
      {"WEBP"sv, "a WebP", 8},
      {"RIFF"sv, "a RIFF file"},
      {"II*\0"sv, "a TIFF"},
      {"MM\0*"sv, "a TIFF"},
      {"ftypavif"sv, "an AVIF", 4},
      {"ftyphei"sv, "a HEIC", 4},
      {"ftyp"sv, "an MP4 or QuickTime video", 4},
      {"\0\0\0\x0cjP  "sv, "a JPEG 2000"},
      {"\xff\x4f\xff\x51"sv, "a JPEG 2000"},
      {"\xff\x0a"sv, "a JPEG XL"},
      {"\0\0\0\x0cJXL "sv, "a JPEG XL"},
      {"8BPS"sv, "a Photoshop file"},
      {"%PDF"sv, "a PDF"},
      {"P5"sv, "a PGM"},
      {"P6"sv, "a PPM"},
      {"\x93NUMPY"sv, "a NumPy array"},
      {"\x89HDF"sv, "an HDF5 file"},
      {"\x7f"
       "ELF"sv,
       "a program"},
      {"version https://git-lfs"sv, "a Git LFS pointer; run git lfs pull"},
      {"<svg"sv, "an SVG"},
      {"<?xml"sv, "XML"},
      {"<!DOCTYPE"sv, "an HTML page"},
      {"<html"sv, "an HTML page"},
      {"\xff\xd8"sv, "nearly a JPEG"},
      {"\x89PNG"sv, "nearly a PNG"},
  };
  for (const signature& s : known) {
    if (starts_with(data, s.start, s.at)) return s.what;
  }
  const auto head = data.first(std::min<std::size_t>(data.size(), 64));
  if (std::all_of(head.begin(), head.end(), [](std::byte b) { return b == std::byte{0}; }))
    return "zeros, as of a file that was never written";
  const auto text = [](std::byte b) {
    const auto c = static_cast<unsigned char>(b);
    return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\r' || c == '\t';
  };
  if (std::all_of(head.begin(), head.end(), text)) return "text";
  return {};
}

/// "50 4b 03 04, a zip": the first bytes in hex, and the likely format.
inline std::string describe_start(std::span<const std::byte> data) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte b : data.first(std::min<std::size_t>(data.size(), 4))) {
    const auto u = static_cast<unsigned char>(b);
    if (!out.empty()) out += ' ';
    out += digits[u >> 4];
    out += digits[u & 15];
  }
  const std::string_view guess = guess_format(data);
  if (!guess.empty()) (out += ", ") += guess;
  return out;
}

[[noreturn]] inline void throw_truncated(std::string_view format, std::size_t size,
                                         const std::string& where) {
  throw error("truncated " + std::string(format) + ": ends after " + std::to_string(size) + " bytes " +
              where + "; fetch or write the file again" + or_leave_it_out);
}

}  // namespace wick::detail

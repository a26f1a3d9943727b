// What 08 and 09 train on: pictures of discs and squares on a noisy ground, with the class of each pixel and
// a box around each shape. Written as PNGs, the simplest way there is: not compressed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <wick/wick.hpp>

namespace shapes {

inline constexpr int side = 96;    // px of a picture
inline constexpr int classes = 3;  // 0 is the ground, 1 discs, 2 squares

struct drawing {
  std::vector<std::uint8_t> rgb = std::vector<std::uint8_t>(std::size_t{3} * side * side);
  std::vector<std::uint8_t> mask = std::vector<std::uint8_t>(std::size_t{1} * side * side);
  wick::boxes boxes{};
};

/// One to three shapes that do not touch one another.
inline drawing draw(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  drawing out;
  for (auto& level : out.rgb) level = static_cast<std::uint8_t>(60 + below(60));
  const int count = 1 + below(3);
  for (int tries = 0; tries < 50 && out.boxes.size() < static_cast<std::size_t>(count); ++tries) {
    const int size = 18 + below(20), left = below(side - size), top = below(side - size), kind = 1 + below(2);
    const std::array<float, 4> box{static_cast<float>(left), static_cast<float>(top),
                                   static_cast<float>(left + size), static_cast<float>(top + size)};
    const bool is_free =
        std::none_of(out.boxes.xyxy.begin(), out.boxes.xyxy.end(), [&box](const auto& other) {
          return box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3];
        });
    if (!is_free) continue;
    out.boxes.xyxy.push_back(box);
    out.boxes.labels.push_back(kind);
    const int shade = 160 + below(80);
    for (int y = top; y < top + size; ++y) {
      for (int x = left; x < left + size; ++x) {
        const int dx = 2 * (x - left) + 1 - size, dy = 2 * (y - top) + 1 - size;
        if (kind == 1 && dx * dx + dy * dy > size * size) continue;
        const auto at = static_cast<std::size_t>(y) * side + static_cast<std::size_t>(x);
        out.mask[at] = static_cast<std::uint8_t>(kind);
        for (std::size_t c = 0; c < 3; ++c)
          out.rgb[3 * at + c] = static_cast<std::uint8_t>(c == (kind == 1 ? 0u : 2u) ? shade : shade / 2);
      }
    }
  }
  return out;
}

/// `channels` is 1 (gray: levels, or numbers of classes) or 3 (RGB).
inline void write_png(const std::string& path, const std::vector<std::uint8_t>& pixels, int channels) {
  std::string png("\x89PNG\r\n\x1a\n", 8);
  const auto number = [](std::uint32_t n) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text.push_back(static_cast<char>(n >> shift & 0xFF));
    return text;
  };
  const auto chunk = [&](const std::string& name_and_data) {
    std::uint32_t crc = ~0u;
    for (const char c : name_and_data) {
      crc ^= static_cast<std::uint8_t>(c);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    png += number(static_cast<std::uint32_t>(name_and_data.size() - 4)) + name_and_data + number(~crc);
  };
  std::string rows;
  const std::size_t row = static_cast<std::size_t>(side) * static_cast<std::size_t>(channels);
  for (std::size_t y = 0; y < side; ++y)
    rows.append(1, '\0').append(reinterpret_cast<const char*>(pixels.data()) + y * row, row);
  std::string stream("\x78\x01", 2);
  for (std::size_t at = 0; at < rows.size(); at += 65535) {
    const std::size_t n = std::min<std::size_t>(65535, rows.size() - at);
    stream.push_back(at + n == rows.size() ? '\1' : '\0');
    for (const std::size_t size : {n, ~n}) {
      stream.push_back(static_cast<char>(size & 0xFF));
      stream.push_back(static_cast<char>(size >> 8 & 0xFF));
    }
    stream.append(rows, at, n);
  }
  std::uint32_t a = 1, b = 0;
  for (const char c : rows) {
    a = (a + static_cast<std::uint8_t>(c)) % 65521;
    b = (b + a) % 65521;
  }
  chunk("IHDR" + number(side) + number(side) +
        std::string{'\10', channels == 1 ? '\0' : '\2', '\0', '\0', '\0'});
  chunk("IDAT" + stream + number(b << 16 | a));
  chunk("IEND");
  std::ofstream file(path, std::ios::binary);
  if (!file.write(png.data(), static_cast<std::streamsize>(png.size())))
    throw std::runtime_error("can't write " + path);
}

}  // namespace shapes

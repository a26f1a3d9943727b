#include "picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include <wick/pipeline/random.hpp>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wcast-qual"
#endif
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#if __has_include(<stb_image_write.h>)
#include <stb_image_write.h>
#else
#include <stb/stb_image_write.h>
#endif
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace wick_test {

namespace {

void append(void* out, void* data, int size) {
  static_cast<std::string*>(out)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

void put_big32(std::string& out, std::uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((v >> shift) & 255u);
}

std::uint32_t crc(std::string_view data) {
  std::uint32_t c = ~0u;
  for (const char byte : data) {
    c ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1u) != 0 ? 0xEDB88320u : 0u);
  }
  return ~c;
}

void put_chunk(std::string& out, std::string_view type, std::string_view payload) {
  put_big32(out, static_cast<std::uint32_t>(payload.size()));
  const std::string body = std::string(type) + std::string(payload);
  out += body;
  put_big32(out, crc(body));
}

std::string_view text(const std::vector<std::uint8_t>& v) {
  return {reinterpret_cast<const char*>(v.data()), v.size()};
}

}  // namespace

wick::image photo(int width, int height, int channels, std::uint64_t seed) {
  wick::image out(width, height, channels);
  wick::random_stream random(seed, 0, 0, 0);
  std::array<double, 8> wave{};
  for (double& w : wave) w = random.uniform(0.02, 0.25);
  const double cx = random.uniform(0.2, 0.8) * width, cy = random.uniform(0.2, 0.8) * height;
  const double radius = 0.3 * std::min(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const bool inside = std::hypot(x - cx, y - cy) < radius;
      for (int c = 0; c < channels; ++c) {
        const auto k = static_cast<std::size_t>(c);
        double v = 128 + 50 * std::sin(wave[k] * x + c) + 40 * std::cos(wave[k + 4] * y - c);
        if (inside) v = 255 - v * 0.7;
        v += random.uniform(-12, 12);
        out.row(y)[x * channels + c] = static_cast<std::uint8_t>(std::clamp(v, 0.0, 255.0));
      }
    }
  }
  return out;
}

wick::image flat(int width, int height, int channels, int level) {
  wick::image out(width, height, channels);
  std::fill(out.pixels().begin(), out.pixels().end(), static_cast<std::uint8_t>(level));
  return out;
}

std::string encode_jpeg(const wick::image& p, int quality) {
  std::string out;
  stbi_write_jpg_to_func(&append, &out, p.width(), p.height(), p.channels(), p.data(), quality);
  return out;
}

std::string encode_png(const wick::image& p) {
  std::string out;
  stbi_write_png_to_func(&append, &out, p.width(), p.height(), p.channels(), p.data(),
                         p.width() * p.channels());
  return out;
}

std::string encode_bmp(const wick::image& p) {
  std::string out;
  stbi_write_bmp_to_func(&append, &out, p.width(), p.height(), p.channels(), p.data());
  return out;
}

std::string encode_gif(const wick::image& gray) {
  const auto little16 = [](int v) {
    return std::string{static_cast<char>(v & 255), static_cast<char>(v >> 8)};
  };
  std::string out = "GIF89a" + little16(gray.width()) + little16(gray.height()) + std::string("\xF7\0\0", 3);
  for (int i = 0; i < 256; ++i) out.append(3, static_cast<char>(i));
  out += ',' + std::string(4, '\0') + little16(gray.width()) + little16(gray.height()) + std::string(1, '\0');
  // Codes of nine bits throughout: cleared before the table would grow past them.
  std::string codes;
  unsigned bits = 0, buffer = 0;
  const auto put = [&](unsigned code) {
    buffer |= code << bits;
    for (bits += 9; bits >= 8; bits -= 8, buffer >>= 8) codes += static_cast<char>(buffer & 255u);
  };
  int since_clear = 200;
  for (const std::uint8_t level : gray.pixels()) {
    if (since_clear++ == 200) {
      put(256);
      since_clear = 1;
    }
    put(level);
  }
  put(257);
  if (bits != 0) codes += static_cast<char>(buffer & 255u);
  out += '\x08';
  for (std::size_t at = 0; at < codes.size(); at += 255) {
    const std::string block = codes.substr(at, 255);
    out += static_cast<char>(block.size());
    out += block;
  }
  return out + std::string("\0;", 2);
}

std::string zlib_stored(std::string_view raw) {
  std::string out = "\x78\x01";
  std::size_t at = 0;
  do {
    const std::size_t n = std::min<std::size_t>(raw.size() - at, 65535);
    out += static_cast<char>(at + n == raw.size());
    for (const std::size_t v : {n, ~n}) {
      out += static_cast<char>(v & 255u);
      out += static_cast<char>((v >> 8) & 255u);
    }
    out += raw.substr(at, n);
    at += n;
  } while (at < raw.size());
  std::uint32_t a = 1, b = 0;
  for (const char byte : raw) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  put_big32(out, b << 16 | a);
  return out;
}

std::string make_png(const png_parts& parts) {
  std::string out("\x89PNG\r\n\x1a\n", 8), header;
  put_big32(header, parts.width);
  put_big32(header, parts.height);
  header += static_cast<char>(parts.bits);
  header += static_cast<char>(parts.color_type);
  header += std::string(2, '\0');
  header += static_cast<char>(parts.interlaced);
  put_chunk(out, "IHDR", header);
  if (!parts.palette.empty()) put_chunk(out, "PLTE", text(parts.palette));
  if (!parts.transparency.empty()) put_chunk(out, "tRNS", text(parts.transparency));
  std::string raw;
  const std::size_t height = parts.rows.empty() ? 0 : parts.height;
  for (std::size_t y = 0; y < height; ++y) {
    const std::size_t row = parts.rows.size() / height;
    raw += '\0';  // no filter
    raw += text(parts.rows).substr(y * row, row);
  }
  put_chunk(out, "IDAT", parts.compressed.empty() ? zlib_stored(raw) : parts.compressed);
  put_chunk(out, "IEND", {});
  return out;
}

std::string with_jpeg_segment(const std::string& jpeg, unsigned char marker, std::string_view payload) {
  if (payload.size() > 65533) throw std::logic_error("a JPEG segment holds at most 65533 bytes");
  const std::size_t length = payload.size() + 2;
  std::string out = jpeg.substr(0, 2);
  out += '\xFF';
  out += static_cast<char>(marker);
  out += static_cast<char>(length >> 8);
  out += static_cast<char>(length & 255u);
  return out.append(payload) + jpeg.substr(2);
}

std::string with_jpeg_size(std::string jpeg, int width, int height) {
  const std::size_t at = jpeg.find("\xFF\xC0");
  if (at == std::string::npos) throw std::logic_error("no baseline frame header");
  jpeg[at + 5] = static_cast<char>(height >> 8);
  jpeg[at + 6] = static_cast<char>(height & 255);
  jpeg[at + 7] = static_cast<char>(width >> 8);
  jpeg[at + 8] = static_cast<char>(width & 255);
  return jpeg;
}

difference compare(const wick::image& a, const wick::image& b) {
  if (a.width() != b.width() || a.height() != b.height() || a.channels() != b.channels()) return {};
  difference d{0, 0};
  for (std::size_t i = 0; i < a.pixels().size(); ++i) {
    const int e = std::abs(int{a.pixels()[i]} - int{b.pixels()[i]});
    d.greatest = std::max(d.greatest, e);
    d.mean += e;
  }
  if (!a.empty()) d.mean /= static_cast<double>(a.pixels().size());
  return d;
}

}  // namespace wick_test

// Writes tar archives, broken ones too, a block at a time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace wick_test {

class tar_writer {
 public:
  struct how {
    char type = '0';
    const char* magic = "ustar";  ///< "ustar" (POSIX), "ustar  " (GNU), "" (v7)
    std::string prefix{};
    std::int64_t size = -1;  ///< what the header says; -1: the truth
    bool base_256 = false;   ///< the size as a binary number
    bool good_checksum = true;
  };

  /// A header, then `content` padded to whole blocks.
  tar_writer& add(std::string_view name, std::string_view content = {}) { return add(name, content, how()); }
  tar_writer& add(std::string_view name, std::string_view content, const how& h) {
    header(name, content.size(), h);
    return blocks(content);
  }

  tar_writer& header(std::string_view name, std::size_t content_size, const how& h) {
    char block[512] = {};
    const auto put = [&](std::size_t at, std::string_view text) {
      std::memcpy(block + at, text.data(), text.size());
    };
    const std::uint64_t size = h.size < 0 ? content_size : static_cast<std::uint64_t>(h.size);
    put(0, name.substr(0, 100));
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    if (h.base_256) {
      block[124] = static_cast<char>(0x80);
      for (int i = 0; i < 8; ++i) block[135 - i] = static_cast<char>(size >> (8 * i));
    } else {
      char digits[16];
      std::snprintf(digits, sizeof digits, "%011llo", static_cast<unsigned long long>(size));
      put(124, digits);
    }
    put(136, "00000000000");
    block[156] = h.type;
    put(257, h.magic);
    if (std::string_view(h.magic) == "ustar") put(263, "00");
    put(345, h.prefix);
    seal(block, h.good_checksum);
    bytes.append(block, 512);
    return *this;
  }

  /// Any 512 bytes as a header: writes its checksum.
  static void seal(char* block, bool good = true) {
    std::memset(block + 148, ' ', 8);
    unsigned sum = good ? 0 : 1;
    for (int i = 0; i < 512; ++i) sum += static_cast<unsigned char>(block[i]);
    std::snprintf(block + 148, 8, "%06o", sum);
    block[155] = ' ';
  }

  /// "LENGTH KEY=VALUE\n", its length counted in.
  static std::string pax(std::string_view key, std::string_view value) {
    const std::string rest = " " + std::string(key) + "=" + std::string(value) + "\n";
    std::size_t length = rest.size() + 1;
    while (std::to_string(length).size() + rest.size() != length) ++length;
    return std::to_string(length) + rest;
  }

  tar_writer& blocks(std::string_view content) {
    bytes += content;
    bytes.append((512 - content.size() % 512) % 512, '\0');
    return *this;
  }
  tar_writer& zeros(std::size_t count) {
    bytes.append(count * 512, '\0');
    return *this;
  }
  /// The archive with its end.
  std::string done() { return zeros(2).bytes; }

  std::string bytes;
};

}  // namespace wick_test

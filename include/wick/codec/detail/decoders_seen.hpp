// Records which decoder read which format, for the report.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <string_view>

#include <wick/ext/codec.hpp>

namespace wick::inline v0_1::detail {

/// The library that reads the pixels of this format for `decoder`. stb_image's codec delegates some formats:
/// "libdeflate" or "zlib" inflates PNG, and "wick" reads GIF.
std::string_view reader_of(const codec& decoder, std::string_view format) noexcept;

/// Any thread may record an image; a known pair costs one lookup. A copy is empty.
class decoders_seen {
 public:
  static constexpr std::size_t capacity = 16;  // further pairs of format and decoder are ignored

  decoders_seen() = default;
  decoders_seen(const decoders_seen&) noexcept {}
  decoders_seen& operator=(const decoders_seen&) noexcept { return *this; }

  void saw(const picture_info& info) noexcept;
  bool saw(std::string_view format, std::string_view reader) const noexcept;

 private:
  struct pair {
    const codec* decoder = nullptr;
    std::string_view format;
  };
  bool knows(const picture_info& info, std::size_t n) const noexcept;
  [[gnu::noinline]] void add(const picture_info& info) noexcept;

  std::array<pair, capacity> seen_;
  std::atomic<std::size_t> count_{0};
  std::mutex adding_;
};

}  // namespace wick::detail

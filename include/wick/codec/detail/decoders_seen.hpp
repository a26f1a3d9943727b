/// \file
/// Which decoder had which format, for the report.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

#include <wick/codec/codec.hpp>

namespace wick::detail {

/// Any thread may tell it of a picture; what was seen before costs a look. A copy has seen nothing.
class decoders_seen {
 public:
  static constexpr std::size_t capacity = 16;  // more pairs of format and decoder are not told

  decoders_seen() = default;
  decoders_seen(const decoders_seen&) noexcept {}
  decoders_seen& operator=(const decoders_seen&) noexcept { return *this; }

  void saw(const picture_info& info) noexcept {
    if (!knows(info, count_.load(std::memory_order_acquire))) add(info);
  }
  /// "JPEG by libjpeg-turbo, PNG by stb_image"; empty when there was nothing.
  std::string text() const {
    std::string out;
    const std::size_t n = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < n; ++i) {
      out +=
          (i == 0 ? "" : ", ") + std::string(seen_[i].format) + " by " + std::string(seen_[i].decoder->name);
    }
    return out;
  }
  bool saw(std::string_view format, std::string_view decoder) const noexcept {
    const std::size_t n = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < n; ++i) {
      if (seen_[i].format == format && seen_[i].decoder->name == decoder) return true;
    }
    return false;
  }

 private:
  struct pair {
    const codec* decoder = nullptr;
    std::string_view format;
  };
  bool knows(const picture_info& info, std::size_t n) const noexcept {
    for (std::size_t i = 0; i < n; ++i) {
      if (seen_[i].decoder == info.decoder && seen_[i].format == info.format) return true;
    }
    return n == capacity;
  }
  [[gnu::noinline]] void add(const picture_info& info) noexcept {
    const std::lock_guard lock(adding_);
    const std::size_t n = count_.load(std::memory_order_relaxed);
    if (info.decoder == nullptr || knows(info, n)) return;
    seen_[n] = {info.decoder, info.format};
    count_.store(n + 1, std::memory_order_release);
  }

  std::array<pair, capacity> seen_;
  std::atomic<std::size_t> count_{0};
  std::mutex adding_;
};

}  // namespace wick::detail

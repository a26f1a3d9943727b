// Implements codec/detail/decoders_seen.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/codec/detail/decoders_seen.hpp>
#include <wick/codec/detail/stb.hpp>

namespace wick::inline v0_1::detail {

std::string_view reader_of(const codec& decoder, std::string_view format) noexcept {
  if (&decoder != &stb_codec) return decoder.name;
  if (format == "GIF") return "wick";
  if (format != "PNG") return decoder.name;
#ifdef WICK_HAS_LIBDEFLATE
  return "libdeflate";
#else
  return "zlib";
#endif
}

void decoders_seen::saw(const picture_info& info) noexcept {
  if (!knows(info, count_.load(std::memory_order_acquire))) add(info);
}

bool decoders_seen::saw(std::string_view format, std::string_view reader) const noexcept {
  const std::size_t n = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < n; ++i) {
    if (seen_[i].format == format && reader_of(*seen_[i].decoder, format) == reader) return true;
  }
  return false;
}

bool decoders_seen::knows(const picture_info& info, std::size_t n) const noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    if (seen_[i].decoder == info.decoder && seen_[i].format == info.format) return true;
  }
  return n == capacity;
}

void decoders_seen::add(const picture_info& info) noexcept {
  const std::lock_guard lock(adding_);
  const std::size_t n = count_.load(std::memory_order_relaxed);
  if (info.decoder == nullptr || knows(info, n)) return;
  seen_[n] = {info.decoder, info.format};
  count_.store(n + 1, std::memory_order_release);
}

}  // namespace wick::detail

// Implements ext/codec.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>

#include <wick/codec/detail/signature.hpp>
#include <wick/ext/codec.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

codec_list::codec_list(std::span<const codec* const> known) noexcept : count_(known.size()) {
  std::copy(known.begin(), known.end(), codecs_.begin());
}

void codec_list::add(const codec& c) {
  std::lock_guard lock(adding_);
  const std::size_t n = count_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < n; ++i) {
    if (codecs_[i] == &c) return;
  }
  if (n == capacity) throw error("wick: more than 16 picture codecs; register each one once");
  codecs_[n] = &c;
  count_.store(n + 1, std::memory_order_release);
}

picture_info codec_list::probe(std::span<const std::byte> encoded) const {
  if (encoded.empty()) {
    throw error("empty: 0 bytes where a picture should be; write the file again or remove it");
  }
  for (std::size_t i = count_.load(std::memory_order_acquire); i-- != 0;) {
    picture_info info;
    if (!codecs_[i]->probe(encoded, info)) continue;
    info.decoder = codecs_[i];
    if (info.width < 1 || info.height < 1) {
      throw error(std::string(info.format) + " of " + size_text(info.width, info.height) +
                  " px has no pixels; write the file again or remove it");
    }
    return info;
  }
  throw error("not a JPEG, PNG, BMP or GIF (starts with " + detail::describe_start(encoded) +
              "); convert or remove it" + detail::or_leave_it_out);
}

std::string codec_list::note() const {
  std::string out;
  for (std::size_t i = 0; i < count_.load(std::memory_order_acquire); ++i) {
    if (codecs_[i]->note == nullptr) continue;
    const std::string text = codecs_[i]->note();
    if (!text.empty()) out += (out.empty() ? "" : "; ") + std::string(codecs_[i]->name) + ": " + text;
  }
  return out;
}

void check_size(const picture_info& info, std::int64_t max_pixels) {
  if (info.width <= max_pixels / info.height && info.width <= 0x7FFFFFFF / 4 && info.height <= 0x7FFFFFFF / 4)
    return;
  throw error(std::string(info.format) + " of " + size_text(info.width, info.height) +
              " px is over the limit of " + std::to_string(max_pixels) +
              " px (a decompression bomb?); if it is meant, raise it: wick::decode({.max_pixels = ...})");
}

}  // namespace wick::detail

namespace wick::inline v0_1::ext {

detail::codec_list& codecs() noexcept {
  static detail::codec_list list(detail::builtin_codecs());
  return list;
}

}  // namespace wick::ext

// Implements io/detail/file_extents.hpp. Included in exactly one file of a program.
#pragma once

#include <optional>
#include <utility>

#include <wick/io/detail/file_extents.hpp>

namespace wick::inline v0_1::detail {

void file_extents::add(extent next) {
  if (size_++ % per_mark == 0) marks_.push_back({end_, code_.size()});
  const std::uint64_t gap = next.offset - end_;
  put(next.length << 1 | (gap != 1 ? 1 : 0));
  if (gap != 1) put(gap);
  end_ = next.offset + next.length;
}

void file_extents::shrink() {
  code_.shrink_to_fit();
  marks_.shrink_to_fit();
}

void file_extents::put(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) code_.push_back(static_cast<std::uint8_t>(value | 0x80));
  code_.push_back(static_cast<std::uint8_t>(value));
}

bool file_extents::decode(std::span<const std::uint8_t> code, std::uint64_t size, std::uint64_t file_size) {
  const std::uint8_t* p = code.data();
  const std::uint8_t* const behind = p + code.size();
  const auto number = [&]() -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 63 && p != behind; shift += 7) {
      const std::uint8_t byte = *p++;
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  };
  file_extents out;
  if (size > code.size()) return false;  // each takes at least a byte
  for (; out.size_ < size; ++out.size_) {
    if (out.size_ % per_mark == 0) {
      out.marks_.push_back({out.end_, static_cast<std::uint64_t>(p - code.data())});
    }
    const std::optional<std::uint64_t> length = number();
    std::optional<std::uint64_t> gap = 1;
    if (length && (*length & 1) != 0) gap = number();
    if (!length || !gap || *gap > file_size - out.end_) return false;
    out.end_ += *gap;
    if (*length >> 1 > file_size - out.end_) return false;
    out.end_ += *length >> 1;
  }
  if (p != behind) return false;
  out.code_.assign(code.begin(), code.end());
  *this = std::move(out);
  return true;
}

}  // namespace wick::detail

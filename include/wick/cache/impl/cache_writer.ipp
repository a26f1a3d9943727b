// Implements ext/cache_bytes.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/ext/cache_bytes.hpp>

namespace wick::inline v0_1::ext {

void cache_writer::put(const void* data, std::size_t size) {
  const auto* const from = static_cast<const std::byte*>(data);
  out_.insert(out_.end(), from, from + size);
}

void cache_writer::reserve(std::size_t size) { out_.reserve(size); }

}  // namespace wick::ext

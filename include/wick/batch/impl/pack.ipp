// Implements batch/pack.hpp and batch/detail/packed_column.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>

#include <wick/batch/pack.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

row_packing::row_packing(std::size_t rows, std::size_t length, pack_options options)
    : rows_(rows),
      length_(static_cast<std::uint32_t>(length)),
      drop_last_(options.drop_last),
      too_long_(options.too_long),
      pad_(options.pad),
      fingerprint_(fingerprint_hash()
                       .add(fingerprint_hash::of(drop_last_, pad_.real, pad_.whole, too_long_, length_))
                       .add(options.lengths.data(), options.lengths.size() * sizeof(std::uint32_t))
                       .value()) {
  constexpr std::size_t limit = std::size_t{1} << 31;
  checked("pack", rows, {});
  if (length == 0) throw error("pack: a row has at least one place");
  if (pad_.multiple != 1)
    throw error("pack: all rows have the length that it is given; write pad_with(value), without .multiple");
  if (length >= limit || rows >= limit / length) {
    throw error("pack: a batch of " + std::to_string(rows) + " rows of " + std::to_string(length) +
                " has more places than cu_seqlens can count, which is int32; make it smaller");
  }
  lengths_ = std::make_shared<const std::vector<std::uint32_t>>(std::move(options.lengths));
}

void pack_table::clear() noexcept {
  places.clear();
  rows = 0;
}

void pack_table::add(const place& next) { places.push_back(next); }

std::size_t pack_table::parts() const {
  std::size_t out = 0;
  for_each_part([&](std::size_t, std::size_t, const place*) { ++out; });
  return out;
}

std::int64_t pack_table::write(std::int32_t* segment, std::int32_t* position, std::int32_t* border) const {
  *border = 0;
  std::int64_t longest = 0;
  std::int32_t number = 0;
  std::size_t row = 0;
  for_each_part([&](std::size_t begin, std::size_t count, const place* p) {
    if (begin >= (row + 1) * length) {
      row = begin / length;
      number = 0;
    }
    const std::int32_t own = p == nullptr ? 0 : ++number;
    std::fill(segment + begin, segment + begin + count, own);
    if (p == nullptr)
      std::fill(position + begin, position + begin + count, 0);
    else
      std::iota(position + begin, position + begin + count, 0);
    *++border = static_cast<std::int32_t>(begin + count);
    longest = std::max(longest, static_cast<std::int64_t>(count));
  });
  return longest;
}

}  // namespace wick::detail

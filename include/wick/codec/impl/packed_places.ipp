// Implements codec/detail/packed_places.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>

#include <wick/codec/detail/packed_places.hpp>

namespace wick::inline v0_1::detail {

void packed_places::put(std::uint32_t number) {
  for (; number >= 128; number >>= 7) packed_.push_back(static_cast<std::uint8_t>(number | 128));
  packed_.push_back(static_cast<std::uint8_t>(number));
}

void packed_places::assign(std::span<const jpeg_place> places, std::size_t total) {
  packed_.clear();
  packed_.reserve(expected * total);
  size_ = static_cast<std::uint32_t>(places.size());
  total_ = static_cast<std::uint32_t>(total);
  components_ = 1;
  for (const jpeg_place& p : places) {
    while (components_ < p.last_dc.size() &&
           std::any_of(p.last_dc.begin() + static_cast<std::ptrdiff_t>(components_), p.last_dc.end(),
                       [](std::uint16_t dc) { return dc != 0; }))
      ++components_;
  }
  jpeg_place last;
  for (const jpeg_place& p : places) {
    put(p.bit - last.bit);
    for (std::size_t c = 0; c < components_; ++c) {
      const auto difference = static_cast<std::int16_t>(p.last_dc[c] - last.last_dc[c]);
      // Small values of either sign come first: 0, -1, 1, -2, …
      put(static_cast<std::uint16_t>(difference * 2 ^ (difference < 0 ? -1 : 0)));
    }
    last = p;
  }
}

void packed_places::unpack(std::vector<jpeg_place>& to) const {
  const std::uint8_t* at = packed_.data();
  const std::uint8_t* const end = at + packed_.size();
  const auto number = [&at, end] {
    std::uint32_t out = 0;
    for (unsigned shift = 0; at != end && shift < 32; shift += 7) {
      out |= std::uint32_t{*at & 127u} << shift;
      if (*at++ < 128) break;
    }
    return out;
  };
  jpeg_place place;
  for (std::uint32_t i = 0; i < size_; ++i) {
    place.bit += number();
    for (std::size_t c = 0; c < components_; ++c) {
      const std::uint32_t coded = number();
      place.last_dc[c] = static_cast<std::uint16_t>(place.last_dc[c] + (coded >> 1 ^ (0u - (coded & 1))));
    }
    to.push_back(place);
  }
}

}  // namespace wick::detail

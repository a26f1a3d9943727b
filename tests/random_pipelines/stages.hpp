// Small callables that the grammar of generate.py names.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "outside.hpp"
#include "reference.hpp"

namespace random_pipelines {

template <class Source>
auto items_of(const Source& from) {
  std::vector<std::remove_cvref_t<decltype(from.at(0))>> out;
  for (std::uint64_t i = 0; i < from.size(); ++i) out.push_back(from.at(i));
  return out;
}
inline std::vector<std::uint64_t> every_second(std::uint64_t n) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < n; i += 2) out.push_back(i);
  return out;
}
inline constexpr auto to_cell = [](const bytes_of_cell& from) {
  return cell{{from.values[0], from.values[1], from.values[2]}, static_cast<std::int64_t>(from.values[0])};
};
inline constexpr auto png_of = [](const wick::record<wick::bytes>& r) {
  return wick::bytes(r[0].data(), r[0].size());
};
inline constexpr auto to_photo = [](wick::lazy_image image) {
  return wick::sample<wick::lazy_image>{std::move(image), 3};
};
inline constexpr auto first_of_two = [](wick::sample<cell, text> both) { return both.data; };

}  // namespace random_pipelines

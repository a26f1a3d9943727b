/// \file
/// The bodies of what resample/detail/wide_resample.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wick/pixels/image.hpp>
#include <wick/pixels/wide_rows.hpp>
#include <wick/resample/detail/axis.hpp>
#include <wick/resample/detail/row_resampler.hpp>
#include <wick/resample/detail/wide_resample.hpp>
#include <wick/sample/shape.hpp>

namespace wick::detail {

wide_rows resample_wide(const wide_rows& from, const resample_scratch& scratch) {
  const axis &columns = scratch.columns, &rows = scratch.rows;
  const int n = from.channels;
  wide_rows out(columns.size(), rows.size(), n, 0);
  std::uint16_t* to = out.levels.data();
  if (columns.copies() && rows.copies()) {
    for (int y = 0; y < rows.size(); ++y) {
      const std::uint16_t* const in = from.row(rows.first(y));
      for (int x = 0; x < columns.size(); ++x, to += n)
        std::copy_n(in + std::ptrdiff_t{columns.first(x)} * n, n, to);
    }
    return out;
  }
  // 16 bits of level and 14 of each weight; bicubic ones sum up to less than 1.5, without their signs to less
  // than 2.
  const std::size_t begin = static_cast<std::size_t>(columns.low()) * static_cast<std::size_t>(n),
                    end = static_cast<std::size_t>(columns.high()) * static_cast<std::size_t>(n);
  std::vector<std::int32_t> line(end - begin);
  for (int y = 0; y < rows.size(); ++y) {
    std::fill(line.begin(), line.end(), 0);
    for (int k = 0; k < rows.count(y); ++k) {
      const std::uint16_t* const in = from.row(rows.first(y) + k) + begin;
      const std::int32_t weight = rows.weights(y)[k];
      for (std::size_t i = 0; i < line.size(); ++i) line[i] += in[i] * weight;
    }
    for (int x = 0; x < columns.size(); ++x) {
      const std::int16_t* const weights = columns.weights(x);
      const std::int32_t* const in =
          line.data() + static_cast<std::size_t>(columns.first(x)) * static_cast<std::size_t>(n) - begin;
      for (int c = 0; c < n; ++c) {
        std::int64_t sum = std::int64_t{1} << (2 * weight_bits - 1);
        for (int k = 0; k < columns.count(x); ++k) sum += std::int64_t{in[k * n + c]} * weights[k];
        *to++ = static_cast<std::uint16_t>(std::clamp<std::int64_t>(sum >> (2 * weight_bits), 0, 65535));
      }
    }
  }
  return out;
}

}  // namespace wick::detail

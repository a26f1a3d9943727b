// Implements sampling/detail/group_plan.hpp. Included in exactly one file of a program.
#pragma once

#include <limits>

#include <wick/sampling/detail/group_plan.hpp>

namespace wick::inline v0_1::detail {

namespace {

constexpr std::uint64_t most_planned = std::numeric_limits<std::uint32_t>::max();

/// The lengths of the samples at `positions` positions. \throws wick::error
std::vector<lengthy> look_up_lengths(const lengths_source& samples, const char* stage,
                                     const index_lookup& order, std::uint64_t positions) {
  const std::string said = std::string(stage) + ": ";
  if (positions > most_planned || samples.size > most_planned) {
    throw error(said + "an epoch has " + std::to_string(positions) +
                " samples, and lengths are planned for at most " + std::to_string(most_planned) +
                "; leave repeat() and mix_until::forever out, or take a part");
  }
  if (!samples.given.empty() && samples.given.size() != samples.size) {
    throw error(said + std::to_string(samples.given.size()) + " lengths for a source of " +
                std::to_string(samples.size) + " samples; each needs one");
  }
  if (positions != 0 && samples.given.empty() && samples.length == nullptr) {
    throw error(said +
                "this source does not say how long its samples are, by `length(i)`; give them: {.lengths = "
                "measure_lengths(source | stages)}");
  }
  std::vector<lengthy> out(static_cast<std::size_t>(positions));
  constexpr std::uint64_t block = 256;
  std::uint64_t indexes[block];
  for (std::uint64_t p = 0; p < positions; ++p) {
    if (p % block == 0) order.find(order.of, p, std::min(block, positions - p), indexes);
    const std::uint64_t index = indexes[p % block];
    const std::uint64_t length = samples.given.empty() ? samples.length(samples.of, index)
                                                       : samples.given[static_cast<std::size_t>(index)];
    if (length > most_planned)
      throw error(samples.key(samples.of, index) + ": " + said + "length(i) gives " +
                  std::to_string(static_cast<std::int64_t>(length)) + "; lengths are from 0 to " +
                  std::to_string(most_planned));
    const auto l = static_cast<std::uint32_t>(length);
    out[static_cast<std::size_t>(p)] = {static_cast<std::uint32_t>(index), l, 0, l};
  }
  return out;
}

/// The samples, cut to the rows of the batching stage. \throws wick::error
std::vector<lengthy> cut_to_rows(const lengths_source& from, const row_rules& rules,
                                 const std::vector<lengthy>& samples) {
  const std::uint32_t row = rules.length;
  std::uint64_t all = 0;
  for (const lengthy& l : samples) all += rules.splits ? (l.length + std::uint64_t{row} - 1) / row : 1;
  if (all > most_planned) {
    throw error("pack: " + std::to_string(samples.size()) + " samples split into rows of " +
                std::to_string(row) + " are " + std::to_string(all) + " pieces, and at most " +
                std::to_string(most_planned) + " are planned for; make rows longer, or take a part");
  }
  std::vector<lengthy> out, remainders;
  out.reserve(static_cast<std::size_t>(all));
  for (const lengthy& l : samples) {
    out.push_back(l);
    if (l.length <= row) continue;
    out.back().length = row;
    if (rules.truncates) continue;
    if (!rules.splits) {
      throw error(from.key(from.of, l.index) + ": pack: it is " + std::to_string(l.length) +
                  " long, and a row " + std::to_string(row) +
                  "; make rows longer, or say {.too_long = wick::too_long::split} or truncate");
    }
    for (std::uint32_t at = row; at < l.whole; at += std::min(row, l.whole - at)) {
      (rules.in_order ? out : remainders).push_back({l.index, std::min(row, l.whole - at), at, l.whole});
    }
  }
  out.insert(out.end(), remainders.begin(), remainders.end());
  return out;
}

}  // namespace

grouping plan_rows(const lengths_source& samples, const index_lookup& order, std::uint64_t positions,
                   std::uint64_t most, const row_rules& rules) {
  std::vector<lengthy> pieces =
      cut_to_rows(samples, rules, look_up_lengths(samples, "pack", order, positions));
  if (rules.in_order) return grouping::rows_in_order(std::move(pieces), rules.length, most);
  grouping::sort(pieces);
  return grouping::rows(std::move(pieces), rules.length);
}

grouping plan_buckets(const lengths_source& samples, const index_lookup& order, std::uint64_t positions,
                      std::uint64_t most, std::uint64_t tokens, std::uint64_t multiple) {
  std::vector<lengthy> found = look_up_lengths(samples, "bucket", order, positions);
  grouping::sort(found);
  if (tokens != 0 && !found.empty() && found.front().length > tokens) {
    throw error(samples.key(samples.of, found.front().index) + ": bucket: it is " +
                std::to_string(found.front().length) + " long, and a batch takes " + std::to_string(tokens) +
                "; make .tokens more, or cut such samples");
  }
  return grouping::buckets(std::move(found), most, tokens, multiple);
}

}  // namespace wick::detail

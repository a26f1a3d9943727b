// Implements sampling/block_shuffle.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include <wick/pipeline/random.hpp>
#include <wick/sampling/block_shuffle.hpp>

namespace wick::inline v0_1::detail {

block_order::block_order(std::uint64_t n, std::uint64_t block, std::uint64_t window, std::uint64_t seed,
                         std::uint64_t epoch, std::uint32_t stage) noexcept
    : n_(n),
      block_(block),
      window_(window),
      seed_(seed),
      epoch_(epoch),
      stage_(stage),
      full_(n / block),
      rest_(n % block) {
  if (full_ != 0) blocks_ = permutation(full_, seed, epoch, stage);
  // No other block is as short as the last one: its place is drawn separately, and the others are permuted
  // around it.
  short_at_ = full_;
  if (rest_ != 0) short_at_ = random_stream(seed, epoch, 1, stage).below(full_ + 1);
}

block_order block_shuffle_stage::prepare(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                                         std::uint32_t stage) const noexcept {
  return {n, block, window, seed, epoch, stage};
}

unequal_block_order::unequal_block_order(std::shared_ptr<const std::vector<std::uint64_t>> begins,
                                         std::size_t window, std::uint64_t seed, std::uint64_t epoch,
                                         std::uint32_t stage)
    : begins_(std::move(begins)), window_(window), seed_(seed), epoch_(epoch), stage_(stage) {
  const std::vector<std::uint64_t>& all = *begins_;
  if (all.size() > 1) blocks_ = permutation(all.size() - 1, seed, epoch, stage);
  places_.reserve(all.size());
  places_.push_back(0);
  for (std::size_t b = 0; b + 1 < all.size(); ++b) {
    const auto block = static_cast<std::size_t>(blocks_(b));
    places_.push_back(places_.back() + all[block + 1] - all[block]);
  }
}

void unequal_block_order::map(std::uint64_t* positions, std::size_t count) const noexcept {
  window w;
  for (std::uint64_t* p = positions; p != positions + count; ++p) {
    if (*p < w.from || *p >= w.to) w = window_of(*p);
    *p = index_of(w, *p);
  }
}

unequal_block_order::window unequal_block_order::window_of(std::uint64_t p) const noexcept {
  const auto behind = std::upper_bound(places_.begin(), places_.end(), p);
  const auto block = static_cast<std::size_t>(behind - places_.begin()) - 1;
  const std::size_t first = block / window_ * window_, end = std::min(first + window_, places_.size() - 1);
  const std::uint64_t from = places_[first], to = places_[end];
  const std::uint64_t seed = fingerprint_hash().add(seed_).add(std::uint64_t{first}).value();
  return {from, to, first, end, permutation(to - from, seed, epoch_, stage_)};
}

std::uint64_t unequal_block_order::index_of(const window& w, std::uint64_t p) const noexcept {
  const std::uint64_t at = w.from + w.order(p - w.from);
  const auto first = places_.begin() + static_cast<std::ptrdiff_t>(w.first);
  const auto end = places_.begin() + static_cast<std::ptrdiff_t>(w.end);
  const auto place = std::upper_bound(first, end, at) - 1;  // empty blocks come before it
  const auto block = static_cast<std::size_t>(blocks_(static_cast<std::uint64_t>(place - places_.begin())));
  return (*begins_)[block] + at - *place;
}

unequal_block_shuffle_stage::unequal_block_shuffle_stage(const std::vector<std::uint64_t>& blocks,
                                                         std::uint64_t window)
    : window_(static_cast<std::size_t>(
          std::min<std::uint64_t>(window, std::max<std::uint64_t>(blocks.size(), 1)))) {
  auto begins = std::make_shared<std::vector<std::uint64_t>>();
  begins->reserve(blocks.size() + 1);
  begins->push_back(0);
  for (const std::uint64_t length : blocks) begins->push_back(begins->back() + length);
  begins_ = std::move(begins);
}

std::uint64_t unequal_block_shuffle_stage::size(std::uint64_t n) const {
  if (n == begins_->back()) return n;
  throw error("block_shuffle: its " + std::to_string(begins_->size() - 1) + " blocks have " +
              std::to_string(begins_->back()) + " samples together, and " + std::to_string(n) +
              " come to it; write it directly after the source whose blocks these are");
}

unequal_block_order unequal_block_shuffle_stage::prepare(std::uint64_t n, std::uint64_t seed,
                                                         std::uint64_t epoch, std::uint32_t stage) const {
  size(n);
  return {begins_, window_, seed, epoch, stage};
}

std::uint64_t unequal_block_shuffle_stage::fingerprint() const noexcept {
  fingerprint_hash h;
  h.add(std::uint64_t{window_});
  for (const std::uint64_t begin : *begins_) h.add(begin);
  return h.value();
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::block_shuffle_stage block_shuffle(std::uint64_t block, std::uint64_t window) {
  if (block == 0 || window == 0) {
    throw error("block_shuffle(" + std::to_string(block) + ", " + std::to_string(window) +
                "): a block has at least one sample, and a window at least one block");
  }
  if (window > detail::endless / block)
    window = detail::endless / block + 1;  // all blocks: nothing overflows
  return {block, window};
}

detail::unequal_block_shuffle_stage block_shuffle(const std::vector<std::uint64_t>& blocks,
                                                  std::uint64_t window) {
  if (window == 0) throw error("block_shuffle(blocks, 0): a window has at least one block");
  return {blocks, window};
}

}  // namespace wick

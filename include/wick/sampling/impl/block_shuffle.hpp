/// \file
/// The bodies of what sampling/block_shuffle.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstdint>
#include <string>

#include <wick/pipeline/error.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/pipeline/stage.hpp>
#include <wick/sampling/block_shuffle.hpp>
#include <wick/sampling/detail/permutation.hpp>
#include <wick/sampling/order.hpp>

namespace wick::detail {

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
  // The short block has no like: it stands at a place drawn for it, the others are permuted around it.
  short_at_ = full_;
  if (rest_ != 0) short_at_ = random_stream(seed, epoch, 1, stage).below(full_ + 1);
}

block_order block_shuffle_stage::prepare(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                                         std::uint32_t stage) const noexcept {
  return {n, block, window, seed, epoch, stage};
}

}  // namespace wick::detail

namespace wick {

detail::block_shuffle_stage block_shuffle(std::uint64_t block, std::uint64_t window) {
  if (block == 0 || window == 0) {
    throw error("block_shuffle(" + std::to_string(block) + ", " + std::to_string(window) +
                "): a block has at least one sample, and a window at least one block");
  }
  if (window > detail::endless / block)
    window = detail::endless / block + 1;  // all blocks: nothing overflows
  return {block, window};
}

}  // namespace wick

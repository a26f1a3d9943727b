// Implements sampling/order.hpp. Included in exactly one file of a program.
#pragma once

#include <string>

#include <wick/pipeline/ranks.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1::detail {

permutation shuffle_stage::prepare(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                                   std::uint32_t stage) const noexcept {
  return permutation(n, seed, epoch, stage);
}

permutation shuffle_once_stage::prepare(std::uint64_t n, std::uint64_t, std::uint64_t,
                                        std::uint32_t) const noexcept {
  return permutation(n, seed, 0, 0);
}

identity_order shard_stage::prepare(std::uint64_t, std::uint64_t, std::uint64_t,
                                    std::uint32_t) const noexcept {
  return {};
}

identity_order take_stage::prepare(std::uint64_t, std::uint64_t, std::uint64_t,
                                   std::uint32_t) const noexcept {
  return {};
}

skip_stage::shifted skip_stage::prepare(std::uint64_t, std::uint64_t, std::uint64_t,
                                        std::uint32_t) const noexcept {
  return {count};
}

subset_stage::subset_stage(std::vector<std::uint64_t> indices)
    : indices_(std::make_shared<const std::vector<std::uint64_t>>(std::move(indices))) {
  for (const std::uint64_t i : *indices_) highest_ = i > highest_ ? i : highest_;
}

std::uint64_t subset_stage::size(std::uint64_t n) const {
  if (!indices_->empty() && highest_ >= n) {
    throw error("subset: index " + std::to_string(highest_) + " of " + std::to_string(n) +
                " samples; indices count from 0 to the number of samples before subset() - 1");
  }
  return indices_->size();
}

subset_stage::listed subset_stage::prepare(std::uint64_t, std::uint64_t, std::uint64_t,
                                           std::uint32_t) const noexcept {
  return {indices_};
}

std::uint64_t subset_stage::fingerprint() const noexcept {
  return fingerprint_hash().add(indices_->data(), indices_->size() * sizeof(std::uint64_t)).value();
}

std::uint64_t repeat_stage::size(std::uint64_t n) const noexcept {
  if (n == 0) return 0;
  return times == 0 || times > endless / n ? endless : n * times;
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::shard_stage shard(std::uint64_t rank, std::uint64_t world) {
  if (world == 0 || rank >= world) {
    throw error("shard: rank " + std::to_string(rank) + " of " + std::to_string(world) +
                " ranks; ranks count from 0 to world size - 1");
  }
  return {rank, world};
}

detail::shard_stage shard() {
  if (detail::ranks_scope* const scope = detail::ranks_scope::current()) {
    const process_ranks given = scope->take();
    return shard(given.rank, given.world);
  }
  const process_ranks here = ranks();
  return shard(here.rank, here.world);
}

detail::subset_stage subset(std::vector<std::uint64_t> indices) {
  return detail::subset_stage(std::move(indices));
}

detail::repeat_stage repeat(std::uint64_t times) {
  if (times == 0)
    throw error("repeat(0): an epoch would have no sample; write repeat() for one that never ends");
  return {times};
}

}  // namespace wick

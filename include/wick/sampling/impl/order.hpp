/// \file
/// The bodies of what sampling/order.hpp declares. Included in exactly one file of a program.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <wick/pipeline/error.hpp>
#include <wick/pipeline/fingerprint.hpp>
#include <wick/pipeline/stage.hpp>
#include <wick/sampling/detail/permutation.hpp>
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

std::uint64_t environment_number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  std::uint64_t n = 0;
  const char* const end = text + std::string_view(text).size();
  const auto [stopped, fault] = std::from_chars(text, end, n);
  if (fault != std::errc() || stopped != end) {
    throw error(std::string("shard: the environment says ") + name + "=" + printable(text) +
                ", which is no number of ranks; set RANK and WORLD_SIZE as torchrun does, or write "
                "shard(rank, world)");
  }
  return n;
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
  const std::uint64_t rank = detail::environment_number("RANK", 0);
  const std::uint64_t world = detail::environment_number("WORLD_SIZE", 1);
  const auto is_set = [](const char* name) {
    const char* const said = std::getenv(name);
    return said != nullptr && *said != '\0';
  };
  const bool some_rank = is_set("RANK"), some_world = is_set("WORLD_SIZE");
  // Launchers that set WORLD_SIZE alone would make each process the first rank.
  if (world == 0 || rank >= world || (world > 1 && !some_rank)) {
    throw error("shard: the environment says " +
                (some_rank ? "RANK=" + std::to_string(rank) : "WORLD_SIZE=" + std::to_string(world)) +
                (!some_rank    ? ", and RANK is not set"
                 : !some_world ? ", and WORLD_SIZE is not set"
                               : " and WORLD_SIZE=" + std::to_string(world)) +
                "; set both as torchrun does (RANK from 0 to WORLD_SIZE - 1), or write shard(rank, world)");
  }
  return shard(rank, world);
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

/// \file
/// The bodies of what loader/detail/replayable.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <wick/loader/detail/replayable.hpp>
#include <wick/loader/receipt.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1::detail {

void refuse_replay(const std::string& what) { throw error("replay: " + what); }

shard_stage replayed_share(const shard_stage& own, const replay_options& options, bool batched) {
  if (!options.rank && !options.all_ranks) return own;
  if (!batched)
    refuse_replay(
        "without batch() a sample is found by its position in the epoch, which counts over all ranks; leave "
        ".rank and .all_ranks out");
  if (options.rank && options.all_ranks) refuse_replay("both .rank and .all_ranks are given; leave one out");
  shard_stage out = own;
  if (options.all_ranks) {
    out.rank = 0;
    out.world = 1;
  } else {
    out.rank = *options.rank;
  }
  if (out.rank >= out.world)
    refuse_replay("rank " + std::to_string(out.rank) + " of " + std::to_string(out.world) +
                  "; ranks are counted from 0");
  return out;
}

void require_replayable(std::uint64_t epoch, std::uint64_t number, std::uint64_t there, bool batched) {
  if (number < there) return;
  const std::string name = batched ? "batch" : "position";
  refuse_replay(name + " " + std::to_string(number) + " of epoch " + std::to_string(epoch) + ", which has " +
                std::to_string(there) + " " + name + (batched ? "es" : "s") + ", counted from 0");
}

void data_round::require(std::uint64_t epoch, std::optional<std::uint64_t> under_way) const {
  if (begun && (epoch >= first || epoch == under_way)) return;
  const std::string name = "epoch " + std::to_string(epoch);
  if (!begun)
    refuse_replay(name + ": since refresh() no epoch was begun, and the data it was made of are gone");
  refuse_replay(name + " is of data that were there before refresh(), and are gone; epochs from " +
                std::to_string(first) + " on can be made again");
}

}  // namespace wick::detail

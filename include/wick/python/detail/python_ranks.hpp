// Finds a Python process's rank: from an argument, else torch.distributed, else its launcher.
#pragma once

#include <cstdint>
#include <nanobind/nanobind.h>
#include <optional>
#include <string>

#include <wick/base/detail/launch.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/ranks.hpp>

namespace wick::inline v0_1::detail {

/// The rank from torch.distributed, if it is initialized in this process. With the GIL.
inline std::optional<process_ranks> ranks_of_torch() {
  const nanobind::object modules = nanobind::module_::import_("sys").attr("modules");
  const nanobind::object distributed = modules.attr("get")("torch.distributed");
  if (distributed.is_none() || !nanobind::cast<bool>(distributed.attr("is_available")()) ||
      !nanobind::cast<bool>(distributed.attr("is_initialized")()))
    return std::nullopt;
  process_ranks out;
  out.rank = nanobind::cast<std::uint64_t>(distributed.attr("get_rank")());
  out.world = nanobind::cast<std::uint64_t>(distributed.attr("get_world_size")());
  out.launcher = "torch.distributed";
  return out;
}

inline std::string words_of(const process_ranks& r) {
  return "rank " + std::to_string(r.rank) + " of " + std::to_string(r.world);
}

/// The rank for shard() while a loader is made; empty: from the environment. \throws wick::error when
/// torch.distributed and RANK contradict each other
inline std::optional<process_ranks> ranks_of_python(std::optional<std::uint64_t> rank,
                                                    std::optional<std::uint64_t> world) {
  if (rank || world) {
    if (!rank || !world || *rank >= *world)
      throw error("shard: rank=" + (rank ? std::to_string(*rank) : "None") +
                  ", world_size=" + (world ? std::to_string(*world) : "None") +
                  "; give both, with rank from 0 to world_size - 1");
    process_ranks out;
    out.rank = *rank;
    out.world = *world;
    return out;
  }
  const std::optional<process_ranks> of_torch = ranks_of_torch();
  const launch here = of_torch ? find_launch() : launch();
  if (here.launcher == "torchrun" && here.fault.empty() &&
      (here.rank != of_torch->rank || here.world != of_torch->world)) {
    throw error("shard: torch.distributed says " + words_of(*of_torch) + ", and the environment " +
                printable(here.variables) + "; unset what is wrong, or give rank=…, world_size=…");
  }
  return of_torch;
}

/// A loader made before torch.distributed was initialized may have another rank's share. `taken`: the rank
/// that shard() took then, if any.
inline void require_same_ranks(const std::optional<process_ranks>& taken) {
  if (!taken) return;
  const std::optional<process_ranks> now = ranks_of_torch();
  if (!now || (now->rank == taken->rank && now->world == taken->world)) return;
  throw error("shard: this loader was made for " + words_of(*taken) + ", and by now torch.distributed says " +
              words_of(*now) +
              "; make it after init_process_group() (in Lightning, in train_dataloader()), or give rank=…, "
              "world_size=…");
}

}  // namespace wick::detail

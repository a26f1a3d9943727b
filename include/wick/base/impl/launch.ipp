// Implements base/detail/launch.hpp. Included in exactly one file of a program.
#pragma once

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <wick/base/detail/launch.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// Empty if it isn't set.
std::string_view variable(const char* name) noexcept {
  const char* const text = name == nullptr ? nullptr : std::getenv(name);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

std::optional<std::uint64_t> number_in(std::string_view text) noexcept {
  std::uint64_t n = 0;
  const auto [stopped, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || fault != std::errc() || stopped != text.data() + text.size()) return std::nullopt;
  return n;
}

/// A launcher's variable. Text that isn't a number is a fault.
std::uint64_t number(const char* name, std::uint64_t otherwise, std::string& fault) {
  const std::string_view text = variable(name);
  if (text.empty()) return otherwise;
  if (const auto n = number_in(text)) return *n;
  if (fault.empty()) fault = std::string(name) + "=" + std::string(text) + ", which is not a number";
  return otherwise;
}

/// The number of tasks of a node in Slurm's "2(x3),1".
std::uint64_t tasks_of_node(std::string_view counts, std::uint64_t node) noexcept {
  while (!counts.empty()) {
    const std::string_view entry = counts.substr(0, counts.find(','));
    const std::size_t open = entry.find("(x");
    const auto tasks = number_in(entry.substr(0, open));
    const auto nodes = open == std::string_view::npos
                           ? std::optional<std::uint64_t>(1)
                           : number_in(entry.substr(open + 2, entry.size() - open - 3));
    if (!tasks || !nodes) return 0;
    if (node < *nodes) return *tasks;
    node -= *nodes;
    counts.remove_prefix(entry.size() < counts.size() ? entry.size() + 1 : counts.size());
  }
  return 0;
}

std::string said(const char* rank, const char* world) {
  return std::string(rank) + "=" + std::string(variable(rank)) + " and " + world + "=" +
         std::string(variable(world));
}

/// RANK and WORLD_SIZE.
launch of_torchrun() {
  launch out;
  out.launcher = "torchrun";
  out.rank = number("RANK", 0, out.fault);
  out.world = number("WORLD_SIZE", 1, out.fault);
  out.local_rank = number("LOCAL_RANK", 0, out.fault);
  if (!out.fault.empty()) return out;
  const bool some_rank = !variable("RANK").empty(), some_world = !variable("WORLD_SIZE").empty();
  out.variables = !some_world  ? "RANK=" + std::to_string(out.rank)
                  : !some_rank ? "WORLD_SIZE=" + std::to_string(out.world)
                               : said("RANK", "WORLD_SIZE");
  // A launcher that sets WORLD_SIZE alone would make each process the first rank.
  if (out.world == 0 || out.rank >= out.world || (out.world > 1 && !some_rank)) {
    out.fault = out.variables + (!some_rank    ? ", and RANK is not set"
                                 : !some_world ? ", and WORLD_SIZE is not set"
                                               : "");
  }
  return out;
}

/// Lightning's own launcher sets no RANK.
launch of_lightning() {
  launch out;
  out.launcher = "Lightning";
  const std::uint64_t node = number("NODE_RANK", 0, out.fault);
  out.local_rank = number("LOCAL_RANK", 0, out.fault);
  out.world = number("WORLD_SIZE", 1, out.fault);
  out.local_world = number("LOCAL_WORLD_SIZE", node == 0 ? out.world : 0, out.fault);
  out.variables = said("LOCAL_RANK", "WORLD_SIZE");
  if (node != 0) out.variables += ", NODE_RANK=" + std::to_string(node);
  if (!out.fault.empty()) return out;
  out.rank = node * out.local_world + out.local_rank;
  if (node != 0 && out.local_world == 0)
    out.fault = out.variables + ", and LOCAL_WORLD_SIZE is not set";
  else if (out.rank >= out.world)
    out.fault = out.variables;
  return out;
}

struct launcher_variables {
  const char *launcher, *rank, *world, *local_rank, *local_world;
};
constexpr std::array<launcher_variables, 3> launchers{{
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    // srun sets SLURM_STEP_NUM_TASKS for a step's tasks; a batch script has SLURM_PROCID and SLURM_NTASKS,
    // and is one process.
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr},
}};
launch of_others(const launcher_variables& v) {
  launch out;
  out.launcher = v.launcher;
  out.rank = number(v.rank, 0, out.fault);
  out.world = number(v.world, 1, out.fault);
  out.local_rank = number(v.local_rank, 0, out.fault);
  if (v.local_world != nullptr)
    out.local_world = number(v.local_world, 1, out.fault);
  else if (const std::uint64_t n =
               tasks_of_node(variable("SLURM_STEP_TASKS_PER_NODE"), number("SLURM_NODEID", 0, out.fault)))
    out.local_world = n;
  out.variables = said(v.rank, v.world);
  if (out.fault.empty() && out.rank >= out.world) out.fault = out.variables;
  return out;
}

/// All launchers that are found, the innermost first.
std::vector<launch> all_launches() {
  std::vector<launch> found;
  const bool some_rank = !variable("RANK").empty(), some_world = !variable("WORLD_SIZE").empty();
  std::vector<launch> others;
  for (const launcher_variables& v : launchers)
    if (!variable(v.rank).empty() && !variable(v.world).empty()) others.push_back(of_others(v));
  // A script that sets WORLD_SIZE may leave the rank to srun or mpirun.
  const bool by_others =
      !some_rank && !others.empty() && number_in(variable("WORLD_SIZE")) == others[0].world;
  if (some_rank)
    found.push_back(of_torchrun());
  else if (some_world && !by_others)
    found.push_back(variable("LOCAL_RANK").empty() ? of_torchrun() : of_lightning());
  found.insert(found.end(), others.begin(), others.end());
  return found;
}

}  // namespace

launch find_launch() {
  const std::vector<launch> found = all_launches();
  launch out = found.empty() ? launch() : found[0];
  // These launchers number their processes themselves.
  const bool renumbers = !variable("TORCHELASTIC_RUN_ID").empty() || !variable("RAY_JOB_ID").empty();
  for (std::size_t i = 1; i < found.size() && out.fault.empty(); ++i) {
    const launch& outer = found[i];
    if (!outer.fault.empty()) {
      out.fault = outer.fault;
    } else if (out.world % outer.world != 0 ||
               (out.world == outer.world && out.rank != outer.rank && !renumbers)) {
      out.fault = out.variables + ", and " + outer.variables;
    } else if (out.world == outer.world) {
      if (variable("LOCAL_RANK").empty()) out.local_rank = outer.local_rank;
      out.local_world = outer.local_world;
    }
  }
  out.local_world = number("LOCAL_WORLD_SIZE", out.local_world, out.fault);
  return out;
}

std::uint64_t local_ranks() noexcept {
  try {
    const launch here = find_launch();
    return here.local_world == 0 ? 1 : here.local_world;
  } catch (...) {  // no memory for the strings
    return 1;
  }
}

}  // namespace wick::detail

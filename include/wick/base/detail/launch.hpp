// Which of a training run's processes this one is, according to a launcher's environment variables.
#pragma once

#include <cstdint>
#include <string>

namespace wick::inline v0_1::detail {

struct launch {
  std::uint64_t rank = 0, world = 1;              ///< among all processes
  std::uint64_t local_rank = 0, local_world = 1;  ///< among those on this machine
  std::string launcher;                           ///< "torchrun", "Slurm", …; empty: none
  std::string variables;                          ///< "RANK=1 and WORLD_SIZE=4"; empty: none is set
  std::string fault;                              ///< what is wrong with the variables; empty: nothing
};

/// Uses the first of: RANK and WORLD_SIZE (torchrun, Ray, Accelerate); WORLD_SIZE, NODE_RANK, and LOCAL_RANK
/// (Lightning); Open MPI's mpirun; MPICH's (and Intel's); Slurm's srun. A launcher inside another, such as
/// torchrun on each node of an srun, must have a multiple of the outer one's processes.
launch find_launch();

/// The number of processes on this machine; 1 if no launcher says so.
std::uint64_t local_ranks() noexcept;

}  // namespace wick::detail

// The rank of this process in a training, under any launcher.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace wick::inline v0_1 {

/// The result of ranks().
struct process_ranks {
  std::uint64_t rank = 0, world = 1;  ///< among all processes of the training
  std::uint64_t local_rank = 0;       ///< among those on this machine; the number of its GPU
  std::uint64_t local_world = 1;      ///< the number of processes on this machine
  std::string launcher;               ///< "torchrun", "Lightning", "Open MPI", "MPICH", "Slurm"; empty: none
};

/// Reads the launcher's environment variables: those of torchrun (RANK, WORLD_SIZE, LOCAL_RANK,
/// LOCAL_WORLD_SIZE; Ray and Accelerate set them, too), Lightning's own launcher, Open MPI's and MPICH's
/// mpirun, or Slurm's srun. If one launcher runs inside another, the inner one counts, such as torchrun on
/// each node of an srun. Without a launcher there is one rank. \throws wick::error if the variables
/// contradict each other
process_ranks ranks();

namespace detail {

/// The ranks for shard() on this thread while this lives: those given by a caller or torch.distributed, else
/// ranks().
class ranks_scope {
 public:
  explicit ranks_scope(std::optional<process_ranks> given);
  ranks_scope(const ranks_scope&) = delete;
  ranks_scope& operator=(const ranks_scope&) = delete;
  ~ranks_scope();

  static ranks_scope* current() noexcept;
  process_ranks take();
  /// The rank that shard() took; empty if no pipeline has shard().
  const std::optional<process_ranks>& taken() const noexcept { return taken_; }

 private:
  std::optional<process_ranks> given_, taken_;
  ranks_scope* const outer_;
};

}  // namespace detail
}  // namespace wick

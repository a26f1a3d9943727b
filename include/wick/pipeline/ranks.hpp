/// \file
/// Which of a training's processes this one is, whatever has started them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace wick::inline v0_1 {

/// Made by ranks().
struct process_ranks {
  std::uint64_t rank = 0, world = 1;  ///< of all processes of the training
  std::uint64_t local_rank = 0;       ///< of those on this machine; the number of its GPU
  std::uint64_t local_world = 1;      ///< how many there are on this machine
  std::string launcher;               ///< "torchrun", "Lightning", "Open MPI", "MPICH", "Slurm"; empty: none
};

/// As the launcher's environment variables say: those of torchrun (RANK, WORLD_SIZE, LOCAL_RANK,
/// LOCAL_WORLD_SIZE; Ray and Accelerate set them too), Lightning's own launcher, Open MPI's and MPICH's
/// mpirun, or Slurm's srun. A launcher inside another one counts, as torchrun does on each node of an srun.
/// Without a launcher there is one rank. \throws wick::error where they contradict each other
process_ranks ranks();

namespace detail {

/// What shard() says on this thread while this lives: what a caller or torch.distributed has given, else
/// ranks().
class ranks_scope {
 public:
  explicit ranks_scope(std::optional<process_ranks> given);
  ranks_scope(const ranks_scope&) = delete;
  ranks_scope& operator=(const ranks_scope&) = delete;
  ~ranks_scope();

  static ranks_scope* current() noexcept;
  process_ranks take();
  /// Which rank shard() took; empty where no pipeline has shard().
  const std::optional<process_ranks>& taken() const noexcept { return taken_; }

 private:
  std::optional<process_ranks> given_, taken_;
  ranks_scope* const outer_;
};

}  // namespace detail
}  // namespace wick

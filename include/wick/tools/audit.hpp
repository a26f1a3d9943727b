// Checks in a training's delivery logs that it had every sample exactly once, in one order, on all of its
// ranks and through all of its restarts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wick::inline v0_1 {

/// Options of audit().
struct audit_options {
  /// Each complete epoch must have each sample of the source exactly once. Leave it false if the order has
  /// weights, takes a part of the source or repeats it, or if failed samples are replaced or left out.
  bool each_once = false;
};

/// The findings of audit().
struct audit_report {
  /// A part of the training without a restart.
  struct attempt {
    std::uint64_t epoch = 0, batch = 0;  ///< the place where it began
    std::uint64_t ranks = 1;
    std::uint64_t again = 0;  ///< the number of its batches that an earlier attempt had, too
  };
  /// An epoch, over all ranks.
  struct epoch {
    std::uint64_t number = 0;
    std::uint64_t batches = 0;      ///< batches that all ranks had
    std::uint64_t of_batches = 0;   ///< all batches of the epoch
    std::uint64_t samples = 0;      ///< samples that were handed over
    std::uint64_t left_out = 0;     ///< samples that failed or were filtered out
    std::uint64_t replaced = 0;     ///< samples that took the place of a failed one
    bool each_once = false;         ///< each sample of the source came exactly once
    std::uint64_t fingerprint = 0;  ///< for a complete epoch: loader::fingerprint() as of a single rank
  };

  std::uint64_t logs = 0;        ///< files
  std::uint64_t seed = 0;        ///< loader_options::seed
  std::uint64_t batch_size = 0;  ///< the size of the global batch
  std::uint64_t compared = 0;    ///< batches that were made more than once
  std::vector<attempt> attempts;
  std::vector<epoch> epochs;
  std::vector<std::string> problems;  ///< lost, repeated, or different samples and batches; the first 100
  std::uint64_t more_problems = 0;    ///< the number of problems that are not in the list

  bool ok() const noexcept { return problems.empty(); }
  /// Some lines of text: the attempts, the epochs, and the problems.
  std::string to_string() const;
};

/// Reads the files of loader_options::delivery_log_file, from all ranks and attempts of one training, and
/// checks: each batch was handed to all of its ranks, none is missing between the first and the last, and a
/// batch that two attempts made is the same in both, on any number of ranks. Hashes distinguish the samples
/// and their places; with content_fingerprint, their bytes, too. Batches after the last one that all ranks
/// have belong to a training that was killed. The result lists the problems.
/// \throws wick::error when a file can't be read or isn't a delivery log
audit_report audit(const std::vector<std::string>& files, const audit_options& options = {});

}  // namespace wick

/// \file
/// Whether a training had every sample exactly once, in one order, on all of its ranks and through all of its
/// restarts: from its delivery logs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wick::inline v0_1 {

/// How audit() judges.
struct audit_options {
  /// Each complete epoch must have each sample of the source exactly once. Leave it false where the order has
  /// weights, takes a part of the source or repeats it, or where failed samples are replaced or left out.
  bool each_once = false;
};

/// What audit() has found.
struct audit_report {
  /// A part of the training without a restart.
  struct attempt {
    std::uint64_t epoch = 0, batch = 0;  ///< with which it began
    std::uint64_t ranks = 1;
    std::uint64_t again = 0;  ///< of its batches, those that an attempt before it had, too
  };
  /// An epoch, as all ranks had it together.
  struct epoch {
    std::uint64_t number = 0;
    std::uint64_t batches = 0;      ///< that all ranks had
    std::uint64_t of_batches = 0;   ///< that it has
    std::uint64_t samples = 0;      ///< that were handed over
    std::uint64_t left_out = 0;     ///< samples that failed or were filtered out
    std::uint64_t replaced = 0;     ///< samples that came in the place of one that failed
    bool each_once = false;         ///< each sample of the source came exactly once
    std::uint64_t fingerprint = 0;  ///< of a complete epoch: loader::fingerprint() of one rank alone
  };

  std::uint64_t logs = 0;        ///< files
  std::uint64_t seed = 0;        ///< loader_options::seed
  std::uint64_t batch_size = 0;  ///< of the global batch
  std::uint64_t compared = 0;    ///< batches that were made more than once
  std::vector<attempt> attempts;
  std::vector<epoch> epochs;
  std::vector<std::string> problems;  ///< what is lost, repeated or different; the first 100
  std::uint64_t more_problems = 0;    ///< that are not in the list

  bool ok() const noexcept { return problems.empty(); }
  /// Some lines of text: the attempts, the epochs, and the problems.
  std::string to_string() const;
};

/// Reads the files that loader_options::delivery_log_file has written, of all ranks and attempts of one
/// training, and compares: each batch was handed to all of its ranks, none is missing between the first and
/// the last, and what two attempts have made is the same, on any number of ranks. Hashes tell the samples and
/// their places apart; with content_fingerprint their bytes, too. Batches behind the last that all ranks have
/// are those of a training that was killed. The result has what is wrong.
/// \throws wick::error when a file can't be read or is no delivery log
audit_report audit(const std::vector<std::string>& files, const audit_options& options = {});

}  // namespace wick

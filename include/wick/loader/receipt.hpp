/// \file
/// The receipt of a batch: its samples, their substitutes, the others that went into them, and the random
/// numbers that stages drew.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <wick/failures/failure_log.hpp>

namespace wick::inline v0_1 {

/// Whose part of a batch loader.replay() makes: `train.replay(3, 40, {.rank = 2})`.
struct replay_options {
  std::optional<std::uint64_t> rank = {};  ///< of this rank; without one, of the loader's own
  bool all_ranks = false;                  ///< the whole global batch, as one rank alone would have it
};

/// The content of a batch, by loader.receipt().
struct receipt {
  /// What a stage took from the random stream of one sample, context::random().
  struct draw {
    std::string stage;                  ///< its name
    std::uint32_t number = 0;           ///< of the stage in the pipeline, from 0
    std::uint64_t count = 0;            ///< of 32-bit numbers that it took
    std::vector<std::uint32_t> values;  ///< the first 256 of them
  };
  /// A sample that went into another one, by with_others(), mixup(), mosaic(), ….
  struct other {
    std::uint64_t index = 0;    ///< in the source
    std::string key;            ///< as the source has it
    std::string stage;          ///< that drew it
    std::uint32_t number = 0;   ///< of that stage in the pipeline, from 0
    std::vector<draw> draws;    ///< of the stages that it went through
    std::vector<other> others;  ///< that went into it
  };
  /// A sample of the batch.
  struct sample {
    std::uint64_t slot = 0;      ///< row of the batch's tensors; with pack(), its number in the batch
    std::uint64_t position = 0;  ///< in the epoch, over all ranks; random numbers go by it
    std::uint64_t index = 0;     ///< in the source
    std::string key;             ///< as the source has it
    std::uint64_t rank = 0;      ///< whose batch it is in
    std::uint64_t planned = 0;   ///< index of the sample that the order has there; another one: that failed
    std::string planned_key;     ///< the key of that
    std::vector<draw> draws;     ///< in the order of the stages
    std::vector<other> others;   ///< that went into it, in the order in which they were drawn
    /// Whether it came in the place of one that failed.
    bool substitute() const noexcept { return index != planned; }
  };

  std::uint64_t seed = 0;                   ///< loader_options::seed
  std::uint64_t epoch = 0;                  ///< as it was asked for
  std::uint64_t batch = 0;                  ///< in the epoch; without batch() the position
  std::vector<sample> samples;              ///< by rising slot, without those left out
  std::vector<draw> draws;                  ///< of stages behind batch()
  std::vector<failure_log_entry> failures;  ///< as the failure log has them

  /// An object of JSON, valid whatever keys are: bytes of a key that are no UTF-8 stand as "\\xNN".
  std::string to_json() const;
};

}  // namespace wick

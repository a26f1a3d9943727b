/// \file
/// What has to be known of the past to make a batch again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <wick/loader/receipt.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1::detail {

/// Which epochs are of the data as they are now. Without refresh() all are.
struct data_round {
  std::uint64_t count = 0;  // how often, in this training
  std::uint64_t first = 0;  // epoch that was begun over them
  bool begun = true;        // one was

  void refreshed() noexcept {
    ++count;
    begun = false;
  }
  void begin(std::uint64_t epoch) noexcept {
    if (!begun) first = epoch;
    begun = true;
  }
  /// From a state that was written in round `of`.
  void go_on(std::uint64_t of, std::uint64_t epoch) noexcept {
    if (of != 0 || count != 0) first = epoch;
    begun = true;
    count = of;
  }
  /// \throws wick::error
  void require(std::uint64_t epoch, std::optional<std::uint64_t> under_way) const;
};

/// \throws wick::error
[[noreturn]] void refuse_replay(const std::string& what);
/// Whose part is made, of a run that has `own`.
shard_stage replayed_share(const shard_stage& own, const replay_options& options, bool batched);
void require_replayable(std::uint64_t epoch, std::uint64_t number, std::uint64_t there, bool batched);

}  // namespace wick::detail

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

/// How many samples had been moved to earlier batches (compaction) by a batch of the epoch under way: known
/// from the first one that was handed over.
class moved_samples {
 public:
  void begin(std::uint64_t moved) noexcept {
    known_ = false;
    later_.clear();
    moved_ = moved;
  }
  /// Behind batch `number`, which was handed over.
  void add(std::uint64_t number, std::uint64_t moved) {
    if (!known_) first_ = {number, moved_};
    known_ = true;
    if (moved != moved_) later_.push_back({number + 1, moved});
    moved_ = moved;
    next_ = number + 1;
  }
  std::uint64_t now() const noexcept { return moved_; }
  std::optional<std::uint64_t> before(std::uint64_t number) const noexcept {
    if (!known_ || number < first_.batch || number > next_) return std::nullopt;
    std::uint64_t out = first_.moved;
    for (const from& f : later_) {
      if (f.batch <= number) out = f.moved;
    }
    return out;
  }

 private:
  struct from {
    std::uint64_t batch = 0, moved = 0;
  };
  std::uint64_t moved_ = 0, next_ = 0;
  bool known_ = false;
  from first_;
  std::vector<from> later_;
};

/// \throws wick::error
[[noreturn]] void refuse_replay(const std::string& what);
[[noreturn]] void refuse_replay_of_compacted(std::uint64_t epoch, std::uint64_t batch);
/// Whose part is made, of a run that has `own`.
shard_stage replayed_share(const shard_stage& own, const replay_options& options, bool batched);
void require_replayable(std::uint64_t epoch, std::uint64_t number, std::uint64_t there, bool batched);

}  // namespace wick::detail

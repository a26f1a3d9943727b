// Groups samples of known lengths: batches of similar length, or rows in which several follow one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <wick/sampling/detail/permutation.hpp>

namespace wick::inline v0_1::detail {

/// One of an epoch's samples, or a piece of one.
struct lengthy {
  std::uint32_t index;   ///< in the source
  std::uint32_t length;  ///< of the part that it takes
  std::uint32_t from;    ///< where in the sample that part begins
  std::uint32_t whole;   ///< the length of the whole sample
};

class grouped_epoch;

/// Which lengths go together. That is the same in all epochs, and so are the numbers of groups and batches;
/// an epoch exchanges samples of one class (of one length, or of one bucket) by a permutation, and shuffles
/// the groups. So nothing is sorted or fitted after the loader is made.
class grouping {
 public:
  /// Sorts by length, longest first; equal ones keep their order.
  static void sort(std::vector<lengthy>& samples);

  /// Batches of at most `most` samples and, unless it is 0, of at most `tokens`, padding included. Their
  /// sizes are multiples of `multiple` if they reach it, except for the very last. A class has lengths that
  /// differ by an eighth at most, filled up to whole batches; the last class also has the few shorter ones.
  static grouping buckets(std::vector<lengthy> sorted, std::uint64_t most, std::uint64_t tokens,
                          std::uint64_t multiple);
  /// Rows of `length`, none overfull: each sample, the longest first, goes into the row where it leaves the
  /// least room. Best-fit decreasing: Johnson, "Near-optimal bin packing algorithms", 1973. It uses tables of
  /// the room that is left, so it takes some ten ns per sample.
  static grouping rows(std::vector<lengthy> sorted, std::uint32_t length);
  /// Rows of `length` in the given order, for one epoch, in batches of `rows`. Each sample goes into the row
  /// of its batch where it leaves the least room. Those that fit nowhere wait, and begin the next batch; the
  /// batch is full when 64 wait.
  static grouping rows_in_order(std::vector<lengthy> samples, std::uint32_t length, std::uint64_t rows);

  /// The number of samples in an epoch.
  std::uint64_t size() const noexcept { return group_begin_.empty() ? 0 : group_begin_.back(); }
  std::uint64_t groups() const noexcept { return group_begin_.empty() ? 0 : group_begin_.size() - 1; }
  /// Drops the last group if it is short: an epoch then has that many samples fewer, different ones each
  /// time.
  void drop_short();
  /// The most samples that `count` groups have together.
  std::uint64_t largest(std::uint64_t count) const;
  /// The number of samples in the smallest batch but the last.
  std::uint64_t smallest_full() const noexcept { return smallest_full_; }

 private:
  friend class grouped_epoch;
  using numbers = std::vector<std::uint32_t>;

  /// For sorted samples whose rows are known: finds the places in the rows, and the classes.
  static grouping of_rows(std::vector<lengthy> sorted, const numbers& row_of, const numbers& count);

  std::vector<lengthy> samples_;
  numbers class_begin_;  // where each begins in samples_, then the end
  numbers group_begin_;  // where each begins in places, then the end
  numbers at_place_;     // which of samples_ is at a place, by class; empty: each has its own
  std::uint64_t smallest_full_ = 0, last_full_ = 0;
};

/// One epoch of a grouping: its positions are those of the groups in their order. It takes 4 bytes per group,
/// and 224 for the permutation of each of the first 4,096 classes.
class grouped_epoch {
 public:
  /// \param shuffled  if false, groups have one order in all epochs, the longest first
  grouped_epoch(std::shared_ptr<const grouping> of, bool shuffled, std::uint64_t seed, std::uint64_t number,
                std::uint32_t stage);
  /// The position of a group's first sample; for group groups(), the end.
  std::uint64_t begin(std::uint64_t group) const noexcept { return begins_[group]; }
  /// The group that a position is in.
  std::uint64_t group_of(std::uint64_t position) const noexcept;
  /// The source indexes of `count` positions from `first` on.
  void indexes(std::uint64_t first, std::uint64_t count, std::uint64_t* out) const noexcept;
  /// The sample at a position of a group.
  const lengthy& sample(std::uint64_t group, std::uint64_t position) const noexcept;
  /// The number of samples that could be at a position, including its own, and the index of one of these.
  std::uint64_t alike(std::uint64_t position) const noexcept;
  std::uint64_t alike(std::uint64_t position, std::uint64_t which) const noexcept;

 private:
  std::uint64_t place(std::uint64_t group, std::uint64_t position) const noexcept;
  std::uint64_t class_of(std::uint64_t sample) const noexcept;

  const std::shared_ptr<const grouping> kept_alive_;
  const grouping& of_;
  const bool shuffled_;
  const std::uint64_t seed_, number_;
  const std::uint32_t stage_;
  permutation order_;              // of groups
  std::vector<permutation> kept_;  // of the first classes: the longest samples
  grouping::numbers begins_;
};

}  // namespace wick::detail

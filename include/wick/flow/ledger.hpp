/// \file
/// The account of samples that failed: none disappears silently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wick {

struct ledger_entry {
  std::string key;
  std::string stage;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  ///< in the epoch, over all ranks
  std::string text;            ///< what was found and what to do
};

/// Failures in the order of delivery. Belongs to the loader; read it from the thread that takes the batches.
class ledger {
 public:
  static constexpr std::size_t max_kept = 10'000;

  /// The first 10,000 entries; total() says how many there were.
  const std::vector<ledger_entry>& entries() const noexcept { return entries_; }
  std::uint64_t total() const noexcept { return total_; }
  /// Failures of the training so far: total(), and those that a loaded state brought.
  std::uint64_t of_training() const noexcept { return before_ + total_; }
  /// For the loader: what was counted before the state that it goes on from.
  void go_on_from(std::uint64_t of_training) noexcept { before_ = of_training - total_; }
  void add(ledger_entry e) {
    ++total_;
    if (entries_.size() < max_kept) entries_.push_back(std::move(e));
  }

 private:
  std::vector<ledger_entry> entries_;
  std::uint64_t total_ = 0;
  std::uint64_t before_ = 0;  // modulo 2^64: a state may be older than what this loader has counted
};

}  // namespace wick

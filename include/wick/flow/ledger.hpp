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
  void add(ledger_entry e) {
    ++total_;
    if (entries_.size() < max_kept) entries_.push_back(std::move(e));
  }

 private:
  std::vector<ledger_entry> entries_;
  std::uint64_t total_ = 0;
};

}  // namespace wick

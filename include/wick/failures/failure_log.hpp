/// \file
/// The account of samples that failed: none disappears silently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <wick/failures/on_error.hpp>

namespace wick::inline v0_1 {

/// What kind of failure it was.
enum class error_kind : std::uint8_t {
  data,         ///< a stage threw wick::error: it said what is wrong with the sample
  exception,    ///< a stage threw something else
  system,       ///< std::system_error
  memory,       ///< std::bad_alloc
  shape,        ///< it has another shape than the others of its batch
  batch,        ///< a stage behind batch() threw
  quarantined,  ///< it was not tried: an earlier run put it on the quarantine list
};

/// "data", "exception", "system", ….
constexpr std::string_view to_string(error_kind k) noexcept {
  constexpr std::string_view names[] = {"data",  "exception", "system",     "memory",
                                        "shape", "batch",     "quarantined"};
  return names[static_cast<std::size_t>(k)];
}

/// One failed sample. A substitute that fails too has an entry of its own, at the same position.
struct failure_log_entry {
  std::string key;                           ///< the sample's name, as its source gives it
  std::string stage;                         ///< that failed
  std::uint64_t epoch = 0;                   ///< in which it failed
  std::uint64_t position = 0;                ///< in the epoch, over all ranks
  std::string text;                          ///< the finding, and what to do
  error_kind kind = error_kind::exception;   ///< of the failure
  error_action action = error_action::fail;  ///< the action that was taken
  unsigned tries = 1;                        ///< how often it was tried; 0 when it was quarantined
  std::string substitute = {};               ///< replace: the key of the sample that was drawn for it
  /// Of with_others(): the key of the sample that this one was drawn to go into. Replaced means that another
  /// was drawn to go into that; substitute is empty.
  std::string into = {};
  /// Of a stage without a name of its own, where it was written: " at train.cpp:42". Follows `stage` in
  /// messages.
  std::string written = {};
};

namespace detail {

/// How many failures of a stage met with an action.
struct error_count {
  std::string stage;
  error_action action = error_action::fail;
  std::uint64_t count = 0;
};

}  // namespace detail

/// Failures in the order of delivery. Belongs to the loader; read it from the thread that takes the batches.
class failure_log {
 public:
  static constexpr std::size_t max_kept = 10'000;

  /// The first 10,000 entries; total() says how many there were. loader_options::failure_log_file gets all of
  /// them.
  const std::vector<failure_log_entry>& entries() const noexcept { return entries_; }
  /// Entries whose sample was not delivered: all but those with the action retry.
  std::uint64_t total() const noexcept { return total_; }
  /// total() and those with the action retry, by stage and action, in the order of the first of each.
  const std::vector<detail::error_count>& counts() const noexcept { return counts_; }
  /// Failures of the training so far: total(), and those that a loaded state brought.
  std::uint64_t of_training() const noexcept { return before_ + total_; }
  /// For the loader: the count in the state from which it resumes.
  void go_on_from(std::uint64_t of_training) noexcept { before_ = of_training - total_; }
  /// For the loader: one more failure.
  void add(failure_log_entry e);

 private:
  void count(const failure_log_entry& e);

  std::vector<failure_log_entry> entries_;
  std::vector<detail::error_count> counts_;
  std::uint64_t total_ = 0;
  std::uint64_t before_ = 0;  // modulo 2^64: a state may be older than what this loader has counted
};

}  // namespace wick

// The log of failed samples: none disappears silently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <wick/failures/on_error.hpp>

namespace wick::inline v0_1 {

/// The kind of a failure.
enum class error_kind : std::uint8_t {
  data,         ///< a stage threw wick::error, which names the sample's fault
  exception,    ///< a stage threw something else
  system,       ///< std::system_error
  memory,       ///< std::bad_alloc
  shape,        ///< the sample's shape differs from that of the others in its batch
  batch,        ///< a stage after batch() threw
  quarantined,  ///< the sample was not tried: an earlier run put it on the quarantine list
};

/// "data", "exception", "system", ….
constexpr std::string_view to_string(error_kind k) noexcept {
  constexpr std::string_view names[] = {"data",  "exception", "system",     "memory",
                                        "shape", "batch",     "quarantined"};
  return names[static_cast<std::size_t>(k)];
}

namespace detail {

/// The number of a stage's failures that led to an action.
struct error_count {
  std::string stage;
  error_action action = error_action::fail;
  std::uint64_t count = 0;
};

}  // namespace detail

/// Failures in the order of delivery. The loader owns it; read it on the thread that takes the batches.
class failure_log {
 public:
  /// One failed sample. A substitute that fails too has an entry of its own, at the same position.
  struct entry {
    std::string key;                           ///< the sample's name, as its source gives it
    std::string stage;                         ///< the stage that failed
    std::uint64_t epoch = 0;                   ///< the epoch in which it failed
    std::uint64_t position = 0;                ///< in the epoch, over all ranks
    std::string text;                          ///< the cause, and what to do
    error_kind kind = error_kind::exception;   ///< the kind of the failure
    error_action action = error_action::fail;  ///< the action that was taken
    unsigned tries = 1;                        ///< how often it was tried; 0 when it was quarantined
    std::string substitute = {};               ///< replace: the key of the sample that was drawn for it
    /// For a sample that with_others() drew: the key of the sample it was drawn for. The action replace then
    /// means that another one was drawn for that sample; substitute is empty.
    std::string into = {};
    /// For a stage without a name of its own: its place in the code, " at train.cpp:42". Follows `stage` in
    /// messages.
    std::string written = {};
  };

  static constexpr std::size_t max_kept = 10'000;

  /// The first 10,000 entries; total() gives the number of all. loader_options::failure_log_file gets all of
  /// them.
  const std::vector<entry>& entries() const noexcept { return entries_; }
  /// The number of entries whose sample was not delivered: all but those with the action retry.
  std::uint64_t total() const noexcept { return total_; }
  /// total() and the entries with the action retry, by stage and action, in the order of the first of each.
  const std::vector<detail::error_count>& counts() const noexcept { return counts_; }
  /// Failures of the training so far: total(), and those in a loaded state.
  std::uint64_t of_training() const noexcept { return before_ + total_; }
  /// For the loader: the count in the state from which it resumes.
  void go_on_from(std::uint64_t of_training) noexcept { before_ = of_training - total_; }
  /// For the loader: one more failure.
  void add(entry e);

 private:
  void count(const entry& e);

  std::vector<entry> entries_;
  std::vector<detail::error_count> counts_;
  std::uint64_t total_ = 0;
  std::uint64_t before_ = 0;  // modulo 2^64: a state may count fewer failures than this loader
};

}  // namespace wick

// The actions for a sample that fails: its batch fails, it is left out, another sample takes its place, or
// it is tried again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/base/detail/duration.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1 {

/// The action that was taken on a failure.
enum class error_action : std::uint8_t {
  fail,     ///< taking its batch throws wick::sample_error
  skip,     ///< left out: its batch is shorter
  replace,  ///< another sample of the epoch took its place
  retry,    ///< tried again, and it succeeded
};

/// "fail", "skip", "replace", "retry".
constexpr std::string_view to_string(error_action a) noexcept {
  constexpr std::string_view names[] = {"fail", "skip", "replace", "retry"};
  return names[static_cast<std::size_t>(a)];
}

namespace detail {

/// The action in the words of the report.
constexpr std::string_view outcome_of(error_action a) noexcept {
  constexpr std::string_view outcomes[] = {"failed", "skipped", "replaced", "good when tried again"};
  return outcomes[static_cast<std::size_t>(a)];
}

}  // namespace detail

/// Limits, and details of skip and replace. When failures exceed a limit, taking the batch throws
/// wick::too_many_errors: always for the same batch, since failures are counted in the order of delivery.
/// Each rank counts its own samples.
struct error_options {
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  /// Failed samples in the whole training; load_state() continues the count.
  std::uint64_t count = unlimited;
  /// The share of failed samples, 0 … 1, among the positions of an epoch that have had their turn. A
  /// substitute that fails, too, doesn't count again. The first 1,000 positions count as 1,000 (or as all of
  /// a smaller epoch), so that an early failure isn't 100 %.
  double rate = 1;
  /// Failed samples one after another: a disk that is gone, a server that is down.
  std::uint64_t consecutive = unlimited;
  /// With replace, up to this many samples are drawn for one place; if all fail, the batch fails. With
  /// replace and with skip, failed others of one sample of with_others() are drawn again up to as many times.
  unsigned substitutes = 16;
};

/// The handling of failing samples, for loader_options::on_error: a rule, limits, and other rules for single
/// stages:
///
///     wick::on_error(wick::on_error::skip, {.rate = 0.01})
///         .at("read", wick::on_error::retry(3, 100ms).then(wick::on_error::skip))
///
/// Outcomes depend only on the data, the seed, the epoch, and the position, so batches are the same with any
/// number of workers and ranks. Failures that aren't the fault of a sample fail the batch under every rule:
/// samples of different shapes, and a batch stage that throws.
class on_error {
 public:
  /// How often a failing sample is tried again, and the action if that doesn't help: on_error::fail,
  /// on_error::skip, on_error::replace, on_error::retry(…), or `retry(3).then(skip)`.
  struct rule {
    unsigned retries = 0;                     ///< how often a failing sample is tried again
    std::chrono::duration<double> backoff{};  ///< before the first retry, doubled before each further one
    /// Not set: the action of the rule for all stages, and fail if that has none either.
    std::optional<error_action> action;

    /// Sets the action to take when the last retry has failed.
    constexpr rule then(const rule& last) const noexcept {
      rule out = *this;
      out.action = last.action;
      return out;
    }
  };

  /// The sample's batch fails: taking it throws wick::sample_error. The default.
  static constexpr rule fail{0, {}, error_action::fail};
  /// The sample is left out: its batch is shorter, and may be empty.
  static constexpr rule skip{0, {}, error_action::skip};
  /// Another sample of the epoch takes its place; the seed, epoch, and position determine which.
  static constexpr rule replace{0, {}, error_action::replace};
  /// Up to `times` more tries, each from the source on and with the random numbers of the first try, so that
  /// a sample that succeeds late is the same. `backoff` passes before the first retry, twice as long before
  /// the second, and so on. No worker waits meanwhile, even in a pipeline without a stage that suspends.
  /// `retry(3).then(skip)` sets the action if the last retry fails; otherwise, the rule for all stages does.
  /// \throws wick::error when times is 0 or more than 1,000, or backoff is negative or not a number
  static rule retry(unsigned times, std::chrono::duration<double> backoff = {});

  /// fail, for all stages.
  on_error() = default;
  /// One rule for all stages: `.on_error = wick::on_error::skip`, or with limits
  /// `.on_error = {wick::on_error::skip, {.rate = 0.01}}`. \throws wick::error when rate is not in [0, 1], or
  /// substitutes is 0
  on_error(  // NOLINT(google-explicit-constructor)
      const rule& for_all, error_options options = {});
  /// Another rule for one stage, by its name in errors and in the report. Work that decode() defers and that
  /// fails in the batch is a failure of decode. Stages with one name share the rule; the last one set counts.
  on_error& at(std::string stage, const rule& what) &;
  on_error&& at(std::string stage, const rule& what) &&;

  /// For the loader: the limits, and details of skip and replace.
  const error_options& options() const noexcept { return options_; }
  /// For the loader: the rule for failures of this stage, with an action.
  rule rule_for(std::string_view stage) const noexcept;
  /// For the loader: whether every failure fails its batch.
  bool only_fails() const noexcept;
  /// For the loader: whether the rule of any stage has this action.
  bool ever(error_action a) const noexcept;
  /// For the loader: the stages that have rules of their own.
  std::vector<std::string_view> stages() const;

 private:
  rule for_all_ = fail;
  error_options options_;
  std::vector<std::pair<std::string, rule>> stages_;
};

/// More samples failed than error_options allows. It is thrown in place of the batch in which that happened.
/// A caller that continues gets the batches after it, until the next failure.
class too_many_errors : public error {
 public:
  using error::error;
};

namespace detail {

/// The wait before retry `number`, from 1.
std::chrono::duration<double> pause_before(const on_error::rule& by, std::size_t number) noexcept;

}  // namespace detail

}  // namespace wick

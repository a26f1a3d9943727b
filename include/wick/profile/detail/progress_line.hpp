// The progress line of an epoch: when it is written, its text, and its width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <wick/base/detail/clock.hpp>

namespace wick::inline v0_1::detail {

/// How far an epoch is.
struct progress_left {
  std::uint64_t items = 0;    ///< batches left; samples, if there are no batches
  std::uint64_t samples = 0;  ///< delivered so far
};

/// The figures in the line.
struct progress_figures {
  std::uint64_t done = 0, total = 0;
  double elapsed = 0;   ///< seconds
  double left = -1;     ///< seconds; below 0: unknown
  double rate = -1;     ///< samples a second; below 0: unknown
  double waiting = -1;  ///< share, 0 … 1; below 0: unknown
  bool operator==(const progress_figures&) const = default;
};

/// Text of at most `columns` columns; the bar fills the space that the rest leaves. 0 columns: no bar, and
/// any length. The width of `description` is taken as its bytes, which are at least its columns.
std::string progress_text(std::string_view description, const progress_figures& f, std::size_t columns,
                          bool bar);
/// Replaces everything that isn't printable UTF-8.
std::string progress_description(std::string_view text);

/// "9.31k": three digits; "?" if unknown.
std::string format_rate(double rate);
/// At most `most` bytes of valid UTF-8, cut between characters.
std::string_view cut_utf8(std::string_view text, std::size_t most) noexcept;

/// Rates over about the last ten seconds; with long steps, over about the last three.
class progress_rates {
 public:
  /// Adds the totals at `seconds`.
  void add(double seconds, double waited, std::uint64_t items, std::uint64_t samples) noexcept;
  double items() const noexcept { return time_ > 0 ? items_ / time_ : -1; }
  double samples() const noexcept { return time_ > 0 ? samples_ / time_ : -1; }
  double waiting() const noexcept { return time_ > 0 ? waited_ / time_ : -1; }

 private:
  double time_ = 0, items_ = 0, samples_ = 0, waited_ = 0;
  double last_time_ = 0, last_waited_ = 0;
  std::uint64_t last_items_ = 0, last_samples_ = 0;
};

/// When a line is due.
class progress_schedule {
 public:
  progress_schedule(bool terminal, std::optional<double> interval) noexcept
      : terminal_(terminal), interval_(interval) {}
  bool due(double seconds, std::uint64_t done, std::uint64_t total) const noexcept;
  void shown(double seconds, std::uint64_t done, std::uint64_t total) noexcept;
  /// Seconds until a line may be due.
  double pause(double seconds) const noexcept;

 private:
  static std::uint64_t tenths(std::uint64_t done, std::uint64_t total) noexcept {
    return total == 0
               ? 0
               : static_cast<std::uint64_t>(static_cast<double>(done) / static_cast<double>(total) * 10);
  }
  double least() const noexcept { return interval_.value_or(terminal_ ? 0.1 : 1.0); }
  bool terminal_;
  std::optional<double> interval_;
  double last_ = 0;
  std::uint64_t tenth_ = 0;
};

/// For one thread.
class progress_line {
 public:
  progress_line(std::string_view description, int fd, std::optional<double> interval, bool shown);
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  /// Ends the line.
  ~progress_line();

  /// Without a rank: as the launcher says.
  /// \throws wick::error for a rank below 0
  static bool is_first_rank(std::optional<int> rank);
  /// \throws wick::error
  static void require_not_negative(const char* option, std::int64_t given);
  bool shown() const noexcept { return shown_; }
  bool under_way() const noexcept { return under_way_; }

  /// Begins an epoch's line; times count from here.
  void begin(progress_left left) noexcept;
  /// A sample came without waiting.
  void came() noexcept {
    ++done_;
    left_.items -= left_.items != 0 ? 1 : 0;
    ++left_.samples;
  }
  /// A batch came, after a wait since `begun`. Shows the line if it is due.
  void came(std::uint64_t begun, std::uint64_t now, progress_left left) noexcept {
    ++done_;
    left_ = left;
    if (now > begun) waited_ += now - begun;
    if (now - looked_ >= pause_) look();
  }
  /// Leaves the line on the terminal, and later output goes below it. Removes it if no batch came.
  void close(progress_left left) noexcept;
  void print(std::string_view text) noexcept;
  void clear() noexcept;

 private:
  progress_figures figures(double seconds, bool of_all) noexcept;
  void look() noexcept;
  void show(double seconds, bool last) noexcept;
  void write(std::string_view text) noexcept;
  std::size_t columns() const noexcept;

  const std::string description_;
  const int fd_;
  const std::optional<double> interval_;  // seconds
  bool shown_, terminal_;
  bool under_way_ = false;
  bool drawn_ = false;  // the cursor is at the end of the line
  tick_scale scale_;
  progress_schedule schedule_;
  progress_rates rates_;
  std::uint64_t done_ = 0, waited_ = 0;
  std::uint64_t looked_ = 0, pause_ = 0;  // ticks
  progress_left at_first_, left_;
};

}  // namespace wick::detail
